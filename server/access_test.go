package server_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sessiond/llm/llmtest"
	v1 "sessiond/rpc/v1"
	"sessiond/server"
)

const (
	alicesToken = "alice's token, long enough"
	bobsToken   = "bob's token, long enough"
	appOrigin   = "https://app.example"
)

func tokens() map[[32]byte]string {
	return map[[32]byte]string{
		sha256.Sum256([]byte(alicesToken)): "alice",
		sha256.Sum256([]byte(bobsToken)):   "bob",
	}
}

// guarded is a server with two owners that a page of appOrigin may connect to.
func guarded() server.Options {
	limits := v1.DefaultLimits()
	limits.CallsPerMinute = 0
	return server.Options{Tokens: tokens(), AllowedOrigins: []string{appOrigin}, Limits: limits}
}

// as connects with a bearer token.
func (w *world) as(token string) *peer {
	w.t.Helper()
	return w.dial("Authorization", "Bearer "+token)
}

// ticket makes a ticket for alice.
func (w *world) ticket(scope v1.Scope, sessions ...string) string {
	w.t.Helper()
	request := map[string]any{"origin": appOrigin, "scope": scope.String()}
	if len(sessions) > 0 {
		request["session_ids"] = sessions
	}
	body, err := json.Marshal(request)
	if err != nil {
		w.t.Fatal(err)
	}
	status, answer := w.request(http.MethodPost, "/v1/tickets", string(body), "Authorization", "Bearer "+alicesToken)
	if status != http.StatusOK {
		w.t.Fatalf("ticket: status %d: %s", status, answer)
	}
	return decode[struct{ Ticket string }](w.t, answer).Ticket
}

// scoped connects with a ticket, as a browser does.
func (w *world) scoped(scope v1.Scope, sessions ...string) *peer {
	w.t.Helper()
	ws, got := w.tryDial([]string{v1.Protocol, "ticket." + w.ticket(scope, sessions...)}, "Origin", appOrigin)
	if ws == nil {
		w.t.Fatalf("connect with a ticket: %+v", got)
	}
	return w.adopt(ws)
}

// subject is a session of somebody with a turn that waits for a tool.
type subject struct{ session, message, turn, call, memory string }

// subject makes a session in which a tool call is pending.
func (p *peer) subject() subject {
	p.t.Helper()
	s := p.create(params{
		"system_prompt": "secret prompt", "agent_prompt": "secret agent prompt",
		"agent": params{"name": "secret agent", "system_prompt": "secret too"},
		"tools": []any{json.RawMessage(lookTool)},
	})
	p.subscribe(s.ID, 0)
	sent := p.send(s.ID, "look")
	called := decode[v1.ToolCalledData](p.t, p.await(v1.EventToolCalled).Data)
	p.call(v1.MethodSessionUnsubscribe, params{"session_id": s.ID})
	p.notes = nil
	memory := p.remember(params{"scope": "session", "session_id": s.ID})
	return subject{s.ID, sent.MessageID, sent.TurnID, called.ToolUseID, memory.ID}
}

// about makes params for a method that are right for a subject.
func (s subject) about(method string) params {
	in := params{}
	if !sessionless(method) && method != v1.MethodMemoryUpdate && method != v1.MethodMemoryDelete {
		in["session_id"] = s.session
	}
	switch method {
	case v1.MethodMessageSend:
		in["content"] = "more"
	case v1.MethodSessionCompact:
		in["wait"] = false // its end would be that of the tool round
	case v1.MethodMessageGet:
		in["message_id"] = s.message
	case v1.MethodTurnGet:
		in["turn_id"] = s.turn
	case v1.MethodToolSubmitResult:
		in["tool_use_id"], in["content"] = s.call, "seen"
	case v1.MethodToolClaim:
		in["tool_use_id"], in["lease_ms"] = s.call, 1000
	case v1.MethodMemoryList:
		in["scope"] = "session"
	case v1.MethodMemoryCreate:
		in["scope"], in["category"], in["title"], in["content"] = "session", "issue", "t", "c"
	case v1.MethodMemoryUpdate:
		in["memory_id"], in["title"] = s.memory, "t"
	case v1.MethodMemoryDelete:
		in["memory_id"] = s.memory
	}
	return in
}

// sessionless reports whether a method is about no session.
func sessionless(method string) bool {
	return method == v1.MethodServerInfo || method == v1.MethodDiscover || method == v1.MethodSessionCreate || method == v1.MethodSessionList
}

