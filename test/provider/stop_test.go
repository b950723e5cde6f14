package provider_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest/fakellm"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// A stop is answered while the provider still says nothing, in no time at all, and
// hangs up on the provider.
func TestStop(t *testing.T) {
	call := []fakellm.Call{{Name: "read", Input: []byte(`{"path":"a.txt"}`)}}
	tests := []struct {
		name  string
		steps []fakellm.Step
		shown bool // something of the answer
	}{
		{"before the provider answers", []fakellm.Step{{Text: long, Fault: fakellm.FaultSilence}}, false},
		{"in the middle of an answer", []fakellm.Step{{Text: long, Fault: fakellm.FaultSilence, After: 4}}, true},
		{"in the middle of thinking", []fakellm.Step{{Thinking: long, Fault: fakellm.FaultSilence, After: 3}}, false},
		{"in the middle of a call", []fakellm.Step{
			{API: fakellm.Anthropic, Text: "I", Calls: call, Fault: fakellm.FaultSilence, After: 6},
			{API: fakellm.OpenAI, Text: "I", Calls: call, Fault: fakellm.FaultSilence, After: 4},
		}, true},
		{"while a retry is waited for", []fakellm.Step{{Text: long, Fault: fakellm.FaultAbort, After: 3}}, false},
		{"while a slow answer comes", []fakellm.Step{{Text: long, PauseMS: 3_600_000}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			forBoth(t, patient(), func(w *world) {
				ref := w.create(withTool("read"))
				rec := w.subscribe(ref)
				w.script(tt.steps...)
				turn := w.send(ref, "go")
				pass(100 * time.Millisecond) // what was shown is on its way
				if v := w.get(ref); v.Status != store.StatusRunning {
					w.t.Fatalf("the session is %s", v.Status)
				}
				at := time.Now()
				stopped, err := w.m.Stop(w.t.Context(), ref, turn, false, session.Idempotency{})
				if err != nil || !stopped.Value.Stopped {
					w.t.Fatalf("stop: %+v, %v", stopped, err)
				}
				if took := time.Since(at); took != 0 {
					w.t.Errorf("the stop took %s", took)
				}
				if got := w.turn(ref, turn); got.Status != store.TurnStopped || got.Error != nil {
					w.t.Errorf("the turn is %s: %+v", got.Status, got.Error)
				}
				want := []string{"user: go"}
				if tt.shown {
					want = append(want, "assistant: "+rec.text())
				}
				if diff := cmp.Diff(want, w.said(ref)); diff != "" || tt.shown && rec.text() == "" {
					w.t.Errorf("conversation (-want +got):\n%s", diff)
				}
				calls := w.modelCalls()
				w.sound(ref)
				pass(time.Hour)
				if n := w.modelCalls(); n != calls+1 {
					w.t.Errorf("%d model calls after the stop", n-calls)
				}
			})
		})
	}
}

// A fault between tool calls repeats the model call and nothing else.
func TestFaultsBetweenCalls(t *testing.T) {
	for _, f := range []fakellm.Step{
		{Fault: fakellm.FaultRateLimit},
		{Text: long, Fault: fakellm.FaultAbort, After: 4},
		{Text: long, Fault: fakellm.FaultError, After: 4},
		{Calls: []fakellm.Call{{Name: "read"}, {Name: "read"}}, Fault: fakellm.FaultEOF, After: 5},
	} {
		t.Run(string(f.Fault), func(t *testing.T) {
			forBoth(t, patient(), func(w *world) {
				ref := w.create(withTool("read"))
				rec := w.subscribe(ref)
				call := fakellm.Call{Name: "read", Input: []byte(`{ "path" : "a.txt" }`)}
				w.script(fakellm.Step{Text: "one", Calls: []fakellm.Call{call, call}}, f, fakellm.Step{Calls: []fakellm.Call{call}}, f, f, fakellm.Step{Text: "done"})
				turn := w.send(ref, "go")
				answered := 0
				for range 10 {
					answered += w.answerCalls(ref)
					pass(time.Minute)
				}
				if got := w.turn(ref, turn); got.Status != store.TurnCompleted || got.Rounds != 3 {
					w.t.Errorf("the turn is %s after %d rounds: %+v", got.Status, got.Rounds, got.Error)
				}
				want := []string{
					"user: go", `assistant: one | read{ "path" : "a.txt" } | read{ "path" : "a.txt" }`, "user: → the result of read | → the result of read",
					`assistant: read{ "path" : "a.txt" }`, "user: → the result of read", "assistant: done",
				}
				if diff := cmp.Diff(want, w.said(ref)); diff != "" {
					w.t.Errorf("conversation (-want +got):\n%s", diff)
				}
				called := slices.DeleteFunc(slices.Clone(rec.events), func(e *session.Event) bool { return e.Kind != session.EntryToolCalled })
				if answered != 3 || len(called) != 3 {
					w.t.Errorf("%d calls were made and %d answered", len(called), answered)
				}
				w.sound(ref)
			})
		})
	}
}

// A server that goes down in the middle of a fault takes the turn up again.
func TestRestartInAFault(t *testing.T) {
	for _, f := range []fakellm.Step{
		{Text: long, Fault: fakellm.FaultSilence, After: 4},
		{Fault: fakellm.FaultRateLimit, RetryAfterSeconds: 3},
	} {
		t.Run(string(f.Fault), func(t *testing.T) {
			forBoth(t, patient(), func(w *world) {
				ref := w.create()
				w.script(f, fakellm.Step{Text: "done"})
				turn := w.send(ref, "go")
				pass(time.Second)
				w.m.Close()
				w.begin()
				pass(time.Minute)
				if got := w.turn(ref, turn); got.Status != store.TurnCompleted {
					w.t.Errorf("the turn is %s: %+v", got.Status, got.Error)
				}
				if diff := cmp.Diff([]string{"user: go", "assistant: done"}, w.said(ref)); diff != "" {
					w.t.Errorf("conversation (-want +got):\n%s", diff)
				}
				w.sound(ref)
			})
		})
	}
}

// The queue goes on after a turn that failed.
func TestQueueAfterAFault(t *testing.T) {
	forBoth(t, session.Options{}, func(w *world) {
		ref := w.create()
		w.script(fakellm.Step{Fault: fakellm.FaultAuth}, fakellm.Step{Text: "two"}, fakellm.Step{Fault: fakellm.FaultOverflow, LimitTokens: 10}, fakellm.Step{Text: "four"})
		var turns []message.TurnID
		for _, s := range []string{"a", "b", "c", "d"} {
			turns = append(turns, w.send(ref, s))
		}
		pass(time.Second)
		var got []store.TurnStatus
		for _, id := range turns {
			got = append(got, w.turn(ref, id).Status)
		}
		want := []store.TurnStatus{store.TurnFailed, store.TurnCompleted, store.TurnFailed, store.TurnCompleted}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Error(diff)
		}
		if diff := cmp.Diff([]string{"user: a", "user: b", "assistant: two", "user: c", "user: d", "assistant: four"}, w.said(ref)); diff != "" {
			w.t.Errorf("conversation (-want +got):\n%s", diff)
		}
		w.sound(ref)
	})
}
