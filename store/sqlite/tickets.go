package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sessiond/store"
)

// PutTicket implements [store.Tickets].
func (s *Store) PutTicket(ctx context.Context, t *store.Ticket) error {
	ids, err := json.Marshal(t.SessionIDs)
	if err != nil {
		return fmt.Errorf("put ticket: %w", err)
	}
	err = s.committer.Do(ctx, change{0, func(ctx context.Context, w *writer) error {
		put, err := one(ctx, w.putTicket, t.Hash[:], t.Owner, t.Origin, t.Scope, string(ids), micros(t.ExpiresAt))
		if err == nil && !put {
			err = refusal{store.ErrConflict}
		}
		return err
	}})
	if err != nil {
		return fmt.Errorf("put ticket: %w", err)
	}
	return nil
}

// TakeTicket implements [store.Tickets].
func (s *Store) TakeTicket(ctx context.Context, hash [32]byte, now time.Time) (*store.Ticket, error) {
	var taken *store.Ticket
	err := s.committer.Do(ctx, change{0, func(ctx context.Context, w *writer) (err error) {
		taken, err = w.take(ctx, hash)
		return err
	}})
	if err == nil && !taken.ExpiresAt.After(now) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("take ticket: %w", err)
	}
	return taken, nil
}

func (w *writer) take(ctx context.Context, hash [32]byte) (*store.Ticket, error) {
	t := &store.Ticket{Hash: hash}
	var ids []byte
	var expires int64
	err := w.findTicket.QueryRowContext(ctx, hash[:]).Scan(&t.Owner, &t.Origin, &t.Scope, &ids, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, refusal{store.ErrNotFound}
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(ids, &t.SessionIDs); err != nil {
		return nil, fmt.Errorf("session ids: %w", err)
	}
	t.ExpiresAt = moment(expires)
	_, err = w.dropTicket.ExecContext(ctx, hash[:])
	return t, err
}

// PurgeTickets implements [store.Tickets].
func (s *Store) PurgeTickets(ctx context.Context, now time.Time) (int64, error) {
	return s.purge(ctx, "purge tickets", func(w *writer) *sql.Stmt { return w.purgeTs }, now)
}

// PurgeKeys implements [store.Keys].
func (s *Store) PurgeKeys(ctx context.Context, now time.Time) (int64, error) {
	return s.purge(ctx, "purge keys", func(w *writer) *sql.Stmt { return w.purgeKeys }, now)
}

func (s *Store) purge(ctx context.Context, what string, which func(*writer) *sql.Stmt, now time.Time) (int64, error) {
	var n int64
	err := s.committer.Do(ctx, change{0, func(ctx context.Context, w *writer) (err error) {
		n, err = changed(ctx, which(w), micros(now))
		return err
	}})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return n, nil
}
