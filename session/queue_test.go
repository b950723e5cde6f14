package session_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

func TestQueuedMessagesHaveTheirTurnsInOrder(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		typist := w.typist()
		w.model.Add(llmtest.Text("2"), llmtest.Text("3"))
		w.send(ref, "one")
		two, three := w.send(ref, "two"), w.send(ref, "three")
		if !two.Queued || !three.Queued || w.get(ref).Queued != 2 {
			t.Errorf("queued: %v, %v, %d", two.Queued, three.Queued, w.get(ref).Queued)
		}
		if got := w.turn(ref, two.TurnID); got.Status != store.TurnQueued || !got.StartedAt.IsZero() {
			t.Errorf("the queued turn: %+v", got)
		}
		w.sound(ref)
		typist.say("1")
		typist.end()
		w.story(ref,
			`T1 message.added user: "one"`,
			`T1 turn.started`,
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
		want := []string{`user: "one"`, `assistant: "1"`, `user: "two"`, `assistant: "2"`, `user: "three"`}
		if diff := cmp.Diff(want, shown(w, 2)); diff != "" {
			t.Errorf("the model was shown (-want +got):\n%s", diff)
		}
		w.model.Add(llmtest.Text("4"))
		w.restart()
		w.send(ref, "four")
		want = append(want, `assistant: "3"`, `user: "four"`)
		if diff := cmp.Diff(want, shown(w, 3)); diff != "" {
			t.Errorf("after a restart the model was shown (-want +got):\n%s", diff)
		}
		w.sound(ref)
	})
}

func TestAQueuedMessageIsNotShownBeforeItsTurn(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		w.send(ref, "one")
		w.send(ref, "two")
		w.submit(ref, w.pending(ref)["read"].ToolUseID, "x")
		want := []string{`user: "one"`, `assistant: read()`, `user: read→"x"`}
		if diff := cmp.Diff(want, shown(w, 1)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.sound(ref)
	}, llmtest.Calls("", llmtest.Call{Name: "read"}), llmtest.Hang())
}

func TestWhenBusy(t *testing.T) {
	inWorld(t, session.Options{MaxQueuedMessages: 2}, func(w *world) {
		t := w.t
		ref := w.create()
		w.send(ref, "one")
		_, err := w.trySend(ref, "rejected", session.WhenBusyReject)
		wantKind(t, "reject", err, session.KindBusy)
		w.send(ref, "two")
		w.send(ref, "three")
		_, err = w.trySend(ref, "four", session.WhenBusyQueue)
		wantKind(t, "full", err, session.KindQueueFull)
		if r := w.sendBusy(ref, "now", session.WhenBusyInterrupt); r.Queued {
			t.Error("the interrupting message is queued")
		}
		w.story(ref,
			`T1 message.added user: "one"`,
			`T1 turn.started`,
			`T2 message.queued user: "two"`,
			`T3 message.queued user: "three"`,
			`T4 message.queued user: "now"`,
			`T1 turn.completed stopped`,
			`T4 turn.started`,
		)
		if got := w.get(ref).Queued; got != 2 {
			t.Errorf("%d queued", got)
		}
		if diff := cmp.Diff([]string{`user: "one"`, `user: "now"`}, shown(w, 1)); diff != "" {
			t.Errorf("the model was shown (-want +got):\n%s", diff)
		}
		w.stop(ref, "", true)
		r, err := w.trySend(ref, "idle", session.WhenBusyReject)
		if err != nil || r.Queued {
			t.Errorf("reject on an idle session: %+v, %v", r, err)
		}
	}, llmtest.Hang(), llmtest.Hang(), llmtest.Text("ok"))
}

