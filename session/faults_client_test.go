package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sessiond/compaction"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
)

// Faults that users and clients would see, under their numbers in docs/compaction.md.

// What the user asked for first is in every request, word for word, through five
// compactions.
func TestB69TheUsersWordsOutliveCompactions(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		const want = "The port must be 8081."
		ref := w.create()
		w.completed(ref, want)
		for range 5 {
			w.talk(ref, 6, 250)
			w.mustCompact(ref)
		}
		w.completed(ref, "next")
		chats, _ := w.requests()
		for i, req := range chats {
			if !strings.Contains(rendered(req), want) {
				t.Errorf("request %d does not hold it", i)
			}
		}
		if all := w.compactions(ref); len(all) < 5 {
			t.Errorf("%d compactions", len(all))
		}
	})
}

// A stop is an exact no-op: the compaction before is in force as it was.
func TestB87AStoppedCompactionChangesNothing(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.conversed()
		w.mustCompact(ref)
		w.talk(ref, 8, 200)
		before, log := w.context(ref), w.log(ref)
		c.note(llmtest.Hang())
		a := w.ask(ref, asked, session.Idempotency{})
		w.stop(ref, "", false)
		a.wantOutcome(t, compaction.OutcomeAborted, compaction.ReasonCancelled)
		if diff := cmp.Diff(before, w.context(ref)); diff != "" {
			t.Errorf("the context changed:\n%s", diff)
		}
		after := w.log(ref)
		if len(after) != len(log)+1 || !slices.EqualFunc(log, after[:len(log)], func(a, b *session.Event) bool { return lineOf(a) == lineOf(b) }) {
			t.Errorf("%d entries became %d", len(log), len(after))
		}
		w.restart()
		if diff := cmp.Diff(before, w.context(ref)); diff != "" {
			t.Errorf("after a restart the context changed:\n%s", diff)
		}
	})
}

// Every way in which a compaction can end is told as what it is, with sizes.
func TestB92EveryOutcomeIsTold(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.conversed()
		c.note(llmtest.Text(""), llmtest.Hang())
		want := func(r *session.Compaction, err error, outcome compaction.Outcome) {
			t.Helper()
			smaller := r.TokensAfter < r.TokensBefore
			if err != nil || r.Outcome != outcome || r.TokensBefore == 0 || smaller != outcome.Commits() || r.Trigger != compaction.TriggerManual {
				t.Errorf("%+v, %v; want %s", r, err, outcome)
			}
		}
		r, err := w.compact(ref, asked)
		want(r, err, compaction.OutcomeFailed)
		a := w.ask(ref, asked, session.Idempotency{})
		w.stop(ref, "", false)
		want(a.result.Value, a.err, compaction.OutcomeAborted)
		r, err = w.compact(ref, asked)
		want(r, err, compaction.OutcomeApplied)
		r, err = w.compact(ref, asked)
		want(r, err, compaction.OutcomeNoop)
		c.summary = llmtest.Text("")
		for i := 0; len(w.compactions(ref)) < 5; i++ {
			w.completed(ref, words(fmt.Sprint("more ", i), 400))
		}
		all := w.compactions(ref)
		if got := outcomes(all); !slices.Equal(got, []string{"failed summariser_empty", "aborted cancelled", "applied", "failed summariser_empty", "degraded"}) {
			t.Errorf("the log tells of %q", got)
		}
		if last := all[4]; last.Trigger != compaction.TriggerAuto || last.Writer != compaction.WriterDigest || last.TokensAfter >= last.TokensBefore {
			t.Errorf("the digest is told as %+v", last)
		}
	})
}

// Who reconnects in the middle of everything, again and again, has the log in the end,
// each entry once.
func TestB93AReconnectingClientHasTheLog(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create(withTools("query"))
		var have []string
		connect := func() *recorder {
			rec := &recorder{}
			after := int64(len(have))
			page, err := w.m.Subscribe(t.Context(), ref, session.Where{After: &after}, rec)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Events {
				have = append(have, lineOf(e))
			}
			return rec
		}
		for i := range 8 {
			rec := connect()
			c.say(calls("query", "{}"))
			w.send(ref, words(fmt.Sprint("message ", i), 300))
			w.answerCalls(ref, func(session.PendingCall) string { return words("row", 300) })
			if err := w.m.Unsubscribe(t.Context(), ref, rec); err != nil {
				t.Fatal(err)
			}
			for _, e := range rec.all() {
				have = append(have, lineOf(e))
			}
			w.completed(ref, "unheard")
		}
		connect()
		var want []string
		for _, e := range w.log(ref) {
			want = append(want, lineOf(e))
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("the client has another log (-log +client):\n%s", diff)
		}
		if len(w.compactions(ref)) == 0 {
			t.Error("nothing was compacted meanwhile")
		}
	})
}

// A message that is sent again because its answer was lost is one message and one turn,
// also if a compaction came between.
func TestB94ARepeatedMessageIsOneMessage(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.conversed()
		key := session.Idempotency{Method: "v1.message.send", Key: "k", Fingerprint: [32]byte{1}}
		send := func(i session.Idempotency) (session.Replay[session.SendResult], error) {
			r, err := w.m.Send(t.Context(), ref, text("Pay the bill."), session.WhenBusyQueue, i)
			synctest.Wait()
			return r, err
		}
		first, err := send(key)
		if err != nil || first.Replayed {
			t.Fatalf("first: %+v, %v", first, err)
		}
		w.mustCompact(ref)
		w.restart()
		again, err := send(key)
		if err != nil || !again.Replayed || again.Value.MessageID != first.Value.MessageID {
			t.Errorf("again: %+v, %v", again, err)
		}
		other := key
		other.Fingerprint = [32]byte{2}
		_, err = send(other)
		wantKind(t, "another body", err, session.KindIdempotencyConflict)
		n := 0
		for _, m := range w.messagesBy(ref, message.RoleUser) {
			if m.PlainText() == "Pay the bill." {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the log has the message %d times", n)
		}
	})
}
