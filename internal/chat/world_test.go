package chat_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"sessiond/internal/chat"
	"sessiond/internal/client"
	"sessiond/llm"
	v1 "sessiond/rpc/v1"
	"sessiond/server"
	"sessiond/session"
	"sessiond/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait. It is long: it only has to end a hang.
const patience = time.Minute

// world is a server on a loopback port, with a model of the test's.
type world struct {
	t    *testing.T
	http *httptest.Server
	edge *server.Server
	wire *wire
}

func newWorld(t *testing.T, model llm.Model) *world {
	t.Helper()
	s, log := memory.New(), zap.NewNop()
	sessions, err := session.NewManager(s, model, session.Options{Models: []string{"demo", "other"}}, log)
	if err != nil {
		t.Fatal(err)
	}
	metrics := prometheus.NewRegistry()
	edge, err := server.New(sessions, s, server.Options{Version: "test", Limits: v1.DefaultLimits(), Registerer: metrics, Gatherer: metrics}, log)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, http: httptest.NewServer(edge.Handler()), edge: edge, wire: &wire{}}
	t.Cleanup(func() {
		w.stop()
		sessions.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// stop stops the server, as far as clients can tell. It may be called again.
func (w *world) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.edge.Shutdown(ctx); err != nil {
		w.t.Errorf("shutdown: %v", err)
	}
	w.http.Close()
}

func (w *world) url() string { return "ws" + strings.TrimPrefix(w.http.URL, "http") + "/v1/rpc" }

func (w *world) link(o chat.LinkOptions) *chat.Link {
	w.t.Helper()
	o.URL, o.Dial.NetDial = w.url(), w.wire.dial
	l, err := chat.Connect(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(l.Close)
	return l
}

// conn is a connection of somebody else.
func (w *world) conn() *client.Conn {
	w.t.Helper()
	c, err := client.Dial(w.t.Context(), w.url(), client.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

// messages returns what users said in a session.
func (w *world) messages(id string) (said []string) {
	w.t.Helper()
	var page v1.LogResult
	if err := w.conn().Call(w.t.Context(), v1.MethodSessionLog, map[string]any{"session_id": id}, &page); err != nil {
		w.t.Fatal(err)
	}
	for _, raw := range page.Entries {
		e := decode[v1.Entry](w.t, raw)
		if e.Type != v1.EventMessageAdded && e.Type != v1.EventMessageQueued {
			continue
		}
		m := decode[struct {
			Message chat.Message `json:"message"`
		}](w.t, e.Data).Message
		if m.Role == v1.RoleUser {
			said = append(said, m.Content[0].Text)
		}
	}
	return said
}

// wire makes connections that can be cut.
type wire struct {
	mu    sync.Mutex
	conns []net.Conn
	trap  []byte
	down  bool
}

var errCut = errors.New("the wire is cut")

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return nil, errCut
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c = &cuttable{Conn: c, wire: w}
	w.conns = append(w.conns, c)
	return c, nil
}

// cut cuts all connections; while down, none can be made.
func (w *wire) cut(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns, w.down = nil, down
}

// cutAt cuts the connection at the first words that contain these, which do not arrive.
func (w *wire) cutAt(words string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trap = []byte(words)
}

func (w *wire) sprung(p []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.trap) == 0 || !bytes.Contains(p, w.trap) {
		return false
	}
	w.trap = nil
	return true
}

type cuttable struct {
	net.Conn
	wire *wire
}

// Read implements net.Conn.
func (c *cuttable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.wire.sprung(p[:n]) {
		_ = c.Close()
		return 0, errCut
	}
	return n, err
}

// talk is a chat through pipes.
type talk struct {
	t    *testing.T
	view *chat.View
	in   *io.PipeWriter
	out  *transcript
	done chan error
}

// transcript is output that can be waited for.
type transcript struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{}
}

// Write implements io.Writer.
func (o *transcript) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.buf.Write(p)
}

func (o *transcript) read() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String(), o.changed
}

func (w *world) talk(l *chat.Link, sessionID string) *talk {
	w.t.Helper()
	in, typing := io.Pipe()
	c := &talk{
		t: w.t, view: chat.NewView(time.UTC), in: typing, out: &transcript{changed: make(chan struct{})}, done: make(chan error, 1),
	}
	first := c.view.Start(sessionID)
	go func() { c.done <- chat.Pipe(w.t.Context(), l, c.view, first, in, c.out) }()
	w.t.Cleanup(func() { _ = typing.Close() })
	return c
}

// say types lines.
func (c *talk) say(lines ...string) {
	c.t.Helper()
	for _, text := range lines {
		if _, err := io.WriteString(c.in, text+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

// wait waits until something was written.
func (c *talk) wait(text string) {
	c.t.Helper()
	late := time.After(patience)
	for {
		got, changed := c.out.read()
		if strings.Contains(got, text) {
			return
		}
		select {
		case <-changed:
		case <-late:
			c.t.Fatalf("%q does not come:\n%s", text, got)
		}
	}
}

// end ends the input, waits for the end, and returns all that was written.
func (c *talk) end() (string, error) {
	c.t.Helper()
	_ = c.in.Close()
	select {
	case err := <-c.done:
		got, _ := c.out.read()
		return got, err
	case <-time.After(patience):
		got, _ := c.out.read()
		c.t.Fatalf("the chat does not end:\n%s", got)
		return "", nil
	}
}
