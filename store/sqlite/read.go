package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"sessiond/message"
	"sessiond/store"
)

// openReaders opens the pool of connections that read.
func openReaders(ctx context.Context, path string, n int) (*sql.DB, error) {
	if n == 0 {
		n = defaultReaders
	}
	db, err := connect(path, n, "query_only(1)")
	if err != nil {
		return nil, err
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect: %w", err), db.Close())
	}
	return db, nil
}

// ask is a query of a client: what it is for, its statement, and how rows are read.
type ask[T any] struct {
	what string
	st   *sql.Stmt
	scan scanner[T]
	// keep, if it is there, ends a list before a row it refuses.
	keep func(*T) bool
}

// get runs a query for one row; none is ErrNotFound.
func get[T any](ctx context.Context, s *Store, q ask[T], args ...any) (*T, error) {
	if s.closed.Load() {
		return nil, s.fail(q.what, store.ErrClosed)
	}
	v := new(T)
	err := q.scan(q.st.QueryRowContext(ctx, args...), v)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, s.fail(q.what, err)
	}
	return v, nil
}

// list runs a query for rows.
func list[T any](ctx context.Context, s *Store, q ask[T], args ...any) (_ []T, err error) {
	if s.closed.Load() {
		return nil, s.fail(q.what, store.ErrClosed)
	}
	rows, err := q.st.QueryContext(ctx, args...)
	if err != nil {
		return nil, s.fail(q.what, err)
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = s.fail(q.what, closeErr)
		}
	}()
	var found []T
	for rows.Next() {
		var v T
		if err := q.scan(rows, &v); err != nil {
			return nil, s.fail(q.what, err)
		}
		if q.keep != nil && !q.keep(&v) {
			return found, nil
		}
		found = append(found, v)
	}
	return found, s.fail(q.what, rows.Err())
}

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, ref store.Ref) (*store.Session, error) {
	return get(ctx, s, ask[store.Session]{
		what: fmt.Sprintf("session %s", ref.ID), st: s.queries.session, scan: scanSession,
	}, ref.ID, ref.Owner)
}

// ListSessions implements [store.Sessions].
func (s *Store) ListSessions(ctx context.Context, q store.ListQuery) ([]store.Session, error) {
	before := int64(math.MaxInt64)
	if !q.BeforeUpdatedAt.IsZero() {
		before = micros(q.BeforeUpdatedAt)
	}
	args := []any{q.Owner, q.Limit, before, q.BeforeID}
	st := s.queries.sessions
	if q.Status != "" {
		st, args = s.queries.sessionsByStatus, append(args, q.Status)
	}
	return list(ctx, s, ask[store.Session]{what: "list sessions", st: st, scan: scanSession}, args...)
}

// Unfinished implements [store.Sessions].
func (s *Store) Unfinished(ctx context.Context) ([]store.Ref, error) {
	return list(ctx, s, ask[store.Ref]{what: "unfinished sessions", st: s.queries.unfinished, scan: scanRef})
}

// Entries implements [store.Log].
func (s *Store) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	what := fmt.Sprintf("entries of session %s", q.ID)
	st := s.queries.entries
	if q.Descending {
		st = s.queries.entriesDown
	}
	before, limit := q.BeforeSeq, q.Limit
	if before == 0 {
		before = math.MaxInt64
	}
	if limit == 0 {
		limit = -1 // none, to SQLite
	}
	kinds := ""
	if len(q.Kinds) > 0 {
		b, err := json.Marshal(q.Kinds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		kinds = string(b)
	}
	bytes, n := 0, 0
	keep := func(e *store.Entry) bool {
		bytes += len(e.Body)
		n++
		return q.MaxBytes == 0 || n == 1 || bytes <= q.MaxBytes
	}
	return list(ctx, s, ask[store.Entry]{what: what, st: st, scan: scanEntry, keep: keep},
		q.ID, q.Owner, q.AfterSeq, before, kinds, limit)
}

// MessageEntry implements [store.Log].
func (s *Store) MessageEntry(ctx context.Context, ref store.Ref, id message.ID) (*store.Entry, error) {
	return get(ctx, s, ask[store.Entry]{
		what: fmt.Sprintf("message %s of session %s", id, ref.ID), st: s.queries.messageEntry, scan: scanEntry,
	}, ref.ID, ref.Owner, id)
}

// Turn implements [store.Turns].
func (s *Store) Turn(ctx context.Context, ref store.Ref, id message.TurnID) (*store.Turn, error) {
	return get(ctx, s, ask[store.Turn]{
		what: fmt.Sprintf("turn %s of session %s", id, ref.ID), st: s.queries.turn, scan: scanTurn,
	}, ref.ID, ref.Owner, id)
}

// ListTurns implements [store.Turns].
func (s *Store) ListTurns(ctx context.Context, ref store.Ref, beforeSeq int64, limit int) ([]store.Turn, error) {
	if beforeSeq <= 0 {
		beforeSeq = math.MaxInt64
	}
	return list(ctx, s, ask[store.Turn]{
		what: fmt.Sprintf("turns of session %s", ref.ID), st: s.queries.turns, scan: scanTurn,
	}, ref.ID, ref.Owner, beforeSeq, limit)
}

// OpenTurns implements [store.Turns].
func (s *Store) OpenTurns(ctx context.Context, ref store.Ref) ([]store.Turn, error) {
	return list(ctx, s, ask[store.Turn]{
		what: fmt.Sprintf("open turns of session %s", ref.ID), st: s.queries.openTurns, scan: scanTurn,
	}, ref.ID, ref.Owner)
}

// Key implements [store.Keys].
func (s *Store) Key(ctx context.Context, scope store.KeyScope, now time.Time) (*store.KeyRecord, error) {
	k, err := get(ctx, s, ask[store.KeyRecord]{what: "key of " + scope.Method, st: s.queries.key, scan: scanKey},
		scope.Owner, scope.SessionID, scope.Method, scope.Key, micros(now))
	if err != nil {
		return nil, err
	}
	k.KeyScope = scope
	return k, nil
}
