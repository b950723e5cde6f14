package server_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"sessiond/llm/llmtest"
	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
	"sessiond/store"
	"sessiond/store/memory"
)

// TestAReplacedSubscriptionTellsOnce: subscribing again is no second subscription.
func TestAReplacedSubscriptionTellsOnce(t *testing.T) {
	w := newWorld(t, setup{})
	p := w.dial()
	s := p.create(params{})
	for range 3 {
		p.subscribe(s.ID, 0)
	}
	p.send(s.ID, "hello")
	seen := make(map[int64]int)
	for {
		e := p.event()
		seen[e.Seq]++
		if e.Type == v1.EventTurnCompleted {
			break
		}
	}
	p.silent(v1.NotifyProgress)
	for seq, times := range seen {
		if times != 1 {
			t.Errorf("entry %d was told %d times", seq, times)
		}
	}
}

// TestSubscribingTwiceAtOnce: both calls read the log while neither is in the session
// yet; one subscription comes of them.
func TestSubscribingTwiceAtOnce(t *testing.T) {
	held := newHeldStore()
	w := newWorld(t, setup{store: held, options: session.Options{IdleUnload: 10 * time.Millisecond}})
	p := w.dial()
	s := p.create(params{})
	for range 20 {
		release := held.hold()
		first := p.start(v1.MethodSessionSubscribe, params{"session_id": s.ID, "after_seq": 0})
		<-held.arrived
		second := p.start(v1.MethodSessionSubscribe, params{"session_id": s.ID, "after_seq": 0})
		<-held.arrived
		release()
		p.replies(first, second)
		p.call(v1.MethodSessionUpdate, params{"session_id": s.ID, "title": first})
		p.event()
		p.silent()
		p.call(v1.MethodSessionUnsubscribe, params{"session_id": s.ID})
		p.call(v1.MethodSessionUpdate, params{"session_id": s.ID, "title": second})
		p.silent()
	}
	eventually(t, "the session to be unloaded", func() bool { return w.sessions.Loaded() == 0 })
}

func TestUnsubscribeIsSilent(t *testing.T) {
	w := newWorld(t, setup{})
	p, other := w.dial(), w.dial()
	s := p.create(params{})
	p.subscribe(s.ID, 0)
	p.call(v1.MethodSessionUnsubscribe, params{"session_id": s.ID})
	p.notes = nil
	other.subscribe(s.ID, 0)
	other.send(s.ID, "hello")
	other.await(v1.EventTurnCompleted)
	p.silent()
	p.call(v1.MethodSessionUnsubscribe, params{"session_id": s.ID}) // once more is no error
}

func TestADeletedSessionIsTold(t *testing.T) {
	limits := v1.DefaultLimits()
	limits.Subscriptions = 1
	w := newWorld(t, setup{edge: serverOptions(limits), model: llmtest.New().Loop(llmtest.Hang())})
	p, other := w.dial(), w.dial()
	s := p.create(params{})
	p.subscribe(s.ID, 0)
	sent := p.send(s.ID, "never answered")
	other.call(v1.MethodSessionDelete, params{"session_id": s.ID})
	last := sent.Seq
	for {
		e := p.event()
		last = max(last, e.Seq)
		if e.Type != v1.EventSessionDeleted {
			continue
		}
		if e.Seq != last || string(e.Data) != "{}" {
			t.Errorf("the last event: %+v, after %d", e, last)
		}
		break
	}
	// The place is free again, and nothing else comes of the session.
	p.subscribe(p.create(params{}).ID, 0)
	p.silent()
}

func TestSubscribeSaysWhereTheLogIs(t *testing.T) {
	w := newWorld(t, setup{})
	p := w.dial()
	s := p.create(params{})
	for name, in := range map[string]params{
		"beyond the head": {"after_seq": s.HeadSeq + 1},
		"another log":     {"after_seq": 0, "log_id": s.ID},
		"only the log":    {"log_id": s.ID},
	} {
		t.Run(name, func(t *testing.T) {
			in["session_id"] = s.ID
			e := p.refused(v1.KindLogReset, v1.MethodSessionSubscribe, in)
			data := decode[v1.ErrorData](t, e.Data)
			if data.HeadSeq == nil || *data.HeadSeq != s.HeadSeq || data.LogID != s.LogID {
				t.Errorf("told %s, want head %d and log %s", e.Data, s.HeadSeq, s.LogID)
			}
		})
	}
	p.send(s.ID, "unheard")
	p.silent() // a refused subscription is none
}

