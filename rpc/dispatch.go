package rpc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"

	"go.uber.org/zap"
)

// cancelMethod ends the context of a waiting request. Sent as a call it is
// answered with null, whether or not there was something to cancel.
const cancelMethod = "$/cancelRequest"

// dispatch starts what a frame asks for and answers at once what cannot be
// started. It runs in the reader's goroutine and waits for inline requests only.
// What it answers itself is sent and not waited for: there is no bound to it.
func (c *Conn) dispatch(ctx context.Context, f *frame) {
	if f.batch == nil {
		if reply := c.start(ctx, &f.single, &call{}); reply != nil {
			c.Send(reply, Durable)
		}
		return
	}
	b := newBatch(len(f.batch))
	for i := range f.batch {
		reply := c.start(ctx, &f.batch[i], &call{batch: b, slot: i})
		if reply != nil {
			b.entries[i].reply = reply
		}
	}
	switch {
	case !b.end():
	case b.ran(): // its calls have ended already; the reply may have to wait
		c.endpoint.workers.run(func() {
			if c.finishBatch(b) {
				c.write()
			}
		})
	default:
		if reply := b.join(); reply != nil {
			c.Send(reply, Durable)
		}
	}
}

// start runs a request in its own goroutine, or returns the reply to one that
// cannot run. A nil reply means that there is none yet, or will be none.
func (c *Conn) start(ctx context.Context, m *message, cl *call) []byte {
	switch m.kind {
	case invalid:
		return c.errorReply(nil, invalidRequest(m.reason))
	case response:
		return nil
	case request:
	}
	if m.method == cancelMethod {
		return c.cancelRequest(m)
	}
	cl.id = m.id
	ctx, cl.cancel = context.WithCancel(ctx)
	admitted, refusal := c.calls.admit(cl, c.opts.MaxInFlight)
	if !admitted {
		cl.cancel()
		switch {
		case refusal == nil:
			return nil
		case m.id == nil:
			c.opts.Log.Debug("notification dropped", zap.String("method", m.method), zap.Error(refusal))
			return nil
		case refusal.Code == CodeInvalidRequest: // the id belongs to another call
			return c.errorReply(nil, refusal)
		}
		return c.errorReply(m.id, refusal)
	}
	cl.req = Request{Method: m.method, Params: m.params, Notification: m.id == nil}
	switch {
	case cl.batch == nil && c.inline(m.method):
		c.runInline(ctx, cl)
		return nil
	case cl.batch != nil && cl.id != nil:
		cl.batch.begin(cl)
	}
	c.endpoint.workers.run(func() { c.run(ctx, cl) })
	return nil
}

func (c *Conn) inline(method string) bool {
	inliner, ok := c.handler.(Inliner)
	return ok && inliner.Inline(method)
}

// cancelRequest does not wait for the request it cancels.
func (c *Conn) cancelRequest(m *message) []byte {
	var id []byte
	if m.params != nil && m.params[0] == '{' {
		s := scanner{data: m.params}
		// The params have been scanned before: there is no error to handle.
		_ = s.object(c.opts.MaxDepth, func(name, value []byte) {
			if string(name) == "id" {
				id = value
			}
		})
	}
	if id != nil {
		c.calls.cancel(id)
	}
	switch {
	case m.id == nil:
		return nil
	case id == nil:
		return c.errorReply(m.id, InvalidParams("id", "missing"))
	}
	reply, _ := encodeResult(m.id, nil) // null cannot fail
	return reply
}

// run handles one request to its end.
func (c *Conn) run(ctx context.Context, cl *call) {
	reply, then := c.handle(ctx, cl)
	cl.cancel()
	write := false
	switch {
	case cl.id == nil || cl.batch == nil:
		write = c.finish(reply, then, cl)
	default:
		e := &cl.batch.entries[cl.slot]
		e.reply, e.then = reply, then
		if cl.batch.end() {
			write = c.finishBatch(cl.batch)
		}
	}
	if write {
		c.write()
	}
}

