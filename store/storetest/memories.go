package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"sessiond/message"
	"sessiond/store"
)

var memoryRules = []rule{
	{"of a session change with its commits", sessionMemories},
	{"of a session come with its creation", func(b *bench) {
		c := b.create(3)
		m := memory(c)
		c.Memories = []store.MemoryChange{{Put: &m}}
		b.mustCreate(c)
		b.diff("memories", []store.Memory{m}, b.memories(ref(c)))
		b.wantMemory(m)
	}},
	{"of user scope change alone", func(b *bench) {
		m, other := b.userMemory(), b.userMemory()
		b.put(m)
		other.UpdatedAt = at(1)
		b.put(other)
		b.diff("memories", []store.Memory{other, m}, b.userMemories())

		m.Title, m.Content, m.Category, m.Importance = "Another", "said again", "issue", "low"
		m.Source, m.SourceSeqs, m.UpdatedAt = "client", nil, at(2)
		b.put(m)
		b.diff("memories", []store.Memory{m, other}, b.userMemories())
		b.wantMemory(m)

		b.forget(m.ID, nil)
		b.diff("memories", []store.Memory{other}, b.userMemories())
		b.forget(m.ID, store.ErrNotFound)
		b.put(m) // the last one wins, also over a deletion
		b.diff("memories", []store.Memory{m, other}, b.userMemories())
	}},
	{"of user scope change with commits too", func(b *bench) {
		c := b.mustCreate(b.create(1))
		m, own := b.userMemory(), memory(c)
		next := follow(c, 1)
		next.Memories = []store.MemoryChange{{Put: &m}, {Put: &own}}
		b.mustCommit(next)
		b.diff("memories of the owner", []store.Memory{m}, b.userMemories())
		b.diff("memories of the session", []store.Memory{own}, b.memories(ref(c)))

		b.mustDelete(ref(c), true)
		b.diff("memories of the owner", []store.Memory{m}, b.userMemories())
		_, err := b.Memory(b.Context(), b.owner, own.ID)
		b.wantErr("a memory of a deleted session", err, store.ErrNotFound)

		other := b.mustCreate(b.create(1))
		last := follow(other, 0)
		last.Memories = []store.MemoryChange{{Delete: m.ID}}
		b.mustCommit(last)
		b.diff("memories of the owner", []store.Memory(nil), b.userMemories())
	}},
	{"are left alone by a commit that fails", failedMemories},
	{"are refused where they do not belong", misplacedMemories},
	{"never change whose they are and when they were made", func(b *bench) {
		m := b.userMemory()
		b.put(m)
		again := m
		again.CreatedAt, again.UpdatedAt = at(99), at(1)
		b.put(again)
		again.CreatedAt = m.CreatedAt
		b.wantMemory(again)
	}},
	{"are the owner's only", func(b *bench) {
		c := b.create(1)
		own, m := memory(c), b.userMemory()
		c.Memories = []store.MemoryChange{{Put: &own}, {Put: &m}}
		b.mustCreate(c)
		stranger := &bench{T: b.T, Store: b.Store, owner: b.owner + "-other"}
		for _, id := range []message.MemoryID{own.ID, m.ID, message.NewMemoryID()} {
			_, err := b.Memory(b.Context(), stranger.owner, id)
			b.wantErr("Memory", err, store.ErrNotFound)
			stranger.forget(id, store.ErrNotFound)
		}
		b.diff("memories of another owner", []store.Memory(nil), stranger.userMemories())
		foreign := store.Ref{Owner: stranger.owner, ID: c.Session.ID}
		b.diff("memories of a foreign session", []store.Memory(nil), b.memories(foreign))

		// The same id is another memory there.
		theirs := stranger.userMemory()
		theirs.ID = m.ID
		stranger.put(theirs)
		stranger.wantMemory(theirs)
		b.wantMemory(m)
	}},
	{"are listed newest update first, page by page", pagesMemories},
	{"come back byte for byte", func(b *bench) {
		for _, text := range []string{"", " \t\r\n", "a\x00b", "記憶 👩‍👩‍👧 \u2028\ufeff\uffff", `\u0000 ' " $1 ?1 {}`} {
			m := b.userMemory()
			m.Title, m.Content = text, text+text
			b.put(m)
			b.wantMemory(m)
		}
	}},
	{"of user scope are put once for one key", keyedMemories},
	{"of user scope are deleted once for one key", keyedDeletions},
	{"of one owner are changed by many sessions at once", manyRemember},
}

