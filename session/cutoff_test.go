package session_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest"
	"sessiond/session"
	"sessiond/store"
)

// Killed between a refusal at level 2 and the request that follows it, a session goes on
// at level 2 with that request.
func TestAKillBetweenARefusalAndTheRetry(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		w.talk(ref, 16, 500)
		refuse := llmtest.Fail(llmtest.Overflow(30_000))
		c.say(refuse, refuse, llmtest.Hang(), says("at last"))
		sent := w.send(ref, "next")
		chats, _ := w.requests()
		w.wantLevel(ref, 2)
		w.crash()
		after, _ := w.requests()
		if len(after) != len(chats)+1 || rendered(after[len(after)-1]) != rendered(chats[len(chats)-1]) {
			t.Error("the request after the kill is another one")
		}
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
			t.Errorf("the turn ended as %s (%+v)", turn.Status, turn.Error)
		}
		w.wantLevel(ref, 0)
	})
}

// A compaction that somebody asked for and that a kill cut off is told of as aborted, once;
// nothing has changed, and it can be asked for again.
func TestB89AManualCompactionIsCutOffByAKill(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.note(llmtest.Hang())
		ref := w.conversed()
		view := w.shown(ref, true)
		a := w.ask(ref, asked, session.Idempotency{})
		w.crash()
		if !a.done || a.err == nil {
			t.Errorf("who asked was told %+v", a)
		}
		check := func(when string) {
			t.Helper()
			if got := outcomes(w.compactions(ref)); !slices.Equal(got, []string{"aborted cancelled"}) {
				t.Errorf("%s the log tells of %q", when, got)
			}
			if diff := cmp.Diff(view, w.shown(ref, true)); diff != "" {
				t.Errorf("%s something else is shown:\n%s", when, diff)
			}
			if v := w.get(ref); v.Status != store.StatusIdle || v.Generation != 0 {
				t.Errorf("%s the session is %s, generation %d", when, v.Status, v.Generation)
			}
		}
		check("after the kill")
		w.crash()
		check("after another")
		w.mustCompact(ref)
		w.completed(ref, "and on")
	})
}

// An automatic compaction that a kill cut off is nothing to tell of: it is made again.
func TestB89AnAutomaticCompactionIsCutOffByAKill(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.note(llmtest.Hang())
		ref := w.create()
		var sent session.SendResult
		for i := 0; ; i++ {
			sent = w.send(ref, words(fmt.Sprint("message ", i), 300))
			if w.get(ref).Status != store.StatusIdle {
				break
			}
		}
		w.crash()
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
			t.Errorf("the turn ended as %s (%+v)", turn.Status, turn.Error)
		}
		if got := outcomes(w.compactions(ref)); !slices.Equal(got, []string{"applied"}) {
			t.Errorf("the log tells of %q", got)
		}
		_, summaries := w.requests()
		if len(summaries) != 2 || rendered(summaries[0]) != rendered(summaries[1]) {
			t.Errorf("%d summary calls, or they differ", len(summaries))
		}
	})
}
