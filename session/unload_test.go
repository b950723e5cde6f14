package session_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sessiond/llm/llmtest"
	"sessiond/session"
	"sessiond/store"
)

const unloadAfter = 10 * time.Minute

func TestIdleSessionsAreUnloaded(t *testing.T) {
	inWorld(t, session.Options{IdleUnload: unloadAfter}, func(w *world) {
		t := w.t
		ref := w.create()
		w.send(ref, "one")
		w.pass(unloadAfter - time.Millisecond)
		if n := w.m.Loaded(); n != 1 {
			t.Errorf("%d loaded before it is time", n)
		}
		w.send(ref, "two") // uses it
		w.pass(unloadAfter - time.Millisecond)
		if n := w.m.Loaded(); n != 1 {
			t.Errorf("%d loaded, though it was used", n)
		}
		w.pass(time.Millisecond)
		if n := w.m.Loaded(); n != 0 {
			t.Errorf("%d loaded when it is time", n)
		}
		w.send(ref, "three")
		if n := len(w.model.Requests()[2].Messages); n != 5 {
			t.Errorf("after a reload the model was shown %d messages", n)
		}
		w.sound(ref)
	}, llmtest.Text("1"), llmtest.Text("2"), llmtest.Text("3"))
}

func TestSessionsInUseAreNotUnloaded(t *testing.T) {
	uses := map[string]func(w *world, ref store.Ref) (end func()){
		"subscribed": func(w *world, ref store.Ref) func() {
			rec := w.subscribe(ref)
			return func() {
				if err := w.m.Unsubscribe(w.t.Context(), ref, rec); err != nil {
					w.t.Error(err)
				}
			}
		},
		"answering": func(w *world, ref store.Ref) func() {
			typist := w.typist()
			w.send(ref, "go")
			return func() { typist.say("done"); typist.end() }
		},
		"waiting for a tool": func(w *world, ref store.Ref) func() {
			w.model.Add(llmtest.Calls("", llmtest.Call{Name: "read"}), llmtest.Text("ok"))
			w.send(ref, "go")
			return func() { w.submit(ref, w.pending(ref)["read"].ToolUseID, "x") }
		},
		"committing": func(w *world, ref store.Ref) func() {
			release := w.gate.holdAnswers()
			title := "new"
			go w.update(ref, session.Update{Title: &title}) //nolint:errcheck // the log tells
			synctest.Wait()
			return release
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			inWorld(t, session.Options{IdleUnload: unloadAfter, MaxTurnDuration: 24 * time.Hour, ToolTimeout: 24 * time.Hour}, func(w *world) {
				t := w.t
				ref := w.create(withTools("read"))
				end := use(w, ref)
				w.pass(5 * unloadAfter)
				if w.m.Loaded() != 1 {
					t.Error("unloaded while in use")
				}
				end()
				synctest.Wait()
				w.pass(2 * unloadAfter)
				if w.m.Loaded() != 0 {
					t.Error("still loaded")
				}
				w.sound(ref)
			})
		})
	}
}

// TestCallsThatMeetTheUnloading: no call is lost, none fails.
func TestCallsThatMeetTheUnloading(t *testing.T) {
	inWorld(t, session.Options{IdleUnload: unloadAfter}, func(w *world) {
		t := w.t
		w.model.Loop(llmtest.Text("ok"))
		refs := make([]store.Ref, 10)
		for i := range refs {
			refs[i] = w.create()
		}
		for round := range 10 {
			for i, ref := range refs {
				w.send(ref, fmt.Sprint(round, i))
			}
			var wg sync.WaitGroup
			for i, ref := range refs {
				for range 3 {
					wg.Go(func() {
						<-time.After(unloadAfter) // the very moment
						if _, err := w.trySend(ref, "hi", ""); err != nil {
							t.Errorf("session %d, round %d: %v", i, round, err)
						}
						if _, err := w.m.Get(t.Context(), ref); err != nil {
							t.Errorf("session %d, round %d: %v", i, round, err)
						}
					})
				}
			}
			wg.Wait()
			synctest.Wait()
		}
		for _, ref := range refs {
			if n := len(w.messagesBy(ref, "user")); n != 10*4 {
				t.Errorf("%d messages", n)
			}
			for _, f := range judgeQuick(w, ref) {
				t.Error(f)
			}
		}
	})
}

// judgeQuick judges a log only; paging through long ones takes its time.
func judgeQuick(w *world, ref store.Ref) []string {
	entries, err := decodeAll(w.log(ref))
	if err != nil {
		return []string{err.Error()}
	}
	return judgeLog(entries)
}

// TestACallOnItsWayKeepsTheSession: one that looks up its key has not reached the session.
func TestACallOnItsWayKeepsTheSession(t *testing.T) {
	inWorld(t, session.Options{IdleUnload: unloadAfter}, func(w *world) {
		t := w.t
		ref := w.create()
		w.life.onKey = func() { <-time.After(3 * unloadAfter) }
		r, err := w.m.Send(t.Context(), ref, text("hi"), "", session.Idempotency{Method: "send", Key: "k"})
		if err != nil || r.Value.Seq != 2 {
			t.Errorf("sent: %+v, %v", r, err)
		}
	}, llmtest.Text("ok"))
}

