package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"sessiond/message"
	"sessiond/store"
)

// Each query of a client names the owner, as s.owner.
const (
	sessionColumns = `SELECT s.id, s.log_id, s.owner, s.title, s.status, s.version, s.head_seq, s.settings, s.state,
			s.created_at, s.updated_at, s.closed_at
		FROM sessions s `
	sessionByID      = sessionColumns + `WHERE s.id = $1 AND s.owner = $2 AND s.status || '' <> 'deleted'`
	sessionsOfOwner  = sessionColumns + `WHERE s.owner = $1 AND s.status <> 'deleted' AND (s.updated_at, s.id) < ($2, $3) `
	sessionsPage     = sessionsOfOwner + newestFirst
	sessionsByStatus = sessionsOfOwner + `AND s.status = $5 ` + newestFirst
	newestFirst      = `ORDER BY s.updated_at DESC, s.id DESC LIMIT $4`

	unfinished = `SELECT s.owner, s.id FROM sessions s
		WHERE s.id IN (SELECT session_id FROM turns WHERE status IN ('queued', 'running')
			UNION ALL SELECT id FROM sessions WHERE status = 'compacting')
		ORDER BY s.updated_at, s.id`

	turnColumns = `SELECT u.id, u.message_id, u.created_seq, u.started_seq, u.status, u.rounds, u.resumes, u.detail,
			u.created_at, u.started_at, u.completed_at
		FROM turns u JOIN sessions s ON s.id = u.session_id
		WHERE s.id = $1 AND s.owner = $2 `
	turnByID  = turnColumns + `AND u.id = $3`
	turnsPage = turnColumns + `AND u.created_seq < $3 ORDER BY u.created_seq DESC, u.id DESC LIMIT $4`
	openTurns = turnColumns + `AND u.status IN ('queued', 'running') ORDER BY u.created_seq, u.id`

	keyByScope = `SELECT fingerprint, result, expires_at FROM idempotency
		WHERE owner = $1 AND session_id = $2 AND method = $3 AND key = $4 AND (expires_at IS NULL OR expires_at > $5)`
	// A record that a commit is about to replace is left to it.
	purgeKeys = `DELETE FROM idempotency WHERE (owner, session_id, method, key) IN (
		SELECT owner, session_id, method, key FROM idempotency WHERE expires_at <= $1 FOR UPDATE SKIP LOCKED)`
)

// get runs a query for one row; none is ErrNotFound.
func get[T any](ctx context.Context, s *Store, what string, scan pgx.RowToFunc[T], sql string, args ...any) (*T, error) {
	rows, err := s.read.Query(ctx, sql, args...)
	if err != nil {
		return nil, s.fail(what, err)
	}
	v, err := pgx.CollectOneRow(rows, scan)
	if errors.Is(err, pgx.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, s.fail(what, err)
	}
	return &v, nil
}

// list runs a query for rows. A text that no row can hold finds none.
func list[T any](ctx context.Context, s *Store, what string, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := s.read.Query(ctx, sql, args...)
	if err != nil {
		return nil, s.fail(what, err)
	}
	found, err := pgx.AppendRows([]T(nil), rows, scan)
	if isUnstorable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, s.fail(what, err)
	}
	return found, nil
}

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, ref store.Ref) (*store.Session, error) {
	return get(ctx, s, fmt.Sprintf("session %s", ref.ID), scanSession, sessionByID, ref.ID, ref.Owner)
}

// ListSessions implements [store.Sessions].
func (s *Store) ListSessions(ctx context.Context, q store.ListQuery) ([]store.Session, error) {
	before := pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	if !q.BeforeUpdatedAt.IsZero() {
		before = orNull(q.BeforeUpdatedAt)
	}
	sql, args := sessionsPage, []any{q.Owner, before, q.BeforeID, q.Limit}
	if q.Status != "" {
		sql, args = sessionsByStatus, append(args, q.Status)
	}
	return list(ctx, s, "list sessions", scanSession, sql, args...)
}

// Unfinished implements [store.Sessions].
func (s *Store) Unfinished(ctx context.Context) ([]store.Ref, error) {
	return list(ctx, s, "unfinished sessions", scanRef, unfinished)
}

// Turn implements [store.Turns].
func (s *Store) Turn(ctx context.Context, ref store.Ref, id message.TurnID) (*store.Turn, error) {
	return get(ctx, s, fmt.Sprintf("turn %s of session %s", id, ref.ID), scanTurn, turnByID,
		ref.ID, ref.Owner, id)
}

// ListTurns implements [store.Turns].
func (s *Store) ListTurns(ctx context.Context, ref store.Ref, beforeSeq int64, limit int) ([]store.Turn, error) {
	if beforeSeq <= 0 {
		beforeSeq = math.MaxInt64
	}
	return list(ctx, s, fmt.Sprintf("turns of session %s", ref.ID), scanTurn, turnsPage,
		ref.ID, ref.Owner, beforeSeq, limit)
}

// OpenTurns implements [store.Turns].
func (s *Store) OpenTurns(ctx context.Context, ref store.Ref) ([]store.Turn, error) {
	return list(ctx, s, fmt.Sprintf("open turns of session %s", ref.ID), scanTurn, openTurns, ref.ID, ref.Owner)
}

// Key implements [store.Keys].
func (s *Store) Key(ctx context.Context, scope store.KeyScope, now time.Time) (*store.KeyRecord, error) {
	k, err := get(ctx, s, "key of "+scope.Method, scanKey, keyByScope,
		scope.Owner, scope.SessionID, scope.Method, []byte(scope.Key), now)
	if err != nil {
		return nil, err
	}
	k.KeyScope = scope
	return k, nil
}

// PurgeKeys implements [store.Keys].
func (s *Store) PurgeKeys(ctx context.Context, now time.Time) (int64, error) {
	tag, err := s.read.Exec(ctx, purgeKeys, now)
	return tag.RowsAffected(), s.fail("purge keys", err)
}
