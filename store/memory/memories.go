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

// memoryName is what a memory is known by.
type memoryName struct {
	owner string
	id    message.MemoryID
}

// ListMemories implements [store.Memories].
func (s *Store) ListMemories(ctx context.Context, q store.MemoryQuery) ([]store.Memory, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	q.BeforeUpdatedAt = kept(q.BeforeUpdatedAt)
	var found []store.Memory
	for name, m := range s.memories {
		if name.owner == q.Owner && m.SessionID == q.ID && memoryAfterCursor(&m, &q) {
			found = append(found, cloneMemory(m))
		}
	}
	slices.SortFunc(found, func(a, b store.Memory) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
	})
	return found[:min(q.Limit, len(found))], nil
}

// memoryAfterCursor reports whether m comes after the query's point in the list.
func memoryAfterCursor(m *store.Memory, q *store.MemoryQuery) bool {
	if q.BeforeUpdatedAt.IsZero() {
		return true
	}
	return cmp.Or(m.UpdatedAt.Compare(q.BeforeUpdatedAt), cmp.Compare(m.ID, q.BeforeID)) < 0
}

// Memory implements [store.Memories].
func (s *Store) Memory(ctx context.Context, owner string, id message.MemoryID) (*store.Memory, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	m, ok := s.memories[memoryName{owner, id}]
	if !ok {
		return nil, fmt.Errorf("memory %s: %w", id, store.ErrNotFound)
	}
	m = cloneMemory(m)
	return &m, nil
}

// PutMemory implements [store.Memories].
func (s *Store) PutMemory(ctx context.Context, m *store.Memory, key *store.KeyRecord) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	keys, changes := keysOf(key), []store.MemoryChange{{Put: m}}
	if err := cmp.Or(store.CheckMemory(m), s.checkMemories(changes), s.checkKeys(keys, m.UpdatedAt)); err != nil {
		return fmt.Errorf("put memory %s: %w", m.ID, err)
	}
	s.changeMemories(store.Ref{}, changes)
	s.putKeys(keys)
	return nil
}

// DeleteMemory implements [store.Memories].
func (s *Store) DeleteMemory(ctx context.Context, owner string, id message.MemoryID, at time.Time, key *store.KeyRecord) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	name, keys := memoryName{owner, id}, keysOf(key)
	if m, ok := s.memories[name]; !ok || m.SessionID != "" {
		return fmt.Errorf("delete memory %s: %w", id, store.ErrNotFound)
	}
	if err := s.checkKeys(keys, at); err != nil {
		return fmt.Errorf("delete memory %s: %w", id, err)
	}
	delete(s.memories, name)
	s.putKeys(keys)
	return nil
}

// keysOf is a key as a list, which is empty if there is none.
func keysOf(key *store.KeyRecord) []store.KeyRecord {
	if key == nil {
		return nil
	}
	return []store.KeyRecord{*key}
}

// checkMemories refuses to put a memory in another's place.
func (s *Store) checkMemories(changes []store.MemoryChange) error {
	for _, c := range changes {
		if c.Put == nil {
			continue
		}
		old, ok := s.memories[memoryName{c.Put.Owner, c.Put.ID}]
		if ok && old.SessionID != c.Put.SessionID {
			return fmt.Errorf("memory %s belongs to another session", c.Put.ID)
		}
	}
	return nil
}

// changeMemories makes changes that have been checked. ref is the session whose commit
// brings them, or nothing.
func (s *Store) changeMemories(ref store.Ref, changes []store.MemoryChange) {
	for _, c := range changes {
		if c.Put == nil {
			name := memoryName{ref.Owner, c.Delete}
			if m := s.memories[name]; m.SessionID == "" || m.SessionID == ref.ID {
				delete(s.memories, name)
			}
			continue
		}
		name, m := memoryName{c.Put.Owner, c.Put.ID}, cloneMemory(*c.Put)
		if old, ok := s.memories[name]; ok {
			m.CreatedAt = old.CreatedAt
		}
		s.memories[name] = m
	}
}

// dropMemories removes those of a session.
func (s *Store) dropMemories(ref store.Ref) {
	maps.DeleteFunc(s.memories, func(name memoryName, m store.Memory) bool {
		return name.owner == ref.Owner && m.SessionID == ref.ID
	})
}

func cloneMemory(m store.Memory) store.Memory {
	m.SourceSeqs = append([]int64(nil), m.SourceSeqs...) // empty becomes nil
	m.CreatedAt, m.UpdatedAt = kept(m.CreatedAt), kept(m.UpdatedAt)
	return m
}
