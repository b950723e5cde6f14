package server

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sessiond/rpc"
	"sessiond/session"
)

// metrics are what operators watch. No label names a session or an owner.
type metrics struct {
	refused prometheus.Counter
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer, endpoint *rpc.Endpoint, sessions *session.Manager) *metrics {
	m := &metrics{
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sessiond_connections_refused_total", Help: "Connections turned away at the upgrade.",
		}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sessiond_calls_total", Help: "Answered calls by method and code (0: result).",
		}, []string{"method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sessiond_call_seconds", Help: "Time from a call's dispatch to its result.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5},
		}, []string{"method"}),
	}
	reg.MustRegister(m.refused, m.calls, m.seconds,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sessiond_connections", Help: "Open connections.",
		}, func() float64 { return float64(endpoint.Len()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sessiond_sessions_loaded", Help: "Sessions in memory.",
		}, func() float64 { return float64(sessions.Loaded()) }),
	)
	return m
}

// methodMetrics are the metrics of one method, looked up once.
type methodMetrics struct {
	all     *prometheus.CounterVec
	ok      prometheus.Counter
	seconds prometheus.Observer
}

func (m *metrics) of(method string) methodMetrics {
	curried := m.calls.MustCurryWith(prometheus.Labels{"method": method})
	return methodMetrics{all: curried, ok: curried.WithLabelValues("0"), seconds: m.seconds.WithLabelValues(method)}
}

func (m *methodMetrics) observe(err error, d time.Duration) {
	m.seconds.Observe(d.Seconds())
	if err == nil {
		m.ok.Inc()
		return
	}
	code := rpc.CodeInternalError
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		code = e.Code
	}
	m.all.WithLabelValues(strconv.Itoa(code)).Inc()
}
