package server

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"go.uber.org/zap"

	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/store"
)

type rawJSON = json.RawMessage

// principal is who a connection acts for.
type principal struct {
	owner    string
	scope    v1.Scope
	sessions []message.SessionID // the only ones it may touch; empty: all of the owner
}

func (p *principal) mayTouch(id message.SessionID) bool {
	return len(p.sessions) == 0 || slices.Contains(p.sessions, id)
}

// refusal is why an HTTP request is turned away.
type refusal struct {
	status int
	reason string
}

func (r *refusal) Error() string { return r.reason }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// writeRefusal answers with the reason, which names what was wrong but no secret.
func writeRefusal(w http.ResponseWriter, r *refusal) {
	w.Header().Set("Content-Type", "application/json")
	if r.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": r.reason})
}

// hosted refuses requests that name another host: a page that has its name resolve to
// this machine (DNS rebinding) can't talk to the server.
func (s *Server) hosted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.hostAllowed(r.Host) {
			writeRefusal(w, refuse(http.StatusForbidden, "host %q is not in server.allowed_hosts", r.Host))
			return
		}
		next(w, r)
	}
}

func (s *Server) hostAllowed(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if len(s.opts.AllowedHosts) == 0 {
		if host == "localhost" || host == strings.ToLower(s.opts.ListenHost) {
			return true
		}
		ip := net.ParseIP(host)
		return ip != nil && ip.IsLoopback()
	}
	for _, allowed := range s.opts.AllowedHosts {
		if allowed == "*" || strings.EqualFold(allowed, host) || strings.EqualFold(allowed, hostport) {
			return true
		}
	}
	return false
}

// checkOrigin refuses browsers' connections from pages of other origins. Requests
// without an Origin do not come from pages.
func (s *Server) checkOrigin(r *http.Request) *refusal {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	origin := origins[0]
	if len(origins) > 1 || origin == "null" {
		return refuse(http.StatusForbidden, "origin %q is never allowed", strings.Join(origins, ", "))
	}
	if slices.Contains(s.opts.AllowedOrigins, origin) {
		return nil
	}
	if len(s.opts.AllowedOrigins) == 0 {
		u, err := url.Parse(origin)
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(origin, u.Scheme+"://"+r.Host) {
			return nil
		}
	}
	return refuse(http.StatusForbidden, "origin %q is not in server.allowed_origins", origin)
}

// bearer names the owner by the request's token.
func (s *Server) bearer(r *http.Request) (string, *refusal) {
	if len(s.opts.Tokens) == 0 {
		return LocalOwner, nil
	}
	header := r.Header.Get("Authorization")
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", refuse(http.StatusUnauthorized, "the header Authorization: Bearer <token> is missing")
	}
	owner, known := s.opts.Tokens[sha256.Sum256([]byte(strings.TrimSpace(token)))]
	if !known {
		return "", refuse(http.StatusUnauthorized, "the bearer token is not valid")
	}
	return owner, nil
}

// ticketPrefix marks the ticket among the subprotocols that a browser offers.
const ticketPrefix = "ticket."

// authenticate decides who a new connection acts for: by ticket if it offers one, else
// by bearer token.
func (s *Server) authenticate(r *http.Request, offered []string) (*principal, error) {
	for _, name := range offered {
		if value, ok := strings.CutPrefix(name, ticketPrefix); ok {
			return s.redeem(r, value)
		}
	}
	owner, refused := s.bearer(r)
	if refused != nil {
		return nil, refused
	}
	return &principal{owner: owner, scope: v1.ScopeFull}, nil
}

// redeem takes a ticket; it is gone afterwards, whatever becomes of the connection.
func (s *Server) redeem(r *http.Request, value string) (*principal, error) {
	t, err := s.store.TakeTicket(r.Context(), sha256.Sum256([]byte(value)), s.opts.Now())
	if errors.Is(err, store.ErrNotFound) {
		return nil, refuse(http.StatusUnauthorized, "the ticket is not valid: unknown, used or expired")
	}
	if err != nil {
		return nil, fmt.Errorf("take ticket: %w", err)
	}
	if origin := r.Header.Get("Origin"); origin != t.Origin {
		return nil, refuse(http.StatusUnauthorized, "the ticket was made for origin %q, not %q", t.Origin, origin)
	}
	scope, ok := scopeOf(t.Scope)
	if !ok {
		return nil, fmt.Errorf("ticket has scope %q", t.Scope)
	}
	return &principal{owner: t.Owner, scope: scope, sessions: t.SessionIDs}, nil
}

func scopeOf(name string) (v1.Scope, bool) {
	for _, s := range []v1.Scope{v1.ScopeRead, v1.ScopeChat, v1.ScopeFull} {
		if s.String() == name {
			return s, true
		}
	}
	return v1.ScopeNone, false
}

// serveRPC upgrades to a WebSocket. It returns at once: the endpoint owns the socket.
func (s *Server) serveRPC(w http.ResponseWriter, r *http.Request) {
	p, err := s.admit(r)
	if err != nil {
		var refused *refusal
		if !errors.As(err, &refused) {
			s.log.Error("a connection could not be authenticated", zap.Error(err))
			refused = refuse(http.StatusServiceUnavailable, "authentication is not possible right now")
		}
		s.metrics.refused.Inc()
		s.log.Info("connection refused", zap.Int("status", refused.status), zap.String("reason", refused.reason), zap.String("remote", r.RemoteAddr))
		writeRefusal(w, refused)
		return
	}
	ws, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	s.endpoint.Serve(ws, s.newConnection(p)) //nolint:contextcheck // a connection outlives the request that began it
}

func (s *Server) admit(r *http.Request) (*principal, error) {
	if s.draining.Load() {
		return nil, refuse(http.StatusServiceUnavailable, "the server is shutting down")
	}
	if refused := s.checkOrigin(r); refused != nil {
		return nil, refused
	}
	offered := subprotocols(r)
	if len(offered) > 0 && !slices.Contains(offered, v1.Protocol) {
		return nil, refuse(http.StatusBadRequest, "none of the offered subprotocols is known; this server speaks %s", v1.Protocol)
	}
	return s.authenticate(r, offered)
}

func subprotocols(r *http.Request) []string {
	var offered []string
	for _, header := range r.Header.Values("Sec-Websocket-Protocol") {
		for name := range strings.SplitSeq(header, ",") {
			if name = strings.TrimSpace(name); name != "" {
				offered = append(offered, name)
			}
		}
	}
	return offered
}
