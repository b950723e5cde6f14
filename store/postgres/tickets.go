package postgres

import (
	"context"
	"time"

	"sessiond/message"
	"sessiond/store"
)

// PutTicket implements [store.Tickets].
func (s *Store) PutTicket(ctx context.Context, t *store.Ticket) error {
	ids := t.SessionIDs
	if ids == nil {
		ids = []message.SessionID{}
	}
	tag, err := s.read.Exec(ctx, `INSERT INTO tickets (hash, owner, origin, scope, session_ids, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
		t.Hash[:], t.Owner, t.Origin, t.Scope, ids, t.ExpiresAt)
	if err == nil && tag.RowsAffected() == 0 {
		err = store.ErrConflict
	}
	return s.fail("put ticket", err)
}

// TakeTicket implements [store.Tickets].
func (s *Store) TakeTicket(ctx context.Context, hash [32]byte, now time.Time) (*store.Ticket, error) {
	const what = "take ticket"
	t, err := get(ctx, s, what, scanTicket, `DELETE FROM tickets WHERE hash = $1
		RETURNING owner, origin, scope, session_ids, expires_at`, hash[:])
	if err != nil {
		return nil, err
	}
	if !t.ExpiresAt.After(now) {
		return nil, s.fail(what, store.ErrNotFound)
	}
	t.Hash = hash
	return t, nil
}

// PurgeTickets implements [store.Tickets].
func (s *Store) PurgeTickets(ctx context.Context, now time.Time) (int64, error) {
	tag, err := s.read.Exec(ctx, `DELETE FROM tickets WHERE expires_at <= $1`, now)
	return tag.RowsAffected(), s.fail("purge tickets", err)
}
