package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/compaction"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

func (w *world) tryUndo(ref store.Ref) (*session.Compaction, error) {
	r, err := w.m.UndoCompact(w.t.Context(), ref, session.Idempotency{})
	return r.Value, err
}

func (w *world) undo(ref store.Ref) *session.Compaction {
	w.t.Helper()
	r, err := w.tryUndo(ref)
	if err != nil {
		w.t.Fatalf("undo: %v", err)
	}
	return r
}

// mustCompact compacts a session and wants it to be applied.
func (w *world) mustCompact(ref store.Ref) *session.Compaction {
	w.t.Helper()
	r, err := w.compact(ref, asked)
	if err != nil || r.Outcome != compaction.OutcomeApplied {
		w.t.Fatalf("the result is %+v, %v", r, err)
	}
	return r
}

// shown is what the model would be shown, as text, with or without thinking.
func (w *world) shown(ref store.Ref, thinking bool) []string {
	w.t.Helper()
	var out []string
	for _, m := range w.context(ref).View {
		for _, b := range m.Content {
			if _, ok := b.(message.Thinking); ok && !thinking {
				continue
			}
			out = append(out, string(m.Role)+" "+string(message.AppendBlocks(nil, []message.Block{b}, message.Form{})))
		}
	}
	return out
}

// thinking has all answers begin with a thought.
func thinking(step llmtest.Step) llmtest.Step { return llmtest.Thinking("hm").Then(step) }

// An undo shows the model again what it was shown before the compaction, byte for byte but
// for the thinking, with what came since; again, what it was shown before the one before.
func TestUndoGoesBackStepByStep(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		c.answer(thinking(says("ok")))
		ref := w.create(withTools("read"), func(s *session.Settings) { s.AgentPrompt = "rules" })
		var views [][]string
		for range 3 {
			c.say(thinking(calls("read", `{"path":"a"}`)))
			w.send(ref, "Read it.")
			w.answerCalls(ref, func(session.PendingCall) string { return words("content", 200) })
			w.talk(ref, 6, 700)
			views = append(views, w.shown(ref, false))
			w.mustCompact(ref)
		}
		w.completed(ref, "since then")
		last := len(w.shown(ref, false))
		for i := 2; i >= 0; i-- {
			before := w.get(ref)
			r := w.undo(ref)
			if r.Outcome != compaction.OutcomeApplied || r.Generation != before.Generation+1 || r.TokensBefore != before.Gauge.ContextTokens {
				t.Errorf("undo %d: %+v", i, r)
			}
			got := w.shown(ref, true)
			if at := firstDifference(views[i], got); at >= 0 {
				t.Fatalf("undo %d shows something else at block %d", i, at)
			}
			if tail := got[len(got)-2]; !strings.Contains(tail, "since then") {
				t.Errorf("undo %d shows %q last", i, tail)
			}
			if info := w.context(ref); info.ContextTokens != r.TokensAfter || info.Generation != r.Generation || info.BoundarySeq != r.BoundarySeq {
				t.Errorf("undo %d says %+v, the context %+v", i, r, info.Figures)
			}
			w.restart()
			if diff := cmp.Diff(got, w.shown(ref, true)); diff != "" {
				t.Errorf("after a restart undo %d shows something else:\n%s", i, diff)
			}
		}
		if got := len(w.shown(ref, false)); got < last {
			t.Errorf("%d blocks are shown", got)
		}
		undone := w.entries(ref, session.EntryCompactionUndone)
		if len(undone) != 3 {
			t.Fatalf("%d entries", len(undone))
		}
		head := w.get(ref).HeadSeq
		r := w.undo(ref)
		if r.Outcome != compaction.OutcomeNoop || r.Reason != compaction.ReasonNothingToCompact || w.get(ref).HeadSeq != head {
			t.Errorf("with nothing to undo: %+v", r)
		}
		w.completed(ref, "and on")
		chats, _ := w.requests()
		if got := blocksOf(chats[len(chats)-1])[3:]; firstDifference(views[0], got) >= 0 {
			t.Error("the next request does not begin with what was shown before all compactions")
		}
	})
}

// What was cleared after a compaction comes back with it.
func TestUndoEndsTheClearingsSince(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create(withTools("read"))
		w.talk(ref, 6, 700)
		w.mustCompact(ref)
		for i := range 8 {
			c.say(calls("read", fmt.Sprintf(`{"path":"f%d"}`, i)))
		}
		w.send(ref, "Read them.")
		w.answerCalls(ref, func(p session.PendingCall) string { return words("content of "+string(p.Input), 100) })
		w.pass(61 * time.Minute)
		w.completed(ref, "next")
		if got := len(w.context(ref).Cleared); got != 3 {
			t.Fatalf("%d results are cleared", got)
		}
		w.undo(ref)
		if info := w.context(ref); len(info.Cleared) != 0 {
			t.Errorf("still cleared: %v", info.Cleared)
		}
		if got := strings.Join(w.shown(ref, true), "\n"); strings.Count(got, "content of") != 8 || strings.Contains(got, "cleared to save room") {
			t.Error("not all results are shown again")
		}
	})
}

