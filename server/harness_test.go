package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sessiond/internal/testenv"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	v1 "sessiond/rpc/v1"
	"sessiond/server"
	"sessiond/session"
	"sessiond/store"
	"sessiond/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testenv.Runner{M: m}) }

// patience bounds every wait. It is long: it only has to end a hang.
const patience = time.Minute

// setup is what a world is made of; zero fields get what most tests want.
type setup struct {
	store   store.Store     // default: memory
	model   llm.Model       // default: answers "ok" to everything
	options session.Options // of sessions
	edge    server.Options
	conns   func(context.Context, net.Conn) context.Context // sees every connection
}

// world is a server on a loopback port. No error may be logged while it lives.
type world struct {
	t        testing.TB
	store    store.Store
	sessions *session.Manager
	edge     *server.Server
	http     *httptest.Server
	contract *contract
	metrics  *prometheus.Registry
}

func newWorld(tb testing.TB, s setup) *world {
	tb.Helper()
	if s.store == nil {
		s.store = memory.New()
	}
	if s.model == nil {
		s.model = llmtest.New().Loop(llmtest.Text("ok"))
	}
	if s.options.Models == nil {
		s.options.Models = []string{"small", "large"}
	}
	if s.edge.Limits == (v1.Limits{}) {
		s.edge.Limits = v1.DefaultLimits()
	}
	core, logged := observer.New(zap.ErrorLevel)
	log := zap.New(core)
	w := &world{t: tb, store: s.store, metrics: prometheus.NewRegistry()}
	s.edge.Version, s.edge.Registerer, s.edge.Gatherer = "test", w.metrics, w.metrics
	var err error
	if w.sessions, err = session.NewManager(w.store, s.model, s.options, log); err != nil {
		tb.Fatal(err)
	}
	if w.edge, err = server.New(w.sessions, w.store, s.edge, log); err != nil {
		tb.Fatal(err)
	}
	w.http = httptest.NewUnstartedServer(w.edge.Handler())
	w.http.Config.ConnContext = s.conns
	w.http.Start()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := w.edge.Shutdown(ctx); err != nil {
			tb.Errorf("shutdown: %v", err)
		}
		w.http.Close()
		w.sessions.Close()
		if err := w.store.Close(); err != nil {
			tb.Errorf("close store: %v", err)
		}
		for _, e := range logged.All() {
			tb.Errorf("logged: %s %v", e.Message, e.ContextMap())
		}
	})
	if w.contract, err = readContract(w.getBody("/v1/openrpc.json")); err != nil {
		tb.Fatal(err)
	}
	return w
}

func (w *world) getBody(path string) []byte {
	w.t.Helper()
	status, body := w.request(http.MethodGet, path, "")
	if status != http.StatusOK {
		w.t.Fatalf("GET %s: status %d: %s", path, status, body)
	}
	return body
}

// request makes a request that is no upgrade. A header Host names the host.
func (w *world) request(method, path, body string, header ...string) (status int, answer []byte) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.http.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header = headers(header)
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := w.http.Client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// clock is a clock that stands until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// wireError is the error of a reply.
type wireError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *wireError) kind() string { return e.member("kind") }

func (e *wireError) member(name string) string {
	var data map[string]any
	_ = json.Unmarshal(e.Data, &data) // none: no such member
	text, _ := data[name].(string)
	return text
}

func (e *wireError) String() string { return fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data) }

// frame is any message from the server.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *wireError      `json:"error"`
}

// peer is a client for one goroutine that holds everything it reads against the
// contract. It reads only when it is asked something.
type peer struct {
	t     testing.TB
	w     *world
	ws    *websocket.Conn
	next  int
	notes []frame // read while waiting for something else, oldest first
}

func (w *world) dial(header ...string) *peer {
	w.t.Helper()
	ws, got := w.tryDial([]string{v1.Protocol}, header...)
	if ws == nil {
		w.t.Fatalf("connect: %+v", got)
	}
	return w.adopt(ws)
}

func (w *world) adopt(ws *websocket.Conn) *peer {
	w.t.Cleanup(func() { _ = ws.Close() })
	return &peer{t: w.t, w: w, ws: ws}
}

