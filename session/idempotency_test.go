package session_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest"
	"sessiond/session"
	"sessiond/store"
)

// keyedCalls are the calls of a session that take a key. Each returns its answer as
// text, so that answers can be compared whatever their type.
func keyedCalls(w *world, ref store.Ref) map[string]func(i session.Idempotency) (string, bool, error) {
	ctx := w.t.Context()
	title := "new"
	id := w.pending(ref)["read"].ToolUseID
	return map[string]func(i session.Idempotency) (string, bool, error){
		"send": func(i session.Idempotency) (string, bool, error) {
			r, err := w.m.Send(ctx, ref, text("two"), "", i)
			return fmt.Sprintf("%+v", r.Value), r.Replayed, err
		},
		"submit": func(i session.Idempotency) (string, bool, error) {
			r, err := w.m.SubmitToolResult(ctx, ref, session.ToolResult{ToolUseID: id, Content: text("x")}, i)
			return fmt.Sprintf("%+v", r.Value), r.Replayed, err
		},
		"claim": func(i session.Idempotency) (string, bool, error) {
			r, err := w.m.ClaimToolCall(ctx, ref, id, time.Minute, "", i)
			return fmt.Sprintf("%+v", r.Value), r.Replayed, err
		},
		"stop": func(i session.Idempotency) (string, bool, error) {
			r, err := w.m.Stop(ctx, ref, "", false, i)
			return fmt.Sprintf("%+v", r.Value), r.Replayed, err
		},
		"update": func(i session.Idempotency) (string, bool, error) {
			r, err := w.m.Update(ctx, ref, session.Update{Title: &title}, i)
			return viewText(r.Value), r.Replayed, err
		},
		"close": func(i session.Idempotency) (string, bool, error) {
			r, err := w.m.CloseSession(ctx, ref, i)
			return viewText(r.Value), r.Replayed, err
		},
		"open": func(i session.Idempotency) (string, bool, error) {
			r, err := w.m.OpenSession(ctx, ref, i)
			return viewText(r.Value), r.Replayed, err
		},
	}
}

func viewText(v *session.View) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestKeysReplay(t *testing.T) {
	for _, method := range []string{"send", "submit", "claim", "stop", "update", "close", "open"} {
		t.Run(method, func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				t := w.t
				w.model.Add(llmtest.Calls("", llmtest.Call{Name: "read"}))
				w.model.Loop(llmtest.Hang())
				ref := w.create(withTools("read"))
				w.send(ref, "go")
				call := keyedCalls(w, ref)[method]
				i := session.Idempotency{Method: method, Key: "k", Fingerprint: [32]byte{1}}
				first, replayed, err := call(i)
				if err != nil || replayed {
					t.Fatalf("first call: replayed %v, %v", replayed, err)
				}
				synctest.Wait()
				entries := len(w.log(ref))
				for _, when := range []string{"again", "after a restart", "after a crash"} {
					again, replayed, err := call(i)
					if err != nil || !replayed {
						t.Errorf("%s: replayed %v, %v", when, replayed, err)
					}
					if diff := cmp.Diff(first, again); diff != "" {
						t.Errorf("%s (-first +again):\n%s", when, diff)
					}
					other := i
					other.Fingerprint[0]++
					_, _, err = call(other)
					wantKind(t, when+" with other params", err, session.KindIdempotencyConflict)
					if n := len(w.log(ref)); n != entries {
						t.Errorf("%s: %d entries, want %d", when, n, entries)
					}
					if when == "again" {
						w.restart()
					} else {
						w.crash()
					}
				}
				w.sound(ref)
			})
		})
	}
}

func TestKeysAreOfOneMethodAndSession(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		w.model.Loop(llmtest.Text("ok"))
		one, two := w.create(), w.create()
		for method := range keyedCalls(w, one) {
			if method == "submit" || method == "claim" {
				continue // nothing is pending
			}
			for _, ref := range []store.Ref{one, two} {
				_, replayed, err := keyedCalls(w, ref)[method](session.Idempotency{Method: method, Key: "k", Fingerprint: [32]byte{1}})
				if err != nil && kindOf(err) != string(session.KindSessionClosed) || replayed {
					t.Errorf("%s: replayed %v, %v", method, replayed, err)
				}
			}
		}
	})
}

// TestEqualCallsAtTheSameTime: the second waits for the first and gets its answer.
func TestEqualCallsAtTheSameTime(t *testing.T) {
	for _, fails := range []bool{false, true} {
		inWorld(t, session.Options{}, func(w *world) {
			t := w.t
			w.model.Loop(llmtest.Hang())
			ref := w.create()
			release := w.gate.hold()
			if fails {
				w.gate.next(refuse)
			}
			i := session.Idempotency{Method: "send", Key: "k", Fingerprint: [32]byte{1}}
			var got [3]session.Replay[session.SendResult]
			var errs [3]error
			for n := range got {
				i := i
				if n == 2 {
					i.Fingerprint[0]++ // conflicts already
				}
				go func() { got[n], errs[n] = w.m.Send(t.Context(), ref, text("hi"), "", i) }()
				synctest.Wait()
			}
			wantKind(t, "other params", errs[2], session.KindIdempotencyConflict)
			if got[0].Value.Seq+got[1].Value.Seq != 0 {
				t.Error("answered before the flush")
			}
			release()
			synctest.Wait()
			if fails {
				if errs[0] == nil || errs[1] == nil {
					t.Errorf("answers to a failed commit: %v, %v", errs[0], errs[1])
				}
				r, err := w.m.Send(t.Context(), ref, text("hi"), "", i)
				if err != nil || r.Replayed {
					t.Errorf("after the failure: replayed %v, %v", r.Replayed, err)
				}
			} else if errs[0] != nil || errs[1] != nil || got[0].Replayed || !got[1].Replayed || got[0].Value.MessageID != got[1].Value.MessageID {
				t.Errorf("answers: %+v, %+v, %v", got[0], got[1], errs)
			}
			synctest.Wait()
			w.story(ref, `T1 message.added user: "hi"`, `T1 turn.started`)
		})
	}
}

