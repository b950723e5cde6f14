package server

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
	"sessiond/store"
)

// Options say how the edge behaves.
type Options struct {
	Version string
	Limits  v1.Limits
	// Tokens maps the SHA-256 of each bearer token to its owner. Empty: no
	// authentication, everybody is LocalOwner.
	Tokens map[[32]byte]string
	// AllowedOrigins are the origins browsers may connect from; empty: the server's own.
	AllowedOrigins []string
	// AllowedHosts are the host names a request may name; empty: loopback names and
	// ListenHost; "*": any.
	AllowedHosts []string
	ListenHost   string
	Console      http.Handler // serves / and /assets/; nil: not served
	Registerer   prometheus.Registerer
	Gatherer     prometheus.Gatherer
	Now          func() time.Time // default time.Now
}

// LocalOwner owns everything on a server without authentication.
const LocalOwner = "local"

// Server answers HTTP requests and holds the connections.
type Server struct {
	opts     Options
	sessions *session.Manager
	store    store.Store
	log      *zap.Logger
	registry *v1.Registry
	openRPC  []byte
	methods  map[string]*boundMethod
	endpoint *rpc.Endpoint
	upgrader *websocket.Upgrader
	limiter  *ownerLimiter
	metrics  *metrics
	draining atomic.Bool
}

// New returns a server. It owns neither sessions nor st. Errors: limits that make no
// sense, a method of the contract without a handler.
func New(sessions *session.Manager, st store.Store, opts Options, log *zap.Logger) (*Server, error) {
	if opts.Now == nil {
		opts.Now = time.Now //nolint:forbidigo // the one place where the real clock comes in
	}
	registry, err := v1.NewRegistry(opts.Limits)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	doc, err := registry.OpenRPC(opts.Version)
	if err != nil {
		return nil, fmt.Errorf("server: describe the protocol: %w", err)
	}
	s := &Server{
		opts: opts, sessions: sessions, store: st, log: log.Named("server"), registry: registry, openRPC: doc,
		limiter: newOwnerLimiter(opts.Limits.CallsPerMinute, opts.Now),
	}
	rpcOpts := rpc.DefaultOptions()
	rpcOpts.MaxFrameBytes = int(opts.Limits.FrameBytes)
	rpcOpts.MaxBatch = int(opts.Limits.Batch)
	rpcOpts.MaxInFlight = int(opts.Limits.CallsInFlight)
	rpcOpts.MaxDepth = int(opts.Limits.Nesting)
	rpcOpts.MaxIDBytes = int(opts.Limits.IDBytes)
	rpcOpts.PingInterval = time.Duration(opts.Limits.PingMS) * time.Millisecond
	rpcOpts.PongTimeout = time.Duration(opts.Limits.PongMS) * time.Millisecond
	rpcOpts.WriteTimeout = time.Duration(opts.Limits.WriteMS) * time.Millisecond
	rpcOpts.Log = log.Named("rpc")
	s.endpoint = rpc.NewEndpoint(rpcOpts)
	s.upgrader = s.endpoint.Upgrader()
	s.upgrader.Subprotocols = []string{v1.Protocol}
	s.upgrader.CheckOrigin = func(*http.Request) bool { return true } // checked before, with a reason
	s.metrics = newMetrics(opts.Registerer, s.endpoint, sessions)
	if s.methods, err = bindAll(registry, s.metrics); err != nil {
		return nil, err
	}
	return s, nil
}

// Handler returns the routes.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/rpc", s.hosted(s.serveRPC))
	mux.HandleFunc("GET /v1/openrpc.json", s.hosted(s.serveOpenRPC))
	mux.HandleFunc("POST /v1/tickets", s.hosted(s.serveTickets))
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("GET /readyz", s.serveReady)
	mux.HandleFunc("GET /metrics", s.hosted(s.serveMetrics))
	if s.opts.Console != nil {
		mux.HandleFunc("GET /", s.hosted(s.opts.Console.ServeHTTP))
	}
	return mux
}

// Shutdown tells every client that the server stops, lets running calls be answered
// until ctx ends, and closes all connections with "restart".
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	notice, err := s.notification(v1.NotifyServer, v1.ServerNotice{Kind: v1.NoticeShuttingDown, RetryAfterMS: restartAfterMS})
	if err != nil {
		return err
	}
	return s.endpoint.Shutdown(ctx, notice, rpc.CloseRestart, "the server is restarting")
}

// restartAfterMS is what clients are told to wait before they reconnect.
const restartAfterMS = 1000

func (s *Server) serveOpenRPC(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.openRPC)
}

// notification encodes a server message whose params are a struct of the contract.
func (s *Server) notification(method string, params any) ([]byte, error) {
	raw, err := s.registry.Append(nil, params)
	if err != nil {
		return nil, err
	}
	return rpc.EncodeNotification(method, rawJSON(raw))
}