func (w *world) url() string { return "ws" + strings.TrimPrefix(w.http.URL, "http") + "/v1/rpc" }

// handshake is the answer to an upgrade; its status is 101 if it went well.
type handshake struct {
	status   int
	protocol string
}

// tryDial offers subprotocols with headers given as name, value, name, value … The
// connection is nil if it was refused.
func (w *world) tryDial(protocols []string, header ...string) (*websocket.Conn, handshake) {
	w.t.Helper()
	d := websocket.Dialer{Subprotocols: protocols, HandshakeTimeout: patience}
	return w.dialWith(&d, header...)
}

func (w *world) dialWith(d *websocket.Dialer, header ...string) (*websocket.Conn, handshake) {
	w.t.Helper()
	ws, resp, err := d.DialContext(w.t.Context(), w.url(), headers(header))
	if resp == nil {
		w.t.Errorf("connect: %v", err)
		return nil, handshake{}
	}
	defer func() { _ = resp.Body.Close() }()
	return ws, handshake{resp.StatusCode, resp.Header.Get("Sec-Websocket-Protocol")}
}

func headers(pairs []string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// read returns the next message, or the error that ended the connection.
func (p *peer) read() (frame, error) {
	p.t.Helper()
	_ = p.ws.SetReadDeadline(time.Now().Add(patience))
	_, raw, err := p.ws.ReadMessage()
	if err != nil {
		return frame{}, err
	}
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		p.t.Fatalf("the server sent %q: %v", raw, err)
	}
	if f.Method != "" {
		if err := p.w.contract.checkNotification(f.Method, f.Params); err != nil {
			p.t.Errorf("%s breaks the contract: %v\n%.2000s", f.Method, err, raw)
		}
	}
	return f, nil
}

func (p *peer) write(text string) {
	p.t.Helper()
	if err := p.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		p.t.Fatalf("write: %v", err)
	}
}

// params are the members of a call.
type params map[string]any

// try makes a call and returns its result or its error, both checked.
func (p *peer) try(method string, in any) (json.RawMessage, *wireError) {
	p.t.Helper()
	id := p.start(method, in)
	return p.reply(id, method)
}

// start sends a call without waiting for its reply.
func (p *peer) start(method string, in any) string {
	p.t.Helper()
	p.next++
	id := fmt.Sprint(p.next)
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": p.next, "method": method, "params": in})
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(string(raw))
	return id
}

func (p *peer) reply(id, method string) (json.RawMessage, *wireError) {
	p.t.Helper()
	for {
		f, err := p.read()
		if err != nil {
			p.t.Fatalf("%s: the connection ended: %v", method, err)
		}
		switch {
		case f.Method != "":
			p.notes = append(p.notes, f)
		case string(f.ID) != id:
			p.t.Fatalf("%s: a reply to %s came, not to %s", method, f.ID, id)
		case f.Error != nil:
			if err := p.w.contract.checkError(method, f.Error); err != nil {
				p.t.Errorf("the error of %s breaks the contract: %v", method, err)
			}
			return nil, f.Error
		default:
			if err := p.w.contract.checkResult(method, f.Result); err != nil {
				p.t.Errorf("the result of %s breaks the contract: %v\n%.2000s", method, err, f.Result)
			}
			return f.Result, nil
		}
	}
}

// replies waits for the replies to some calls, in any order; all must be results.
func (p *peer) replies(ids ...string) {
	p.t.Helper()
	for left := len(ids); left > 0; {
		f, err := p.read()
		switch {
		case err != nil:
			p.t.Fatal(err)
		case f.Method != "":
			p.notes = append(p.notes, f)
		case f.Error != nil || !slices.Contains(ids, string(f.ID)):
			p.t.Fatalf("reply to %s: %v", f.ID, f.Error)
		default:
			left--
		}
	}
}

// call makes a call that must succeed.
func (p *peer) call(method string, in any) json.RawMessage {
	p.t.Helper()
	result, e := p.try(method, in)
	if e != nil {
		p.t.Fatalf("%s: %v", method, e)
	}
	return result
}

