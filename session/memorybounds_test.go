package session_test

import (
	"fmt"
	"testing"

	"sessiond/session"
)

// A reading of the owner's memories that failed is made again with the next round.
func TestTheOwnersMemoriesAreReadAgain(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		ref := w.create()
		critical, in := session.ImportanceCritical, remember("learning", "Likes", "tea with milk")
		in.Importance = &critical
		if _, err := w.m.CreateMemory(w.t.Context(), session.MemoryOfUser, ref, in, session.Idempotency{}); err != nil {
			w.t.Fatal(err)
		}
		w.life.lists.Store(1)
		w.send(ref, "one")
		w.send(ref, "two")
		chats := w.chats()
		if a, b := shownIn(chats[0], "tea with milk"), shownIn(chats[1], "tea with milk"); a != 0 || b != 1 {
			w.t.Errorf("shown %d times while it can't be read, then %d times", a, b)
		}
	})
}

// What a session keeps in its row does not grow with the memories that are gone.
func TestDeletedMemoriesLeaveNothingInTheRow(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		ref := w.create()
		size := func() int {
			row, err := w.mem.Session(w.t.Context(), ref)
			if err != nil {
				w.t.Fatal(err)
			}
			return len(row.State)
		}
		come := func(n int) {
			made, err := w.m.CreateMemory(w.t.Context(), session.MemoryOfSession, ref, remember("issue", fmt.Sprint("Issue ", n), "open"), session.Idempotency{})
			if err != nil {
				w.t.Fatal(err)
			}
			w.send(ref, words("go on", 300))
			if _, err := w.m.DeleteMemory(w.t.Context(), alice, made.Value.ID, session.Idempotency{}); err != nil {
				w.t.Fatal(err)
			}
			w.send(ref, words("go on", 300))
		}
		for n := range 5 {
			come(n)
		}
		w.mustCompact(ref)
		come(5)
		before := size()
		for n := range 40 {
			come(6 + n)
		}
		w.mustCompact(ref)
		come(46)
		if after := size(); after > before+200 {
			w.t.Errorf("the row's state grew from %d to %d bytes", before, after)
		}
	})
}
