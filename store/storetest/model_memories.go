package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"sessiond/store"
)

// fillMemories draws the memories that c changes: new ones, those of its session and of
// the owner, and others', which it can only fail to delete.
func (m *model) fillMemories(rt *rapid.T, c *store.Commit) {
	known := slices.Sorted(maps.Keys(m.memories))
	if n := len(known); n > 0 {
		start := rapid.IntRange(0, n-1).Draw(rt, "first memory")
		known = known[start:min(n, start+rapid.IntRange(0, 2).Draw(rt, "changed memories"))]
	}
	for _, id := range known {
		x := m.memories[id]
		ours := x.SessionID == "" || x.SessionID == c.Session.ID
		if !ours || rapid.Bool().Draw(rt, "delete memory") {
			c.Memories = append(c.Memories, store.MemoryChange{Delete: id})
			continue
		}
		x.Owner = c.Session.Owner // the commit may be a stranger's, and fail
		x.Content, x.SourceSeqs, x.UpdatedAt = fmt.Sprint("clock ", m.clock), nil, at(m.clock)
		c.Memories = append(c.Memories, store.MemoryChange{Put: &x})
	}
	if rapid.Bool().Draw(rt, "new memory") {
		x := memory(c)
		if rapid.Bool().Draw(rt, "of user scope") {
			x.SessionID, x.Seq = "", 0
		}
		c.Memories = append(c.Memories, store.MemoryChange{Put: &x})
	}
}

func (m *model) applyMemories(c *store.Commit) {
	for _, change := range c.Memories {
		if change.Put != nil {
			m.memories[change.Put.ID] = *change.Put
			continue
		}
		if x := m.memories[change.Delete]; x.SessionID == "" || x.SessionID == c.Session.ID {
			delete(m.memories, change.Delete)
		}
	}
}

// forget deletes some memory as one of user scope.
func (m *model) forget(rt *rapid.T) {
	if len(m.memories) == 0 {
		rt.Skip("no memory yet")
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.memories))).Draw(rt, "memory")
	err := m.b.DeleteMemory(rt.Context(), m.b.owner, id, at(m.clock), nil)
	if m.memories[id].SessionID != "" {
		if !errors.Is(err, store.ErrNotFound) {
			rt.Fatalf("delete a session's memory: %v", err)
		}
		return
	}
	if err != nil {
		rt.Fatalf("delete memory: %v", err)
	}
	delete(m.memories, id)
}

func (m *model) agreeOnMemories(ctx context.Context, rt *rapid.T, r store.Ref) {
	var want []store.Memory
	for _, x := range m.memories {
		if x.SessionID == r.ID {
			want = append(want, x)
		}
	}
	slices.SortFunc(want, newerFirst)
	got, err := m.b.ListMemories(ctx, store.MemoryQuery{Ref: r, Limit: 1000})
	m.same(rt, "memories", want, got, err)
}
