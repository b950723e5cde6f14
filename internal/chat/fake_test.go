package chat_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"sessiond/internal/chat"
	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

// fakeServer does what no good server does. It answers a call with what its function
// returns; nil drops the connection, and a *client.Error is an error.
type fakeServer struct {
	t      *testing.T
	answer func(method string, params json.RawMessage) any

	mu    sync.Mutex
	calls map[string]int // by method
}

func (f *fakeServer) start() *chat.Link {
	f.t.Helper()
	f.calls = make(map[string]int)
	s := httptest.NewServer(f)
	f.t.Cleanup(s.Close)
	l, err := chat.Connect(f.t.Context(), chat.LinkOptions{URL: "ws" + strings.TrimPrefix(s.URL, "http")})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(l.Close)
	return l
}

func (f *fakeServer) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// ServeHTTP implements http.Handler.
func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ws, err := (&websocket.Upgrader{Subprotocols: []string{v1.Protocol}}).Upgrade(w, r, nil)
	if err != nil {
		f.t.Error(err)
		return
	}
	defer func() { _ = ws.Close() }()
	for {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if ws.ReadJSON(&call) != nil {
			return
		}
		f.mu.Lock()
		f.calls[call.Method]++
		f.mu.Unlock()
		reply := map[string]any{"jsonrpc": "2.0", "id": call.ID}
		switch result := f.answer(call.Method, call.Params).(type) {
		case nil:
			return
		case *client.Error:
			reply["error"] = result
		default:
			reply["result"] = result
		}
		if ws.WriteJSON(reply) != nil {
			return
		}
	}
}

const someSession = "0197f0d0-0000-7000-8000-000000000001"

// answers are those of a server with one empty session.
func answers(method string) any {
	session := v1.Session{ID: someSession, LogID: "l1", HeadSeq: 7, Status: v1.SessionIdle}
	switch method {
	case v1.MethodSessionGet:
		return v1.SessionGetResult{Session: session}
	case v1.MethodSessionSubscribe:
		return v1.SubscribeResult{Session: session, HeadSeq: 7, LogID: "l1"}
	}
	return map[string]any{}
}

// TestPoisonedCall: a call that kills every connection is given up.
func TestPoisonedCall(t *testing.T) {
	f := &fakeServer{t: t, answer: func(method string, _ json.RawMessage) any {
		if method == v1.MethodSessionList {
			return nil
		}
		return answers(method)
	}}
	l := f.start()
	l.Do(chat.ListSessions{})
	if e := until[chat.Failed](t, l); e.Action != (chat.ListSessions{}) {
		t.Errorf("%#v failed", e.Action)
	}
	if n := f.count(v1.MethodSessionList); n != 5 {
		t.Errorf("it was tried %d times", n)
	}
}

// TestLogReset: a log that is not the one we knew is told from its beginning.
func TestLogReset(t *testing.T) {
	f := &fakeServer{t: t}
	f.answer = func(method string, params json.RawMessage) any {
		if method != v1.MethodSessionSubscribe {
			return answers(method)
		}
		var p v1.SubscribeParams
		if err := json.Unmarshal(params, &p); err != nil || p.AfterSeq == nil {
			t.Errorf("subscribed with %s: %v", params, err)
		} else if *p.AfterSeq != 0 {
			return &client.Error{Code: -31026, Message: "another log", Data: json.RawMessage(`{"kind":"log_reset"}`)}
		}
		entry := json.RawMessage(`{"seq":1,"at":"2026-01-02T03:04:05Z","type":"session.created","data":{}}`)
		return v1.SubscribeResult{Session: v1.Session{ID: someSession, HeadSeq: 1}, HeadSeq: 1, LogID: "l2", Entries: []json.RawMessage{entry}}
	}
	l := f.start()
	l.Do(chat.Open{SessionID: someSession})
	until[chat.Reset](t, l)
	if e := until[chat.Logged](t, l).Entry; e.Seq != 1 {
		t.Errorf("the log begins with entry %d", e.Seq)
	}
	if e := until[chat.Resumed](t, l); e.Missed != 1 {
		t.Errorf("%d entries were caught up with", e.Missed)
	}
}

// TestGoneWhileAway: a session that is not there any more when the connection is back.
func TestGoneWhileAway(t *testing.T) {
	f := &fakeServer{t: t}
	f.answer = func(method string, _ json.RawMessage) any {
		switch {
		case method == v1.MethodTurnStop:
			return nil
		case method == v1.MethodSessionSubscribe && f.count(method) > 1:
			return &client.Error{Code: -31020, Message: "no such session", Data: json.RawMessage(`{"kind":"not_found","what":"session"}`)}
		}
		return answers(method)
	}
	l := f.start()
	l.Do(chat.Open{SessionID: someSession})
	until[chat.Done](t, l)
	l.Do(chat.Stop{})
	until[chat.Lost](t, l)
	if e := until[chat.Opened](t, l); !e.Gone {
		t.Errorf("got %+v", e)
	}
}

// TestSentAway: a server that does not want us back is not asked again.
func TestSentAway(t *testing.T) {
	f := &fakeServer{t: t}
	f.answer = func(method string, _ json.RawMessage) any {
		switch {
		case method == v1.MethodTurnStop:
			return nil
		case method == v1.MethodSessionSubscribe && f.count(method) > 1:
			return &client.Error{Code: -31002, Message: "not yours", Data: json.RawMessage(`{"kind":"forbidden"}`)}
		}
		return answers(method)
	}
	l := f.start()
	l.Do(chat.Open{SessionID: someSession})
	until[chat.Done](t, l)
	l.Do(chat.Stop{})
	if e := until[chat.Ended](t, l); !client.IsKind(e.Err, v1.KindForbidden) {
		t.Errorf("ended with %v", e.Err)
	}
	if n := f.count(v1.MethodSessionSubscribe); n != 2 {
		t.Errorf("subscribed %d times", n)
	}
}

// TestTooMuch: actions that can't wait are refused, and the view tells.
func TestTooMuch(t *testing.T) {
	hold := make(chan struct{})
	f := &fakeServer{t: t, answer: func(method string, _ json.RawMessage) any {
		if method == v1.MethodMemoryList {
			<-hold
		}
		return answers(method)
	}}
	l := f.start()
	defer close(hold)
	for n := 0; l.Do(chat.ListMemories{}); n++ {
		if n > 1000 {
			t.Fatal("nothing is refused")
		}
	}
}
