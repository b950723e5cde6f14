package session_test

import (
	"fmt"
	"testing"

	"sessiond/compaction"
	"sessiond/session"
)

// An update that does not say from what it was learned stands where it was saved: its news
// is not shown beside the messages that tell it.
func TestAnUpdateWithoutSourcesIsNotRepeated(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		k := w.keeper(c)
		ref := w.create()
		c.answer(says(words("answer", 150)))
		saved := func(content string) (session.Memory, bool) {
			for _, m := range w.memories(ref, session.MemoryOfSession) {
				if m.Content == content {
					return m, true
				}
			}
			return session.Memory{}, false
		}
		shown := func() int {
			reqs := w.chats()
			return shownIn(reqs[len(reqs)-1], "FRESHNEWS")
		}
		send := func(until func() bool) {
			t.Helper()
			for i := 0; !until(); i++ {
				if i == 60 {
					t.Fatal("it does not come to that")
				}
				w.send(ref, words(fmt.Sprint("message ", i), 150))
			}
		}
		k.answer(says(operations(compaction.MemoryOp{Op: compaction.MemoryAdd, Category: compaction.MemoryProgress, Title: "State", Content: "OLDNEWS", Seqs: []int64{2}})))
		send(func() bool { _, ok := saved("OLDNEWS"); return ok && len(w.compactions(ref)) > 0 })
		old, _ := saved("OLDNEWS")
		k.answer(says(operations(compaction.MemoryOp{Op: compaction.MemoryUpdate, ID: string(old.ID), Content: "FRESHNEWS"})))
		send(func() bool { _, ok := saved("FRESHNEWS"); return ok })
		compacted := len(w.compactions(ref))
		w.send(ref, "next")
		if len(w.compactions(ref)) > compacted {
			t.Fatal("the next message was to come before the next compaction")
		}
		if n := shown(); n != 0 {
			t.Errorf("the news is shown %d times beside what it was learned from", n)
		}
		send(func() bool { return len(w.compactions(ref)) > compacted })
		w.send(ref, "next")
		if n := shown(); n == 0 {
			t.Error("the news is not shown once its messages have left")
		}
	}, withMemory)
}

// What is extracted takes no place from what others wrote.
func TestExtractionHeedsTheBoundOfASession(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		k := w.keeper(c)
		ref := w.create()
		for i := range session.MaxSessionMemories {
			if _, err := w.m.CreateMemory(t.Context(), session.MemoryOfSession, ref, remember(compaction.MemoryContext, fmt.Sprint("T", i), "x"), session.Idempotency{}); err != nil {
				t.Fatal(err)
			}
		}
		c.answer(says(words("answer", 150)))
		for i := 0; len(k.calls()) == 0; i++ {
			if i == 40 {
				t.Fatal("nothing was extracted")
			}
			w.send(ref, words(fmt.Sprint("message ", i), 150))
		}
		if got := len(w.memories(ref, session.MemoryOfSession)); got != session.MaxSessionMemories {
			t.Errorf("there are %d memories", got)
		}
	}, withMemory)
}