func TestUndoIsRefusedWhileBusy(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.conversed(withTools("read"))
		w.mustCompact(ref)
		refused := func(when string) {
			t.Helper()
			_, err := w.tryUndo(ref)
			wantKind(t, when, err, session.KindBusy)
		}
		c.say(calls("read", "{}"))
		w.send(ref, "Read.")
		refused("while a turn waits for a tool")
		w.stop(ref, "", false)
		w.talk(ref, 6, 100)
		c.note(llmtest.Hang())
		a := w.ask(ref, asked, session.Idempotency{})
		refused("while a compaction runs")
		w.stop(ref, "", false)
		a.wantOutcome(t, compaction.OutcomeAborted, compaction.ReasonCancelled)
		if r := w.undo(ref); r.Outcome != compaction.OutcomeApplied {
			t.Errorf("once idle: %+v", r)
		}
	})
}

// An undo whose view would be over edge is refused, and changes nothing.
func TestUndoOfWhatIsTooLargeByNow(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		for i := 0; w.get(ref).Generation == 0; i++ {
			w.completed(ref, words(fmt.Sprint("message ", i), 300))
		}
		for i := 0; w.get(ref).Gauge.ContextTokens < w.context(ref).Threshold-300; i++ {
			w.completed(ref, words(fmt.Sprint("more ", i), 300))
		}
		before, head := w.context(ref), w.get(ref).HeadSeq
		limit := int64(5_000) // and so is the edge
		buffer := int64(2_000)
		w.change(ref, session.Update{Limits: &session.Limits{ContextTokensLimit: &limit, AutoCompactBufferTokens: &buffer}})
		_, err := w.tryUndo(ref)
		wantKind(t, "undo", err, session.KindContextOverflow)
		edge := w.context(ref).Edge
		if e := (*session.Error)(nil); errors.As(err, &e) && (e.Data["limit"] != edge || e.Data["tokens"].(int) <= edge) {
			t.Errorf("the error says %v, the edge is %d", e.Data, edge)
		}
		after := w.context(ref)
		if diff := cmp.Diff(before.View, after.View); diff != "" || after.Generation != before.Generation || w.get(ref).HeadSeq != head+1 {
			t.Errorf("a refused undo changed something:\n%s", diff)
		}
	})
}

// After an undo automatic compaction waits until the context has grown by a quarter of the
// headroom, or is over high.
func TestAutomaticCompactionWaitsAfterAnUndo(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		for i := 0; w.get(ref).Generation == 0; i++ {
			w.completed(ref, words(fmt.Sprint("message ", i), 100))
		}
		w.undo(ref)
		info := w.context(ref)
		if info.ContextTokens < info.Threshold {
			t.Fatalf("%d tokens are below the threshold of %d", info.ContextTokens, info.Threshold)
		}
		from := info.ContextTokens
		for i := 0; w.get(ref).Generation == 2; i++ {
			if grown := w.context(ref).ContextTokens - from; grown > info.Headroom/4+200 {
				t.Fatalf("no compaction after a growth of %d, headroom %d", grown, info.Headroom)
			}
			w.completed(ref, words(fmt.Sprint("later ", i), 100))
		}
		all := w.compactions(ref)
		if grown := all[len(all)-1].TokensBefore - from; grown < info.Headroom/4 {
			t.Errorf("compacted after a growth of %d, headroom %d", grown, info.Headroom)
		}
	})
}

func TestUndoUnderAKey(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.conversed()
		w.mustCompact(ref)
		i := session.Idempotency{Method: "v1.session.undo_compact", Key: "k"}
		first, err := w.m.UndoCompact(t.Context(), ref, i)
		if err != nil || first.Replayed || first.Value.Outcome != compaction.OutcomeApplied {
			t.Fatalf("first: %+v, %v", first, err)
		}
		w.mustCompact(ref)
		again, err := w.m.UndoCompact(t.Context(), ref, i)
		if err != nil || !again.Replayed || w.get(ref).Generation != 3 {
			t.Errorf("again: %+v, %v, generation %d", again, err, w.get(ref).Generation)
		}
		if diff := cmp.Diff(first.Value, again.Value); diff != "" {
			t.Errorf("the replay tells something else:\n%s", diff)
		}
	})
}
