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
	t.Run("Reopen", func(t *testing.T) {
		t.Run("finds everything", func(t *testing.T) { reopenFindsAll(t, newTarget(t)) })
		t.Run("finds what was answered before Close", func(t *testing.T) { reopenFindsAnswered(t, newTarget(t)) })
	})
}

func reopenFindsAll(t *testing.T, open func() store.Store) {
	t.Helper()
	b := newBench(t, open())
	c := b.create(2)
	c.Turns = []store.Turn{running(turn(c))}
	c.Keys = []store.KeyRecord{key(c, "k")}
	b.mustCreate(t, c)
	next := follow(c, 3)
	next.Turns = []store.Turn{ended(c.Turns[0], store.TurnCompleted), turn(next)}
	b.mustCommit(t, next)
	gone := b.mustCreate(t, b.create(1))
	b.mustDelete(t, ref(gone), true)
	ticket := b.putTicket(t, at(10))
	before := b.look(t, ref(c))
	b.mustClose(t)

	again := &bench{Store: open(), owner: b.owner}
	diff(t, "session", before, again.look(t, ref(c)))
	again.wantKey(t, c.Keys[0], 0)
	again.mustDelete(t, ref(gone), false)
	got, err := again.TakeTicket(t.Context(), ticket.Hash, at(0))
	if err != nil {
		t.Fatalf("TakeTicket: %v", err)
	}
	diff(t, "ticket", ticket, got)
	again.mustCommit(t, follow(next, 1))
	again.mustClose(t)
}

// reopenFindsAnswered closes a store that is being written to: what a caller was told
// is stored must be there, and what it was told is not must not.
func reopenFindsAnswered(t *testing.T, open func() store.Store) {
	t.Helper()
	b := newBench(t, open())
	last := make([]*store.Commit, 8)
	var started, over sync.WaitGroup
	for i := range last {
		started.Add(1)
		over.Go(func() {
			c := b.create(1)
			err := b.Create(t.Context(), c)
			started.Done()
			for err == nil {
				last[i] = c
				c = follow(c, 2)
				c.Session.Title = fmt.Sprint("head ", c.Session.HeadSeq)
				err = b.Commit(t.Context(), c)
			}
			if !errors.Is(err, store.ErrClosed) {
				t.Errorf("Commit: %v", err)
			}
		})
	}
	started.Wait()
	b.mustClose(t)
	over.Wait()

	again := &bench{Store: open(), owner: b.owner}
	for i, c := range last {
		if c == nil {
			t.Errorf("caller %d was never answered", i)
			continue
		}
		img := again.look(t, ref(c))
		diff(t, "title", c.Session.Title, img.Session.Title)
		diff(t, "number of entries", c.Session.HeadSeq, int64(len(img.Entries)))
	}
	again.mustClose(t)
}

func (b *bench) mustClose(t *testing.T) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}
