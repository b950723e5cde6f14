package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"sessiond/message"
	"sessiond/store"
)

// ListMemories implements [store.Memories].
func (s *Store) ListMemories(ctx context.Context, q store.MemoryQuery) ([]store.Memory, error) {
	before := int64(math.MaxInt64)
	if !q.BeforeUpdatedAt.IsZero() {
		before = micros(q.BeforeUpdatedAt)
	}
	return list(ctx, s, ask[store.Memory]{what: "list memories", st: s.queries.memories, scan: scanMemory},
		q.Owner, q.ID, before, q.BeforeID, q.Limit)
}

// Memory implements [store.Memories].
func (s *Store) Memory(ctx context.Context, owner string, id message.MemoryID) (*store.Memory, error) {
	return get(ctx, s, ask[store.Memory]{
		what: fmt.Sprintf("memory %s", id), st: s.queries.memory, scan: scanMemory,
	}, owner, id)
}

// PutMemory implements [store.Memories].
func (s *Store) PutMemory(ctx context.Context, m *store.Memory, key *store.KeyRecord) error {
	err := store.CheckMemory(m)
	if err == nil {
		err = s.committer.Do(ctx, change{len(m.Title) + len(m.Content), func(ctx context.Context, w *writer) error {
			if err := w.remember(ctx, m); err != nil || key == nil {
				return err
			}
			return w.record(ctx, key, m.UpdatedAt)
		}})
	}
	if err != nil {
		return fmt.Errorf("put memory %s: %w", m.ID, err)
	}
	return nil
}

// DeleteMemory implements [store.Memories].
func (s *Store) DeleteMemory(ctx context.Context, owner string, id message.MemoryID, at time.Time, key *store.KeyRecord) error {
	err := s.committer.Do(ctx, change{0, func(ctx context.Context, w *writer) error {
		deleted, err := one(ctx, w.dropMemory, owner, id, "")
		if err == nil && !deleted {
			err = refusal{store.ErrNotFound}
		}
		if err != nil || key == nil {
			return err
		}
		return w.record(ctx, key, at)
	}})
	if err != nil {
		return fmt.Errorf("delete memory %s: %w", id, err)
	}
	return nil
}

// changeMemories makes the changes of a commit.
func (w *writer) changeMemories(ctx context.Context, c *store.Commit) error {
	for i := range c.Memories {
		m := &c.Memories[i]
		if m.Put != nil {
			if err := w.remember(ctx, m.Put); err != nil {
				return err
			}
			continue
		}
		if _, err := w.dropMemory.ExecContext(ctx, c.Session.Owner, m.Delete, c.Session.ID); err != nil {
			return fmt.Errorf("delete memory %s: %w", m.Delete, err)
		}
	}
	return nil
}

func (w *writer) remember(ctx context.Context, m *store.Memory) error {
	put, err := one(ctx, w.putMemory, m.Owner, m.ID, m.SessionID, m.Category, m.Importance, m.Title, m.Content,
		m.Source, store.SeqList(m.SourceSeqs), m.Seq, micros(m.CreatedAt), micros(m.UpdatedAt))
	if err == nil && !put {
		err = errors.New("belongs to another session")
	}
	if err != nil {
		return fmt.Errorf("memory %s: %w", m.ID, err)
	}
	return nil
}

func scanMemory(r row, m *store.Memory) error {
	var seqs string
	var created, updated int64
	if err := r.Scan(&m.Owner, &m.ID, &m.SessionID, &m.Category, &m.Importance, &m.Title, &m.Content, &m.Source,
		&seqs, &m.Seq, &created, &updated); err != nil {
		return err
	}
	m.CreatedAt, m.UpdatedAt = moment(created), moment(updated)
	var err error
	m.SourceSeqs, err = store.ParseSeqList(seqs)
	return err
}
