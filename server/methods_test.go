package server_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest"
	v1 "sessiond/rpc/v1"
	"sessiond/store"
)

// lookTool is a tool as clients register it.
const lookTool = `{"name": "look", "description": "looks", "input_schema": { "type":"object", "x":1.50 }, "timeout_ms": 60000}`

// TestEveryMethod plays one conversation that calls every method of the contract at
// least once. That results, notifications and errors are as described is checked by
// the peer for every frame; here it is what they say.
func TestEveryMethod(t *testing.T) {
	model := llmtest.New(
		llmtest.Calls("Let me look.", llmtest.Call{Name: "look", Input: `{"at": 1.0}`}, llmtest.Call{Name: "look"}),
		llmtest.Text("Seen."),
		llmtest.Text("Half an answer").Then(llmtest.Hang()),
		llmtest.Text("From the queue."),
		llmtest.Text(scriptedSummary),
	)
	w := newWorld(t, setup{model: model})
	p := &recording{peer: w.dial(), called: make(map[string]bool)}

	p.serverInfo()
	s := p.sessions()
	turn := p.toolRound(s)
	p.readBack(s, turn)
	p.stop(s)
	p.compaction(s)
	p.memory(s)
	p.forkAndEnd(s)
	p.list()

	for method := range w.contract.methods {
		if !p.called[method] {
			t.Errorf("%s was never called", method)
		}
	}
}

// recording notes which methods were called with success.
type recording struct {
	*peer
	called map[string]bool
}

func (r *recording) call(method string, in any) json.RawMessage {
	r.t.Helper()
	r.called[method] = true
	return r.peer.call(method, in)
}

func result[T any](r *recording, method string, in params) T {
	r.t.Helper()
	return decode[T](r.t, r.call(method, in))
}

func (r *recording) serverInfo() {
	info := result[v1.ServerInfoResult](r, v1.MethodServerInfo, params{})
	want := v1.ServerInfoResult{
		Name: "sessiond", Version: "test", Protocol: "sessiond.v1", Limits: v1.DefaultLimits(), Now: info.Now,
		Models: []v1.ModelInfo{{Name: "small", Default: true}, {Name: "large"}},
	}
	if diff := cmp.Diff(want, info); diff != "" {
		r.t.Errorf("server info (-want +got):\n%s", diff)
	}
	published := r.w.getBody("/v1/openrpc.json")
	if discovered := r.call(v1.MethodDiscover, params{}); !bytes.Equal(discovered, published) {
		r.t.Error("rpc.discover and /v1/openrpc.json differ")
	}
}

// sessions creates a session, changes it, closes and opens it, and returns its id.
func (r *recording) sessions() string {
	in := params{
		"title": "Title", "model": "large", "system_prompt": "Be brief.", "agent_prompt": "# AGENT.md",
		"agent":    params{"name": "coder", "system_prompt": "You write code."},
		"tools":    []any{json.RawMessage(lookTool)},
		"settings": params{"thinking": "off", "max_rounds_per_turn": 9},
		"metadata": json.RawMessage(`{"a":1.50,"b":[]}`), "key": "create",
	}
	s := result[v1.SessionResult](r, v1.MethodSessionCreate, in).Session
	if s.Title != "Title" || s.Model != "large" || s.SystemPrompt != "Be brief." || s.AgentPrompt != "# AGENT.md" ||
		s.Agent == nil || s.Agent.Name != "coder" || len(s.Tools) != 1 || *s.Settings.MaxRoundsPerTurn != 9 ||
		s.Status != v1.SessionIdle || s.Version != 1 || s.HeadSeq != 1 {
		r.t.Errorf("created: %+v", s)
	}
	again := result[v1.SessionResult](r, v1.MethodSessionCreate, in)
	if !again.Replayed || again.Session.ID != s.ID {
		r.t.Errorf("the same create with the same key: replayed %v, session %s, want %s", again.Replayed, again.Session.ID, s.ID)
	}
	in["title"] = "Other"
	r.refused(v1.KindIdempotencyConflict, v1.MethodSessionCreate, in)

	updated := result[v1.SessionResult](r, v1.MethodSessionUpdate, params{
		"session_id": s.ID, "if_version": 1, "title": "New", "settings": params{},
		"todo_list": []any{params{"content": "Do", "active_form": "Doing", "status": "pending"}},
	}).Session
	if updated.Version != 2 || updated.Title != "New" || updated.Settings.MaxRoundsPerTurn != nil || len(updated.TodoList) != 1 {
		r.t.Errorf("updated: %+v", updated)
	}
	e := r.refused(v1.KindVersionConflict, v1.MethodSessionUpdate, params{"session_id": s.ID, "if_version": 1, "title": "Late"})
	if data := decode[v1.ErrorData](r.t, e.Data); data.Version != 2 {
		r.t.Errorf("the conflict tells version %d, want 2", data.Version)
	}

	if closed := result[v1.SessionResult](r, v1.MethodSessionClose, params{"session_id": s.ID}).Session; closed.Status != v1.SessionClosed || closed.ClosedAt == nil {
		r.t.Errorf("closed: %+v", closed)
	}
	r.refused(v1.KindSessionClosed, v1.MethodMessageSend, params{"session_id": s.ID, "content": "x"})
	if open := result[v1.SessionResult](r, v1.MethodSessionOpen, params{"session_id": s.ID}).Session; open.Status != v1.SessionIdle || open.ClosedAt != nil {
		r.t.Errorf("opened: %+v", open)
	}
	return s.ID
}