// runInline handles one request in the reader's goroutine, which must not wait: a
// reply that finds no room is left to another.
func (c *Conn) runInline(ctx context.Context, cl *call) {
	reply, then := c.handle(ctx, cl)
	cl.cancel()
	room := c.reserve(reply)
	if room != nil {
		c.endpoint.workers.run(func() {
			<-room
			if c.conclude(reply, true, then, cl) {
				c.write()
			}
		})
		return
	}
	if c.conclude(reply, false, then, cl) {
		c.write()
	}
}

// handle calls the handler and encodes what comes of it; nil for a notification.
func (c *Conn) handle(ctx context.Context, cl *call) (reply []byte, then func()) {
	req := &cl.req
	err := protect(func() error {
		result, err := c.handler.Handle(ctx, req)
		if err != nil || req.Notification {
			return err
		}
		if d, ok := result.(Deferred); ok {
			result, then = d.Result, d.Queued
		}
		reply, err = encodeResult(cl.id, result)
		return err
	})
	if err == nil {
		return reply, then
	}
	var known *Error
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		known = cancelled() // or the connection is ending and nobody will be told
	case errors.As(err, &known) && known != nil:
		c.opts.Log.Debug("request refused", zap.String("method", req.Method), zap.Error(err))
	default:
		known = internalError(c.incident(req.Method, err))
	}
	if req.Notification {
		return nil, nil
	}
	return c.errorReply(cl.id, known), nil
}

// incident logs an error that must not leave the process and returns the number
// under which the peer may ask for it.
func (c *Conn) incident(method string, err error) string {
	var number [8]byte
	_, _ = rand.Read(number[:]) // never fails
	incident := hex.EncodeToString(number[:])
	fields := []zap.Field{zap.String("incident", incident), zap.String("method", method), zap.Error(err)}
	if panicked, ok := errors.AsType[*panicError](err); ok {
		fields = append(fields, zap.ByteString("stack", panicked.stack))
	}
	c.opts.Log.Error("request failed", fields...)
	return incident
}

// errorReply encodes an error; one whose data cannot be encoded is an incident.
func (c *Conn) errorReply(id []byte, e *Error) (reply []byte) {
	err := protect(func() (err error) {
		reply, err = encodeError(id, e)
		return err
	})
	if err != nil {
		reply, _ = encodeError(id, internalError(c.incident("", err)))
	}
	return reply
}

// finish waits until there is room for the one reply of some calls (nil: there is
// none), or the connection ends, and concludes them. Until then they are in flight,
// which bounds what waits.
func (c *Conn) finish(reply []byte, then func(), calls ...*call) (write bool) {
	room := c.reserve(reply)
	if room != nil {
		<-room
	}
	return c.conclude(reply, room != nil, then, calls...)
}

// reserve takes a place for a reply; the channel, unless it is nil, tells when
// there is one.
func (c *Conn) reserve(reply []byte) <-chan struct{} {
	if reply == nil {
		return nil
	}
	return c.out.reserve(len(reply))
}

// conclude ends some calls: it queues their reply, for which there is a place, runs
// the callback that waited for it, and reports whether the caller has become the
// writer.
func (c *Conn) conclude(reply []byte, waited bool, then func(), calls ...*call) (write bool) {
	v := dropped
	c.calls.release(func() {
		if reply != nil {
			v, write = c.out.putReply(reply, waited)
		}
	}, calls...)
	if v == queued && then != nil {
		if write { // a callback may take its time, the reply should not
			write = false
			go c.write()
		}
		c.guard(then)
	}
	c.calls.settle(len(calls))
	return write
}

// guard runs a callback of the handler's side that has no request to answer.
func (c *Conn) guard(callback func()) {
	err := protect(func() error {
		callback()
		return nil
	})
	if err != nil {
		c.incident("", err)
	}
}
