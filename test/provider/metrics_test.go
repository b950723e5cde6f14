package provider_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"sessiond/llm/llmtest/fakellm"
	"sessiond/session"
)

// What operators see adds up with what happened.
func TestMetrics(t *testing.T) {
	for _, p := range providers() {
		t.Run(string(p.api), func(t *testing.T) {
			opts := patient()
			registry := prometheus.NewRegistry()
			opts.Registerer = registry
			inBubble(t, p, fakellm.Options{}, opts, func(w *world) {
				ref := w.create()
				w.script(
					fakellm.Step{Text: "one"},
					fakellm.Step{Fault: fakellm.FaultRateLimit}, fakellm.Step{Text: "half", Fault: fakellm.FaultAbort, After: 2}, fakellm.Step{Text: "two"},
					fakellm.Step{Fault: fakellm.FaultAuth},
					fakellm.Step{Text: "never ends", Fault: fakellm.FaultSilence, After: 2},
				)
				for range 4 {
					w.send(ref, "go")
					pass(time.Minute)
				}
				if _, err := w.m.Stop(w.t.Context(), ref, "", false, session.Idempotency{}); err != nil {
					w.t.Fatal(err)
				}
				synctest.Wait() // what the call that was cut off cost comes after the stop
				usage := w.get(ref).Usage
				want := map[string]float64{
					"sessiond_model_calls_total ok": 2, "sessiond_model_calls_total rate": 1, "sessiond_model_calls_total network": 1,
					"sessiond_memory_extractions_begun_total": 0,
					"sessiond_model_calls_total auth":         1, "sessiond_model_calls_total cancelled": 1,
					"sessiond_turns_total completed": 2, "sessiond_turns_total failed": 1, "sessiond_turns_total stopped": 1,
					"sessiond_model_tokens_total input": float64(usage.Input), "sessiond_model_tokens_total output": float64(usage.Output),
					"sessiond_model_cost_usd_total": usage.CostUSD, "sessiond_model_cost_uncached_usd_total": usage.CostUSD, // nothing was read
				}
				if diff := cmp.Diff(want, counters(w.t, registry), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
					w.t.Errorf("counters (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// counters returns the counters of a registry by name and label.
func counters(tb testing.TB, registry *prometheus.Registry) map[string]float64 {
	tb.Helper()
	families, err := registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	found := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			if c := m.GetCounter(); c != nil {
				found[name] = c.GetValue()
			}
		}
	}
	return found
}