// toolRound has a message answered with two tool calls, gives them results, and
// returns the turn.
func (r *recording) toolRound(session string) string {
	sub := result[v1.SubscribeResult](r, v1.MethodSessionSubscribe, params{"session_id": session, "after_seq": 0})
	if len(sub.Entries) != int(sub.HeadSeq) || sub.More {
		r.t.Errorf("subscribed: %d entries of %d, more %v", len(sub.Entries), sub.HeadSeq, sub.More)
	}
	sent := result[v1.MessageSendResult](r, v1.MethodMessageSend, params{"session_id": session, "content": "look", "key": "s"})
	again := result[v1.MessageSendResult](r, v1.MethodMessageSend, params{"session_id": session, "content": "look", "key": "s"})
	sent.Replayed = true
	if diff := cmp.Diff(sent, again); diff != "" {
		r.t.Errorf("the same message with the same key (-first +again):\n%s", diff)
	}
	first := decode[v1.ToolCalledData](r.t, r.await(v1.EventToolCalled).Data)
	second := decode[v1.ToolCalledData](r.t, r.await(v1.EventToolCalled).Data)
	if string(first.Input) != `{"at": 1.0}` {
		r.t.Errorf("the input came as %s", first.Input)
	}
	got := result[v1.SessionGetResult](r, v1.MethodSessionGet, params{"session_id": session}).Session
	if got.Status != v1.SessionWaitingTool || len(got.PendingToolCalls) != 2 {
		r.t.Errorf("while waiting: %s, %d pending", got.Status, len(got.PendingToolCalls))
	}

	claim := result[v1.ToolClaimResult](r, v1.MethodToolClaim, params{"session_id": session, "tool_use_id": first.ToolUseID, "lease_ms": 60000})
	r.refused(v1.KindToolCallClaimed, v1.MethodToolClaim, params{"session_id": session, "tool_use_id": first.ToolUseID, "lease_ms": 1})
	answer := params{"session_id": session, "tool_use_id": first.ToolUseID, "content": "a \x00 b"}
	r.refused(v1.KindToolCallClaimed, v1.MethodToolSubmitResult, answer)
	answer["claim_token"] = claim.ClaimToken
	if res := result[v1.ToolSubmitResultResult](r, v1.MethodToolSubmitResult, answer); !res.Accepted || res.Replayed {
		r.t.Errorf("first result: %+v", res)
	}
	if res := result[v1.ToolSubmitResultResult](r, v1.MethodToolSubmitResult, answer); !res.Accepted || !res.Replayed {
		r.t.Errorf("the same result again: %+v", res)
	}
	answer["content"] = "other"
	r.refused(v1.KindToolCallResolved, v1.MethodToolSubmitResult, answer)
	r.refused(v1.KindToolCallResolved, v1.MethodToolClaim, params{"session_id": session, "tool_use_id": first.ToolUseID, "lease_ms": 1})
	r.refused(v1.KindToolCallNotFound, v1.MethodToolSubmitResult, params{"session_id": session, "tool_use_id": "nobody_called", "content": ""})
	r.refused(v1.KindToolCallNotFound, v1.MethodToolClaim, params{"session_id": session, "tool_use_id": "nobody_called", "lease_ms": 1})

	result[v1.ToolSubmitResultResult](r, v1.MethodToolSubmitResult, params{
		"session_id": session, "tool_use_id": second.ToolUseID, "is_error": true,
		"content": []any{params{"type": "text", "text": "no"}, params{"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="}},
	})
	done := r.await(v1.EventTurnCompleted)
	if d := decode[v1.TurnCompletedData](r.t, done.Data); d.Status != v1.OutcomeCompleted || d.Usage.Input == 0 {
		r.t.Errorf("the turn ended as %+v", d)
	}
	// After the turn the calls are history; they still have their results.
	r.refused(v1.KindToolCallResolved, v1.MethodToolSubmitResult, answer)
	return sent.TurnID
}

