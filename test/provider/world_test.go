// Package provider_test runs sessions against the strict fakes of the providers' APIs:
// the real session manager, the real clients, HTTP between them. Every fault that a
// provider is known for has a defined end, and no request breaks a rule.
//
// Everything of a test lives in one bubble with a clock of its own: HTTP goes over
// in-memory pipes, so waiting for a retry takes no time, and what a test sees after a
// pause does not depend on the machine.
package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sessiond/llm"
	"sessiond/llm/anthropic"
	"sessiond/llm/llmtest/fakellm"
	"sessiond/llm/openai"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
	"sessiond/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	owner  = "owner"
	secret = "sk-secret-0123456789abcdef" // the key of both providers
)

// provider is one of the clients and what is asked of it.
type provider struct {
	api    fakellm.API
	model  string
	client func(t *testing.T, base string, http *http.Client, prices *llm.Prices) llm.Model
}

func providers() []provider { return []provider{anthropicAPI(), openaiAPI()} }

func anthropicAPI() provider {
	return provider{
		fakellm.Anthropic, "claude-haiku-5-5", func(t *testing.T, base string, http *http.Client, prices *llm.Prices) llm.Model {
			t.Helper()
			c, err := anthropic.New(anthropic.Options{
				APIKey: secret, BaseURL: base + fakellm.AnthropicPath, HTTPClient: http, Prices: prices,
			})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
	}
}

func openaiAPI() provider {
	return provider{
		fakellm.OpenAI, "gpt-4o", func(t *testing.T, base string, http *http.Client, prices *llm.Prices) llm.Model {
			t.Helper()
			d, err := openai.DialectNamed("openai")
			if err != nil {
				t.Fatal(err)
			}
			c, err := openai.New(openai.Options{
				APIKey: secret, BaseURL: base + fakellm.OpenAIPath, HTTPClient: http, Prices: prices, Dialect: d,
			})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
	}
}

// inBubble runs f with a world in a bubble.
func inBubble(t *testing.T, p provider, fakes fakellm.Options, opts session.Options, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(newWorld(t, p, fakes, opts))
	})
}

// forBoth runs f in a bubble of its own for each provider.
func forBoth(t *testing.T, opts session.Options, f func(w *world)) {
	t.Helper()
	for _, p := range providers() {
		t.Run(string(p.api), func(t *testing.T) {
			inBubble(t, p, fakellm.Options{}, opts, f)
		})
	}
}

// world is a session manager with a provider's client, and the fake at its other end.
type world struct {
	t     testing.TB
	api   fakellm.API
	fakes *fakellm.Server
	model llm.Model
	mem   *memory.Store
	opts  session.Options
	life  *life
	m     *session.Manager
	logs  *observer.ObservedLogs
}

func newWorld(t *testing.T, p provider, fakes fakellm.Options, opts session.Options) *world {
	t.Helper()
	w := &world{t: t, api: p.api, fakes: fakellm.New(fakes), mem: memory.New(), opts: opts}
	prices, err := llm.NewPrices(nil)
	if err != nil {
		t.Fatal(err)
	}
	pipes := newPipes()
	transport := &http.Transport{DialContext: pipes.dial}
	w.model = p.client(t, "http://fake.test", &http.Client{Transport: transport}, prices)
	srv := &http.Server{Handler: w.fakes, ReadHeaderTimeout: time.Minute, ErrorLog: zap.NewStdLog(zap.NewNop())}
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(pipes) }()
	if w.opts.Models == nil {
		w.opts.Models = []string{p.model}
	}
	if w.opts.Jitter == nil {
		w.opts.Jitter = func() float64 { return 0 }
	}
	w.begin()
	t.Cleanup(func() {
		w.m.Close()
		transport.CloseIdleConnections()
		_ = srv.Close()
		<-served
	})
	return w
}

