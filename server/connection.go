package server

import (
	"context"
	"sync"
	"time"

	"sessiond/message"
	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
	"sessiond/store"
)

// connection answers the calls of one socket and holds its subscriptions.
type connection struct {
	server    *Server
	conn      *rpc.Conn
	principal *principal

	mu   sync.Mutex
	subs map[message.SessionID]*subscription
}

func (s *Server) newConnection(p *principal) func(*rpc.Conn) rpc.Handler {
	return func(conn *rpc.Conn) rpc.Handler {
		return &connection{server: s, conn: conn, principal: p}
	}
}

// Handle implements rpc.Handler.
func (c *connection) Handle(ctx context.Context, req *rpc.Request) (any, error) {
	m, ok := c.server.methods[req.Method]
	if !ok {
		return nil, rpc.MethodNotFound()
	}
	start := c.server.opts.Now()
	result, err := c.invoke(ctx, m, req.Params)
	m.metrics.observe(err, c.server.opts.Now().Sub(start))
	return result, err
}

func (c *connection) invoke(ctx context.Context, m *boundMethod, params rawJSON) (any, error) {
	if err := c.permit(m); err != nil {
		return nil, err
	}
	v, err := m.invoke(ctx, c, m, params)
	if err != nil {
		return nil, wireError(err)
	}
	return c.server.finishResult(v)
}

// unsubscribeTimeout bounds leaving the sessions of a connection that has ended; an
// actor answers in microseconds or has ended itself.
const unsubscribeTimeout = 10 * time.Second

// Closed implements rpc.Handler.
func (c *connection) Closed() {
	c.mu.Lock()
	subs := c.subs
	c.subs = nil
	c.mu.Unlock()
	if len(subs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), unsubscribeTimeout)
	defer cancel()
	for id, sub := range subs {
		_ = c.server.sessions.Unsubscribe(ctx, store.Ref{Owner: c.principal.owner, ID: id}, sub)
	}
}

// hides reports whether the connection may not see prompts.
func (c *connection) hides() bool { return c.principal.scope < v1.ScopeFull }
