package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// usable judges that a session goes on after its turn ended badly.
func (w *world) usable(ref store.Ref) {
	w.t.Helper()
	w.model.Add(llmtest.Text("here I am"))
	w.send(ref, "still there?")
	log := tell(w.log(ref))
	if last := log[len(log)-2]; !strings.HasSuffix(last, `assistant: "here I am"`) {
		w.t.Errorf("the session does not go on: %q", log)
	}
	w.sound(ref)
}

func TestLimits(t *testing.T) {
	call := func() llmtest.Step {
		return llmtest.Calls("", llmtest.Call{Name: "read"}).WithUsage(message.Usage{Input: 60, CacheRead: 30, Output: 10})
	}
	three := int64(3)
	tests := []struct {
		name   string
		opts   session.Options
		limits session.Limits
		rounds int // model calls until the limit is reached
		want   session.TurnErrorKind
	}{
		{"rounds", session.Options{MaxRoundsPerTurn: 2}, session.Limits{}, 2, session.TurnRoundLimit},
		{"rounds of the session", session.Options{MaxRoundsPerTurn: 2}, session.Limits{MaxRoundsPerTurn: &three}, 3, session.TurnRoundLimit},
		{"tokens", session.Options{MaxTokensPerTurn: 200}, session.Limits{}, 2, session.TurnTokenLimit},
		{"tokens just over", session.Options{MaxTokensPerTurn: 201}, session.Limits{}, 3, session.TurnTokenLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, tt.opts, func(w *world) {
				t := w.t
				ref := w.create(withTools("read"), func(s *session.Settings) { s.Limits = tt.limits })
				sent := w.send(ref, "go")
				for i := range tt.rounds {
					w.model.Add(call())
					if got := len(w.model.Requests()); got != i+1 {
						t.Fatalf("%d model calls, want %d", got, i+1)
					}
					if i == 1 {
						w.restart() // what was used is not forgotten
					}
					w.submit(ref, w.pending(ref)["read"].ToolUseID, "x")
				}
				turn := w.turn(ref, sent.TurnID)
				if turn.Status != store.TurnFailed || turn.Error == nil || turn.Error.Kind != tt.want || turn.Rounds != tt.rounds {
					t.Errorf("turn: %+v, error %+v", turn, turn.Error)
				}
				if last := tell(w.log(ref)); last[len(last)-1] != "T1 turn.completed failed ("+string(tt.want)+")" {
					t.Errorf("log: %q", last)
				}
				if w.model.Left() != 1 {
					t.Errorf("%d steps left", w.model.Left())
				}
				drain(w)
				w.usable(ref)
			}, call())
		})
	}
}

// drain takes what is left of the script.
func drain(w *world) {
	for w.model.Left() > 0 {
		_, _ = w.model.Stream(w.t.Context(), &llm.Request{}, func(llm.Delta) {})
	}
}

func TestTimeLimit(t *testing.T) {
	for _, restart := range []bool{false, true} {
		inWorld(t, session.Options{MaxTurnDuration: 30 * time.Minute, ToolTimeout: 24 * time.Hour}, func(w *world) {
			t := w.t
			ref := w.create(withTools("read"))
			release := make(chan struct{})
			w.model.Add(llmtest.Wait(release).Then(llmtest.Calls("", llmtest.Call{Name: "read"})))
			second := w.typist()
			sent := w.send(ref, "go")
			w.pass(20 * time.Minute)
			close(release)
			w.pass(12 * time.Hour) // waiting for the tool is free
			if restart {
				w.restart()
			}
			w.submit(ref, w.pending(ref)["read"].ToolUseID, "x")
			second.say("half an answer")
			w.pass(10*time.Minute - time.Millisecond)
			if got := w.turn(ref, sent.TurnID).Status; got != store.TurnRunning {
				t.Errorf("before its time is up the turn is %s", got)
			}
			w.pass(time.Millisecond)
			w.story(ref,
				`T1 message.added user: "go"`,
				`T1 turn.started`,
				`T1 message.added assistant: read()`,
				`T1 tool.called read`,
				`T1 tool.resolved read by client`,
				`T1 message.added user: read→"x"`,
				`T1 message.added assistant: "half an answer"`,
				`T1 turn.completed failed (time_limit)`,
			)
			w.usable(ref)
		})
	}
}

