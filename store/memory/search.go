package memory

import (
	"context"
	"maps"
	"slices"

	"sessiond/store"
	"sessiond/store/internal/fold"
)

// indexed is a text that can be found.
type indexed struct{ role, text, folded string }

// IndexText implements [store.Search].
func (s *Store) IndexText(ctx context.Context, texts []store.SearchText) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for _, t := range texts {
		r, err := s.owned(t.Ref)
		if err != nil {
			continue
		}
		if _, ok := r.texts[t.Seq]; !ok {
			text := fold.Cut(t.Text, store.MaxSearchBytes)
			r.texts[t.Seq] = indexed{t.Role, text, fold.Text(text)}
		}
	}
	return nil
}

// IndexedSeq implements [store.Search].
func (s *Store) IndexedSeq(ctx context.Context, ref store.Ref) (int64, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	var seq int64
	if r, err := s.owned(ref); err == nil {
		for indexed := range r.texts {
			seq = max(seq, indexed)
		}
	}
	return seq, nil
}

// SearchText implements [store.Search].
func (s *Store) SearchText(ctx context.Context, q store.SearchQuery) ([]store.SearchHit, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	words := fold.Words(q.Query)
	r, err := s.owned(q.Ref)
	if err != nil || len(words) == 0 {
		return nil, nil
	}
	var hits []store.SearchHit
	for _, seq := range slices.Backward(slices.Sorted(maps.Keys(r.texts))) {
		t := r.texts[seq]
		if q.BeforeSeq > 0 && seq >= q.BeforeSeq || !fold.Contains(t.folded, words) {
			continue
		}
		start, end := fold.Find(t.text, words)
		hits = append(hits, store.SearchHit{Seq: seq, Role: t.role, Text: t.text, Start: start, End: end})
		if len(hits) == q.Limit {
			break
		}
	}
	return hits, nil
}