// TestProgressSubscriptionGoesLive: it gets no entries, so there is nothing it would
// have to page through, however long the log is.
func TestProgressSubscriptionGoesLive(t *testing.T) {
	w := newWorld(t, setup{model: looking()})
	p, other := w.dial(), w.dial()
	s := longSession(t, w, session.PageEvents+10)
	in := params{"session_id": s, "after_seq": 0, "events": "progress"}
	sub := decode[v1.SubscribeResult](t, p.call(v1.MethodSessionSubscribe, in))
	if sub.More || len(sub.Entries) > 0 {
		t.Errorf("%d entries, more %v", len(sub.Entries), sub.More)
	}
	other.send(s, "look")
	if a := p.activity(); a.Activity != v1.ActivityWaitingTool {
		t.Errorf("told %+v", a)
	}
}

// longSession makes a session of the local owner with at least n entries.
func longSession(t *testing.T, w *world, n int) string {
	t.Helper()
	p := w.dial()
	s := p.create(params{"tools": []any{params{"name": "look", "description": "", "input_schema": params{"type": "object"}}}})
	for i := int64(1); i < int64(n); {
		got := decode[v1.SessionResult](t, p.call(v1.MethodSessionUpdate, params{"session_id": s.ID, "title": fmt.Sprint(i)}))
		i = got.Session.HeadSeq
	}
	return s.ID
}

// TestPages: a page holds at most 500 entries and 512 KiB, and a client that asks on
// from the last entry misses nothing.
func TestPages(t *testing.T) {
	w := newWorld(t, setup{})
	p := w.dial()
	s := longSession(t, w, 2*session.PageEvents+3)
	first := p.subscribe(s, 0)
	if len(first.Entries) != session.PageEvents || !first.More || first.HeadSeq != 2*session.PageEvents+3 {
		t.Fatalf("%d entries, more %v, head %d", len(first.Entries), first.More, first.HeadSeq)
	}
	w.dial().call(v1.MethodSessionUpdate, params{"session_id": s, "title": "not live yet"})
	p.silent()
	var last int64
	for page := first; ; page = p.subscribe(s, last) {
		for _, raw := range page.Entries {
			e := decode[v1.Entry](t, raw)
			if e.Seq != last+1 {
				t.Fatalf("entry %d follows %d", e.Seq, last)
			}
			last = e.Seq
		}
		if !page.More {
			break
		}
	}
	if last != 2*session.PageEvents+4 {
		t.Errorf("the last entry is %d", last)
	}
	p.call(v1.MethodSessionUpdate, params{"session_id": s, "title": "live"})
	if e := p.event(); e.Seq != last+1 {
		t.Errorf("the first event is %d, want %d", e.Seq, last+1)
	}
	logged := decode[v1.LogResult](t, p.call(v1.MethodSessionLog, params{"session_id": s, "after_seq": 10, "limit": 500}))
	if e := decode[v1.Entry](t, logged.Entries[0]); len(logged.Entries) != 500 || !logged.More || e.Seq != 11 {
		t.Errorf("log: %d entries from %d, more %v", len(logged.Entries), e.Seq, logged.More)
	}
}