// refused makes a call that must fail with a kind of the table.
func (p *peer) refused(kind v1.Kind, method string, in any) *wireError {
	p.t.Helper()
	result, e := p.try(method, in)
	if e == nil {
		p.t.Fatalf("%s: got %s, want the error %s", method, result, kind)
	}
	if e.kind() != string(kind) {
		p.t.Fatalf("%s: got error %v, want %s", method, e, kind)
	}
	return e
}

// note returns the next notification, waiting for it if need be.
func (p *peer) note() frame {
	p.t.Helper()
	if len(p.notes) > 0 {
		f := p.notes[0]
		p.notes = p.notes[1:]
		return f
	}
	f, err := p.read()
	if err != nil {
		p.t.Fatalf("waiting for a notification: %v", err)
	}
	if f.Method == "" {
		p.t.Fatalf("a reply to %s that nobody waits for: %s %v", f.ID, f.Result, f.Error)
	}
	return f
}

// activity returns the next activity, passing over progress, which comes when it may. No
// other notification may come before it.
func (p *peer) activity() v1.Activity {
	p.t.Helper()
	f := p.note()
	for f.Method == v1.NotifyProgress {
		f = p.note()
	}
	if f.Method != v1.NotifyActivity {
		p.t.Fatalf("told %s %s", f.Method, f.Params)
	}
	return decode[v1.Activity](p.t, f.Params)
}

// event returns the next event, passing over other notifications.
func (p *peer) event() v1.Event {
	p.t.Helper()
	for {
		if f := p.note(); f.Method == v1.NotifyEvent {
			return decode[v1.Event](p.t, f.Params)
		}
	}
}

// await returns the next event of a type.
func (p *peer) await(kind v1.EventType) v1.Event {
	p.t.Helper()
	for {
		if e := p.event(); e.Type == kind {
			return e
		}
	}
}

// closed reads until the connection has ended and returns the code it ended with.
func (p *peer) closed() int {
	p.t.Helper()
	for {
		f, err := p.read()
		if err == nil {
			if f.Method != "" {
				p.notes = append(p.notes, f)
			}
			continue
		}
		if e, ok := errors.AsType[*websocket.CloseError](err); ok {
			return e.Code
		}
		p.t.Fatalf("the connection ended without a close frame: %v", err)
	}
}

// silent checks that nothing is waiting to be read but the reply to one more call, and
// notifications that come when they may.
func (p *peer) silent(but ...string) {
	p.t.Helper()
	p.call(v1.MethodServerInfo, params{})
	for _, f := range p.notes {
		if !slices.Contains(but, f.Method) {
			p.t.Errorf("unasked for: %s %s", f.Method, f.Params)
		}
	}
	p.notes = nil
}

// decode reads JSON into a type of the contract.
func decode[T any](tb testing.TB, raw json.RawMessage) T {
	tb.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		tb.Fatalf("%v in %.500s", err, raw)
	}
	return v
}

// create makes a session and returns it.
func (p *peer) create(in params) v1.Session {
	p.t.Helper()
	return decode[v1.SessionResult](p.t, p.call(v1.MethodSessionCreate, in)).Session
}

// send sends a text and returns where it was stored.
func (p *peer) send(session, text string) v1.MessageSendResult {
	p.t.Helper()
	return decode[v1.MessageSendResult](p.t, p.call(v1.MethodMessageSend, params{"session_id": session, "content": text}))
}

// subscribe subscribes to everything after a seq.
func (p *peer) subscribe(session string, after int64) v1.SubscribeResult {
	p.t.Helper()
	return decode[v1.SubscribeResult](p.t, p.call(v1.MethodSessionSubscribe, params{"session_id": session, "after_seq": after}))
}

// illStore is a store whose database may stop answering.
type illStore struct {
	store.Store
	mu  sync.Mutex
	err error
}

func (s *illStore) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Ping implements store.Store.
func (s *illStore) Ping(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// serverOptions is an open server with limits.
func serverOptions(limits v1.Limits) server.Options { return server.Options{Limits: limits} }

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !condition() {
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// gauge reads a metric that has no labels.
func (w *world) gauge(name string) float64 {
	w.t.Helper()
	families, err := w.metrics.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	w.t.Fatalf("no metric %s", name)
	return 0
}