// TestALostAnswerIsReplayed: the commit is stored, its answer never comes.
func TestALostAnswerIsReplayed(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		w.model.Loop(llmtest.Hang())
		ref := w.create()
		w.gate.next(lose)
		i := session.Idempotency{Method: "send", Key: "k", Fingerprint: [32]byte{1}}
		if _, err := w.m.Send(t.Context(), ref, text("hi"), "", i); err == nil {
			t.Fatal("the call succeeded")
		}
		synctest.Wait()
		r, err := w.m.Send(t.Context(), ref, text("hi"), "", i)
		if err != nil || !r.Replayed || r.Value.Seq != 2 {
			t.Errorf("again: %+v, %v", r, err)
		}
		w.story(ref, `T1 message.added user: "hi"`, `T1 turn.started`)
	})
}

// TestFailuresAreNotRemembered: only what had an effect has a remembered answer.
func TestFailuresAreNotRemembered(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		w.model.Loop(llmtest.Hang())
		ref := w.create()
		w.send(ref, "one")
		i := session.Idempotency{Method: "send", Key: "k", Fingerprint: [32]byte{1}}
		_, err := w.m.Send(t.Context(), ref, text("two"), session.WhenBusyReject, i)
		wantKind(t, "while busy", err, session.KindBusy)
		w.stop(ref, "", false)
		r, err := w.m.Send(t.Context(), ref, text("two"), session.WhenBusyReject, i)
		if err != nil || r.Replayed {
			t.Errorf("once idle: replayed %v, %v", r.Replayed, err)
		}
	})
}

func TestKeysOfNewSessions(t *testing.T) {
	calls := map[string]func(w *world, source store.Ref, i session.Idempotency) (session.Replay[*session.View], error){
		"create": func(w *world, _ store.Ref, i session.Idempotency) (session.Replay[*session.View], error) {
			return w.m.Create(w.t.Context(), alice, "t", session.Settings{}, i)
		},
		"fork": func(w *world, source store.Ref, i session.Idempotency) (session.Replay[*session.View], error) {
			return w.m.Fork(w.t.Context(), source, 0, nil, i)
		},
	}
	for method, call := range calls {
		t.Run(method, func(t *testing.T) {
			inWorld(t, session.Options{CreateKeyTTL: time.Hour}, func(w *world) {
				t := w.t
				source := w.create()
				i := session.Idempotency{Method: method, Key: "k", Fingerprint: [32]byte{1}}
				first, err := call(w, source, i)
				if err != nil || first.Replayed {
					t.Fatalf("first: %+v, %v", first, err)
				}
				again, err := call(w, source, i) // as it is then: a fork may have been measured meanwhile
				if err != nil || !again.Replayed || again.Value.ID != first.Value.ID || again.Value.HeadSeq != first.Value.HeadSeq {
					t.Errorf("again: %+v, %v", again, err)
				}
				other := i
				other.Fingerprint[0]++
				_, err = call(w, source, other)
				wantKind(t, "other params", err, session.KindIdempotencyConflict)

				w.pass(time.Hour - time.Millisecond)
				if again, err := call(w, source, i); err != nil || !again.Replayed {
					t.Errorf("just before the key expires: %+v, %v", again, err)
				}
				if err := w.m.Delete(t.Context(), store.Ref{Owner: alice, ID: first.Value.ID}); err != nil {
					t.Fatal(err)
				}
				_, err = call(w, source, i) // no second session is made
				wantKind(t, "once the session is gone", err, session.KindNotFound)
				w.pass(time.Millisecond)
				again, err = call(w, source, i)
				if method == "fork" { // kept as long as the source
					wantKind(t, "later", err, session.KindNotFound)
					return
				}
				if err != nil || again.Replayed || again.Value.ID == first.Value.ID {
					t.Errorf("after the key expired: %+v, %v", again, err)
				}
			})
		})
	}
}

func TestKeysOfForksAreOfOneSource(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		i := session.Idempotency{Method: "fork", Key: "k"}
		for n := range 2 {
			i.Fingerprint[0] = byte(n) // the source is one of the params
			if r, err := w.m.Fork(t.Context(), w.create(), 0, nil, i); err != nil || r.Replayed {
				t.Errorf("fork of session %d: %+v, %v", n, r, err)
			}
		}
	})
}

// TestEqualCreatesAtTheSameTime make one session.
func TestEqualCreatesAtTheSameTime(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		release := w.gate.hold()
		i := session.Idempotency{Method: "create", Key: "k", Fingerprint: [32]byte{1}}
		var got [4]session.Replay[*session.View]
		var errs [4]error
		for n := range got {
			go func() { got[n], errs[n] = w.m.Create(t.Context(), alice, "t", session.Settings{}, i) }()
		}
		synctest.Wait()
		release()
		synctest.Wait()
		replayed := 0
		for n := range got {
			if errs[n] != nil || got[n].Value.ID != got[0].Value.ID {
				t.Errorf("call %d: %+v, %v", n, got[n].Value, errs[n])
			}
			if got[n].Replayed {
				replayed++
			}
		}
		if replayed != 3 {
			t.Errorf("%d answers are replays", replayed)
		}
		if list, err := w.m.List(t.Context(), store.ListQuery{Owner: alice, Limit: 9}); err != nil || len(list) != 1 {
			t.Errorf("%d sessions, %v", len(list), err)
		}
	})
}
