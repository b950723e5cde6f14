package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// eventful gives a session a log with everything in it and leaves it waiting for a
// tool, with a message in its queue.
func eventful(w *world) store.Ref {
	w.t.Helper()
	todo := llmtest.Call{Name: "todo_write", Input: `{"todos":[{"content":"c","status":"pending"}]}`}
	ref := w.create(withTools("read", "write"))
	// A turn with two rounds of tools and thinking, built-in and unknown tools among them.
	w.model.Add(
		llmtest.Thinking("hm").Then(llmtest.Calls("I read.", llmtest.Call{Name: "read", Input: `{ "path": "a" }`}, todo, llmtest.Call{Name: "fly"})),
		llmtest.Thinking("only thinking").Then(llmtest.Calls("", llmtest.Call{Name: "write"})),
		llmtest.Thinking("just that"),
		llmtest.Hang(), // the queued turn
	)
	w.send(ref, "one")
	id := w.pending(ref)["read"].ToolUseID
	w.retitle(ref, 1)
	w.send(ref, "two, queued in a round")
	if _, err := w.m.ClaimToolCall(w.t.Context(), ref, id, time.Millisecond, "", session.Idempotency{}); err != nil {
		w.t.Fatal(err)
	}
	w.pass(time.Second)
	w.submit(ref, id, "content of a")
	w.submit(ref, w.pending(ref)["write"].ToolUseID, "written")
	w.stop(ref, "", false)
	// A turn that is interrupted after some words, by one that fails.
	typist := w.typist()
	w.send(ref, "three")
	typist.say("some words")
	dropped := w.send(ref, "dropped")
	w.stop(ref, dropped.TurnID, false)
	w.model.Add(llmtest.Fail(llmtest.Overflow(10)))
	w.sendBusy(ref, "four, interrupts", session.WhenBusyInterrupt)
	if _, err := w.m.CloseSession(w.t.Context(), ref, session.Idempotency{}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.m.OpenSession(w.t.Context(), ref, session.Idempotency{}); err != nil {
		w.t.Fatal(err)
	}
	w.model.Add(llmtest.Calls("Again.", llmtest.Call{Name: "read"}, llmtest.Call{Name: "write"}))
	w.send(ref, "five")
	w.submit(ref, w.pending(ref)["write"].ToolUseID, "half")
	w.send(ref, "six, waits")
	w.sound(ref)
	return ref
}

func TestForkAtEverySeq(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		source := eventful(w)
		before, view := w.log(source), viewText(w.get(source))
		entries, err := decodeAll(before)
		if err != nil {
			t.Fatal(err)
		}
		for at := int64(1); at <= int64(len(before)); at++ {
			r, err := w.m.Fork(t.Context(), source, at, nil, session.Idempotency{})
			if err != nil {
				t.Fatalf("fork at %d: %v", at, err)
			}
			for _, fault := range forkFaults(w, source, entries, at, r.Value) {
				t.Errorf("fork at %d: %s", at, fault)
			}
		}
		sameEvents(t, "the source's log", before, w.log(source))
		if diff := cmp.Diff(view, viewText(w.get(source))); diff != "" {
			t.Errorf("the source has changed (-before +after):\n%s", diff)
		}
	})
}

// forkFaults compares a fork with the entries it was made from.
func forkFaults(w *world, source store.Ref, entries []entry, at int64, v *session.View) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	ref := store.Ref{Owner: alice, ID: v.ID}
	faults = append(faults, w.judge(ref)...)
	log := w.log(ref)
	copied, err := decodeAll(log)
	if err != nil {
		return append(faults, err.Error())
	}
	from := v.Settings.ForkedFrom
	if from == nil || from.SessionID != source.ID || from.Seq > at {
		fault("forked from %+v", from)
		return faults
	}
	if v.Status != store.StatusIdle || v.Queued != 0 || len(v.PendingCalls) != 0 || v.Usage != (message.Usage{}) || v.Version != 1 {
		fault("it begins as %+v", v)
	}
	n := int(from.Seq)
	if extra := copied[n:]; len(extra) > 1 || len(extra) == 1 && (extra[0].Kind != session.EntryTurnCompleted || extra[0].Status != "interrupted") {
		fault("it goes on with %q", tell(log)[n:])
	}
	// No entry that could have been taken was left out.
	if next := entries[n:at]; len(next) > 0 && n > 0 && !insideUnit(entries, n) {
		for i := range next {
			if !insideUnit(entries, n+i+1) {
				fault("it ends at %d, though entry %d ends a unit", n, n+i+1)
			}
		}
	}
	faults = append(faults, sameButIDs(entries[:n], copied[:n])...)
	turns, err := w.m.Turns(w.t.Context(), ref, 0, 100)
	if err != nil {
		fault("turns: %v", err)
	}
	for _, turn := range turns {
		if turn.CompletedAt.IsZero() || turn.Status == store.TurnQueued || turn.Status == store.TurnRunning {
			fault("turn %+v is open", turn)
		}
		if turn.SessionID != v.ID {
			fault("turn %s is of session %s", turn.ID, turn.SessionID)
		}
	}
	if open, err := w.mem.OpenTurns(w.t.Context(), ref); err != nil || len(open) > 0 {
		fault("open turns: %v, %v", open, err)
	}
	return faults
}

