package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
)

// readyTimeout bounds asking the database whether it answers.
const readyTimeout = 2 * time.Second

// serveHealth says that the process lives.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	writeStatus(w, http.StatusOK, map[string]string{"status": "ok"})
}

// serveReady says whether the server takes work. With authentication on, the reason is
// told only to those who have a token.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	status, body := http.StatusOK, map[string]string{"status": "ready"}
	if err := s.store.Ping(ctx); err != nil {
		s.log.Warn("not ready: the database does not answer", zap.Error(err))
		status, body = http.StatusServiceUnavailable, map[string]string{"status": "not ready", "reason": "the database does not answer"}
	}
	if s.draining.Load() {
		status, body = http.StatusServiceUnavailable, map[string]string{"status": "not ready", "reason": "the server is shutting down"}
	}
	if _, refused := s.bearer(r); refused != nil {
		delete(body, "reason")
	}
	writeStatus(w, status, body)
}

// serveMetrics serves Prometheus metrics, with authentication on only to those who
// have a token.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if _, refused := s.bearer(r); refused != nil {
		writeRefusal(w, refused)
		return
	}
	promhttp.HandlerFor(s.opts.Gatherer, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

func writeStatus(w http.ResponseWriter, status int, body map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
