package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"sessiond/store"
	"sessiond/store/internal/fold"
)

// IndexText implements [store.Search].
func (s *Store) IndexText(ctx context.Context, texts []store.SearchText) error {
	rows := make([][]any, len(texts))
	bytes := 0
	for i, t := range texts { // here, and not while the writer is waited for
		text := fold.Cut(t.Text, store.MaxSearchBytes)
		folded := fold.Text(text)
		rows[i] = []any{t.ID, t.Owner, t.Seq, t.Role, folded, text}
		bytes += len(folded) + len(text)
	}
	err := s.committer.Do(ctx, change{bytes, func(ctx context.Context, w *writer) error {
		for _, row := range rows {
			if _, err := w.putText.ExecContext(ctx, row...); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return fmt.Errorf("index texts: %w", err)
	}
	return nil
}

// IndexedSeq implements [store.Search].
func (s *Store) IndexedSeq(ctx context.Context, ref store.Ref) (int64, error) {
	seq, err := get(ctx, s, ask[int64]{
		what: fmt.Sprintf("indexed seq of session %s", ref.ID), st: s.queries.indexedSeq, scan: scanSeq,
	}, ref.ID, ref.Owner)
	if err != nil {
		return 0, err
	}
	return *seq, nil
}

// SearchText implements [store.Search].
func (s *Store) SearchText(ctx context.Context, q store.SearchQuery) ([]store.SearchHit, error) {
	what := fmt.Sprintf("search session %s", q.ID)
	words := fold.Words(q.Query)
	wordList, err := json.Marshal(words)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	before, limit := q.BeforeSeq, q.Limit
	if before <= 0 {
		before = math.MaxInt64
	}
	if len(words) == 0 {
		limit = 0
	}
	scan := func(r row, h *store.SearchHit) error {
		err := r.Scan(&h.Seq, &h.Role, &h.Text)
		h.Start, h.End = fold.Find(h.Text, words)
		return err
	}
	return list(ctx, s, ask[store.SearchHit]{what: what, st: s.queries.search, scan: scan},
		q.ID, q.Owner, before, string(wordList), limit)
}

func scanSeq(r row, seq *int64) error { return r.Scan(seq) }
