package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"sessiond/llm/llmtest"
	"sessiond/session"
	"sessiond/store"
)

// results are what the tools of a session returned, in order.
func (w *world) results(ref store.Ref) []string {
	w.t.Helper()
	synctest.Wait()
	var results []string
	for _, e := range w.log(ref) {
		if e.Kind == session.EntryToolResolved {
			results = append(results, string(e.Data))
		}
	}
	return results
}

// search lets the model look for something and returns what it is told.
func (w *world) search(c *clerk, ref store.Ref, query string) string {
	w.t.Helper()
	c.say(calls("history_search", fmt.Sprintf(`{"query":%q}`, query)), says("found"))
	w.send(ref, "search")
	found := w.results(ref)
	return found[len(found)-1]
}

// compacted talks until something has left the view.
func (w *world) compacted(ref store.Ref, name string) {
	w.t.Helper()
	for before, i := len(w.compactions(ref)), 0; len(w.compactions(ref)) == before; i++ {
		if i == 60 {
			w.t.Fatal("nothing was compacted")
		}
		w.send(ref, words(fmt.Sprint(name, " ", i), 600))
	}
}

// However much in view has the words, it does not hide what left.
func TestHistorySearchLooksBehindWhatIsInView(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		ref := w.create()
		w.send(ref, "the NEEDLE is 4711")
		w.compacted(ref, "message")
		for i := range 45 {
			w.send(ref, fmt.Sprint("short needle ", i))
		}
		if got := w.search(c, ref, "needle"); !strings.Contains(got, "is 4711") || strings.Contains(got, "short needle") {
			w.t.Errorf("found %s", got)
		}
	})
}

// Calls and results of searches are not found by searches.
func TestSearchesDoNotFindEachOther(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		w.send(ref, "the needle is 4711")
		w.compacted(ref, "message")
		first := w.search(c, ref, "needle")
		for range 4 {
			c.say(calls("memory_search", `{"query":"needle"}`), says("nothing"))
			w.send(ref, "look elsewhere")
			w.compacted(ref, "message")
			if got := withoutID(w.search(c, ref, "needle")); got != withoutID(first) {
				t.Fatalf("found %s\nat first %s", got, first)
			}
		}
		// What stands beside a search is found.
		c.say(counted(llmtest.Calls("a thimble", llmtest.Call{Name: "history_search", Input: `{"query":"needle"}`})), says("found"))
		w.send(ref, "again")
		w.compacted(ref, "message")
		if got := w.search(c, ref, "thimble"); !strings.Contains(got, "a thimble") || strings.Contains(got, "needle") {
			t.Errorf("found %s", got)
		}
	}, withMemory)
}

// withoutID is an event without what names the call.
func withoutID(data string) string {
	_, rest, _ := strings.Cut(data, `"by":`)
	return rest
}

// The index may stop between a call and its result: both are left out all the same.
func TestResultsOfSearchesAreKnownByTheirCalls(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create(withTools("read"))
		w.send(ref, "the needle is 4711")
		w.compacted(ref, "message")
		c.say(counted(llmtest.Calls("", llmtest.Call{Name: "read"}, llmtest.Call{Name: "history_search", Input: `{"query":"needle"}`})), says("found"))
		w.send(ref, "both")
		for _, e := range w.log(ref) { // as if all had been indexed when the search began
			if e.Kind == session.EntryToolCalled {
				if err := w.mem.IndexText(t.Context(), []store.SearchText{{Ref: ref, Seq: e.Seq}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.submit(ref, w.pending(ref)["read"].ToolUseID, "a needle in a file")
		w.compacted(ref, "message")
		got := w.search(c, ref, "needle")
		if n := strings.Count(got, "is 4711"); n != 1 || !strings.Contains(got, "in a file") {
			t.Errorf("the message is found %d times: %s", n, got)
		}
	})
}

// A message that waits for its turn is no part of the conversation yet, and one that was
// dropped never was.
func TestHistorySearchDoesNotRevealWhatWaits(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create(withTools("read"))
		for i := range 6 {
			w.send(ref, words(fmt.Sprint("message ", i), 400))
		}
		for range 8 {
			c.say(calls("read", `{}`))
		}
		c.say(calls("history_search", `{"query":"SECRETQUEUED"}`), says("ok"))
		w.send(ref, "go")
		w.sendBusy(ref, "SECRETQUEUED words that are dropped", session.WhenBusyQueue)
		queued := w.sendBusy(ref, "SECRETQUEUED words that wait", session.WhenBusyQueue)
		dropped := slices.IndexFunc(w.log(ref), func(e *session.Event) bool {
			return e.Kind == session.EntryMessageQueued && strings.Contains(string(e.Data), "are dropped")
		})
		w.stop(ref, w.log(ref)[dropped].TurnID, false)
		w.answerCalls(ref, func(session.PendingCall) string { return words("row", 600) })
		results := w.results(ref)
		if got := results[len(results)-1]; len(w.compactions(ref)) == 0 || !strings.Contains(got, "No message") {
			t.Errorf("%d compactions; found %s", len(w.compactions(ref)), got)
		}
		if w.turn(ref, queued.TurnID).Status != store.TurnCompleted {
			t.Fatal("the turn of the message that waited did not come")
		}
		w.compacted(ref, "message")
		if got := w.search(c, ref, "SECRETQUEUED"); !strings.Contains(got, "that wait") || strings.Contains(got, "are dropped") {
			t.Errorf("once it has come and gone: %s", got)
		}
	})
}

// What the model was told of the owner's memories does not become a memory of the session.
func TestExtractionDoesNotSeeWhatWasRecalled(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		k := w.keeper(c)
		ref := w.create()
		if _, err := w.m.CreateMemory(t.Context(), session.MemoryOfUser, store.Ref{Owner: alice}, remember("context", "Tea", "USERSECRET likes tea"), session.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		c.answer(says(words("answer", 150)))
		c.say(calls("memory_search", `{"query":""}`), says("ok"))
		w.send(ref, "search")
		for i := 0; len(k.calls()) == 0; i++ {
			if i == 40 {
				t.Fatal("nothing was extracted")
			}
			w.send(ref, words(fmt.Sprint("message ", i), 150))
		}
		prompt := k.calls()[0].Messages[0].PlainText()
		if strings.Contains(prompt, "USERSECRET") || !strings.Contains(prompt, "result of memory_search") {
			t.Errorf("the extraction reads:\n%s", prompt)
		}
	}, withMemory)
}