// readBack reads the conversation in every way there is.
func (r *recording) readBack(session, turn string) {
	page := result[v1.LogResult](r, v1.MethodSessionLog, params{"session_id": session})
	if len(page.Entries) != int(page.HeadSeq) || page.More {
		r.t.Errorf("log: %d entries of %d, more %v", len(page.Entries), page.HeadSeq, page.More)
	}
	all := result[v1.MessageListResult](r, v1.MethodMessageList, params{"session_id": session})
	var roles []v1.Role
	for _, raw := range all.Messages {
		m := decode[v1.Message](r.t, raw)
		roles = append(roles, m.Role)
		one := result[v1.MessageGetResult](r, v1.MethodMessageGet, params{"session_id": session, "message_id": m.ID})
		if !bytes.Equal(one.Message, raw) {
			r.t.Errorf("the message is listed as\n%s\nand read as\n%s", raw, one.Message)
		}
	}
	if want := []v1.Role{v1.RoleUser, v1.RoleAssistant, v1.RoleUser, v1.RoleAssistant}; !slices.Equal(roles, want) || all.More {
		r.t.Errorf("messages of %v, more %v; want %v", roles, all.More, want)
	}
	one := result[v1.TurnGetResult](r, v1.MethodTurnGet, params{"session_id": session, "turn_id": turn}).Turn
	if one.Status != v1.TurnCompleted || one.Rounds != 2 || one.UsageByPurpose == nil || *one.UsageByPurpose.Chat != one.Usage {
		r.t.Errorf("the turn: %+v", one)
	}
	turns := result[v1.TurnListResult](r, v1.MethodTurnList, params{"session_id": session}).Turns
	if diff := cmp.Diff([]v1.Turn{one}, turns); diff != "" {
		r.t.Errorf("turns (-want +got):\n%s", diff)
	}
}

// stop stops a turn in the middle of its answer while another message waits, which
// then has its turn.
func (r *recording) stop(session string) {
	r.call(v1.MethodMessageSend, params{"session_id": session, "content": "long"})
	for f := r.note(); f.Method != v1.NotifyDelta; f = r.note() {
	}
	queued := result[v1.MessageSendResult](r, v1.MethodMessageSend, params{"session_id": session, "content": "wait"})
	if !queued.Queued {
		r.t.Errorf("sent while a turn runs: %+v", queued)
	}
	r.refused(v1.KindBusy, v1.MethodMessageSend, params{"session_id": session, "content": "now", "when_busy": "reject"})
	if res := result[v1.TurnStopResult](r, v1.MethodTurnStop, params{"session_id": session}); !res.Stopped {
		r.t.Errorf("stop: %+v", res)
	}
	if d := decode[v1.TurnCompletedData](r.t, r.await(v1.EventTurnCompleted).Data); d.Status != v1.OutcomeStopped {
		r.t.Errorf("the stopped turn ended as %+v", d)
	}
	done := r.await(v1.EventTurnCompleted)
	if done.TurnID != queued.TurnID {
		r.t.Errorf("turn %s ended, want that of the queued message, %s", done.TurnID, queued.TurnID)
	}
	if res := result[v1.TurnStopResult](r, v1.MethodTurnStop, params{"session_id": session}); res.Stopped {
		r.t.Error("something was stopped when nothing ran")
	}
}