// insideUnit reports whether a cut after n entries would part a tool round, or a message
// from its turn.
func insideUnit(entries []entry, n int) bool {
	open := map[message.ToolUseID]bool{}
	for _, e := range entries[:n] {
		if e.Kind != session.EntryMessageAdded {
			continue
		}
		for _, b := range e.Message.Content {
			switch b := b.(type) {
			case message.ToolUse:
				open[b.ID] = true
			case message.ToolResult:
				delete(open, b.ToolUseID)
			case message.Text, message.Image, message.Thinking:
			}
		}
	}
	last := entries[n-1]
	started := n < len(entries) && entries[n].Kind == session.EntryTurnStarted && !entries[n].Queued
	return len(open) > 0 || started && last.Kind == session.EntryMessageAdded
}

// sameButIDs compares entries whose ids of session, turns and messages must all differ,
// one to one, and whose thinking was left out.
func sameButIDs(old, copied []entry) (faults []string) {
	turns, messages := make(map[message.TurnID]message.TurnID), make(map[message.ID]message.ID)
	differ := func(what, a, b string, known string) {
		if (a == "") != (b == "") || a != "" && a == b || known != "" && known != b {
			faults = append(faults, fmt.Sprintf("%s %s became %s, before %s", what, a, b, known))
		}
	}
	for i := range old {
		o, c := old[i], copied[i]
		differ("turn", string(o.TurnID), string(c.TurnID), string(turns[o.TurnID]))
		differ("message", string(o.MessageID), string(c.MessageID), string(messages[o.MessageID]))
		turns[o.TurnID], messages[o.MessageID] = c.TurnID, c.MessageID
		if o.SessionID == c.SessionID || o.Seq != c.Seq || !o.At.Equal(c.At) || o.Kind != c.Kind {
			faults = append(faults, fmt.Sprintf("entry %d: %+v became %+v", i+1, o.Event, c.Event))
		}
		if o.Message != nil {
			differ("message", string(o.Message.ID), string(c.Message.ID), string(messages[o.Message.ID]))
			messages[o.Message.ID] = c.Message.ID
			want := slices.DeleteFunc(slices.Clone(o.Message.Content), func(b message.Block) bool {
				_, thinking := b.(message.Thinking)
				return thinking
			})
			if diff := cmp.Diff(string(message.AppendBlocks(nil, want, message.Form{})), string(message.AppendBlocks(nil, c.Message.Content, message.Form{}))); diff != "" {
				faults = append(faults, fmt.Sprintf("entry %d (-source +fork):\n%s", i+1, diff))
			}
			continue
		}
		if o.Kind != session.EntryCreated {
			a, b := o, c
			a.Event, b.Event, a.MessageID, b.MessageID = nil, nil, "", ""
			if diff := cmp.Diff(a, b); diff != "" {
				faults = append(faults, fmt.Sprintf("entry %d (-source +fork):\n%s", i+1, diff))
			}
		}
	}
	return faults
}