// begin starts a manager on the store, as a process does.
func (w *world) begin() {
	w.t.Helper()
	core, logs := observer.New(zap.WarnLevel)
	w.life = &life{Store: w.mem}
	m, err := session.NewManager(w.life, w.model, w.opts, zap.New(core))
	if err != nil {
		w.t.Fatal(err)
	}
	w.m, w.logs = m, logs
	if _, err := m.Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// life is the store as one process sees it.
type life struct {
	store.Store
	dead atomic.Bool
}

func (l *life) Commit(ctx context.Context, c *store.Commit) error {
	if l.dead.Load() {
		return errors.New("the process has crashed")
	}
	return l.Store.Commit(ctx, c)
}

// patient are options under which failed calls are repeated after 0.5 s, 1 s, 2 s, 2 s …
// until a turn has waited a minute.
func patient() session.Options {
	return session.Options{RetryMaxDelay: 4 * time.Second, RetryBudget: time.Minute}
}

// pass lets time go by; everything due meanwhile happens.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// script is what the fake answers next.
func (w *world) script(steps ...fakellm.Step) { w.fakes.Script(steps...) }

func (w *world) create(change ...func(*session.Settings)) store.Ref {
	w.t.Helper()
	var s session.Settings
	for _, f := range change {
		f(&s)
	}
	r, err := w.m.Create(w.t.Context(), owner, "", s, session.Idempotency{})
	if err != nil {
		w.t.Fatal(err)
	}
	return store.Ref{Owner: owner, ID: r.Value.ID}
}

func withTool(name string) func(*session.Settings) {
	return func(s *session.Settings) {
		s.Tools = append(s.Tools, session.Tool{Name: name, Description: name, InputSchema: []byte(`{"type":"object","properties":{}}`)})
	}
}

func text(s string) []message.Block { return []message.Block{message.Text{Text: s}} }

// send sends a message and lets everything happen that needs no time.
func (w *world) send(ref store.Ref, s string) message.TurnID {
	w.t.Helper()
	r, err := w.m.Send(w.t.Context(), ref, text(s), session.WhenBusyQueue, session.Idempotency{})
	if err != nil {
		w.t.Fatalf("send %q: %v", s, err)
	}
	synctest.Wait()
	return r.Value.TurnID
}

// answerCalls submits a result for every open call and returns their number.
func (w *world) answerCalls(ref store.Ref) int {
	w.t.Helper()
	calls := w.get(ref).PendingCalls
	for _, c := range calls {
		r := session.ToolResult{ToolUseID: c.ToolUseID, Content: text("the result of " + c.Name)}
		if _, err := w.m.SubmitToolResult(w.t.Context(), ref, r, session.Idempotency{}); err != nil {
			w.t.Fatalf("submit a result: %v", err)
		}
	}
	synctest.Wait()
	return len(calls)
}

func (w *world) get(ref store.Ref) *session.View {
	w.t.Helper()
	v, err := w.m.Get(w.t.Context(), ref)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *world) turn(ref store.Ref, id message.TurnID) *session.Turn {
	w.t.Helper()
	turn, err := w.m.Turn(w.t.Context(), ref, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return turn
}

func (w *world) messages(ref store.Ref) []*message.Message {
	w.t.Helper()
	msgs, _, err := w.m.Messages(w.t.Context(), ref, session.MessageQuery{Limit: 200})
	if err != nil {
		w.t.Fatal(err)
	}
	return msgs
}

// said is the conversation as a list of "role: text", calls and results included.
func (w *world) said(ref store.Ref) []string {
	w.t.Helper()
	var out []string
	for _, m := range w.messages(ref) {
		var parts []string
		for _, b := range m.Content {
			switch b := b.(type) {
			case message.Text:
				parts = append(parts, b.Text)
			case message.Thinking:
				parts = append(parts, "<"+b.Text+">")
			case message.ToolUse:
				parts = append(parts, b.Name+string(b.Input))
			case message.ToolResult:
				parts = append(parts, "→ "+message.JoinText(b.Content))
			case message.Image:
				parts = append(parts, "image")
			}
		}
		out = append(out, string(m.Role)+": "+strings.Join(parts, " | "))
	}
	return out
}

// sound checks what has to hold whenever nothing is due: nothing runs, the next message
// is answered, the fake found no fault with any request, and none had to be repaired.
func (w *world) sound(ref store.Ref) {
	w.t.Helper()
	before := w.said(ref)
	if v := w.get(ref); v.Status != store.StatusIdle || v.Queued != 0 {
		w.t.Errorf("the session is %s, %d wait", v.Status, v.Queued)
	}
	w.script(fakellm.Step{Text: "at your service"})
	turn := w.send(ref, "are you there?")
	if got := w.turn(ref, turn); got.Status != store.TurnCompleted {
		w.t.Errorf("the next message's turn is %s: %+v", got.Status, got.Error)
	}
	after := w.said(ref)
	if n := len(before); len(after) != n+2 || after[n] != "user: are you there?" || after[n+1] != "assistant: at your service" {
		w.t.Errorf("the next message was answered by %q", after[n:])
	}
	w.clean()
}

// clean checks that no request broke a rule or had to be repaired.
func (w *world) clean() {
	w.t.Helper()
	if _, rejected := w.fakes.Seen(); len(rejected) > 0 {
		w.t.Errorf("rejected: %s", strings.Join(rejected, "\n"))
	}
	for _, e := range w.logs.FilterMessage("a request was repaired").All() {
		w.t.Errorf("repaired: %v", e.ContextMap())
	}
}

// recorder is a subscriber that keeps all it is told.
type recorder struct {
	mu         sync.Mutex
	events     []*session.Event
	deltas     []*session.Delta
	activities []activity
}

// activity is what a session was told to be busy with.
type activity struct {
	name    session.ActivityName
	attempt int
	retryIn time.Duration
}

func (r *recorder) Event(e *session.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) Delta(d *session.Delta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deltas = append(r.deltas, d)
}

func (r *recorder) Activity(a *session.Activity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.activities = append(r.activities, activity{a.Name, a.Attempt, a.RetryIn})
}

func (r *recorder) Progress(*session.Progress) {}

func (r *recorder) Gone(bool) {}

// text is all text that was told as it was written.
func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, d := range r.deltas {
		if d.Kind == string(llm.DeltaText) {
			b.WriteString(d.Text)
		}
	}
	return b.String()
}

func (w *world) subscribe(ref store.Ref) *recorder {
	w.t.Helper()
	rec := &recorder{}
	if _, err := w.m.Subscribe(w.t.Context(), ref, session.Where{}, rec); err != nil {
		w.t.Fatal(err)
	}
	return rec
}

// pipes is a network in memory: a listener, and the dialing to it.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "pipe"} }

func decode(w *world, raw []byte, to any) {
	w.t.Helper()
	if err := json.Unmarshal(raw, to); err != nil {
		w.t.Fatal(err)
	}
}
