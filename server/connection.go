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

// leaveTimeout bounds leaving a session; an actor answers in microseconds or has ended
// itself.
const leaveTimeout = 10 * time.Second

// leave ends a subscription. It does not end with the call: a subscriber that is no
// longer known here but still in its session would stay there for good.
func (c *connection) leave(ctx context.Context, ref store.Ref, sub *subscription) error {
	sub.end()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	return c.server.sessions.Unsubscribe(ctx, ref, sub)
}

// Closed implements rpc.Handler.
func (c *connection) Closed() {
	c.mu.Lock()
	subs := c.subs
	c.subs = nil
	c.mu.Unlock()
	for id, sub := range subs {
		_ = c.leave(context.Background(), store.Ref{Owner: c.principal.owner, ID: id}, sub)
	}
}

// hides reports whether the connection may not see prompts.
func (c *connection) hides() bool { return c.principal.scope < v1.ScopeFull }
