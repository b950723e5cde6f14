package session_test

import (
	"strings"
	"testing"

	"sessiond/compaction"
	"sessiond/session"
)

// The deletion of each memory that a summary was written from is told, not only of those
// that are attached to it.
func TestDeletionOfWhatASummaryWasWrittenFromIsTold(t *testing.T) {
	withClerk(t, 12_000, func(w *world, c *clerk) {
		k := w.keeper(c)
		k.answer(facts(9, 10, 2))
		ref := w.create()
		made, next := extractedThenCompacted(w, c, k, ref, nil)
		if made.Writer != compaction.WriterMemory {
			w.t.Fatalf("%s wrote the summary", made.Writer)
		}
		var gone []string
		for _, m := range w.memories(ref, session.MemoryOfSession) {
			if !strings.HasPrefix(m.Title, "Fact-") || !strings.Contains(next, m.Title) {
				continue
			}
			if _, err := w.m.DeleteMemory(w.t.Context(), alice, m.ID, session.Idempotency{}); err != nil {
				w.t.Fatal(err)
			}
			gone = append(gone, m.Title)
		}
		if len(gone) < 9 {
			w.t.Fatalf("the summary tells only of %q", gone)
		}
		w.send(ref, "after")
		for _, title := range gone {
			if n := shownIn(w.lastChat(), "This memory was deleted: "+title); n != 1 {
				w.t.Errorf("the deletion of %s is told %d times", title, n)
			}
		}
	}, withMemory)
}