// ofMemory reports whether a method is about memory, which no ticket for certain sessions
// may touch.
func ofMemory(method string) bool { return strings.HasPrefix(method, "v1.memory.") }

// looking calls the tool look, whatever it is told.
func looking() *llmtest.Model {
	return llmtest.New().Loop(llmtest.Calls("Looking.", llmtest.Call{Name: "look"}))
}

// allowed is the table of who may call what, written out: the scope a method needs,
// and whether tickets limited to certain sessions may call it on those.
func allowed() map[string]v1.Scope {
	return map[string]v1.Scope{
		v1.MethodServerInfo:         v1.ScopeNone,
		v1.MethodDiscover:           v1.ScopeNone,
		v1.MethodSessionGet:         v1.ScopeRead,
		v1.MethodSessionContext:     v1.ScopeRead,
		v1.MethodSessionSubscribe:   v1.ScopeRead,
		v1.MethodSessionUnsubscribe: v1.ScopeRead,
		v1.MethodMessageSend:        v1.ScopeChat,
		v1.MethodSessionCompact:     v1.ScopeChat,
		v1.MethodMessageGet:         v1.ScopeChat,
		v1.MethodTurnStop:           v1.ScopeChat,
		v1.MethodTurnGet:            v1.ScopeChat,
		v1.MethodToolSubmitResult:   v1.ScopeChat,
		v1.MethodToolClaim:          v1.ScopeChat,
		v1.MethodSessionCreate:      v1.ScopeFull,
		v1.MethodSessionList:        v1.ScopeFull,
		v1.MethodSessionUpdate:      v1.ScopeFull,
		v1.MethodSessionClose:       v1.ScopeFull,
		v1.MethodSessionOpen:        v1.ScopeFull,
		v1.MethodSessionDelete:      v1.ScopeFull,
		v1.MethodSessionFork:        v1.ScopeFull,
		v1.MethodSessionUndoCompact: v1.ScopeFull,
		v1.MethodSessionLog:         v1.ScopeFull,
		v1.MethodMessageList:        v1.ScopeFull,
		v1.MethodTurnList:           v1.ScopeFull,
		v1.MethodMemoryList:         v1.ScopeFull,
		v1.MethodMemoryCreate:       v1.ScopeFull,
		v1.MethodMemoryUpdate:       v1.ScopeFull,
		v1.MethodMemoryDelete:       v1.ScopeFull,
	}
}

// TestWhoMayCallWhat calls every method on an own, another own and a foreign session
// with every kind of credentials.
func TestWhoMayCallWhat(t *testing.T) {
	w := newWorld(t, setup{model: looking(), edge: guarded()})
	alice, bob := w.as(alicesToken), w.as(bobsToken)
	table := allowed()
	for method := range w.contract.methods {
		scope, ok := table[method]
		if !ok {
			t.Errorf("the table does not tell who may call %s", method)
			continue
		}
		// Each case has subjects of its own: what one deletes another needs.
		own, other, foreign := alice.subject(), alice.subject(), bob.subject()
		targets := []struct {
			name string
			subject
		}{{"foreign", foreign}, {"another", other}, {"own", own}}
		for _, has := range []v1.Scope{v1.ScopeRead, v1.ScopeChat, v1.ScopeFull} {
			for _, limited := range []bool{true, false} {
				var p *peer
				if limited {
					p = w.scoped(has, own.session)
				} else {
					p = w.scoped(has)
				}
				for _, target := range targets {
					want := verdict(method, scope, has, limited, target.name)
					t.Run(fmt.Sprintf("%s/%s/limited=%v/%s", method, has, limited, target.name), func(t *testing.T) {
						checkVerdict(t, p, method, target.about(method), want)
					})
				}
				_ = p.ws.Close()
			}
		}
		t.Run(method+"/bearer/foreign", func(t *testing.T) {
			checkVerdict(t, bob, method, own.about(method), verdict(method, scope, v1.ScopeFull, false, "foreign"))
		})
	}
}

// verdict is the error that a call is to fail with, empty if it is let through.
func verdict(method string, needs, has v1.Scope, limited bool, target string) v1.Kind {
	switch {
	case needs == v1.ScopeNone:
		return ""
	case has < needs:
		return v1.KindForbidden
	case limited && (sessionless(method) || ofMemory(method) || target != "own"):
		return v1.KindForbidden
	case !sessionless(method) && target == "foreign":
		return v1.KindNotFound
	}
	return ""
}

