package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"sessiond/llm/llmtest"
	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

// TestBadFrames: the limits of Options are those of the connection, and what is wrong
// with a frame costs that frame only.
func TestBadFrames(t *testing.T) {
	limits := v1.DefaultLimits()
	limits.FrameBytes, limits.Nesting, limits.Batch, limits.IDBytes = 2000, 8, 2, 8
	w := newWorld(t, setup{edge: serverOptions(limits)})
	p := w.dial()
	info := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"v1.server.info"}` }
	for _, tt := range []struct {
		name, frame string
		want        int // code of the error
	}{
		{"malformed", `{"jsonrpc":`, v1.CodeParseError},
		{"two messages", `{}{}`, v1.CodeParseError},
		{"no version", `{"id":1,"method":"v1.server.info"}`, v1.CodeInvalidRequest},
		{"too deep", `{"jsonrpc":"2.0","id":1,"method":"v1.server.info","params":` + strings.Repeat(`[`, 8) + strings.Repeat(`]`, 8) + `}`, v1.CodeInvalidRequest},
		{"batch too long", `[` + info("1") + `,` + info("2") + `,` + info("3") + `]`, v1.CodeInvalidRequest},
		{"empty batch", `[]`, v1.CodeInvalidRequest},
		{"id too long", info(`"1234567"`), v1.CodeInvalidRequest},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"v1.session.compose"}`, v1.CodeMethodNotFound},
		{"method of another case", `{"jsonrpc":"2.0","id":1,"method":"V1.server.info"}`, v1.CodeMethodNotFound},
		{"params by position", `{"jsonrpc":"2.0","id":1,"method":"v1.server.info","params":[1]}`, v1.CodeInvalidParams},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.write(tt.frame)
			f, err := p.read()
			if err != nil {
				t.Fatal(err)
			}
			if f.Error == nil || f.Error.Code != tt.want {
				t.Errorf("got %s %v, want code %d", f.Result, f.Error, tt.want)
			}
			p.call(v1.MethodServerInfo, params{}) // the connection lives
		})
	}
	for name, bad := range map[string]struct {
		kind  int
		frame string
		want  int
	}{
		"oversized": {websocket.TextMessage, info(`"` + strings.Repeat("x", 2000) + `"`), rpc.CloseTooBig},
		"binary":    {websocket.BinaryMessage, info("1"), rpc.CloseUnsupported},
		"no UTF-8":  {websocket.TextMessage, info("\"\xff\""), rpc.CloseBadUTF8},
	} {
		t.Run(name, func(t *testing.T) {
			p := w.dial()
			if err := p.ws.WriteMessage(bad.kind, []byte(bad.frame)); err != nil {
				t.Fatal(err)
			}
			if code := p.closed(); code != bad.want {
				t.Errorf("closed with %d, want %d", code, bad.want)
			}
		})
	}
}

func TestUnsupportedMedia(t *testing.T) {
	w := newWorld(t, setup{model: looking()})
	p := w.dial()
	own := p.subject()
	in := func(members params) params {
		members["session_id"] = own.session
		return members
	}
	tiff := params{"type": "image", "mime_type": "image/tiff", "data": "AAAA"}
	pdf := params{"name": "a", "mime_type": "application/pdf", "data": "AAAA"}
	for name, tt := range map[string]struct {
		method string
		in     params
		path   string
	}{
		"image":       {v1.MethodMessageSend, in(params{"content": []any{params{"type": "text", "text": "x"}, tiff}}), "content[1]"},
		"attachment":  {v1.MethodMessageSend, in(params{"content": "x", "attachments": []any{pdf}}), "attachments[0]"},
		"tool result": {v1.MethodToolSubmitResult, in(params{"tool_use_id": own.call, "content": []any{tiff}}), "content[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			if e := p.refused(v1.KindUnsupportedMedia, tt.method, tt.in); e.member("path") != tt.path {
				t.Errorf("%q is blamed, want %q", e.member("path"), tt.path)
			}
		})
	}
	// Nothing of it was stored, and the call still waits.
	page := decode[v1.MessageListResult](t, p.call(v1.MethodMessageList, params{"session_id": own.session}))
	if len(page.Messages) != 2 {
		t.Errorf("%d messages, want 2", len(page.Messages))
	}
	p.call(v1.MethodToolSubmitResult, own.about(v1.MethodToolSubmitResult))
}

