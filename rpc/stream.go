package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
	"github.com/sourcegraph/jsonrpc2"
)

// stream is the reading side of a connection, in the shape the library wants: an
// ObjectStream that returns one object per good frame, and the Handler that is
// called with it right afterwards in the same goroutine. The frame itself is
// handed over in the field between the two.
type stream struct {
	c         *Conn
	next      frame
	malformed int
	stalled   bool // the last wait for room was in vain
	broken    bool // gorilla can read no more, but the peer may still send
}

var (
	_ jsonrpc2.ObjectStream = (*stream)(nil)
	_ jsonrpc2.Handler      = (*stream)(nil)
)

// ReadObject reads up to the next frame that asks for something. It answers
// everything else itself and returns io.EOF when nothing more can be read.
func (s *stream) ReadObject(v any) error {
	for {
		s.pause()
		data, err := s.readFrame()
		if err != nil {
			s.stop(err)
			return io.EOF
		}
		if data != nil && s.accept(data) {
			return s.c.endpoint.stub.fill(v)
		}
	}
}

// Handle dispatches the frame that ReadObject has just read.
func (s *stream) Handle(ctx context.Context, _ *jsonrpc2.Conn, _ *jsonrpc2.Request) {
	f := s.next
	s.next = frame{} // an idle connection must not hold its last frame
	s.c.dispatch(ctx, &f)
	if f.malformed() {
		s.blame()
	}
}

// WriteObject is not used: replies keep the raw id and are queued by Conn.
func (s *stream) WriteObject(any) error {
	return errors.New("rpc: replies do not pass through the library")
}

// Close is called by the library, in the reader's goroutine, after ReadObject has
// failed. It is the end of the connection.
func (s *stream) Close() error {
	c := s.c
	c.Close(CloseInternal, "") // if nothing else has ended it
	<-c.out.done               // the close frame has been written, or cannot be
	if s.broken {
		s.drain()
	}
	c.pinger.Stop()
	err := c.ws.Close()
	<-c.calls.stop()
	c.guard(c.handler.Closed)
	c.endpoint.remove(c)
	return err
}

// drain reads on until the peer hangs up, at most Options.CloseTimeout. Closing a
// socket with unread bytes resets it, and the peer would lose the close frame.
func (s *stream) drain() {
	conn := s.c.ws.NetConn()
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, conn)
}

// pause holds the reader back while the outbox is half full or a reply waits for
// room in it, but not longer than Options.ReadPause until neither has been so once.
func (s *stream) pause() {
	room := s.c.out.crowded()
	if room == nil {
		s.stalled = false
		return
	}
	if s.stalled {
		return
	}
	timer := time.NewTimer(s.c.opts.ReadPause)
	defer timer.Stop()
	select {
	case <-room:
	case <-timer.C:
		s.stalled = true
	}
}

// readFrame returns nil without an error for a frame that is not to be looked at.
func (s *stream) readFrame() ([]byte, error) {
	const firstRead, largeMessage = 512, 64 << 10
	kind, r, err := s.c.ws.NextReader()
	if err != nil {
		return nil, err
	}
	if s.c.out.isClosing() {
		return nil, nil
	}
	if kind != websocket.TextMessage {
		s.c.Close(CloseUnsupported, "binary frame")
		return nil, nil
	}
	data := make([]byte, 0, firstRead)
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if len(data) > s.c.opts.MaxFrameBytes { // gorilla's own limit closes without a reason
			return nil, websocket.ErrReadLimit
		}
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) >= largeMessage { // no pong can come in between
			s.c.alive()
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, cap(data))
		}
	}
}

// accept decodes a frame and reports whether there is something to dispatch.
func (s *stream) accept(data []byte) bool {
	if !utf8.Valid(data) {
		s.c.Close(CloseBadUTF8, "not UTF-8")
		return false
	}
	f, refusal := decode(data, s.c.opts)
	if refusal != nil {
		s.c.Send(s.c.errorReply(nil, refusal), Durable)
		s.blame()
		return false
	}
	s.next = f
	return true
}

// blame counts a malformed message that has just been answered.
func (s *stream) blame() {
	s.malformed++
	if s.malformed == s.c.opts.MaxMalformed {
		s.c.Close(ClosePolicy, "too many malformed messages")
	}
}

// stop decides what the end of reading means for the connection.
func (s *stream) stop(err error) {
	var peer *websocket.CloseError
	var network net.Error
	switch {
	case errors.As(err, &peer) && peer.Code != websocket.CloseAbnormalClosure:
		s.c.shut(peer.Code, "", false) // the peer's own code is the answer
	case errors.As(err, &network) && network.Timeout() && !s.c.out.isClosing():
		s.broken = true
		s.c.Close(CloseNoPong, "no pong")
	case peer != nil, network != nil:
		s.c.abort(err)
	case errors.Is(err, websocket.ErrReadLimit):
		s.broken = true
		s.c.Close(CloseTooBig, fmt.Sprintf("message over %d bytes, which limits.frame_bytes of server.info allows", s.c.opts.MaxFrameBytes))
	default: // not WebSocket; gorilla has told the peer already
		s.broken = true
		s.c.Close(CloseProtocolError, "protocol error")
	}
}

// stub fills the library's message with a constant request. The text is decoded
// once, then copied.
type stub struct {
	once  sync.Once
	value reflect.Value
	err   error
}

func (s *stub) fill(v any) error {
	target := reflect.ValueOf(v).Elem()
	s.once.Do(func() {
		s.err = json.Unmarshal([]byte(`{"method":"frame"}`), v)
		s.value = reflect.New(target.Type()).Elem()
		s.value.Set(target)
	})
	if s.err == nil {
		target.Set(s.value)
	}
	return s.err
}
