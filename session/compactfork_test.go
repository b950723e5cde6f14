package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

func (w *world) fork(ref store.Ref, at int64) store.Ref {
	w.t.Helper()
	r, err := w.m.Fork(w.t.Context(), ref, at, nil, session.Idempotency{})
	if err != nil {
		w.t.Fatalf("fork at %d: %v", at, err)
	}
	return store.Ref{Owner: ref.Owner, ID: r.Value.ID}
}

// lived is a session with all that decides what is shown: compactions, a clearing, an
// undo, attachments of each kind, thinking.
func (w *world) lived(c *clerk) store.Ref {
	w.t.Helper()
	c.answer(thinking(says("ok")))
	ref := w.create(withTools("read"), func(s *session.Settings) { s.AgentPrompt = "rules" })
	c.say(calls("todo_write", `{"todos":[{"content":"paint the fence","status":"pending"}]}`), says("planned"))
	w.send(ref, "Plan.")
	w.talk(ref, 12, 700)
	w.mustCompact(ref)
	w.talk(ref, 5, 700)
	w.mustCompact(ref)
	w.undo(ref)
	for i := range 9 {
		c.say(thinking(calls("read", fmt.Sprintf(`{"path":"f%d"}`, i))))
	}
	w.send(ref, "Read them.")
	w.answerCalls(ref, func(p session.PendingCall) string { return words("content of "+string(p.Input), 100) })
	w.pass(61 * time.Minute)
	w.completed(ref, "next")
	if info := w.context(ref); info.Generation != 3 || len(info.Cleared) == 0 {
		w.t.Fatalf("the context is %+v", info.Figures)
	}
	return ref
}

// A fork is shown what its source is shown, but for the thinking, and its next request is
// the source's.
func TestAForkShowsWhatItsSourceShows(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.lived(c)
		copied := w.fork(ref, 0)
		if diff := cmp.Diff(w.shown(ref, false), w.shown(copied, true)); diff != "" {
			t.Errorf("the fork shows something else (-source +fork):\n%s", diff)
		}
		source, fork := w.context(ref), w.context(copied)
		if fork.Generation != source.Generation || fork.Level != 0 || fork.BoundarySeq != source.BoundarySeq || !slices.Equal(fork.Cleared, source.Cleared) {
			t.Errorf("the fork's context is %+v, the source's %+v", fork.Figures, source.Figures)
		}
		if v := w.get(copied); v.Usage != (message.Usage{}) || v.Generation != source.Generation || v.ReactiveLevel != 0 {
			t.Errorf("the fork is %+v", v)
		}
		c.answer(says("ok"))
		w.completed(ref, "the same")
		w.completed(copied, "the same")
		chats, _ := w.requests()
		a, b := withoutThoughts(blocksOf(chats[len(chats)-2])), blocksOf(chats[len(chats)-1])
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("their next requests differ (-source +fork):\n%s", diff)
		}
		// Both go on by themselves.
		w.mustCompact(copied)
		if got := w.get(ref).Generation; got != source.Generation {
			t.Errorf("a compaction of the fork took its source to generation %d", got)
		}
		w.undo(copied)
		w.undo(copied)
		if r, err := w.tryUndo(copied); err != nil || r.Outcome != compaction.OutcomeNoop {
			t.Errorf("a third undo in the fork: %+v, %v", r, err)
		}
		w.restart()
		w.completed(copied, "after a restart")
		w.completed(ref, "after a restart")
	})
}

func withoutThoughts(blocks []string) []string {
	return slices.DeleteFunc(slices.Clone(blocks), func(b string) bool { return strings.Contains(b, `"type":"thinking"`) })
}

// A fork from before a compaction shows all that was there, one at any other place what
// the source showed then.
func TestForksAtEveryEntryOfACompactedLog(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.lived(c)
		first := w.entries(ref, session.EntryCompactionCompleted)[0]
		before := w.fork(ref, first.Seq-1)
		if info := w.context(before); info.Generation != 0 || info.BoundarySeq != 0 || len(info.View) != 2*13+2 {
			t.Errorf("before the first compaction: %+v, %d messages", info.Figures, len(info.View))
		}
		at := w.fork(ref, first.Seq)
		if info := w.context(at); info.Generation != 1 {
			t.Errorf("at the first compaction: %+v", info.Figures)
		}
		c.answer(says("ok"))
		for seq := int64(1); seq <= w.get(ref).HeadSeq; seq++ {
			f := w.fork(ref, seq)
			view := w.context(f)
			w.completed(f, "go on")
			chats, _ := w.requests()
			after, last := w.context(f), chats[len(chats)-1]
			same := after.Generation == view.Generation && len(after.Cleared) == len(view.Cleared) // old results may go now
			if same && firstDifference(blocksOfMessages(view.View), blocksOf(last)[3:]) >= 0 {
				t.Errorf("the fork at %d is asked something else than it shows", seq)
			}
			checkRequests(t, chats[len(chats)-1:], 25_000)
		}
	})
}

func blocksOfMessages(msgs []message.Message) []string {
	var out []string
	for _, m := range msgs {
		for _, b := range m.Content {
			out = append(out, string(m.Role)+" "+string(message.AppendBlocks(nil, []message.Block{b}, message.Form{})))
		}
	}
	return out
}

// A list that was emptied is shown as empty in a fork too.
func TestAForkKnowsThatTheListIsEmpty(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		w.change(ref, session.Update{TodoList: &[]session.Todo{{Content: "paint the fence", Status: "pending"}}})
		w.completed(ref, "one")
		w.change(ref, session.Update{TodoList: &[]session.Todo{}})
		copied := w.fork(ref, w.get(ref).HeadSeq)
		for _, r := range []store.Ref{ref, copied} {
			w.completed(r, "two")
			chats, _ := w.requests()
			if !strings.Contains(rendered(chats[len(chats)-1]), "The list is empty.") {
				t.Errorf("the last list shown is the one that was emptied")
			}
		}
	})
}
