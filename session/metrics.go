package session

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sessiond/compaction"
	"sessiond/cost"
	"sessiond/llm"
	"sessiond/store"
)

// metrics are what operators watch. No label names a session or an owner.
type metrics struct {
	turns   *prometheus.CounterVec // by status
	calls   *prometheus.CounterVec // of models, by outcome
	seconds prometheus.Histogram   // of model calls
	tokens  *prometheus.CounterVec // by kind
	cost    prometheus.Counter
	full    prometheus.Counter     // US dollars that the same calls had cost without a cache
	cached  prometheus.Gauge       // US dollars that prompt caches saved
	repairs *prometheus.CounterVec // by the rule that was broken
	commits prometheus.Histogram   // seconds

	compactions *prometheus.CounterVec // by trigger, writer and outcome
	clearings   *prometheus.CounterVec // by reason

	extracting prometheus.Counter     // of memories, begun
	extracted  *prometheus.CounterVec // by outcome
}

// newMetrics registers the metrics; with a nil registerer they are kept and not shown.
func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		turns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sessiond_turns_total", Help: "Turns that ended, by status.",
		}, []string{"status"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sessiond_model_calls_total", Help: "Model calls by outcome: ok, cancelled, internal or the class of the error.",
		}, []string{"outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sessiond_model_call_seconds", Help: "Time of a model call, from the request to the end of the answer.",
			Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 25, 60, 120, 300},
		}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sessiond_model_tokens_total", Help: "Tokens of model calls by kind, as the providers counted them.",
		}, []string{"kind"}),
		cost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sessiond_model_cost_usd_total", Help: "Cost of model calls in US dollars, where the price is known.",
		}),
		full: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sessiond_model_cost_uncached_usd_total", Help: "What the same model calls cost where nothing is cached, in US dollars, where the price is known.",
		}),
		cached: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sessiond_model_cost_saved_usd", Help: "What prompt caches saved so far in US dollars; it falls where writing costs more than reading saves.",
		}),
		repairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sessiond_request_repairs_total", Help: "Repairs of requests that a provider would have refused, by rule.",
		}, []string{"rule"}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sessiond_commit_seconds", Help: "Time of a commit, from the session's side.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5},
		}),
		compactions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sessiond_compactions_total", Help: "Compactions that ended, by trigger, writer and outcome.",
		}, []string{"trigger", "writer", "outcome"}),
		clearings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sessiond_cleared_results_total", Help: "Tool results that were cleared or cut to make room, by reason.",
		}, []string{"reason"}),
		extracting: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sessiond_memory_extractions_begun_total", Help: "Calls that were begun to bring memories of sessions up to date.",
		}),
		extracted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sessiond_memory_extractions_total", Help: "Such calls that ended, by outcome: ok, failed, unusable (the answer is none) or dropped (the session has gone on without).",
		}, []string{"outcome"}),
	}
	if reg != nil {
		reg.MustRegister(m.compactions, m.clearings, m.full, m.cached, m.extracting, m.extracted)
		reg.MustRegister(m.turns, m.calls, m.seconds, m.tokens, m.cost, m.repairs, m.commits)
	}
	return m
}

func (m *metrics) turnEnded(status store.TurnStatus) { m.turns.WithLabelValues(string(status)).Inc() }

func (m *metrics) compacted(c *Compaction) {
	m.compactions.WithLabelValues(string(c.Trigger), string(c.Writer), string(c.Outcome)).Inc()
}

func (m *metrics) cleared(c *compaction.Clearing) {
	m.clearings.WithLabelValues(string(c.Reason)).Add(float64(len(c.IDs())))
}

// How an extraction ended.
const (
	extractionOK       = "ok"
	extractionFailed   = "failed"
	extractionUnusable = "unusable"
	extractionDropped  = "dropped"
)

func (m *metrics) extractionEnded(outcome string) { m.extracted.WithLabelValues(outcome).Inc() }

func (m *metrics) modelCalled(d time.Duration, err error) {
	m.seconds.Observe(d.Seconds())
	outcome := "ok"
	switch e, ok := llm.AsError(err); {
	case ok:
		outcome = string(e.Class)
	case errors.Is(err, context.Canceled):
		outcome = "cancelled"
	case err != nil:
		outcome = "internal"
	}
	m.calls.WithLabelValues(outcome).Inc()
}

// billed counts what a model call used and cost.
func (m *metrics) billed(b cost.Bill) {
	u := b.Usage
	for kind, n := range map[string]int64{
		"input": u.Input, "output": u.Output, "cache_read": u.CacheRead,
		"cache_write_5m": u.CacheWrite5m, "cache_write_1h": u.CacheWrite1h,
	} {
		if n > 0 {
			m.tokens.WithLabelValues(kind).Add(float64(n))
		}
	}
	m.cost.Add(max(u.CostUSD, 0))
	m.full.Add(max(b.UncachedUSD, 0))
	m.cached.Add(b.SavedUSD())
}