// TestAnUnknownToolIsAnsweredForTheModel: what the model calls but nobody offers gets
// an error result, and the turn goes on.
func TestAnUnknownToolIsAnsweredForTheModel(t *testing.T) {
	w := newWorld(t, setup{model: llmtest.New(llmtest.Calls("", llmtest.Call{Name: "nobody_has_this"}), llmtest.Text("Sorry."))})
	p := w.dial()
	s := p.create(params{})
	p.subscribe(s.ID, 0)
	p.send(s.ID, "go")
	resolved := decode[v1.ToolResolvedData](t, p.await(v1.EventToolResolved).Data)
	if resolved.By != v1.ByBuiltin || !resolved.IsError {
		t.Errorf("resolved: %+v", resolved)
	}
	if d := decode[v1.TurnCompletedData](t, p.await(v1.EventTurnCompleted).Data); d.Status != v1.OutcomeCompleted {
		t.Errorf("the turn ended as %+v", d)
	}
}

func TestCallsPerMinute(t *testing.T) {
	at := newClock()
	edge := guarded()
	edge.Now, edge.Limits.CallsPerMinute = at.now, 3
	w := newWorld(t, setup{edge: edge})
	alice, again, bob := w.as(alicesToken), w.as(alicesToken), w.as(bobsToken)
	take := func(p *peer) { p.t.Helper(); p.call(v1.MethodServerInfo, params{}) }
	refused := func(p *peer, wait time.Duration) {
		p.t.Helper()
		e := p.refused(v1.KindRateLimited, v1.MethodServerInfo, params{})
		if data := decode[v1.ErrorData](p.t, e.Data); data.RetryAfterMS != wait.Milliseconds() || !data.Retryable {
			p.t.Errorf("told %s, want %s", e.Data, wait)
		}
	}
	// A minute's allowance may be used at once, over all connections of an owner.
	take(alice)
	take(again)
	take(alice)
	refused(alice, 20*time.Second)
	refused(again, 20*time.Second) // a refused call costs nothing
	take(bob)
	at.advance(19 * time.Second)
	refused(alice, time.Second)
	at.advance(time.Second)
	take(alice)
	refused(again, 20*time.Second)
	// It does not grow beyond a minute's.
	at.advance(time.Hour)
	for range 3 {
		take(alice)
	}
	refused(alice, 20*time.Second)
}

// TestTheLocalOwnerIsNotCounted: whoever reaches an open server owns it.
func TestTheLocalOwnerIsNotCounted(t *testing.T) {
	limits := v1.DefaultLimits()
	limits.CallsPerMinute = 1
	w := newWorld(t, setup{edge: serverOptions(limits)})
	p := w.dial()
	for range 5 {
		p.call(v1.MethodServerInfo, params{})
	}
}

func TestSubscriptionLimit(t *testing.T) {
	limits := v1.DefaultLimits()
	limits.Subscriptions = 2
	w := newWorld(t, setup{edge: serverOptions(limits)})
	p := w.dial()
	ids := make([]string, 3)
	for i := range ids {
		ids[i] = p.create(params{}).ID
	}
	p.subscribe(ids[0], 0)
	p.subscribe(ids[1], 0)
	in := params{"session_id": ids[2]}
	p.refused(v1.KindSubscriptionLimit, v1.MethodSessionSubscribe, in)
	p.subscribe(ids[0], 0) // again is no third one
	p.call(v1.MethodSessionUnsubscribe, params{"session_id": ids[0]})
	// A refused one leaves no trace.
	p.refused(v1.KindLogReset, v1.MethodSessionSubscribe, params{"session_id": ids[2], "after_seq": 99})
	p.call(v1.MethodSessionSubscribe, in)
	p.refused(v1.KindSubscriptionLimit, v1.MethodSessionSubscribe, params{"session_id": ids[0]})
	w.dial().subscribe(ids[0], 0) // connections count for themselves
}

func TestQueueAndTurnLimits(t *testing.T) {
	w := newWorld(t, setup{
		edge: guarded(), model: llmtest.New().Loop(llmtest.Hang()),
		options: session.Options{MaxQueuedMessages: 2, MaxRunningTurns: 1},
	})
	alice, bob := w.as(alicesToken), w.as(bobsToken)
	s := alice.create(params{})
	for i := range 3 {
		if sent := alice.send(s.ID, fmt.Sprint(i)); sent.Queued != (i > 0) {
			t.Errorf("message %d: %+v", i, sent)
		}
	}
	e := alice.refused(v1.KindQueueFull, v1.MethodMessageSend, params{"session_id": s.ID, "content": "3"})
	if data := decode[v1.ErrorData](t, e.Data); data.Queued != 2 {
		t.Errorf("told %s", e.Data)
	}
	e = alice.refused(v1.KindQuotaExceeded, v1.MethodMessageSend, params{"session_id": alice.create(params{}).ID, "content": "x"})
	if data := decode[v1.ErrorData](t, e.Data); data.Quota != "running_turns" {
		t.Errorf("told %s", e.Data)
	}
	bob.send(bob.create(params{}).ID, "mine")
}