// TestLargeContent: a tool result of the largest size reaches every subscriber as an
// event that leaves the data out, and is read back whole.
func TestLargeContent(t *testing.T) {
	w := newWorld(t, setup{model: llmtest.New(llmtest.Calls("", llmtest.Call{Name: "look"}), llmtest.Text("ok"))})
	p, other := w.dial(), w.dial()
	s := p.create(params{"tools": []any{params{"name": "look", "description": "", "input_schema": params{"type": "object"}}}})
	for _, each := range []*peer{p, other} {
		each.subscribe(s.ID, 0)
	}
	p.send(s.ID, "look")
	called := decode[v1.ToolCalledData](t, p.await(v1.EventToolCalled).Data)
	large := strings.Repeat("0123456789abcde\n", 4<<20/16)
	p.call(v1.MethodToolSubmitResult, params{"session_id": s.ID, "tool_use_id": called.ToolUseID, "content": large})
	for _, each := range []*peer{p, other} {
		resolved := decode[v1.ToolResolvedData](t, each.await(v1.EventToolResolved).Data)
		block := decode[v1.TextBlock](t, resolved.Content[0])
		if !block.Omitted || block.Bytes != int64(len(large)) || block.Text != "" {
			t.Errorf("told: omitted %v, %d bytes", block.Omitted, block.Bytes)
		}
		results := decode[v1.MessageData](t, each.await(v1.EventMessageAdded).Data)
		m := decode[v1.Message](t, results.Message)
		whole := decode[v1.MessageGetResult](t, each.call(v1.MethodMessageGet, params{"session_id": s.ID, "message_id": m.ID}))
		got := decode[v1.Message](t, whole.Message)
		result := decode[v1.ToolResultBlock](t, got.Content[0])
		if text := decode[v1.TextBlock](t, result.Content[0]); text.Omitted || text.Text != large {
			t.Errorf("read back: omitted %v, %d bytes", text.Omitted, len(text.Text))
		}
		each.await(v1.EventTurnCompleted)
	}
}

// TestSlowReader: a client that does not read is cut off with 4008 while others are
// served, and resumes from what it has without a gap.
func TestSlowReader(t *testing.T) {
	limits := v1.DefaultLimits()
	// Only the outbox is to be what ends it, however long the messages take.
	limits.WriteMS, limits.PongMS = time.Hour.Milliseconds(), time.Hour.Milliseconds()
	w := newWorld(t, setup{
		edge: serverOptions(limits), model: llmtest.New().Loop(llmtest.Hang()),
		options: session.Options{MaxQueuedMessages: 1000}, conns: buffersLittle,
	})
	fast := w.dial()
	s := fast.create(params{})
	narrow := websocket.Dialer{
		Subprotocols: []string{v1.Protocol}, ReadBufferSize: 1 << 10,
		NetDialContext: (&net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
		}}).DialContext,
	}
	ws, got := w.dialWith(&narrow)
	if ws == nil {
		t.Fatalf("connect: %+v", got)
	}
	slow := w.adopt(ws)
	slow.subscribe(s.ID, 0)
	text := strings.Repeat("word ", 12<<10) // words are counted faster than one long one
	var sent v1.MessageSendResult
	for range 60 { // 3.6 MB: more than the outbox and what the kernel keeps
		sent = fast.send(s.ID, text)
	}
	if code := slow.closed(); code != rpc.CloseSlowConsumer {
		t.Fatalf("closed with %d, want %d", code, rpc.CloseSlowConsumer)
	}
	var last int64
	for _, f := range slow.notes {
		if f.Method != v1.NotifyEvent {
			continue
		}
		e := decode[v1.Event](t, f.Params)
		if last != 0 && e.Seq != last+1 {
			t.Errorf("event %d follows %d", e.Seq, last)
		}
		last = e.Seq
	}
	again := w.dial()
	for more := true; more; {
		page := again.subscribe(s.ID, last)
		for _, raw := range page.Entries {
			if e := decode[v1.Entry](t, raw); e.Seq != last+1 {
				t.Fatalf("entry %d follows %d", e.Seq, last)
			}
			last++
		}
		more = page.More
	}
	if last != sent.Seq {
		t.Errorf("resumed up to %d, the last message is %d", last, sent.Seq)
	}
}

