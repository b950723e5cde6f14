package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sessiond/message"
	"sessiond/store"
)

// Create implements [store.Sessions].
func (s *Store) Create(ctx context.Context, c *store.Commit) error {
	if err := store.CheckCreate(c); err != nil {
		return fmt.Errorf("create session %s: %w", c.Session.ID, err)
	}
	return s.write(ctx, c, func() error {
		if s.sessions[c.Session.ID] != nil {
			return fmt.Errorf("create session %s: id is taken: %w", c.Session.ID, store.ErrConflict)
		}
		r := newRecord()
		if err := s.apply(r, c); err != nil {
			return fmt.Errorf("create session %s: %w", c.Session.ID, err)
		}
		s.sessions[c.Session.ID] = r
		return nil
	})
}

// Commit implements [store.Sessions].
func (s *Store) Commit(ctx context.Context, c *store.Commit) error {
	if err := store.CheckCommit(c); err != nil {
		return fmt.Errorf("commit to session %s: %w", c.Session.ID, err)
	}
	return s.write(ctx, c, func() error {
		r, err := s.owned(store.Ref{Owner: c.Session.Owner, ID: c.Session.ID})
		if err != nil {
			return err
		}
		if r.row.HeadSeq != c.PrevHead {
			return fmt.Errorf("commit to session %s against head %d: head is %d: %w",
				c.Session.ID, c.PrevHead, r.row.HeadSeq, store.ErrConflict)
		}
		if err := s.apply(r, c); err != nil {
			return fmt.Errorf("commit to session %s: %w", c.Session.ID, err)
		}
		return nil
	})
}

// write runs one change under the mutex, through the interceptor if there is one.
func (s *Store) write(ctx context.Context, c *store.Commit, change func() error) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	s.underWay.Add(1)
	defer s.underWay.Done()
	intercept := s.intercept
	unlock()

	apply := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return change()
	}
	if intercept == nil {
		return apply()
	}
	return intercept(ctx, c, apply)
}

// apply makes the change to r, or fails before it has changed anything.
func (s *Store) apply(r *record, c *store.Commit) error {
	if err := checkMessages(r, c.Entries); err != nil {
		return err
	}
	row := cloneSession(c.Session)
	running, err := runningAfter(r, c.Turns)
	if err != nil {
		return err
	}
	if err := cmp.Or(s.checkMemories(c.Memories), s.checkKeys(c.Keys, row.UpdatedAt)); err != nil {
		return err
	}

	if old := &r.row; old.ID != "" {
		row.LogID, row.CreatedAt = old.LogID, old.CreatedAt
		if c.Session.Settings == nil {
			row.Settings = old.Settings
		}
	}
	r.row, r.running = row, running
	for _, t := range c.Turns {
		r.turns[t.ID] = cloneTurn(t)
	}
	for _, e := range c.Entries {
		r.entries = append(r.entries, cloneEntry(e))
		if e.MessageID != "" {
			r.messages[e.MessageID] = e.Seq
		}
	}
	s.changeMemories(store.Ref{Owner: row.Owner, ID: row.ID}, c.Memories)
	s.putKeys(c.Keys)
	return nil
}

func checkMessages(r *record, entries []store.Entry) error {
	for i := range entries {
		id := entries[i].MessageID
		if id == "" {
			continue
		}
		_, stored := r.messages[id]
		if stored || slices.ContainsFunc(entries[:i], func(e store.Entry) bool { return e.MessageID == id }) {
			return fmt.Errorf("message %s is already stored", id)
		}
	}
	return nil
}

// runningAfter returns the turn that runs once the given ones have changed, or
// ErrConflict if there would be two.
func runningAfter(r *record, changed []store.Turn) (message.TurnID, error) {
	running := r.running
	if slices.ContainsFunc(changed, func(t store.Turn) bool { return t.ID == running }) {
		running = ""
	}
	for i := range changed {
		if changed[i].Status != store.TurnRunning {
			continue
		}
		if running != "" {
			return "", fmt.Errorf("turn %s would run beside %s: %w", changed[i].ID, running, store.ErrConflict)
		}
		running = changed[i].ID
	}
	return running, nil
}

// DeleteSession implements [store.Sessions].
func (s *Store) DeleteSession(ctx context.Context, ref store.Ref, at time.Time) (deleted bool, err error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	r := s.sessions[ref.ID]
	if r == nil || r.row.Owner != ref.Owner {
		return false, fmt.Errorf("delete session %s: %w", ref.ID, store.ErrNotFound)
	}
	if r.row.Status == store.StatusDeleted {
		return false, nil
	}
	*r = record{row: store.Session{ID: ref.ID, Owner: ref.Owner, Status: store.StatusDeleted, UpdatedAt: kept(at)}}
	s.dropMemories(ref)
	maps.DeleteFunc(s.keys, func(k store.KeyScope, _ store.KeyRecord) bool {
		return k.SessionID == ref.ID && k.Owner == ref.Owner
	})
	return true, nil
}

// kept is a time as a database would give it back.
func kept(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

// bytesKept copies b; empty becomes nil.
func bytesKept(b []byte) []byte { return append([]byte(nil), b...) }

func cloneSession(s store.Session) store.Session {
	s.Settings, s.State = bytesKept(s.Settings), bytesKept(s.State)
	s.CreatedAt, s.UpdatedAt, s.ClosedAt = kept(s.CreatedAt), kept(s.UpdatedAt), kept(s.ClosedAt)
	return s
}

func cloneEntry(e store.Entry) store.Entry {
	e.Body, e.At = bytesKept(e.Body), kept(e.At)
	return e
}

func cloneTurn(t store.Turn) store.Turn {
	t.Detail = bytesKept(t.Detail)
	t.CreatedAt, t.StartedAt, t.CompletedAt = kept(t.CreatedAt), kept(t.StartedAt), kept(t.CompletedAt)
	return t
}

func cloneTicket(t store.Ticket) store.Ticket {
	t.SessionIDs, t.ExpiresAt = slices.Clone(t.SessionIDs), kept(t.ExpiresAt)
	if len(t.SessionIDs) == 0 {
		t.SessionIDs = nil
	}
	return t
}
