// Package client is a small Go client of the protocol, for this repository's own
// commands and tests.
//
// A [Conn] is one socket: calls may be made from many goroutines, notifications come
// in order on one channel. A [Follower] keeps a session's log complete over many
// sockets: it reconnects, resumes by seq and hands out every entry exactly once.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	v1 "sessiond/rpc/v1"
)

// Error is the error object of a reply.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (code %d, %s)", e.Message, e.Code, e.Data)
}

// Kind is the kind in the error's data, empty if it has none.
func (e *Error) Kind() v1.Kind {
	var data struct {
		Kind v1.Kind `json:"kind"`
	}
	_ = json.Unmarshal(e.Data, &data) // no kind: not one of the table's errors
	return data.Kind
}

// IsKind reports whether err is an error reply of a kind.
func IsKind(err error, k v1.Kind) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind() == k
}

// Notification is a message from the server.
type Notification struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// Options say how to connect. The zero value connects without credentials.
type Options struct {
	Token       string // bearer token
	ReadLimit   int64  // of one message; 0: no limit
	ReadBuffer  int    // notifications that may wait; then reading stops; 0: 1,024
	Subprotocol string // default v1.Protocol
	// NetDial makes the network connection; default: the system's.
	NetDial func(ctx context.Context, network, address string) (net.Conn, error)
}

const defaultReadBuffer = 1024

// Conn is one connection. Safe for concurrent use.
type Conn struct {
	ws     *websocket.Conn
	notify chan Notification
	done   chan struct{}
	ended  chan struct{} // closed by Close
	once   sync.Once

	writing sync.Mutex // not mu: a write may have to wait for the reader, which needs mu

	mu      sync.Mutex
	next    int64
	waiting map[string]chan reply
	err     error // why it ended; set before done is closed
}

type reply struct {
	result json.RawMessage
	err    error
}

// Dial connects to ws://HOST/v1/rpc. A server that answers but does not connect is a
// [*RefusedError].
func Dial(ctx context.Context, url string, o Options) (*Conn, error) {
	d := websocket.Dialer{Subprotocols: []string{v1.Protocol}, HandshakeTimeout: 10 * time.Second, NetDialContext: o.NetDial}
	if o.Subprotocol != "" {
		d.Subprotocols = []string{o.Subprotocol}
	}
	header := http.Header{}
	if o.Token != "" {
		header.Set("Authorization", "Bearer "+o.Token)
	}
	ws, resp, err := d.DialContext(ctx, url, header)
	if err != nil {
		if resp != nil {
			defer func() { _ = resp.Body.Close() }()
			return nil, fmt.Errorf("connect to %s: %w", url, refused(resp))
		}
		return nil, fmt.Errorf("connect to %s: %w", url, err)
	}
	if resp != nil {
		_ = resp.Body.Close()
	}
	if o.ReadLimit > 0 {
		ws.SetReadLimit(o.ReadLimit)
	}
	size := o.ReadBuffer
	if size == 0 {
		size = defaultReadBuffer
	}
	c := &Conn{
		ws: ws, notify: make(chan Notification, size), done: make(chan struct{}), ended: make(chan struct{}),
		waiting: make(map[string]chan reply),
	}
	go c.read()
	return c, nil
}

// Notifications is closed when the connection has ended. A reader that stops keeps the
// whole connection from being read.
func (c *Conn) Notifications() <-chan Notification { return c.notify }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection ended, once Done is closed.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// CloseCode is the code of the close frame the connection ended with, 0 if there was
// none.
func (c *Conn) CloseCode() int {
	if e, ok := errors.AsType[*websocket.CloseError](c.Err()); ok {
		return e.Code
	}
	return 0
}

// Close cuts the connection off and waits for its reader.
func (c *Conn) Close() {
	c.once.Do(func() { close(c.ended) })
	_ = c.ws.Close() // it may have ended already
	<-c.done
}

func (c *Conn) read() {
	var err error
	for err == nil {
		err = c.readOne()
	}
	_ = c.ws.Close()
	c.mu.Lock()
	c.err = err
	waiting := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for _, ch := range waiting {
		ch <- reply{err: fmt.Errorf("the connection ended: %w", err)}
	}
	close(c.notify)
	close(c.done)
}

func (c *Conn) readOne() error {
	_, raw, err := c.ws.ReadMessage()
	if err != nil {
		return err
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *Error          `json:"error"`
		Notification
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("the server sent what is no message: %w", err)
	}
	if m.Method != "" {
		select {
		case c.notify <- m.Notification:
			return nil
		case <-c.ended:
			return errors.New("closed")
		}
	}
	c.mu.Lock()
	ch := c.waiting[string(m.ID)]
	delete(c.waiting, string(m.ID))
	c.mu.Unlock()
	if ch == nil {
		return fmt.Errorf("the server answered a call that nobody made: %s", raw)
	}
	r := reply{result: m.Result}
	if m.Error != nil {
		r.err = m.Error
	}
	ch <- r
	return nil
}

// Call makes a call and decodes its result into result, which may be nil. An error
// reply is an *Error.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	ch := make(chan reply, 1)
	c.mu.Lock()
	if c.waiting == nil {
		defer c.mu.Unlock()
		return fmt.Errorf("%s: the connection ended: %w", method, c.err)
	}
	c.next++
	id := strconv.FormatInt(c.next, 10)
	c.waiting[id] = ch
	c.mu.Unlock()
	if err := c.write(id, method, params); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case r := <-ch:
		if r.err != nil {
			return fmt.Errorf("%s: %w", method, r.err)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(r.result, result)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Conn) write(id, method string, params any) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	request := map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method}
	if params != nil { // null would be no params but an invalid request
		request["params"] = params
	}
	return c.ws.WriteJSON(request)
}
