package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"sessiond/store"
)

// Reopener returns a function that opens the same data again and again. The suite
// closes one store before it opens the next.
type Reopener func(t *testing.T) func() store.Store

// RunReopen checks that everything is there after the store was closed and opened.
func RunReopen(t *testing.T, newTarget Reopener) {
	t.Helper()
	t.Run("finds everything", func(t *testing.T) {
		open := newTarget(t)
		reopenFindsAll(newBench(t, open()), open)
	})
	t.Run("finds what was answered before Close", func(t *testing.T) {
		open := newTarget(t)
		reopenFindsAnswered(newBench(t, open()), open)
	})
}

func reopenFindsAll(b *bench, open func() store.Store) {
	c := b.create(2)
	c.Turns = []store.Turn{running(turn(c))}
	c.Keys = []store.KeyRecord{key(c, "k")}
	own, mine := memory(c), b.userMemory()
	c.Memories = []store.MemoryChange{{Put: &own}, {Put: &mine}}
	b.mustCreate(c)
	next := follow(c, 3)
	next.Turns = []store.Turn{ended(c.Turns[0], store.TurnCompleted), turn(next)}
	b.mustCommit(next)
	b.index(store.SearchText{Ref: ref(c), Seq: 2, Role: "user", Text: "Found again"})
	gone := b.mustCreate(b.create(1))
	b.mustDelete(ref(gone), true)
	ticket := b.putTicket(at(10))
	limit := b.limit("a", "m", 8_192)
	b.learn(limit)
	before := b.look(ref(c))
	b.mustClose()

	again := &bench{T: b.T, Store: open(), owner: b.owner}
	b.diff("session", before, again.look(ref(c)))
	again.wantKey(c.Keys[0], 0)
	again.wantHits("found", ref(c), 2)
	again.diff("memories of the owner", []store.Memory{mine}, again.userMemories())
	again.mustDelete(ref(gone), false)
	got, err := again.TakeTicket(b.Context(), ticket.Hash, at(0))
	if err != nil {
		b.Fatalf("TakeTicket: %v", err)
	}
	b.diff("ticket", ticket, got)
	b.diff("limits", []store.LearnedLimit{limit}, again.limits())
	again.mustCommit(follow(next, 1))
	again.mustClose()
}

// reopenFindsAnswered closes a store that is being written to: what a caller was told
// is stored must be there, and what it was told is not must not.
func reopenFindsAnswered(b *bench, open func() store.Store) {
	last := make([]*store.Commit, 8)
	var started, over sync.WaitGroup
	for i := range last {
		started.Add(1)
		over.Go(func() {
			c := b.create(1)
			err := b.Create(b.Context(), c)
			started.Done()
			for err == nil {
				last[i] = c
				c = follow(c, 2)
				c.Session.Title = fmt.Sprint("head ", c.Session.HeadSeq)
				err = b.Commit(b.Context(), c)
			}
			if !errors.Is(err, store.ErrClosed) {
				b.Errorf("Commit: %v", err)
			}
		})
	}
	started.Wait()
	b.mustClose()
	over.Wait()

	again := &bench{T: b.T, Store: open(), owner: b.owner}
	for i, c := range last {
		if c == nil {
			b.Errorf("caller %d was never answered", i)
			continue
		}
		img := again.look(ref(c))
		b.diff("title", c.Session.Title, img.Session.Title)
		b.diff("number of entries", c.Session.HeadSeq, int64(len(img.Entries)))
	}
	again.mustClose()
}

func (b *bench) mustClose() {
	b.Helper()
	if err := b.Close(); err != nil {
		b.Fatalf("Close: %v", err)
	}
}
