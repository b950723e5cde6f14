package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// tokensCounted is what the metrics say of a kind of tokens.
func tokensCounted(tb testing.TB, reg *prometheus.Registry, kind string) float64 {
	tb.Helper()
	families, err := reg.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "sessiond_model_tokens_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == kind {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func sameUsage(tb testing.TB, what string, want, got message.Usage) {
	tb.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		tb.Errorf("usage of %s (-want +got):\n%s", what, diff)
	}
}

// TestFailedCallsAreCounted: what a provider counted of attempts that failed is in the
// turn, in the session and in the metrics, after a crash too.
func TestFailedCallsAreCounted(t *testing.T) {
	tests := []struct {
		name   string
		last   llmtest.Step
		status store.TurnStatus
	}{
		{"answered in the end", llmtest.Text("yes").WithUsage(message.Usage{Input: 100, Output: 5, CostUSD: 0.5}), store.TurnCompleted},
		{"failed in the end", failure(llm.ClassInvalid, 0).WithUsage(message.Usage{Input: 100, Output: 5, CostUSD: 0.5}), store.TurnFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := patient()
			reg := prometheus.NewRegistry()
			opts.Registerer = reg
			inWorld(t, opts, func(w *world) {
				t := w.t
				w.model.Add(
					failure(llm.ClassOverload, 0),
					llmtest.Text("half").Then(failure(llm.ClassNetwork, 0)).WithUsage(message.Usage{Input: 10, Output: 1, CostUSD: 0.25}),
					tt.last,
				)
				ref := w.create()
				sent := w.send(ref, "go")
				w.pass(time.Minute)
				want := message.Usage{Input: 110, Output: 6, CostUSD: 0.75}
				turn := w.turn(ref, sent.TurnID)
				if turn.Status != tt.status {
					t.Errorf("the turn is %s", turn.Status)
				}
				sameUsage(t, "the turn", want, turn.Usage)
				sameUsage(t, "the session", want, w.get(ref).Usage)
				if in, out := tokensCounted(t, reg, "input"), tokensCounted(t, reg, "output"); in != 110 || out != 6 {
					t.Errorf("the metrics tell of %v and %v tokens", in, out)
				}
				w.opts.Registerer = nil
				w.crash()
				sameUsage(t, "the session after a crash", want, w.get(ref).Usage)
			})
		})
	}
}

// TestCutOffCallsAreCounted: what a stop or the time limit cut off is in the session's
// total and in the metrics, though the turn was over before it was known.
func TestCutOffCallsAreCounted(t *testing.T) {
	tests := []struct {
		name string
		cut  func(w *world, ref store.Ref)
	}{
		{"by a stop", func(w *world, ref store.Ref) { w.stop(ref, "", false) }},
		{"by the time limit", func(w *world, _ store.Ref) { w.pass(time.Minute) }},
		{"by another message", func(w *world, ref store.Ref) {
			w.model.Add(llmtest.Text("yes").WithUsage(message.Usage{}))
			w.sendBusy(ref, "no, this", session.WhenBusyInterrupt)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			inWorld(t, session.Options{MaxTurnDuration: time.Minute, Registerer: reg}, func(w *world) {
				t := w.t
				used := message.Usage{Input: 70, CacheRead: 7, Output: 3, CostUSD: 0.125}
				w.model.Add(llmtest.Text("half").Then(llmtest.Hang()).WithUsage(used))
				ref := w.create()
				sent := w.send(ref, "go")
				w.pass(time.Second)
				tt.cut(w, ref)
				synctest.Wait()
				sameUsage(t, "the turn", message.Usage{}, w.turn(ref, sent.TurnID).Usage)
				sameUsage(t, "the session", used, w.get(ref).Usage)
				if n := tokensCounted(t, reg, "input"); n != 70 {
					t.Errorf("the metrics tell of %v tokens", n)
				}
				w.opts.Registerer = nil
				w.crash()
				sameUsage(t, "the session after a crash", used, w.get(ref).Usage)
				w.usable(ref)
			})
		})
	}
}

// TestUsageOfADeletedSession: a call that is cut off by the deletion is counted nowhere
// and harms nothing.
func TestUsageOfADeletedSession(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		ref := w.create()
		w.send(ref, "go")
		if err := w.m.Delete(w.t.Context(), ref); err != nil {
			w.t.Fatal(err)
		}
		synctest.Wait()
		if n := w.m.Loaded(); n != 0 {
			w.t.Errorf("%d sessions are loaded", n)
		}
	}, llmtest.Hang().WithUsage(message.Usage{Input: 1}))
}
