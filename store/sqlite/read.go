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

// get runs a query for one row; none is ErrNotFound.
func get[T any](ctx context.Context, s *Store, what string, st *sql.Stmt, scan scanner[T], args ...any) (*T, error) {
	if s.closed.Load() {
		return nil, s.fail(what, store.ErrClosed)
	}
	v := new(T)
	err := scan(st.QueryRowContext(ctx, args...), v)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, s.fail(what, err)
	}
	return v, nil
}

// list runs a query for rows. It stops before a row that keep refuses.
func list[T any](
	ctx context.Context, s *Store, what string, st *sql.Stmt, scan scanner[T], keep func(*T) bool, args ...any,
) (_ []T, err error) {
	if s.closed.Load() {
		return nil, s.fail(what, store.ErrClosed)
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return nil, s.fail(what, err)
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = s.fail(what, closeErr)
		}
	}()
	var found []T
	for rows.Next() {
		var v T
		if err := scan(rows, &v); err != nil {
			return nil, s.fail(what, err)
		}
		if !keep(&v) {
			return found, nil
		}
		found = append(found, v)
	}
	return found, s.fail(what, rows.Err())
}

func all[T any](*T) bool { return true }

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, ref store.Ref) (*store.Session, error) {
	return get(ctx, s, fmt.Sprintf("session %s", ref.ID), s.queries.session, scanSession, ref.ID, ref.Owner)
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
	return list(ctx, s, "list sessions", st, scanSession, all, args...)
}

// Unfinished implements [store.Sessions].
func (s *Store) Unfinished(ctx context.Context) ([]store.Ref, error) {
	return list(ctx, s, "unfinished sessions", s.queries.unfinished, scanRef, all)
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
	return list(ctx, s, what, st, scanEntry, keep, q.ID, q.Owner, q.AfterSeq, before, kinds, limit)
}

// MessageEntry implements [store.Log].
func (s *Store) MessageEntry(ctx context.Context, ref store.Ref, id message.ID) (*store.Entry, error) {
	return get(ctx, s, fmt.Sprintf("message %s of session %s", id, ref.ID), s.queries.messageEntry, scanEntry,
		ref.ID, ref.Owner, id)
}

// Turn implements [store.Turns].
func (s *Store) Turn(ctx context.Context, ref store.Ref, id message.TurnID) (*store.Turn, error) {
	return get(ctx, s, fmt.Sprintf("turn %s of session %s", id, ref.ID), s.queries.turn, scanTurn,
		ref.ID, ref.Owner, id)
}

// ListTurns implements [store.Turns].
func (s *Store) ListTurns(ctx context.Context, ref store.Ref, beforeSeq int64, limit int) ([]store.Turn, error) {
	if beforeSeq <= 0 {
		beforeSeq = math.MaxInt64
	}
	return list(ctx, s, fmt.Sprintf("turns of session %s", ref.ID), s.queries.turns, scanTurn, all,
		ref.ID, ref.Owner, beforeSeq, limit)
}

// OpenTurns implements [store.Turns].
func (s *Store) OpenTurns(ctx context.Context, ref store.Ref) ([]store.Turn, error) {
	return list(ctx, s, fmt.Sprintf("open turns of session %s", ref.ID), s.queries.openTurns, scanTurn, all,
		ref.ID, ref.Owner)
}

// Key implements [store.Keys].
func (s *Store) Key(ctx context.Context, scope store.KeyScope, now time.Time) (*store.KeyRecord, error) {
	k, err := get(ctx, s, "key of "+scope.Method, s.queries.key, scanKey,
		scope.Owner, scope.SessionID, scope.Method, scope.Key, micros(now))
	if err != nil {
		return nil, err
	}
	k.KeyScope = scope
	return k, nil
}