func TestStopKeepsWhatWasShown(t *testing.T) {
	for _, how := range []string{"stop", "interrupt", "close"} {
		t.Run(how, func(t *testing.T) {
			inWorld(t, session.Options{DeltaInterval: time.Second}, func(w *world) {
				t := w.t
				ref := w.create()
				rec := w.subscribe(ref)
				typist := w.typist()
				w.model.Add(llmtest.Hang())
				first := w.send(ref, "one")
				typist.say("shown ", "only ")
				w.pass(time.Second)
				typist.say("not told yet")
				answer := `T1 message.added assistant: "shown only "`
				story := []string{`T1 message.added user: "one"`, `T1 turn.started`}
				switch how {
				case "stop":
					w.stop(ref, "", false)
					story = append(story, answer, `T1 turn.completed stopped`)
				case "interrupt":
					w.sendBusy(ref, "two", session.WhenBusyInterrupt)
					story = append(story, `T2 message.queued user: "two"`, answer, `T1 turn.completed stopped`, `T2 turn.started`)
				case "close":
					if _, err := w.m.CloseSession(t.Context(), ref, session.Idempotency{}); err != nil {
						t.Fatal(err)
					}
					story = append(story, answer, `T1 turn.completed stopped`, `session.updated status`)
				}
				w.story(ref, story...)
				if how == "interrupt" {
					want := []string{`user: "one"`, `assistant: "shown only "`, `user: "two"`}
					if diff := cmp.Diff(want, shown(w, 1)); diff != "" {
						t.Errorf("the model was shown (-want +got):\n%s", diff)
					}
				}
				texts, _ := deltasOf(t, rec)
				for id, shown := range texts {
					answer := w.messagesBy(ref, message.RoleAssistant)[0]
					if id != string(answer.ID)+"/0" || shown != answer.PlainText() {
						t.Errorf("told %q of %s, stored %q of %s", shown, id, answer.PlainText(), answer.ID)
					}
				}
				if got := w.turn(ref, first.TurnID); got.Status != store.TurnStopped || got.CompletedAt.IsZero() {
					t.Errorf("the turn: %+v", got)
				}
				w.pass(time.Minute)
				if len(rec.pieces()) != 2 {
					t.Errorf("%d deltas, some after the stop", len(rec.pieces()))
				}
			})
		})
	}
}