// TestShutdown: clients are told, running calls are answered, and connections are
// closed with "restart".
func TestShutdown(t *testing.T) {
	held := newHeldStore()
	w := newWorld(t, setup{store: held})
	idle, busy := w.dial(), w.dial()
	busy.call(v1.MethodServerInfo, params{})
	idle.call(v1.MethodServerInfo, params{}) // from here on the server knows it
	release := held.hold()
	id := busy.start(v1.MethodSessionCreate, params{})
	<-held.arrived
	done := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		done <- w.edge.Shutdown(ctx)
	}()
	for _, p := range []*peer{idle, busy} {
		f := p.note()
		if notice := decode[v1.ServerNotice](t, f.Params); f.Method != v1.NotifyServer || notice.Kind != v1.NoticeShuttingDown || notice.RetryAfterMS <= 0 {
			t.Errorf("told %s %s", f.Method, f.Params)
		}
	}
	if code := idle.closed(); code != rpc.CloseRestart {
		t.Errorf("closed with %d", code)
	}
	if got := w.connectStatus(); got != http.StatusServiceUnavailable {
		t.Errorf("a new connection: status %d", got)
	}
	if status, body := w.request(http.MethodGet, "/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("readyz: status %d: %s", status, body)
	}
	release()
	if _, e := busy.reply(id, v1.MethodSessionCreate); e != nil {
		t.Errorf("the running call: %v", e)
	}
	if code := busy.closed(); code != rpc.CloseRestart {
		t.Errorf("closed with %d", code)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// heldStore is a memory store whose creates and reads of the log can be held up.
type heldStore struct {
	*memory.Store
	gate    atomic.Pointer[chan struct{}]
	arrived chan struct{}
}

func newHeldStore() *heldStore {
	return &heldStore{Store: memory.New(), arrived: make(chan struct{}, 1000)}
}

func (s *heldStore) hold() (release func()) {
	gate := make(chan struct{})
	s.gate.Store(&gate)
	return func() { s.gate.Store(nil); close(gate) }
}

// wait ignores contexts, like a database that is slow to notice them.
func (s *heldStore) wait() {
	if gate := s.gate.Load(); gate != nil {
		s.arrived <- struct{}{}
		<-*gate
	}
}

// Create implements store.Store.
func (s *heldStore) Create(ctx context.Context, c *store.Commit) error {
	s.wait()
	return s.Store.Create(ctx, c)
}

// Entries implements store.Store.
func (s *heldStore) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	s.wait()
	return s.Store.Entries(context.WithoutCancel(ctx), q)
}

// TestACancelledSubscribeLeavesNothing: calls are cancelled while they read the log. A
// subscriber that stayed would keep its session in memory for good.
func TestACancelledSubscribeLeavesNothing(t *testing.T) {
	held := newHeldStore()
	w := newWorld(t, setup{store: held, options: session.Options{IdleUnload: 10 * time.Millisecond}})
	p := w.dial()
	s := p.create(params{})
	for range 50 {
		release := held.hold()
		id := p.start(v1.MethodSessionSubscribe, params{"session_id": s.ID, "after_seq": 0})
		<-held.arrived
		p.write(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`)
		p.call(v1.MethodServerInfo, params{}) // read after the cancel
		release()
		if _, e := p.reply(id, v1.MethodSessionSubscribe); e == nil || e.Code != v1.CodeCancelled {
			t.Fatalf("got error %v, want %d", e, v1.CodeCancelled)
		}
	}
	eventually(t, "the session to be unloaded", func() bool { return w.sessions.Loaded() == 0 })
}

// TestNoSubscriberOutlivesItsConnection is the same for connections that end.
func TestNoSubscriberOutlivesItsConnection(t *testing.T) {
	held := newHeldStore()
	w := newWorld(t, setup{store: held, options: session.Options{IdleUnload: 10 * time.Millisecond}})
	s := w.dial().create(params{})
	release := held.hold()
	for range 50 {
		p := w.dial()
		p.start(v1.MethodSessionSubscribe, params{"session_id": s.ID, "after_seq": 0})
		<-held.arrived
		_ = p.ws.Close()
	}
	release()
	eventually(t, "the session to be unloaded", func() bool { return w.sessions.Loaded() == 0 })
	eventually(t, "the connections to end", func() bool { return w.gauge("sessiond_connections") == 1 })
}