// memory is one of the session of c, saved with c.
func memory(c *store.Commit) store.Memory {
	return store.Memory{
		ID: message.NewMemoryID(), Owner: c.Session.Owner, SessionID: c.Session.ID,
		Category: "decision", Importance: "high", Title: "A title", Content: "What was decided.",
		Source: "extraction", SourceSeqs: []int64{1, 1 << 40}, Seq: c.Session.HeadSeq,
		CreatedAt: c.Session.UpdatedAt, UpdatedAt: c.Session.UpdatedAt,
	}
}

// userMemory is one of user scope, not yet put.
func (b *bench) userMemory() store.Memory {
	m := memory(b.create(0))
	m.SessionID, m.Source = "", "model"
	return m
}

func (b *bench) put(m store.Memory) {
	b.Helper()
	if err := b.PutMemory(b.Context(), &m, nil); err != nil {
		b.Fatalf("PutMemory: %v", err)
	}
}

func (b *bench) forget(id message.MemoryID, want error) {
	b.Helper()
	if err := b.DeleteMemory(b.Context(), b.owner, id, at(1), nil); !errors.Is(err, want) {
		b.Errorf("DeleteMemory: error is %v, want %v", err, want)
	}
}

func (b *bench) memories(r store.Ref) []store.Memory {
	b.Helper()
	list, err := b.ListMemories(b.Context(), store.MemoryQuery{Ref: r, Limit: 1000})
	if err != nil {
		b.Fatalf("ListMemories: %v", err)
	}
	return list
}

func (b *bench) userMemories() []store.Memory {
	b.Helper()
	return b.memories(store.Ref{Owner: b.owner})
}

func (b *bench) wantMemory(want store.Memory) {
	b.Helper()
	got, err := b.Memory(b.Context(), want.Owner, want.ID)
	if err != nil {
		b.Fatalf("Memory: %v", err)
	}
	b.diff("memory", &want, got)
}

func sessionMemories(b *bench) {
	c := b.mustCreate(b.create(1))
	other := b.create(1)
	theirs := memory(other)
	other.Memories = []store.MemoryChange{{Put: &theirs}}
	b.mustCreate(other)

	one, two := memory(c), memory(c)
	two.SourceSeqs, two.UpdatedAt = nil, at(5)
	next := follow(c, 1)
	next.Memories = []store.MemoryChange{{Put: &one}, {Put: &two}}
	b.mustCommit(next)
	b.diff("memories", []store.Memory{two, one}, b.memories(ref(c)))

	one.Content, one.Seq, one.SourceSeqs, one.UpdatedAt = "merged", 7, []int64{3}, at(6)
	three := memory(c)
	last := follow(next, 0)
	last.Memories = []store.MemoryChange{{Put: &three}, {Delete: two.ID}, {Put: &one}, {Delete: message.NewMemoryID()}}
	b.mustCommit(last)
	b.diff("memories", []store.Memory{one, three}, b.memories(ref(c)))

	// Another session's memories are out of reach, and so are a session's alone.
	reach := follow(last, 0)
	reach.Memories = []store.MemoryChange{{Delete: theirs.ID}}
	b.mustCommit(reach)
	b.forget(theirs.ID, store.ErrNotFound)
	b.diff("memories of the other session", []store.Memory{theirs}, b.memories(ref(other)))
	b.diff("memories of the owner", []store.Memory(nil), b.userMemories())
	b.mustDelete(ref(c), true)
	b.diff("memories of a deleted session", []store.Memory(nil), b.memories(ref(c)))
	b.wantMemory(theirs)
}