// TestConcurrentCallsShareOneLoad: two actors of one session would conflict.
func TestConcurrentCallsShareOneLoad(t *testing.T) {
	inWorld(t, session.Options{MailboxCommands: 1000}, func(w *world) {
		t := w.t
		ref := w.create()
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				title := fmt.Sprint(i)
				if _, err := w.update(ref, session.Update{Title: &title}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if v := w.get(ref); v.Version != 101 {
			t.Errorf("version %d", v.Version)
		}
		w.sound(ref)
	})
}

// TestAnOverfullMailbox: a session that is stuck takes so many calls and refuses the rest.
func TestAnOverfullMailbox(t *testing.T) {
	const mailbox = 3
	inWorld(t, session.Options{MailboxCommands: mailbox}, func(w *world) {
		t := w.t
		ref := w.create()
		free := w.jam(ref)
		errs := make([]error, mailbox+2)
		for i := range errs {
			go func() {
				title := fmt.Sprint(i)
				_, errs[i] = w.update(ref, session.Update{Title: &title})
			}()
			synctest.Wait()
		}
		for i, err := range errs {
			if i < mailbox && err != nil {
				t.Errorf("call %d was answered with %v", i, err)
			}
			if i >= mailbox {
				wantKind(t, fmt.Sprint("call ", i), err, session.KindOverloaded)
			}
		}
		free()
		synctest.Wait()
		for i := range mailbox {
			if errs[i] != nil {
				t.Errorf("call %d: %v", i, errs[i])
			}
		}
		if v := w.get(ref); v.Version != 2+mailbox {
			t.Errorf("version %d", v.Version)
		}
	})
}

// TestACallerThatGivesUp may still have an effect, and harms nobody.
func TestACallerThatGivesUp(t *testing.T) {
	inWorld(t, session.Options{IdleUnload: unloadAfter}, func(w *world) {
		t := w.t
		w.model.Loop(llmtest.Text("ok"))
		ref := w.create()
		release := w.gate.hold()
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		go func() { _, err = w.m.Send(ctx, ref, text("hi"), "", session.Idempotency{}) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if err == nil {
			t.Error("answered before the flush")
		}
		release()
		w.story(ref, `T1 message.added user: "hi"`, `T1 turn.started`, `T1 message.added assistant: "ok"`, `T1 turn.completed completed`)
		w.pass(2 * unloadAfter)
		if w.m.Loaded() != 0 {
			t.Error("the session is held for a caller that is gone")
		}
	})
}

// TestManyCallersOfOneSession lets clients of every kind loose on one session; run with
// -race it looks for shared state.
func TestManyCallersOfOneSession(t *testing.T) {
	inWorld(t, session.Options{MailboxCommands: 1000, MaxQueuedMessages: 1000}, func(w *world) {
		t := w.t
		w.model.Loop(readThenDone)
		ref := w.create(withTools("read"))
		tame := func(what string, err error) {
			switch kindOf(err) {
			case "ok", string(session.KindToolCallResolved), string(session.KindToolCallClaimed), string(session.KindToolCallNotFound):
			default:
				t.Errorf("%s: %v", what, err)
			}
		}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				rec := &recorder{}
				after := int64(0)
				for n := range 10 {
					_, err := w.trySend(ref, fmt.Sprint(i, n), []session.WhenBusy{session.WhenBusyQueue, session.WhenBusyInterrupt}[n%2])
					tame("send", err)
					got, err := w.m.Subscribe(t.Context(), ref, session.Where{After: &after}, rec)
					tame("subscribe", err)
					for _, call := range got.View.PendingCalls {
						_, err := w.m.ClaimToolCall(t.Context(), ref, call.ToolUseID, time.Second, "", session.Idempotency{})
						tame("claim", err)
						_, err = w.trySubmit(ref, call.ToolUseID, "x", "")
						tame("submit", err)
					}
					title := fmt.Sprint(i)
					_, err = w.update(ref, session.Update{Title: &title})
					tame("update", err)
					_, err = w.m.Stop(t.Context(), ref, "", n == 9, session.Idempotency{})
					tame("stop", err)
					_, _, err = w.m.Messages(t.Context(), ref, session.MessageQuery{Limit: 5})
					tame("messages", err)
					_, err = w.m.Fork(t.Context(), ref, 0, nil, session.Idempotency{})
					tame("fork", err)
					tame("unsubscribe", w.m.Unsubscribe(t.Context(), ref, rec))
				}
			})
		}
		wg.Wait()
		w.stop(ref, "", true)
		for _, f := range judgeQuick(w, ref) {
			t.Error(f)
		}
	})
}