func TestForkByDefaultTakesFinishedTurns(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		w.model.Loop(llmtest.Hang())
		ref := w.create()
		fork := func(want ...string) {
			t.Helper()
			r, err := w.m.Fork(t.Context(), ref, 0, nil, session.Idempotency{})
			if err != nil {
				t.Fatal(err)
			}
			w.story(store.Ref{Owner: alice, ID: r.Value.ID}, want...)
		}
		fork()
		w.retitle(ref, 1)
		fork() // no turn has ended yet
		w.model.Add(llmtest.Text("1"))
		w.send(ref, "one")
		turn := []string{"session.updated title", `T1 message.added user: "one"`, `T1 turn.started`, `T1 message.added assistant: "1"`, `T1 turn.completed completed`}
		fork(turn...)
		w.retitle(ref, 1)
		w.send(ref, "two")
		w.send(ref, "three")
		fork(turn...)
		w.stop(ref, "", false)
		turn = append(turn, "session.updated title", `T2 message.added user: "two"`, `T2 turn.started`, `T3 message.queued user: "three"`, `T2 turn.completed stopped`)
		fork(turn...)
	})
}

func TestAForkGoesItsOwnWay(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		w.send(ref, "one")
		w.submit(ref, w.pending(ref)["read"].ToolUseID, "x")
		title := "a branch"
		r, err := w.m.Fork(t.Context(), ref, 0, &title, session.Idempotency{})
		if err != nil || r.Value.Title != title || !strings.Contains(string(w.log(store.Ref{Owner: alice, ID: r.Value.ID})[0].Data), title) {
			t.Fatalf("fork: %+v, %v", r.Value, err)
		}
		branch := store.Ref{Owner: alice, ID: r.Value.ID}
		if err := w.m.Delete(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		w.send(branch, "two")
		want := []string{`user: "one"`, `assistant: "Look." read()`, `user: read→"x"`, `assistant: "ok"`, `user: "two"`}
		if diff := cmp.Diff(want, shown(w, 2)); diff != "" {
			t.Errorf("the model was shown (-want +got):\n%s", diff)
		}
		w.restart()
		w.sound(branch)
		// The ids of its old calls are taken.
		again, err := w.trySubmit(branch, w.messagesBy(branch, "assistant")[0].ToolUses()[0].ID, "x", "")
		if err != nil || !again.Replayed {
			t.Errorf("the result again: %+v, %v", again, err)
		}
	}, llmtest.Calls("Look.", llmtest.Call{Name: "read"}), llmtest.Text("ok"), llmtest.Text("two it is"))
}

// TestAForkWithoutItsThinking may have messages with nothing left. No model is shown those.
func TestAForkWithoutItsThinking(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		w.send(ref, "one")
		r, err := w.m.Fork(t.Context(), ref, 0, nil, session.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		branch := store.Ref{Owner: alice, ID: r.Value.ID}
		w.send(branch, "two")
		if diff := cmp.Diff([]string{`user: "one"`, `user: "two"`}, shown(w, 1)); diff != "" {
			t.Errorf("the model was shown (-want +got):\n%s", diff)
		}
		w.sound(branch)
	}, llmtest.Thinking("just that"), llmtest.Text("ok"))
}

func TestForkErrors(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		_, err := w.m.Fork(t.Context(), ref, 2, nil, session.Idempotency{})
		wantPath(t, "beyond the head", err, "at_seq")
		_, err = w.m.Fork(t.Context(), store.Ref{Owner: mallory, ID: ref.ID}, 1, nil, session.Idempotency{})
		wantKind(t, "by a stranger", err, session.KindNotFound)
		w.m.Close()
		_, err = w.m.Fork(t.Context(), ref, 1, nil, session.Idempotency{})
		wantKind(t, "after the end", err, session.KindShuttingDown)
		_, err = w.m.Create(t.Context(), alice, "", session.Settings{}, session.Idempotency{})
		wantKind(t, "create after the end", err, session.KindShuttingDown)
	})
}

// TestForkOfAClosedSession is open.
func TestForkOfAClosedSession(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		if _, err := w.m.CloseSession(t.Context(), ref, session.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		r, err := w.m.Fork(t.Context(), ref, 2, nil, session.Idempotency{})
		if err != nil || r.Value.Status != store.StatusIdle || !r.Value.ClosedAt.IsZero() {
			t.Errorf("fork: %+v, %v", r.Value, err)
		}
		synctest.Wait()
		w.send(store.Ref{Owner: alice, ID: r.Value.ID}, "hi")
	}, llmtest.Text("ok"))
}
