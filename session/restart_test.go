package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest"
	"sessiond/session"
	"sessiond/store"
)

// TestStopOfTheServer stops the server in every phase of a turn and starts it again.
func TestStopOfTheServer(t *testing.T) {
	const (
		user, started = `T1 message.added user: "go"`, `T1 turn.started`
		asks          = `T1 message.added assistant: read() write()`
		read, write   = `T1 tool.called read`, `T1 tool.called write`
	)
	calls := llmtest.Calls("", llmtest.Call{Name: "read"}, llmtest.Call{Name: "write"})
	t.Run("in mid answer", func(t *testing.T) {
		inWorld(t, session.Options{}, func(w *world) {
			t := w.t
			ref := w.create()
			rec := w.subscribe(ref)
			typist := w.typist()
			w.model.Add(llmtest.Text("whole"))
			sent := w.send(ref, "go")
			typist.say("half")
			w.restart()
			if gone := rec.ended(); len(gone) != 1 || gone[0] {
				t.Errorf("gone: %v", gone)
			}
			w.story(ref, user, started, `T1 message.added assistant: "whole"`, `T1 turn.completed completed`)
			if id := w.messagesBy(ref, "assistant")[0].ID; id == rec.pieces()[0].MessageID {
				t.Error("the repeated round has the message id of the first")
			}
			if n := w.turn(ref, sent.TurnID).Rounds; n != 1 {
				t.Errorf("%d rounds", n)
			}
		})
	})
	t.Run("in mid round of tools", func(t *testing.T) {
		inWorld(t, session.Options{ToolTimeout: 90 * time.Second}, func(w *world) {
			t := w.t
			ref := w.create(withTools("read", "write"))
			w.send(ref, "go")
			before := w.pending(ref)
			w.submit(ref, before["write"].ToolUseID, "written")
			w.pass(time.Minute) // half a minute is left
			w.restart()
			v := w.get(ref)
			if v.Status != store.StatusWaitingTool || len(v.PendingCalls) != 1 {
				t.Fatalf("after the restart: %s, %v", v.Status, v.PendingCalls)
			}
			call := v.PendingCalls[0]
			if call.ToolUseID != before["read"].ToolUseID || !call.Deadline.Equal(time.Now().Add(time.Minute)) {
				t.Errorf("offered again: %+v, at %s", call, time.Now())
			}
			w.pass(time.Minute - time.Millisecond)
			w.submit(ref, call.ToolUseID, "content")
			w.story(ref, user, started, asks, read, write,
				`T1 tool.resolved write by client`,
				`T1 tool.resolved read by client`,
				`T1 message.added user: read→"content" write→"written"`,
				`T1 message.added assistant: "ok"`,
				`T1 turn.completed completed`,
			)
		}, calls, llmtest.Text("ok"))
	})
	t.Run("with a deadline that passed meanwhile", func(t *testing.T) {
		inWorld(t, session.Options{ToolTimeout: 90 * time.Second}, func(w *world) {
			t := w.t
			ref := w.create(withTools("read", "write"), func(s *session.Settings) { s.Tools[1].TimeoutMS = 3_600_000 })
			w.send(ref, "go")
			w.m.Close()
			w.pass(30 * time.Minute)
			w.begin()
			w.recover()
			calls := w.pending(ref)
			if got := time.Until(calls["read"].Deadline); got != time.Minute {
				t.Errorf("the client has %s to come back", got)
			}
			if got := time.Until(calls["write"].Deadline); got != 30*time.Minute {
				t.Errorf("a call with time left has %s now", got)
			}
			w.pass(time.Minute)
			if n := len(w.pending(ref)); n != 1 {
				t.Errorf("%d calls pending after the deadline", n)
			}
			w.pass(29 * time.Minute)
			w.story(ref, user, started, asks, read, write,
				`T1 tool.resolved read by timeout, error`,
				`T1 tool.resolved write by timeout, error`,
				`T1 message.added user: read!→"No result came for this call of read before its deadline." write!→"No result came for this call of write before its deadline."`,
				`T1 message.added assistant: "ok"`,
				`T1 turn.completed completed`,
			)
		}, calls, llmtest.Text("ok"))
	})
	t.Run("with a queue", func(t *testing.T) {
		inWorld(t, session.Options{}, func(w *world) {
			t := w.t
			ref := w.create()
			w.model.Add(llmtest.Hang(), llmtest.Text("1"), llmtest.Text("2"), llmtest.Text("3"))
			w.send(ref, "go")
			w.send(ref, "two")
			w.send(ref, "three")
			w.restart()
			w.story(ref, user, started,
				`T2 message.queued user: "two"`,
				`T3 message.queued user: "three"`,
				`T1 message.added assistant: "1"`,
				`T1 turn.completed completed`,
				`T2 turn.started`,
				`T2 message.added assistant: "2"`,
				`T2 turn.completed completed`,
				`T3 turn.started`,
				`T3 message.added assistant: "3"`,
				`T3 turn.completed completed`,
			)
			want := []string{`user: "go"`, `assistant: "1"`, `user: "two"`, `assistant: "2"`, `user: "three"`}
			if diff := cmp.Diff(want, shown(w, 3)); diff != "" {
				t.Errorf("the model was shown (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("while a commit is under way", func(t *testing.T) {
		inWorld(t, session.Options{}, func(w *world) {
			t := w.t
			ref := w.create()
			release := w.gate.hold()
			var sent, refused error
			go func() { _, sent = w.trySend(ref, "go", "") }()
			synctest.Wait()
			closed := make(chan struct{})
			go func() { w.m.Close(); close(closed) }()
			synctest.Wait()
			select {
			case <-closed:
				t.Error("closed while a commit was under way")
			default:
			}
			_, refused = w.trySend(ref, "late", "")
			wantKind(t, "a message after the stop began", refused, session.KindShuttingDown)
			release()
			<-closed
			synctest.Wait()
			if sent != nil {
				t.Errorf("a message that got to disk was answered with %v", sent)
			}
			w.begin()
			w.recover()
			w.story(ref, user, started, `T1 message.added assistant: "ok"`, `T1 turn.completed completed`)
		}, llmtest.Text("ok"))
	})
}

// TestStopsOfTheServerAreNoCrashes stops the server many times in the same turn, in a
// round and between two steps.
func TestStopsOfTheServerAreNoCrashes(t *testing.T) {
	phases := map[string]func(w *world, ref store.Ref){
		"in a round": func(w *world, _ store.Ref) { w.restart() },
		"before the round": func(w *world, _ store.Ref) {
			w.m.Close()
			release := w.gate.hold()
			w.begin()
			w.recover()
			release() // the round begins, or Close comes first
			w.restart()
		},
		"at once": func(w *world, _ store.Ref) {
			w.m.Close()
			w.begin()
			if _, err := w.m.Recover(w.t.Context()); err != nil {
				w.t.Fatal(err)
			}
			w.restart()
		},
		"while a commit is under way": func(w *world, ref store.Ref) {
			release := w.gate.hold()
			title := "new"
			go w.m.Update(w.t.Context(), ref, session.Update{Title: &title}, session.Idempotency{}) //nolint:errcheck // the log tells
			synctest.Wait()
			go w.m.Close()
			synctest.Wait()
			release()
			w.restart()
		},
	}
	for name, stop := range phases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				t := w.t
				w.model.Loop(llmtest.Hang())
				ref := w.create()
				sent := w.send(ref, "go")
				for range 10 {
					stop(w, ref)
				}
				row, err := w.mem.Turn(t.Context(), ref, sent.TurnID)
				if err != nil {
					t.Fatal(err)
				}
				if row.Status != store.TurnRunning || row.Resumes != 0 {
					t.Errorf("the turn is %s, resumed %d times", row.Status, row.Resumes)
				}
				w.sound(ref)
			})
		})
	}
}