func failedMemories(b *bench) {
	c := b.create(2)
	kept, mine := memory(c), b.userMemory()
	c.Memories = []store.MemoryChange{{Put: &kept}, {Put: &mine}}
	c.Turns = []store.Turn{running(turn(c))}
	c.Keys = []store.KeyRecord{key(c, "used")}
	b.mustCreate(c)
	spoilers := []struct {
		spoil func(c *store.Commit)
		want  error
	}{
		{func(c *store.Commit) { c.PrevHead, c.Session.HeadSeq, c.Entries = 0, 0, nil }, store.ErrConflict},
		{func(c *store.Commit) { c.Turns = []store.Turn{running(turn(c))} }, store.ErrConflict},
		{func(c *store.Commit) { c.Keys = []store.KeyRecord{key(c, "used")} }, store.ErrKeyExists},
		{func(c *store.Commit) { c.Entries[1].MessageID = c.Entries[0].MessageID }, nil},
	}
	for _, s := range spoilers {
		bad := follow(c, 2)
		changed, fresh := kept, memory(bad)
		changed.Content = "never seen"
		bad.Memories = []store.MemoryChange{{Put: &changed}, {Delete: mine.ID}, {Put: &fresh}}
		s.spoil(bad)
		b.unchanged(ref(c), nil, s.want, func() error { return b.Commit(b.Context(), bad) })
		b.diff("memories of the owner", []store.Memory{mine}, b.userMemories())
	}
}

func misplacedMemories(b *bench) {
	c := b.create(1)
	other := b.create(1)
	theirs := memory(other)
	other.Memories = []store.MemoryChange{{Put: &theirs}}
	b.mustCreate(c)
	b.mustCreate(other)
	own, mine := memory(c), b.userMemory()
	changed := func(m store.Memory, change func(*store.Memory)) *store.Memory {
		change(&m)
		return &m
	}
	cases := map[string][]store.MemoryChange{
		"neither put nor deleted": {{}},
		"put and deleted at once": {{Put: &own, Delete: own.ID}},
		"put twice":               {{Put: &own}, {Put: &own}},
		"put and deleted":         {{Put: &own}, {Delete: own.ID}},
		"without an id":           {{Put: changed(own, func(m *store.Memory) { m.ID = "" })}},
		"of another session":      {{Put: changed(own, func(m *store.Memory) { m.SessionID = other.Session.ID })}},
		"of another owner":        {{Put: changed(mine, func(m *store.Memory) { m.Owner += "-other" })}},
		"with another's id":       {{Put: changed(own, func(m *store.Memory) { m.ID = theirs.ID })}},
		"of user scope with a session's id": {
			{Put: changed(mine, func(m *store.Memory) { m.ID = theirs.ID })},
		},
	}
	for name, changes := range cases {
		b.run(name, func(b *bench) {
			bad := follow(c, 1)
			bad.Memories = changes
			b.unchanged(ref(c), nil, nil, func() error { return b.Commit(b.Context(), bad) })
			b.wantMemory(theirs)
			b.diff("memories of the owner", []store.Memory(nil), b.userMemories())
		})
	}
	for name, m := range map[string]*store.Memory{
		"alone, of a session":        &own,
		"alone, without an owner":    changed(mine, func(m *store.Memory) { m.Owner = "" }),
		"alone, without an id":       changed(mine, func(m *store.Memory) { m.ID = "" }),
		"alone, with a session's id": changed(mine, func(m *store.Memory) { m.ID = theirs.ID }),
	} {
		b.run(name, func(b *bench) {
			b.wantErr("PutMemory", b.PutMemory(b.Context(), m, nil), nil)
			b.wantMemory(theirs)
		})
	}
}

