package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sessiond/message"
	"sessiond/store"
)

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, ref store.Ref) (*store.Session, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := s.owned(ref)
	if err != nil {
		return nil, err
	}
	row := cloneSession(r.row)
	return &row, nil
}

// ListSessions implements [store.Sessions].
func (s *Store) ListSessions(ctx context.Context, q store.ListQuery) ([]store.Session, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	q.BeforeUpdatedAt = kept(q.BeforeUpdatedAt)
	var found []store.Session
	for _, r := range s.sessions {
		if r.row.Owner == q.Owner && r.row.Status != store.StatusDeleted &&
			(q.Status == "" || q.Status == r.row.Status) && afterCursor(&r.row, &q) {
			found = append(found, cloneSession(r.row))
		}
	}
	slices.SortFunc(found, func(a, b store.Session) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
	})
	return found[:min(q.Limit, len(found))], nil
}

// afterCursor reports whether the row comes after the query's point in the list.
func afterCursor(row *store.Session, q *store.ListQuery) bool {
	if q.BeforeUpdatedAt.IsZero() {
		return true
	}
	return cmp.Or(row.UpdatedAt.Compare(q.BeforeUpdatedAt), cmp.Compare(row.ID, q.BeforeID)) < 0
}

// Unfinished implements [store.Sessions].
func (s *Store) Unfinished(ctx context.Context) ([]store.Ref, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var rows []store.Session
	for _, r := range s.sessions {
		if r.row.Status == store.StatusCompacting || slices.ContainsFunc(slices.Collect(maps.Values(r.turns)), open) {
			rows = append(rows, r.row)
		}
	}
	slices.SortFunc(rows, func(a, b store.Session) int {
		return cmp.Or(a.UpdatedAt.Compare(b.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	var refs []store.Ref
	for i := range rows {
		refs = append(refs, store.Ref{Owner: rows[i].Owner, ID: rows[i].ID})
	}
	return refs, nil
}

// Entries implements [store.Log].
func (s *Store) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := s.owned(q.Ref)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	var found []store.Entry
	bytes := 0
	for i := range r.entries {
		e := &r.entries[i]
		if q.Descending {
			e = &r.entries[len(r.entries)-1-i]
		}
		if !selected(e, &q) {
			continue
		}
		bytes += len(e.Body)
		if len(found) > 0 && q.MaxBytes > 0 && bytes > q.MaxBytes {
			break
		}
		found = append(found, cloneEntry(*e))
		if len(found) == q.Limit {
			break
		}
	}
	return found, nil
}

func selected(e *store.Entry, q *store.EntryQuery) bool {
	return e.Seq > q.AfterSeq && (q.BeforeSeq == 0 || e.Seq < q.BeforeSeq) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind))
}

// MessageEntry implements [store.Log].
func (s *Store) MessageEntry(ctx context.Context, ref store.Ref, id message.ID) (*store.Entry, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := s.owned(ref)
	if err != nil {
		return nil, err
	}
	seq, ok := r.messages[id]
	if !ok {
		return nil, fmt.Errorf("message %s of session %s: %w", id, ref.ID, store.ErrNotFound)
	}
	e := cloneEntry(r.entries[seq-1])
	return &e, nil
}

// Turn implements [store.Turns].
func (s *Store) Turn(ctx context.Context, ref store.Ref, id message.TurnID) (*store.Turn, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := s.owned(ref)
	if err != nil {
		return nil, err
	}
	t, ok := r.turns[id]
	if !ok {
		return nil, fmt.Errorf("turn %s of session %s: %w", id, ref.ID, store.ErrNotFound)
	}
	t = cloneTurn(t)
	return &t, nil
}

// ListTurns implements [store.Turns].
func (s *Store) ListTurns(ctx context.Context, ref store.Ref, beforeSeq int64, limit int) ([]store.Turn, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	found := s.turnsWhere(ref, func(t store.Turn) bool { return beforeSeq <= 0 || t.CreatedSeq < beforeSeq })
	slices.Reverse(found)
	return found[:min(limit, len(found))], nil
}

// OpenTurns implements [store.Turns].
func (s *Store) OpenTurns(ctx context.Context, ref store.Ref) ([]store.Turn, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.turnsWhere(ref, open), nil
}

// turnsWhere returns turns in order of CreatedSeq; those of a foreign session are none.
func (s *Store) turnsWhere(ref store.Ref, keep func(store.Turn) bool) []store.Turn {
	r, err := s.owned(ref)
	if err != nil {
		return nil
	}
	var found []store.Turn
	for _, t := range r.turns {
		if keep(t) {
			found = append(found, cloneTurn(t))
		}
	}
	slices.SortFunc(found, func(a, b store.Turn) int {
		return cmp.Or(cmp.Compare(a.CreatedSeq, b.CreatedSeq), cmp.Compare(a.ID, b.ID))
	})
	return found
}

func open(t store.Turn) bool {
	return t.Status == store.TurnQueued || t.Status == store.TurnRunning
}
