package session

import (
	"context"
	"fmt"

	"sessiond/message"
	"sessiond/store"
)

// createUserMemory stores a new memory of the owner's, with the key of the call.
func (m *Manager) createUserMemory(ctx context.Context, row *store.Memory, i Idempotency) (Replay[Memory], error) {
	unlock, err := m.userWrites.lock(ctx, row.Owner)
	if err != nil {
		return Replay[Memory]{}, err
	}
	defer unlock()
	if err := m.roomForUserMemory(ctx, row.Owner); err != nil {
		return Replay[Memory]{}, err
	}
	return m.putUserMemory(ctx, row, i)
}

// updateUserMemory changes a memory of the owner's as it is now.
func (m *Manager) updateUserMemory(ctx context.Context, owner string, id message.MemoryID, in MemoryInput, i Idempotency) (Replay[Memory], error) {
	unlock, err := m.userWrites.lock(ctx, owner)
	if err != nil {
		return Replay[Memory]{}, err
	}
	defer unlock()
	row, err := m.store.Memory(ctx, owner, id)
	if err != nil {
		return Replay[Memory]{}, notFoundAs(err, "memory")
	}
	row.UpdatedAt = m.now()
	row.Source = string(SourceClient) // whoever changes it stands for what it says now
	if err := in.change(row); err != nil {
		return Replay[Memory]{}, err
	}
	return m.putUserMemory(ctx, row, i)
}

func (m *Manager) deleteUserMemory(ctx context.Context, row *store.Memory, i Idempotency) (Replay[Memory], error) {
	unlock, err := m.userWrites.lock(ctx, row.Owner)
	if err != nil {
		return Replay[Memory]{}, err
	}
	defer unlock()
	was := memoryOf(row)
	if err := m.store.DeleteMemory(ctx, row.Owner, row.ID, m.now(), m.ownerKey(row.Owner, i, was)); err != nil {
		return Replay[Memory]{}, notFoundAs(err, "memory")
	}
	m.userMemories.changed(row.Owner)
	return Replay[Memory]{Value: was}, nil
}

func (m *Manager) putUserMemory(ctx context.Context, row *store.Memory, i Idempotency) (Replay[Memory], error) {
	now := memoryOf(row)
	if err := m.store.PutMemory(ctx, row, m.ownerKey(row.Owner, i, now)); err != nil {
		return Replay[Memory]{}, fmt.Errorf("store memory: %w", err)
	}
	m.userMemories.changed(row.Owner)
	return Replay[Memory]{Value: now}, nil
}

// roomForUserMemory refuses one memory more than an owner may have. Whoever asks holds
// the lock of the owner's memories until the new one is on disk.
func (m *Manager) roomForUserMemory(ctx context.Context, owner string) error {
	have, err := m.store.ListMemories(ctx, store.MemoryQuery{Ref: store.Ref{Owner: owner}, Limit: MaxUserMemories})
	if err != nil {
		return fmt.Errorf("count memories: %w", err)
	}
	if len(have) >= MaxUserMemories {
		return errTooManyMemories(MaxUserMemories)
	}
	return nil
}
