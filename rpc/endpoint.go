package rpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"
)

// Endpoint holds the connections of one server and what they share.
type Endpoint struct {
	opts    Options
	stub    stub
	workers *workers
	buffers sync.Pool // of gorilla, for writing

	mu      sync.Mutex
	conns   map[*Conn]struct{}
	closing bool   // no new connections
	notice  []byte // when closing, and not changed from then on, like the next two
	code    int
	reason  string
	empty   chan struct{} // closed when closing and the last connection has ended
}

// NewEndpoint makes an endpoint without connections. Shutdown ends it.
func NewEndpoint(opts Options) *Endpoint {
	return &Endpoint{
		opts:    opts.withDefaults(),
		workers: newWorkers(),
		conns:   make(map[*Conn]struct{}),
		empty:   make(chan struct{}),
	}
}

// Upgrader returns a new upgrader for the endpoint's connections: no compression,
// a small read buffer, and write buffers that idle connections do not hold. The
// caller sets CheckOrigin and Subprotocols.
func (e *Endpoint) Upgrader() *websocket.Upgrader {
	return &websocket.Upgrader{
		HandshakeTimeout: e.opts.WriteTimeout,
		ReadBufferSize:   1 << 10, // large messages are read past it
		WriteBufferSize:  4 << 10,
		WriteBufferPool:  &e.buffers,
	}
}

// Len returns the number of connections that have not ended.
func (e *Endpoint) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.conns)
}

// Serve takes a WebSocket over, starts what it needs and returns at once, so that
// ServeHTTP can return and its buffers are freed. newHandler is called once,
// before any frame is read; it may send on the connection and close it. A
// connection that comes after Shutdown has begun is closed like the others.
func (e *Endpoint) Serve(ws *websocket.Conn, newHandler func(*Conn) Handler) *Conn {
	c := &Conn{endpoint: e, opts: &e.opts, ws: ws}
	c.out.init(&e.opts)
	ws.SetPingHandler(c.pong)
	ws.SetPongHandler(func(string) error { c.alive(); return nil })
	ws.SetCloseHandler(func(int, string) error { return nil }) // the writer answers
	c.handler = newHandler(c)
	c.pinger = time.AfterFunc(time.Hour, c.ping)
	c.pinger.Reset(e.opts.PingInterval) // not before the field is set, which ping needs
	c.alive()
	if e.add(c) { // it came while the others are being told
		if e.notice != nil {
			c.Send(e.notice, Durable)
		}
		c.Close(e.code, e.reason)
	}
	s := &stream{c: c}
	jsonrpc2.NewConn(context.Background(), s, s, jsonrpc2.SetLogger(libraryLog{e.opts.Log}))
	return c
}

// Shutdown ends all connections: notice (a frame; nil: none) is sent to each, new
// ones are refused, and each is closed with code and reason as soon as the
// requests that run on it have been answered and what is queued is written. When
// ctx ends first, the remaining requests are cancelled and their connections
// closed. Shutdown returns when every connection has ended and its Handler.Closed
// has returned; the error says that requests were cut short, or that handlers
// ignore the end of their contexts, for which it waits twice the write and close
// timeouts.
func (e *Endpoint) Shutdown(ctx context.Context, notice []byte, code int, reason string) error {
	for _, c := range e.refuse(notice, code, reason) {
		if notice != nil {
			c.Send(notice, Durable)
		}
		c.calls.whenIdle(func() { c.Close(code, reason) })
	}
	select {
	case <-e.empty:
		return nil
	case <-ctx.Done():
	}
	cut := 0
	for _, c := range e.refuse(notice, code, reason) {
		if c.shut(code, reason, true) {
			cut++
		}
	}
	timer := time.NewTimer(2 * (e.opts.WriteTimeout + e.opts.CloseTimeout))
	defer timer.Stop()
	select {
	case <-e.empty:
	case <-timer.C:
		return fmt.Errorf("rpc: shutdown: %d connections still have running handlers: %w", e.Len(), ctx.Err())
	}
	if cut > 0 {
		return fmt.Errorf("rpc: shutdown: requests cut short on %d connections: %w", cut, ctx.Err())
	}
	return nil
}

// refuse turns new connections away from now on and returns those there are.
func (e *Endpoint) refuse(notice []byte, code int, reason string) []*Conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closing {
		e.closing, e.notice, e.code, e.reason = true, notice, code, reason
	}
	e.signal()
	return slices.Collect(maps.Keys(e.conns))
}

// add registers a connection and tells whether it has to be closed at once.
func (e *Endpoint) add(c *Conn) (closing bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conns[c] = struct{}{}
	return e.closing
}

// remove takes out a connection that has ended.
func (e *Endpoint) remove(c *Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.conns, c)
	e.signal()
}

// signal is called with the lock held.
func (e *Endpoint) signal() {
	if !e.closing || len(e.conns) > 0 {
		return
	}
	select {
	case <-e.empty:
	default:
		close(e.empty)
		e.workers.stop()
	}
}

// libraryLog takes what the library has to say, which is nothing in normal life.
type libraryLog struct{ log *zap.Logger }

func (l libraryLog) Printf(format string, args ...any) {
	l.log.Warn("jsonrpc2", zap.String("message", fmt.Sprintf(format, args...)))
}
