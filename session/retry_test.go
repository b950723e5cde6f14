package session_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/session"
	"sessiond/store"
)

// patient are options under which the pauses are 0.5 s, 1 s, 2 s, … up to 8 s.
func patient() session.Options {
	return session.Options{RetryMaxDelay: 16 * time.Second, RetryBudget: time.Minute, Jitter: func() float64 { return 0 }}
}

func failure(class llm.Class, retryAfter time.Duration) llmtest.Step {
	return llmtest.Fail(&llm.Error{Class: class, Status: 429, Message: "not now", RetryAfter: retryAfter})
}

func TestRetryUntilItWorks(t *testing.T) {
	inWorld(t, patient(), func(w *world) {
		t := w.t
		ref := w.create()
		r := w.subscribe(ref)
		sent := w.send(ref, "go")
		for i, pause := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
			w.pass(pause - time.Millisecond)
			if n := len(w.model.Requests()); n != i+1 {
				t.Fatalf("%d model calls before pause %d was over", n, i+1)
			}
			w.pass(time.Millisecond)
			if n := len(w.model.Requests()); n != i+2 {
				t.Fatalf("%d model calls after pause %d", n, i+1)
			}
		}
		turn := w.turn(ref, sent.TurnID)
		if turn.Status != store.TurnCompleted || turn.Rounds != 1 {
			t.Errorf("the turn is %s after %d rounds", turn.Status, turn.Rounds)
		}
		want := []session.ActivityName{
			session.ActivityRetrying, session.ActivityNone, session.ActivityRetrying,
			session.ActivityNone, session.ActivityRetrying, session.ActivityNone,
		}
		if diff := cmp.Diff(want, r.doing()); diff != "" {
			t.Error(diff)
		}
		w.usable(ref)
	},
		failure(llm.ClassRate, 0), failure(llm.ClassOverload, 0), failure(llm.ClassNetwork, 0), llmtest.Text("at last"))
}

func TestRetryAfterIsHonoured(t *testing.T) {
	inWorld(t, patient(), func(w *world) {
		t := w.t
		ref := w.create()
		w.send(ref, "go")
		w.pass(7*time.Second - time.Millisecond)
		if n := len(w.model.Requests()); n != 1 {
			t.Fatalf("%d model calls before the provider wants one", n)
		}
		w.pass(time.Millisecond)
		if n := len(w.model.Requests()); n != 2 {
			t.Fatalf("%d model calls", n)
		}
	}, failure(llm.ClassRate, 7*time.Second), llmtest.Text("now"))
}

func TestRetryEnds(t *testing.T) {
	always := func(class llm.Class, retryAfter time.Duration) []llmtest.Step {
		return slices.Repeat([]llmtest.Step{failure(class, retryAfter)}, 100)
	}
	tests := []struct {
		name  string
		opts  session.Options
		steps []llmtest.Step
		calls int
		want  session.TurnErrorKind
	}{
		// 0.5 + 1 + 2 + 4 + 6 × 8 = 55.5 s in ten pauses; another one is more than a minute.
		{"budget", patient(), always(llm.ClassNetwork, 0), 11, session.TurnUpstreamFailed},
		{"no budget", session.Options{}, always(llm.ClassNetwork, 0), 1, session.TurnUpstreamFailed},
		{"more patience than there is", patient(), always(llm.ClassRate, time.Hour), 1, session.TurnUpstreamFailed},
		{"auth", patient(), always(llm.ClassAuth, 0), 1, session.TurnUpstreamFailed},
		{"billing", patient(), always(llm.ClassBilling, 0), 1, session.TurnUpstreamFailed},
		{"invalid", patient(), always(llm.ClassInvalid, 0), 1, session.TurnUpstreamFailed},
		{"media", patient(), always(llm.ClassMedia, 0), 1, session.TurnUpstreamFailed},
		{"overflow", patient(), always(llm.ClassOverflow, 0), 1, session.TurnContextOverflow},
		{"refused", patient(), always(llm.ClassRefused, 0), 1, session.TurnRefused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, tt.opts, func(w *world) {
				t := w.t
				ref := w.create()
				w.model.Add(tt.steps[:tt.calls]...)
				sent := w.send(ref, "go")
				w.pass(5 * time.Minute)
				if n := len(w.model.Requests()); n != tt.calls {
					t.Errorf("%d model calls, want %d", n, tt.calls)
				}
				turn := w.turn(ref, sent.TurnID)
				if turn.Status != store.TurnFailed || turn.Error.Kind != tt.want {
					t.Errorf("the turn is %s: %v", turn.Status, turn.Error)
				}
				w.usable(ref)
			})
		})
	}
}