// TestAMessageThatMeetsTheStop: its turn was stored, its round never began.
func TestAMessageThatMeetsTheStop(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		release := w.gate.hold()
		go w.trySend(ref, "go", "") //nolint:errcheck // the log tells
		synctest.Wait()
		go w.m.Close()
		synctest.Wait()
		release()
		w.restart()
		turns, err := w.mem.ListTurns(t.Context(), ref, 0, 1)
		if err != nil || len(turns) != 1 || turns[0].Resumes != 0 {
			t.Errorf("turns: %+v, %v", turns, err)
		}
		w.sound(ref)
	}, llmtest.Hang())
}

// TestAStopMeetsWhatItEnds: the session learns of the stop and of what the stop cut off,
// the model call or the read of the conversation, at the same time. Neither is a fault.
func TestAStopMeetsWhatItEnds(t *testing.T) {
	for _, reading := range []bool{false, true} {
		for range 30 { // who is first is left to chance
			inWorld(t, session.Options{}, func(w *world) {
				t := w.t
				ref := w.create()
				w.life.stuck.Store(reading)
				sent := w.send(ref, "go")
				var late error
				if reading {
					go func() { _, late = w.trySubmit(ref, "call_x", "x", "") }() // waits for the conversation too
					synctest.Wait()
				}
				free := w.jam(ref)
				go w.m.Close()
				synctest.Wait()
				free()
				synctest.Wait()
				if reading {
					wantKind(t, "the call that waited", late, session.KindShuttingDown)
				}
				row, err := w.mem.Turn(t.Context(), ref, sent.TurnID)
				if err != nil || row.Status != store.TurnRunning {
					t.Errorf("stopped: %+v, %v", row, err)
				}
				w.restart()
				row, err = w.mem.Turn(t.Context(), ref, sent.TurnID)
				if err != nil || row.Resumes != 0 {
					t.Errorf("started again: %+v, %v", row, err)
				}
				w.sound(ref)
			}, llmtest.Hang(), llmtest.Hang())
		}
	}
}

