package rpc

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"
)

// Conn is one connection. Its methods may be called from any goroutine, from
// within Handler methods and after the end.
type Conn struct {
	endpoint *Endpoint
	opts     *Options
	ws       *websocket.Conn
	handler  Handler
	out      outbox
	calls    inflight
	pinger   *time.Timer
}

// Send queues one frame that is already encoded (see EncodeNotification) and
// never blocks. The slice is shared between connections and must not be changed
// any more. It returns false if the frame was not queued: dropped by its class,
// or the connection is ending, perhaps because this frame has found the outbox
// full. Replies take no room from what is sent. If nothing that was sent is queued,
// there is room for one frame of any size.
func (c *Conn) Send(frame []byte, class Class) bool {
	v, write := c.out.put(frame, class)
	if v == overflow { // the peer has not read for too long
		c.Close(CloseSlowConsumer, "slow consumer")
	}
	if write {
		go c.write()
	}
	return v == queued
}

// Close ends the connection with a close code and a reason of at most 123 bytes
// (longer ones are cut) and does not wait. What is queued is still written, all
// of it within Options.WriteTimeout, except after CloseSlowConsumer and
// CloseNoPong. The contexts of running requests end now, and replies that still
// wait for room are lost. Only the first reason to end counts; later calls do
// nothing.
func (c *Conn) Close(code int, reason string) {
	c.shut(code, reason, code != CloseSlowConsumer && code != CloseNoPong)
}

// shut reports whether it was the first reason to end.
func (c *Conn) shut(code int, reason string, flush bool) bool {
	if len(reason) > maxCloseReasonBytes {
		reason = strings.ToValidUTF8(reason[:maxCloseReasonBytes], "")
	}
	payload := websocket.FormatCloseMessage(code, reason)
	first, write := c.out.shut(payload, flush, after(c.opts.WriteTimeout))
	if write {
		go c.write()
	}
	if first {
		c.calls.stop()
		c.opts.Log.Debug("connection closing", zap.Int("code", code), zap.String("reason", reason))
	}
	return first
}

// abort gives the socket up: the peer is gone, or cannot be written to.
func (c *Conn) abort(cause error) {
	if c.out.abort() {
		c.opts.Log.Debug("connection lost", zap.Int("code", closeAbnormal), zap.Error(cause))
	}
	c.calls.stop()
	_ = c.ws.Close() // wakes a blocked read or write
}

// write is the writer: it runs in the goroutine that took the role and returns
// when there is nothing left to write.
func (c *Conn) write() {
	for {
		item, ok := c.out.next()
		if !ok {
			return
		}
		if err := c.writeItem(item); err != nil {
			c.abort(fmt.Errorf("write: %w", err))
		}
	}
}

func (c *Conn) writeItem(item writeItem) error {
	deadline := after(c.opts.WriteTimeout)
	if !item.deadline.IsZero() && item.deadline.Before(deadline) {
		deadline = item.deadline
	}
	var err error
	if item.kind == websocket.TextMessage {
		_ = c.ws.SetWriteDeadline(deadline) // only keeps the time
		err = c.ws.WriteMessage(item.kind, item.payload)
	} else {
		err = c.ws.WriteControl(item.kind, item.payload, deadline)
	}
	if errors.Is(err, websocket.ErrCloseSent) {
		err = nil // gorilla has closed by itself, over a broken frame; the peer may still be reading
	}
	if item.kind == websocket.CloseMessage && err == nil {
		return c.ws.SetReadDeadline(after(c.opts.CloseTimeout))
	}
	return err
}

// ping makes a ping due; it runs in the pinger's goroutine, which then writes it.
func (c *Conn) ping() {
	c.out.unlessClosing(func() { c.pinger.Reset(c.opts.PingInterval) })
	if c.out.putPing() {
		c.write()
	}
}

// pong answers a ping of the peer, never waiting in the reader for the socket.
func (c *Conn) pong(payload string) error {
	if c.out.putPong([]byte(payload)) {
		go c.write()
	}
	return nil
}

// alive gives the peer another Options.PongTimeout. Once the connection is
// closing the time is that for the peer's answer and stays.
func (c *Conn) alive() {
	c.out.unlessClosing(func() {
		_ = c.ws.SetReadDeadline(after(c.opts.PongTimeout)) // a dead socket fails in the next read
	})
}

// after returns the time in d from now.
func after(d time.Duration) time.Time {
	return time.Now().Add(d) //nolint:forbidigo // deadlines of sockets are wall clock times
}