func pagesMemories(b *bench) {
	c := b.create(0)
	var want []store.Memory
	for _, s := range []int{3, 1, 3, 2, 3, 0, 1} {
		m := memory(c)
		m.UpdatedAt = at(s)
		c.Memories = append(c.Memories, store.MemoryChange{Put: &m})
		want = append(want, m)
		mine := b.userMemory() // of another scope, and so in none of the pages
		mine.UpdatedAt = at(s)
		b.put(mine)
	}
	b.mustCreate(c)
	slices.SortFunc(want, newerFirst)
	for _, limit := range []int{1, 2, 3, 100} {
		var got []store.Memory
		q := store.MemoryQuery{Ref: ref(c), Limit: limit}
		for range len(want) + 1 {
			page, err := b.ListMemories(b.Context(), q)
			if err != nil {
				b.Fatal(err)
			}
			if len(page) > limit {
				b.Fatalf("page of %d with a limit of %d", len(page), limit)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			last := page[len(page)-1]
			q.BeforeUpdatedAt, q.BeforeID = last.UpdatedAt, last.ID
		}
		b.diff(fmt.Sprintf("memories by %d", limit), want, got)
	}
}

// newerFirst is the order of lists.
func newerFirst(x, y store.Memory) int {
	if c := y.UpdatedAt.Compare(x.UpdatedAt); c != 0 {
		return c
	}
	if x.ID > y.ID {
		return -1
	}
	return 1
}

func keyedMemories(b *bench) {
	k := key(b.create(0), "k")
	k.SessionID, k.ExpiresAt = "", at(10)
	m := b.userMemory()
	if err := b.PutMemory(b.Context(), &m, &k); err != nil {
		b.Fatalf("PutMemory: %v", err)
	}
	b.wantKey(k, 9)
	again := b.userMemory()
	again.UpdatedAt = at(9)
	b.wantErr("PutMemory again", b.PutMemory(b.Context(), &again, &k), store.ErrKeyExists)
	b.diff("memories", []store.Memory{m}, b.userMemories())

	again.UpdatedAt, k.ExpiresAt = at(10), at(20) // expired, and so as good as absent
	if err := b.PutMemory(b.Context(), &again, &k); err != nil {
		b.Fatalf("PutMemory: %v", err)
	}
	b.wantKey(k, 19)
	b.diff("memories", []store.Memory{again, m}, b.userMemories())
}

func keyedDeletions(b *bench) {
	k := key(b.create(0), "k")
	k.SessionID, k.ExpiresAt = "", at(10)
	one, two := b.userMemory(), b.userMemory()
	b.put(one)
	b.put(two)
	b.wantErr("DeleteMemory of none", b.DeleteMemory(b.Context(), b.owner, message.NewMemoryID(), at(1), &k), store.ErrNotFound)
	if _, err := b.Key(b.Context(), k.KeyScope, at(1)); !errors.Is(err, store.ErrNotFound) {
		b.Errorf("the key of a deletion that failed: %v", err)
	}
	if err := b.DeleteMemory(b.Context(), b.owner, one.ID, at(1), &k); err != nil {
		b.Errorf("DeleteMemory: %v", err)
	}
	b.wantKey(k, 9)
	b.wantErr("DeleteMemory again", b.DeleteMemory(b.Context(), b.owner, two.ID, at(9), &k), store.ErrKeyExists)
	b.diff("memories", []store.Memory{two}, b.userMemories())

	k.ExpiresAt = at(20)
	if err := b.DeleteMemory(b.Context(), b.owner, two.ID, at(10), &k); err != nil {
		b.Errorf("DeleteMemory later: %v", err)
	}
	b.wantKey(k, 19)
	b.diff("memories", []store.Memory(nil), b.userMemories())
}

// manyRemember lets sessions of one owner change the same memories in different
// orders, together and apart from their own. Each must have its way.
func manyRemember(b *bench) {
	shared := make([]store.Memory, 4)
	for i := range shared {
		shared[i] = b.userMemory()
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c := b.create(1)
			err := b.Create(b.Context(), c)
			for n := 0; n < 10 && err == nil; n++ {
				c = follow(c, 1)
				own := memory(c)
				c.Memories = []store.MemoryChange{{Put: &own}}
				for j := range shared {
					m := shared[(j*(1+2*(i%2))+i+n)%len(shared)]
					change := store.MemoryChange{Put: &m}
					if (i+j+n)%4 == 0 {
						change = store.MemoryChange{Delete: m.ID}
					}
					c.Memories = append(c.Memories, change)
				}
				if err = b.Commit(b.Context(), c); err == nil {
					err = b.PutMemory(b.Context(), &shared[i%len(shared)], nil)
				}
			}
			if err != nil {
				b.Errorf("caller %d: %v", i, err)
				return
			}
			if got := len(b.memories(ref(c))); got != 10 {
				b.Errorf("caller %d: %d memories of the session, want 10", i, got)
			}
		})
	}
	wg.Wait()
	if got := len(b.userMemories()); got == 0 || got > len(shared) {
		b.Errorf("%d memories of the owner", got)
	}
}