func TestStopWhileRetrying(t *testing.T) {
	inWorld(t, patient(), func(w *world) {
		t := w.t
		ref := w.create()
		r := w.subscribe(ref)
		sent := w.send(ref, "go")
		at := time.Now()
		if !w.stop(ref, sent.TurnID, false) || time.Since(at) != 0 {
			t.Errorf("the turn was not stopped at once: %s", time.Since(at))
		}
		w.pass(time.Minute)
		if n := len(w.model.Requests()); n != 1 {
			t.Errorf("%d model calls: a stopped turn tried again", n)
		}
		if got := r.doing()[len(r.doing())-1]; got != session.ActivityNone {
			t.Errorf("the session is still told to be %s", got)
		}
		w.usable(ref)
	}, failure(llm.ClassRate, 5*time.Second))
}

// What was shown of an attempt that broke off belongs to no message: the next attempt
// has a message of its own.
func TestRetryAfterTextWasShown(t *testing.T) {
	broken := llmtest.Text("half a sen").Then(failure(llm.ClassNetwork, 0))
	inWorld(t, patient(), func(w *world) {
		t := w.t
		ref := w.create()
		r := w.subscribe(ref)
		w.send(ref, "go")
		w.pass(time.Second)
		first, last := r.pieces()[0].MessageID, r.pieces()[len(r.pieces())-1].MessageID
		if first == last {
			t.Error("both attempts write the same message")
		}
		log := tell(w.log(ref))
		want := []string{`assistant: "a whole sentence"`, "turn.completed completed"}
		if got := log[len(log)-2:]; got[0][len(got[0])-len(want[0]):] != want[0] {
			t.Errorf("the log ends %q", got)
		}
		msgs, _, err := w.m.Messages(t.Context(), ref, session.MessageQuery{Limit: 10})
		if err != nil || len(msgs) != 2 || msgs[1].ID != last {
			t.Errorf("%d messages, the last %v, %v", len(msgs), msgs[len(msgs)-1].ID, err)
		}
	}, broken, llmtest.Text("a whole sentence"))
}

// A commit meanwhile does not tell that the wait is over.
func TestRetryingIsToldUntilItEnds(t *testing.T) {
	inWorld(t, patient(), func(w *world) {
		t := w.t
		ref := w.create()
		r := w.subscribe(ref)
		w.send(ref, "go")
		w.send(ref, "and then")
		if diff := cmp.Diff([]session.ActivityName{session.ActivityRetrying}, r.doing()); diff != "" {
			t.Error(diff)
		}
		w.pass(time.Minute)
		if n := len(w.model.Requests()); n != 3 {
			t.Errorf("%d model calls", n)
		}
	}, failure(llm.ClassRate, 0), llmtest.Text("one"), llmtest.Text("two"))
}

func TestRestartWhileRetrying(t *testing.T) {
	for name, end := range map[string]func(w *world){"stop": (*world).restart, "crash": (*world).crash} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, patient(), func(w *world) {
				t := w.t
				ref := w.create()
				sent := w.send(ref, "go")
				end(w)
				w.pass(time.Minute)
				if turn := w.turn(ref, sent.TurnID); turn.Status != store.TurnCompleted {
					t.Errorf("the turn is %s", turn.Status)
				}
				w.usable(ref)
			}, failure(llm.ClassOverload, 10*time.Second), llmtest.Text("done"))
		})
	}
}
