package memory

import (
	"context"
	"fmt"
	"time"

	"sessiond/store"
)

// PutTicket implements [store.Tickets].
func (s *Store) PutTicket(ctx context.Context, t *store.Ticket) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, ok := s.tickets[t.Hash]; ok {
		return fmt.Errorf("put ticket: %w", store.ErrConflict)
	}
	s.tickets[t.Hash] = cloneTicket(*t)
	return nil
}

// TakeTicket implements [store.Tickets].
func (s *Store) TakeTicket(ctx context.Context, hash [32]byte, now time.Time) (*store.Ticket, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	t, ok := s.tickets[hash]
	delete(s.tickets, hash)
	if !ok || !t.ExpiresAt.After(now) {
		return nil, fmt.Errorf("take ticket: %w", store.ErrNotFound)
	}
	return &t, nil
}

// PurgeTickets implements [store.Tickets].
func (s *Store) PurgeTickets(ctx context.Context, now time.Time) (int64, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	var n int64
	for hash, t := range s.tickets {
		if !t.ExpiresAt.After(now) {
			delete(s.tickets, hash)
			n++
		}
	}
	return n, nil
}