func TestFailedModelCalls(t *testing.T) {
	const internal = "the model call failed; the log has the details"
	upstream := func(c llm.Class) llmtest.Step {
		return llmtest.Fail(&llm.Error{Class: c, Status: 418, Message: "no tea"})
	}
	const told = "status 418): no tea"
	tests := []struct {
		name string
		step llmtest.Step
		kind session.TurnErrorKind
		text string
	}{
		{"overflow", llmtest.Fail(llmtest.Overflow(1000)), session.TurnContextOverflow, "refused a request of about"},
		{"rate", upstream(llm.ClassRate), session.TurnUpstreamFailed, told},
		{"overload", upstream(llm.ClassOverload), session.TurnUpstreamFailed, told},
		{"auth", upstream(llm.ClassAuth), session.TurnUpstreamFailed, told},
		{"billing", upstream(llm.ClassBilling), session.TurnUpstreamFailed, told},
		{"media", upstream(llm.ClassMedia), session.TurnUpstreamFailed, told},
		{"invalid", upstream(llm.ClassInvalid), session.TurnUpstreamFailed, told},
		{"network", upstream(llm.ClassNetwork), session.TurnUpstreamFailed, told},
		{"refused", upstream(llm.ClassRefused), session.TurnRefused, told},
		{"broken off", llmtest.Text("some words").Then(upstream(llm.ClassNetwork)), session.TurnUpstreamFailed, told},
		{"an error of no class", llmtest.Fail(errors.New("secret detail")), session.TurnInternal, internal},
		{"a cancellation that is not ours", llmtest.Fail(context.Canceled), session.TurnInternal, internal},
		{"a panic", llmtest.Do(func(*llm.Request) { panic("oops") }), session.TurnInternal, internal},
		{"a panic in mid answer", llmtest.Text("some words").Then(llmtest.Do(func(*llm.Request) { panic("oops") })), session.TurnInternal, internal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				t := w.t
				ref := w.create()
				sent := w.send(ref, "go")
				w.story(ref, `T1 message.added user: "go"`, `T1 turn.started`, `T1 turn.completed failed (`+string(tt.kind)+`)`)
				turn := w.turn(ref, sent.TurnID)
				if turn.Error == nil || turn.Error.Kind != tt.kind || !strings.Contains(turn.Error.Message, tt.text) {
					t.Errorf("error is %+v", turn.Error)
				}
				w.usable(ref)
			}, tt.step)
		})
	}
}

// silent is a model that breaks its contract: no answer, no error.
type silent struct{}

func (silent) Stream(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
	return nil, nil
}

func TestModelWithoutAnswerOrError(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		w.m.Close()
		w.other = silent{}
		w.begin()
		ref := w.create()
		w.send(ref, "go")
		w.story(ref, `T1 message.added user: "go"`, `T1 turn.started`, `T1 turn.completed failed (internal)`)
	})
}

func TestRefusalAndEmptyAnswer(t *testing.T) {
	tests := []struct {
		name string
		step llmtest.Step
		want []string
	}{
		{"refusal", llmtest.Text("No.").WithStop(llm.StopRefusal), []string{`T1 message.added assistant: "No."`, `T1 turn.completed failed (refused)`}},
		{"refusal without a word", answerOf().WithStop(llm.StopRefusal), []string{`T1 turn.completed failed (refused)`}},
		{"nothing", answerOf(), []string{`T1 turn.completed completed`}},
		{"cut by its length", llmtest.Text("half").WithStop(llm.StopMaxTokens), []string{`T1 message.added assistant: "half"`, `T1 turn.completed completed`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				ref := w.create()
				w.send(ref, "go")
				w.story(ref, append([]string{`T1 message.added user: "go"`, `T1 turn.started`}, tt.want...)...)
				w.usable(ref)
			}, tt.step)
		})
	}
}

// A stop reason never decides whether tools run: only their calls do.
func TestToolCallsRunWhateverTheStopReason(t *testing.T) {
	for _, stop := range []llm.StopReason{llm.StopEnd, llm.StopToolUse, llm.StopMaxTokens, llm.StopPause, llm.StopRefusal, llm.StopContextWindow} {
		inWorld(t, session.Options{}, func(w *world) {
			t := w.t
			ref := w.create(withTools("read"))
			w.send(ref, "go")
			w.submit(ref, w.pending(ref)["read"].ToolUseID, "x")
			if diff := cmp.Diff([]string{`user: "go"`, `assistant: read()`, `user: read→"x"`}, shown(w, 1)); diff != "" {
				t.Errorf("%s: the model was shown (-want +got):\n%s", stop, diff)
			}
			w.sound(ref)
		}, llmtest.Calls("", llmtest.Call{Name: "read"}).WithStop(stop), llmtest.Text("ok"))
	}
}