// TestACallMeetsTheStopWhileItsSessionLoads is refused like any other.
func TestACallMeetsTheStopWhileItsSessionLoads(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		w.send(ref, "go")
		w.m.Close()
		w.begin()
		w.life.stuck.Store(true) // a session with an open turn reads its log to load
		var err error
		go func() { _, err = w.trySend(ref, "two", "") }()
		synctest.Wait()
		w.m.Close()
		synctest.Wait()
		wantKind(t, "the call", err, session.KindShuttingDown)
		w.begin()
	}, llmtest.Hang())
}

func TestCrashes(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		w.model.Loop(llmtest.Hang())
		ref := w.create()
		sent := w.send(ref, "go")
		w.send(ref, "two")
		for i := range 3 {
			w.crash()
			row, err := w.mem.Turn(t.Context(), ref, sent.TurnID)
			if err != nil || row.Resumes != i+1 || row.Status != store.TurnRunning {
				t.Errorf("after crash %d: %+v, %v", i+1, row, err)
			}
			if n := len(w.model.Requests()); n != 2*i+2 { // one for each start
				t.Errorf("after crash %d: %d model calls", i+1, n)
			}
			w.restart() // does not count
		}
		w.crash()
		w.story(ref,
			`T1 message.added user: "go"`,
			`T1 turn.started`,
			`T2 message.queued user: "two"`,
			`T1 turn.completed interrupted (crash)`,
			`T2 turn.started`,
		)
		if turn := w.turn(ref, sent.TurnID); turn.Status != store.TurnInterrupted || turn.Error == nil || turn.Error.Kind != session.TurnCrash {
			t.Errorf("turn: %+v", turn)
		}
		w.stop(ref, "", true)
		w.usable(ref)
	})
}

// TestACrashBeforeTheFlush: what was never acknowledged may be lost, nothing else.
func TestACrashBeforeTheFlush(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		typist := w.typist()
		w.model.Add(llmtest.Text("again"))
		w.send(ref, "go")
		w.gate.hold()
		typist.say("answer")
		typist.end()
		var err error
		go func() { _, err = w.trySend(ref, "unacknowledged", "") }()
		synctest.Wait()
		w.crash()
		if err == nil {
			t.Error("a message that is not on disk was acknowledged")
		}
		w.story(ref,
			`T1 message.added user: "go"`,
			`T1 turn.started`,
			`T1 message.added assistant: "again"`,
			`T1 turn.completed completed`,
		)
	})
}