// checkVerdict makes the call. One that is let through may still fail for what an
// earlier one did: that the session is gone, or the tool call resolved.
func checkVerdict(t *testing.T, p *peer, method string, in params, want v1.Kind) {
	t.Helper()
	result, e := p.try(method, in)
	p.notes = nil
	missing := "session"
	if in["memory_id"] != nil {
		missing = "memory"
	}
	switch {
	case want == "" && e == nil:
	case want == "" && e.kind() == string(v1.KindForbidden), want == "" && method != v1.MethodSessionDelete && e.kind() == string(v1.KindNotFound):
		t.Errorf("got %v, want it to be let through", e)
	case want != "" && e == nil:
		t.Errorf("got %.200s, want %s", result, want)
	case want != "" && e.kind() != string(want):
		t.Errorf("got %v, want %s", e, want)
	case want == v1.KindNotFound && e.member("what") != missing:
		t.Errorf("got %v, want a %s to be missing", e, missing)
	}
}

// TestForeignPartsOfASession asks for the message, turn and call of one session in
// another one.
func TestForeignPartsOfASession(t *testing.T) {
	w := newWorld(t, setup{model: looking(), edge: guarded()})
	alice, bob := w.as(alicesToken), w.as(bobsToken)
	own := alice.subject()
	for name, other := range map[string]subject{"own": alice.subject(), "foreign": bob.subject()} {
		mixed := subject{session: own.session, message: other.message, turn: other.turn, call: other.call}
		for method, want := range map[string]v1.Kind{
			v1.MethodMessageGet: v1.KindNotFound, v1.MethodTurnGet: v1.KindNotFound,
			v1.MethodToolSubmitResult: v1.KindToolCallNotFound, v1.MethodToolClaim: v1.KindToolCallNotFound,
		} {
			t.Run(name+"/"+method, func(*testing.T) { alice.refused(want, method, mixed.about(method)) })
		}
	}
	stop := params{"session_id": own.session, "turn_id": bob.subject().turn}
	if res := decode[v1.TurnStopResult](t, alice.call(v1.MethodTurnStop, stop)); res.Stopped {
		t.Error("a turn of another session was stopped, or this one's by its id")
	}
}

// TestPromptsAreHiddenFromTickets: only full credentials see what the model is told.
func TestPromptsAreHiddenFromTickets(t *testing.T) {
	w := newWorld(t, setup{model: looking(), edge: guarded()})
	own := w.as(alicesToken).subject()
	for _, sees := range []struct {
		scope                   v1.Scope
		prompts, input, entries bool
	}{
		{v1.ScopeRead, false, false, false},
		{v1.ScopeChat, false, true, true},
		{v1.ScopeFull, true, true, true},
	} {
		t.Run(sees.scope.String(), func(t *testing.T) {
			p := w.scoped(sees.scope)
			get := p.call(v1.MethodSessionGet, params{"session_id": own.session})
			sub := p.call(v1.MethodSessionSubscribe, params{"session_id": own.session, "after_seq": 0})
			for name, raw := range map[string]json.RawMessage{"get": get, "subscribe": sub} {
				if strings.Contains(string(raw), "secret") != sees.prompts {
					t.Errorf("%s: prompts shown: %v, want %v", name, !sees.prompts, sees.prompts)
				}
			}
			page := decode[v1.SubscribeResult](t, sub)
			if shown := len(page.Entries) > 0; shown != sees.entries {
				t.Errorf("entries shown: %v, want %v", shown, sees.entries)
			}
			if len(page.PendingToolCalls) != 1 || (page.PendingToolCalls[0].Input != nil) != sees.input {
				t.Errorf("pending calls %+v, want one with its input: %v", page.PendingToolCalls, sees.input)
			}
		})
	}
}

// TestReadTicketsGetNoContents: a read ticket's subscription has no entries and no
// deltas, whatever it asks for.
func TestReadTicketsGetNoContents(t *testing.T) {
	w := newWorld(t, setup{model: looking(), edge: guarded()})
	alice := w.as(alicesToken)
	own := alice.subject()
	reader := w.scoped(v1.ScopeRead, own.session)
	reader.call(v1.MethodSessionSubscribe, params{"session_id": own.session, "after_seq": 0, "deltas": true, "events": "all"})
	alice.call(v1.MethodToolSubmitResult, own.about(v1.MethodToolSubmitResult))
	for range 2 { // the turn goes on, and calls the tool again
		reader.activity()
	}
	reader.silent(v1.NotifyProgress)
}