// compaction looks at the context, has it compacted, which is not worth it, and undone.
func (r *recording) compaction(session string) {
	in := params{"session_id": session}
	if got := result[v1.SessionContextResult](r, v1.MethodSessionContext, in); got.ContextTokens == 0 || got.Model != "large" || len(got.Parts) == 0 {
		r.t.Errorf("context: %+v", got)
	}
	if got := result[v1.CompactionResult](r, v1.MethodSessionCompact, in); got.Outcome != v1.CompactionNoop || *got.Generation != 0 {
		r.t.Errorf("compacted: %+v", got)
	}
	if got := result[v1.CompactionResult](r, v1.MethodSessionUndoCompact, in); got.Outcome != v1.CompactionNoop || got.Reason != "nothing_to_compact" {
		r.t.Errorf("undone: %+v", got)
	}
}

// memory writes a memory, changes it, finds it and deletes it.
func (r *recording) memory(session string) {
	of := params{"scope": "session", "session_id": session}
	m := result[v1.MemoryResult](r, v1.MethodMemoryCreate, both(of, params{"category": "issue", "title": "a", "content": "b"})).Memory
	changed := result[v1.MemoryResult](r, v1.MethodMemoryUpdate, params{"memory_id": m.ID, "title": "c"}).Memory
	if listed := result[v1.MemoryListResult](r, v1.MethodMemoryList, of).Memories; !cmp.Equal([]v1.Memory{changed}, listed) || changed.Title != "c" {
		r.t.Errorf("changed to %+v, listed as %+v", changed, listed)
	}
	result[v1.MemoryDeleteResult](r, v1.MethodMemoryDelete, params{"memory_id": m.ID})
}

// forkAndEnd forks the session, leaves it and deletes it.
func (r *recording) forkAndEnd(session string) {
	fork := result[v1.SessionResult](r, v1.MethodSessionFork, params{"session_id": session, "title": "Fork", "key": "f"}).Session
	if fork.ForkedFrom == nil || fork.ForkedFrom.SessionID != session || fork.ForkedFrom.Seq != fork.HeadSeq || fork.Title != "Fork" {
		r.t.Errorf("forked: %+v", fork)
	}
	result[v1.UnsubscribeResult](r, v1.MethodSessionUnsubscribe, params{"session_id": session})
	result[v1.SessionDeleteResult](r, v1.MethodSessionDelete, params{"session_id": session})
	result[v1.SessionDeleteResult](r, v1.MethodSessionDelete, params{"session_id": session})
	for _, method := range []string{v1.MethodSessionGet, v1.MethodSessionSubscribe, v1.MethodSessionLog, v1.MethodMessageList, v1.MethodTurnList} {
		r.refused(v1.KindNotFound, method, params{"session_id": session})
	}
	if page := result[v1.LogResult](r, v1.MethodSessionLog, params{"session_id": fork.ID}); page.HeadSeq != fork.HeadSeq {
		r.t.Errorf("the fork's log has %d entries after its source was deleted, want %d", page.HeadSeq, fork.HeadSeq)
	}
}

// list pages through sessions.
func (r *recording) list() {
	want := make([]string, 0, 5)
	for range 5 {
		want = append(want, r.create(params{}).ID)
	}
	slices.Reverse(want)
	var got []string
	in := params{"limit": 2, "status": store.StatusIdle}
	for {
		page := result[v1.SessionListResult](r, v1.MethodSessionList, in)
		if len(page.Sessions) > 2 {
			r.t.Fatalf("%d sessions on a page of 2", len(page.Sessions))
		}
		for _, s := range page.Sessions {
			got = append(got, s.ID)
		}
		if page.NextCursor == "" {
			break
		}
		in["cursor"] = page.NextCursor
	}
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		r.t.Errorf("listed %v, want first %v", got, want)
	}
}