// TestStopKeepsTextOnly: thinking and tool input are worth nothing without their end.
func TestStopKeepsTextOnly(t *testing.T) {
	tests := []struct {
		name string
		step llmtest.Step
		want []string
	}{
		{"thinking", llmtest.Thinking("hm hm"), nil},
		{"thinking and text", llmtest.Thinking("hm hm").Then(llmtest.Text("so far")), []string{`T1 message.added assistant: "so far"`}},
		{"text and a call", llmtest.Calls("so far", llmtest.Call{Name: "read"}), []string{`T1 message.added assistant: "so far"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				ref := w.create(withTools("read"))
				w.send(ref, "go")
				w.pass(time.Second)
				w.stop(ref, "", false)
				want := append([]string{`T1 message.added user: "go"`, `T1 turn.started`}, tt.want...)
				w.story(ref, append(want, `T1 turn.completed stopped`)...)
			}, tt.step.Then(llmtest.Hang()))
		})
	}
}

func TestStop(t *testing.T) {
	const (
		user    = `T1 message.added user: "one"`
		started = `T1 turn.started`
		ended   = `T1 turn.completed stopped`
	)
	two, three := `T2 message.queued user: "two"`, `T3 message.queued user: "three"`
	tests := []struct {
		name       string
		sends      int // of one, two, three
		turn       int // which to stop, 0: whichever runs
		clearQueue bool
		stopped    bool
		want       []string // after what the sends leave
	}{
		{"nothing", 0, 0, false, false, nil},
		{"nothing, with the queue", 0, 0, true, false, nil},
		{"the running turn", 1, 0, false, true, []string{ended}},
		{"the running turn by name", 1, 1, false, true, []string{ended}},
		{"an unknown turn", 1, 9, false, false, nil},
		{"the running turn with a queue", 3, 0, false, true, []string{ended, `T2 turn.started`}},
		{"the running turn and the queue", 3, 0, true, true, []string{`T2 message.dropped`, `T3 message.dropped`, ended}},
		{"a queued turn", 3, 2, false, true, []string{`T2 message.dropped`}},
		{"another queued turn", 3, 3, false, true, []string{`T3 message.dropped`}},
		{"a queued turn and the queue", 3, 3, true, true, []string{`T3 message.dropped`, `T2 message.dropped`}},
		{"an unknown turn and the queue", 3, 9, true, false, []string{`T2 message.dropped`, `T3 message.dropped`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				t := w.t
				w.model.Loop(llmtest.Hang())
				ref := w.create()
				turns := []message.TurnID{""}
				for _, s := range []string{"one", "two", "three"}[:tt.sends] {
					turns = append(turns, w.send(ref, s).TurnID)
				}
				turn := message.NewTurnID()
				if tt.turn < len(turns) {
					turn = turns[tt.turn]
				}
				if got := w.stop(ref, turn, tt.clearQueue); got != tt.stopped {
					t.Errorf("stopped is %v", got)
				}
				want := []string{user, started, two, three}[:max(0, min(4, tt.sends+min(1, tt.sends)))]
				w.story(ref, append(want, tt.want...)...)
				w.crash()
				w.sound(ref)
				w.stop(ref, "", true)
			})
		})
	}
}

func TestStopOfAWaitingTurn(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read", "write"))
		sent := w.send(ref, "go")
		calls := w.pending(ref)
		w.submit(ref, calls["write"].ToolUseID, "written")
		if !w.stop(ref, sent.TurnID, false) {
			t.Error("nothing was stopped")
		}
		if w.stop(ref, sent.TurnID, false) {
			t.Error("a stopped turn was stopped")
		}
		_, err := w.trySubmit(ref, calls["read"].ToolUseID, "late", "")
		wantKind(t, "a late result", err, session.KindToolCallResolved)
		w.pass(time.Hour) // no deadline is left
		w.send(ref, "next")
		stopped := `read!→"The turn was stopped before this call had a result."`
		w.story(ref,
			`T1 message.added user: "go"`,
			`T1 turn.started`,
			`T1 message.added assistant: read() write()`,
			`T1 tool.called read`,
			`T1 tool.called write`,
			`T1 tool.resolved write by client`,
			`T1 tool.resolved read by stop, error`,
			`T1 message.added user: `+stopped+` write→"written"`,
			`T1 turn.completed stopped`,
			`T2 message.added user: "next"`,
			`T2 turn.started`,
			`T2 message.added assistant: "ok"`,
			`T2 turn.completed completed`,
		)
		want := []string{`user: "go"`, `assistant: read() write()`, `user: ` + stopped + ` write→"written"`, `user: "next"`}
		if diff := cmp.Diff(want, shown(w, 1)); diff != "" {
			t.Errorf("the model was shown (-want +got):\n%s", diff)
		}
	}, llmtest.Calls("", llmtest.Call{Name: "read"}, llmtest.Call{Name: "write"}), llmtest.Text("ok"))
}

func TestStopDoesNotWaitForTheModel(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		finish := make(chan struct{})
		w.model.Add(deaf(finish), llmtest.Text("ok"))
		w.send(ref, "one")
		begin := time.Now()
		if !w.stop(ref, "", false) {
			t.Error("nothing was stopped")
		}
		w.send(ref, "two")
		if spent := time.Since(begin); spent > 0 {
			t.Errorf("it took %s", spent)
		}
		close(finish)
		w.story(ref,
			`T1 message.added user: "one"`,
			`T1 turn.started`,
			`T1 turn.completed stopped`,
			`T2 message.added user: "two"`,
			`T2 turn.started`,
			`T2 message.added assistant: "ok"`,
			`T2 turn.completed completed`,
		)
	})
}

// TestStopBetweenTwoSteps stops while the turn has no model call: its first commit is
// under way, or that of a whole tool round.
func TestStopBetweenTwoSteps(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		release := w.gate.hold()
		go w.trySend(ref, "one", "") //nolint:errcheck // the log tells
		synctest.Wait()
		go w.m.Stop(t.Context(), ref, "", false, session.Idempotency{}) //nolint:errcheck // the log tells
		synctest.Wait()
		release()
		synctest.Wait()
		if n := len(w.model.Requests()); n != 0 {
			t.Errorf("%d model calls for a turn that was stopped before", n)
		}

		w.send(ref, "two")
		id := w.pending(ref)["read"].ToolUseID
		release = w.gate.hold()
		go w.trySubmit(ref, id, "x", "") //nolint:errcheck // the log tells
		synctest.Wait()
		go w.m.Stop(t.Context(), ref, "", false, session.Idempotency{}) //nolint:errcheck // the log tells
		synctest.Wait()
		release()
		synctest.Wait()
		if n := len(w.model.Requests()); n != 1 {
			t.Errorf("%d model calls", n)
		}
		w.story(ref,
			`T1 message.added user: "one"`,
			`T1 turn.started`,
			`T1 turn.completed stopped`,
			`T2 message.added user: "two"`,
			`T2 turn.started`,
			`T2 message.added assistant: read()`,
			`T2 tool.called read`,
			`T2 tool.resolved read by client`,
			`T2 message.added user: read→"x"`,
			`T2 turn.completed stopped`,
		)
	}, llmtest.Calls("", llmtest.Call{Name: "read"}))
}

// TestMessagesInConversationOrder checks every bound of a page against the list.
func TestMessagesInConversationOrder(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		for i := range 4 {
			typist := w.typist()
			w.send(ref, fmt.Sprint("user ", i))
			w.send(ref, fmt.Sprint("queued ", i))
			dropped := w.send(ref, fmt.Sprint("dropped ", i))
			w.stop(ref, dropped.TurnID, false)
			w.model.Add(llmtest.Text(fmt.Sprint("answer to queued ", i)))
			typist.say(fmt.Sprint("answer ", i))
			typist.end()
		}
		w.model.Loop(llmtest.Hang())
		w.send(ref, "hanging")
		w.send(ref, "waiting 1")
		w.send(ref, "waiting 2")
		w.sound(ref)
		all, err := w.page(ref, true, 100)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 4*4+3 {
			t.Fatalf("%d messages", len(all))
		}
		list := encoded(all)
		for i := range all {
			for limit := 1; limit <= len(all)+1; limit++ {
				after, more, err := w.m.Messages(t.Context(), ref, session.MessageQuery{AfterSeq: all[i].Seq, Ascending: true, Limit: limit})
				if err != nil {
					t.Fatal(err)
				}
				end := min(i+1+limit, len(list))
				if diff := cmp.Diff(list[i+1:end], encoded(after)); diff != "" || more != (end < len(list)) {
					t.Errorf("%d after message %d: more is %v (-want +got):\n%s", limit, i, more, diff)
				}
				before, more, err := w.m.Messages(t.Context(), ref, session.MessageQuery{BeforeSeq: all[i].Seq, Limit: limit})
				if err != nil {
					t.Fatal(err)
				}
				start := max(i-limit, 0)
				if diff := cmp.Diff(list[start:i], encoded(before)); diff != "" || more != (start > 0) {
					t.Errorf("%d before message %d: more is %v (-want +got):\n%s", limit, i, more, diff)
				}
			}
		}
	})
}

// TestMessagesWhileAQueuedTurnStarts: the message neither vanishes nor appears twice.
func TestMessagesWhileAQueuedTurnStarts(t *testing.T) {
	for _, ascending := range []bool{true, false} {
		inWorld(t, session.Options{}, func(w *world) {
			t := w.t
			w.model.Loop(llmtest.Hang())
			ref := w.create()
			w.send(ref, "one")
			w.send(ref, "two")
			w.send(ref, "three")
			w.life.onOpenTurns = func() {
				w.life.onOpenTurns = nil
				w.stop(ref, "", false)
			}
			msgs, err := w.page(ref, ascending, 100)
			var got []string
			for _, m := range msgs {
				got = append(got, m.PlainText())
			}
			if diff := cmp.Diff([]string{"one", "two", "three"}, got); diff != "" || err != nil {
				t.Errorf("ascending %v: %v (-want +got):\n%s", ascending, err, diff)
			}
		})
	}
}

func TestTurnsAreListedNewestFirst(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		w.model.Loop(llmtest.Hang())
		ref := w.create()
		var sent []session.SendResult
		for range 5 {
			sent = append(sent, w.send(ref, "hi"))
		}
		w.stop(ref, sent[3].TurnID, false)
		var got []string
		before := int64(0)
		for {
			turns, err := w.m.Turns(t.Context(), ref, before, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, turn := range turns {
				got = append(got, fmt.Sprint(turn.CreatedSeq, " ", turn.Status))
				before = turn.CreatedSeq
			}
			if len(turns) < 2 {
				break
			}
		}
		want := []string{
			fmt.Sprint(sent[4].Seq, " queued"), fmt.Sprint(sent[3].Seq, " dropped"), fmt.Sprint(sent[2].Seq, " queued"),
			fmt.Sprint(sent[1].Seq, " queued"), fmt.Sprint(sent[0].Seq, " running"),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		_, err := w.m.Turn(t.Context(), ref, message.NewTurnID())
		wantKind(t, "unknown turn", err, session.KindNotFound)
		_, err = w.m.Message(t.Context(), ref, message.NewID())
		wantKind(t, "unknown message", err, session.KindNotFound)
	})
}
