package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"sessiond/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test for something that must happen.
const patience = 30 * time.Second

// socketBuffer keeps the kernel from taking more than a little of what a client
// does not read.
const socketBuffer = 64 << 10

// handler is a Handler made of functions.
type handler struct {
	handle func(ctx context.Context, req *rpc.Request) (any, error)
	closed func()
}

func (h handler) Handle(ctx context.Context, req *rpc.Request) (any, error) {
	return h.handle(ctx, req)
}

func (h handler) Closed() {
	if h.closed != nil {
		h.closed()
	}
}

// methods is a Handler that looks a function up by the method's name.
type methods map[string]func(ctx context.Context, req *rpc.Request) (any, error)

func (m methods) Handle(ctx context.Context, req *rpc.Request) (any, error) {
	f, ok := m[req.Method]
	if !ok {
		return nil, rpc.MethodNotFound()
	}
	return f(ctx, req)
}

func (m methods) Closed() {}

// server is an endpoint behind a real HTTP server on loopback.
type server struct {
	*rpc.Endpoint
	url   string
	conns chan *rpc.Conn // of every connection, in the order they came
}

// serve starts a server whose connections all use newHandler. It is shut down,
// cutting everything short, when the test ends.
func serve(tb testing.TB, opts rpc.Options, newHandler func(*rpc.Conn) rpc.Handler) *server {
	tb.Helper()
	s := &server{Endpoint: rpc.NewEndpoint(opts), conns: make(chan *rpc.Conn, 4096)}
	upgrader := s.Upgrader()
	upgrader.HandshakeTimeout = 0 // some tests have short timeouts for what comes later
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return // the upgrader has answered
		}
		_ = ws.NetConn().(*net.TCPConn).SetWriteBuffer(socketBuffer)
		s.conns <- s.Serve(ws, newHandler)
	}))
	s.url = "ws" + strings.TrimPrefix(web.URL, "http")
	tb.Cleanup(func() {
		web.Close()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.Shutdown(ctx, nil, rpc.CloseGoingAway, ""); err != nil && !errors.Is(err, context.Canceled) {
			tb.Errorf("shutdown: %v", err)
		}
		if n := s.Len(); n != 0 {
			tb.Errorf("%d connections are left", n)
		}
	})
	return s
}

// all serves every connection with the same handler.
func all(h rpc.Handler) func(*rpc.Conn) rpc.Handler {
	return func(*rpc.Conn) rpc.Handler { return h }
}

// client is a WebSocket client that fails the test.
type client struct {
	tb testing.TB
	*websocket.Conn
}

func (s *server) dial(tb testing.TB) *client {
	tb.Helper()
	ws, resp, err := websocket.DefaultDialer.Dial(s.url, nil)
	if err != nil {
		tb.Fatalf("dial: %v", err)
	}
	_ = resp.Body.Close()
	tb.Cleanup(func() { _ = ws.Close() })
	_ = ws.NetConn().(*net.TCPConn).SetReadBuffer(socketBuffer)
	_ = ws.SetReadDeadline(time.Now().Add(patience))
	return &client{tb: tb, Conn: ws}
}

// connect dials and returns both ends.
func (s *server) connect(tb testing.TB) (*client, *rpc.Conn) {
	tb.Helper()
	c := s.dial(tb)
	return c, <-s.conns
}

func (c *client) send(message string) {
	c.tb.Helper()
	if err := c.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		c.tb.Fatalf("send: %v", err)
	}
}

// call sends a call without params.
func (c *client) call(id, method string) {
	c.tb.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method))
}

func (c *client) receive() string {
	c.tb.Helper()
	kind, data, err := c.ReadMessage()
	if err != nil {
		c.tb.Fatalf("receive: %v", err)
	}
	if kind != websocket.TextMessage {
		c.tb.Fatalf("received a frame of type %d", kind)
	}
	return string(data)
}

// expect receives one frame, which must be equal byte for byte.
func (c *client) expect(want string) {
	c.tb.Helper()
	if diff := cmp.Diff(want, c.receive()); diff != "" {
		c.tb.Fatalf("reply (-want +got):\n%s", diff)
	}
}

// expectClose skips frames until the close frame and returns them.
func (c *client) expectClose(code int) []string {
	c.tb.Helper()
	var frames []string
	for {
		_, data, err := c.ReadMessage()
		if err == nil {
			frames = append(frames, string(data))
			continue
		}
		var closed *websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != code {
			c.tb.Fatalf("connection ended with %v after %d frames, want close %d", err, len(frames), code)
		}
		return frames
	}
}

// reply is a received reply.
type reply struct {
	ID     json.RawMessage
	Method string          // of a notification
	Params json.RawMessage // of a notification
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    map[string]any
	}
}

func parse(tb testing.TB, frame string) reply {
	tb.Helper()
	var r reply
	if err := json.Unmarshal([]byte(frame), &r); err != nil {
		tb.Fatalf("reply %s: %v", frame, err)
	}
	return r
}

// code returns the error code of a reply, 0 if it has a result.
func code(tb testing.TB, frame string) int {
	tb.Helper()
	if r := parse(tb, frame); r.Error != nil {
		return r.Error.Code
	}
	return 0
}

// wait receives from a channel that must deliver.
func wait[T any](tb testing.TB, c <-chan T, what string) T {
	tb.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		tb.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}