// TestCrashesWhileWaitingForTools don't count: nothing is repeated.
func TestCrashesWhileWaitingForTools(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read", "write"))
		sent := w.send(ref, "go")
		w.submit(ref, w.pending(ref)["read"].ToolUseID, "x")
		for range 6 {
			w.crash()
		}
		w.submit(ref, w.pending(ref)["write"].ToolUseID, "y")
		if turn := w.turn(ref, sent.TurnID); turn.Status != store.TurnCompleted || turn.Rounds != 2 {
			t.Errorf("turn: %+v", turn)
		}
		if n := len(w.model.Requests()); n != 2 {
			t.Errorf("%d model calls", n)
		}
		w.sound(ref)
	}, llmtest.Calls("", llmtest.Call{Name: "read"}, llmtest.Call{Name: "write"}), llmtest.Text("ok"))
}

// TestABuiltinCallWithoutResult: its effect is unknown, so it gets an error. The log of
// such a crash is made by hand, for the server commits a built-in call in one piece.
func TestABuiltinCallWithoutResult(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		w.send(ref, "go")
		w.m.Close()
		// The next version of the server no longer knows the tool, so to it the call is
		// one of its own.
		row, err := w.mem.Session(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		row.Settings = []byte(`{"model":"small","settings":{}}`)
		if err := w.mem.Commit(t.Context(), &store.Commit{Session: *row, PrevHead: row.HeadSeq}); err != nil {
			t.Fatal(err)
		}
		w.begin()
		w.recover()
		w.story(ref,
			`T1 message.added user: "go"`,
			`T1 turn.started`,
			`T1 message.added assistant: read()`,
			`T1 tool.called read`,
			`T1 tool.resolved read by crash, error`,
			`T1 message.added user: read!→"The server stopped while read was running; its outcome is unknown."`,
			`T1 message.added assistant: "ok"`,
			`T1 turn.completed completed`,
		)
	}, llmtest.Calls("", llmtest.Call{Name: "read"}), llmtest.Text("ok"))
}

// TestRecoverLoadsWhatIsUnfinished and nothing else.
func TestRecoverLoadsWhatIsUnfinished(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		idle, waiting, running := w.create(), w.create(withTools("read")), w.create()
		w.send(idle, "a")
		w.send(waiting, "b")
		w.send(running, "c")
		w.m.Close()
		w.begin()
		n, err := w.m.Recover(t.Context())
		if err != nil || n != 2 || w.m.Loaded() != 2 {
			t.Errorf("recovered %d, loaded %d, %v", n, w.m.Loaded(), err)
		}
		synctest.Wait()
		w.m.Close()
		w.m.Close() // again is no harm
		w.begin()
		if err := w.mem.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.m.Recover(t.Context()); err == nil {
			t.Error("recovering without a database succeeded")
		}
	}, llmtest.Text("a"), llmtest.Calls("", llmtest.Call{Name: "read"}), llmtest.Hang(), llmtest.Hang())
}

// TestWhatTheModelIsShownSurvivesARestart compares requests byte for byte.
func TestWhatTheModelIsShownSurvivesARestart(t *testing.T) {
	schema := "{ \"type\" : \"object\",\n \"properties\": {\"a\": {\"description\": \"<x> & \u2028\"}} }"
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		prompt := "</agent_prompt> be careful"
		tools := []session.Tool{{Name: "read", Description: "reads", InputSchema: []byte(schema)}}
		if _, err := w.m.Update(t.Context(), ref, session.Update{AgentPrompt: &prompt, Tools: &tools}, session.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		w.send(ref, "go")
		w.submit(ref, w.pending(ref)["read"].ToolUseID, "x\x00")
		w.send(ref, "again")
		w.restart()
		w.send(ref, "again")
		reqs := w.model.Requests()
		before, after := reqs[2], reqs[3]
		after.Messages = after.Messages[:len(before.Messages)]
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	}, llmtest.Thinking("hm").Then(llmtest.Calls("I read.", llmtest.Call{Name: "read", Input: `{ "b":2, "a":1 }`})), llmtest.Text("ok"), llmtest.Text("b"), llmtest.Text("c"))
}
