// Package memory is a [store.Store] that keeps everything in maps: for the tests of
// sessions, where a database would only be slow.
//
// # Job
//
// It keeps every rule of the contract, conflicts and idempotency keys included, and
// can be told to fail, to block or to lose an answer; see [Store.Intercept]. Nothing
// survives the process, so it is no driver for a server.
//
// # Concurrency
//
// One mutex guards all state; no method holds it while it waits for anything. What
// goes in and what comes out is copied, as with a database, so that a caller who
// changes a slice afterwards harms nobody. It starts no goroutine and reads no
// clock, which makes it fit for testing/synctest.
package memory

import (
	"context"
	"fmt"
	"sync"

	"sessiond/message"
	"sessiond/store"
)

var _ store.Store = (*Store)(nil)

// Store implements [store.Store]. Make one with [New].
type Store struct {
	mu        sync.Mutex
	underWay  sync.WaitGroup // commits that Close waits for; Add only under mu while open
	closed    bool
	sessions  map[message.SessionID]*record
	keys      map[store.KeyScope]store.KeyRecord
	tickets   map[[32]byte]store.Ticket
	memories  map[memoryName]store.Memory
	limits    map[modelName]store.LearnedLimit
	intercept Interceptor
}

// record is a session with all that belongs to it. A tombstone has only the row.
type record struct {
	row      store.Session
	entries  []store.Entry // entries[i].Seq == i+1
	messages map[message.ID]int64
	turns    map[message.TurnID]store.Turn
	running  message.TurnID // or empty
	texts    map[int64]indexed
}

func newRecord() *record {
	return &record{
		messages: make(map[message.ID]int64),
		turns:    make(map[message.TurnID]store.Turn),
		texts:    make(map[int64]indexed),
	}
}

// New returns an empty store.
func New() *Store {
	return &Store{
		sessions: make(map[message.SessionID]*record),
		keys:     make(map[store.KeyScope]store.KeyRecord),
		tickets:  make(map[[32]byte]store.Ticket),
		memories: make(map[memoryName]store.Memory),
		limits:   make(map[modelName]store.LearnedLimit),
	}
}

// Ping implements [store.Store].
func (s *Store) Ping(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	unlock()
	return nil
}

// Close implements [store.Store]. It blocks as long as an interceptor holds a commit.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.underWay.Wait()
	return nil
}

// lock takes the mutex for one method, unless its context has ended or the store is
// closed.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, store.ErrClosed
	}
	return s.mu.Unlock, nil
}

// owned finds a live session of an owner. The mutex is held.
func (s *Store) owned(ref store.Ref) (*record, error) {
	r := s.sessions[ref.ID]
	if r == nil || r.row.Owner != ref.Owner || r.row.Status == store.StatusDeleted {
		return nil, fmt.Errorf("session %s: %w", ref.ID, store.ErrNotFound)
	}
	return r, nil
}
