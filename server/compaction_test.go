package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
)

const scriptedSummary = "## 1. Primary Request and Intent\nThe hidden port.\n\n## 7. Pending Tasks\nNone.\n\n## 8. Current Work\nTalking."

// talking answers "ok", and summary when it is asked for the notes of a compaction.
func talking(summary llmtest.Step) *llmtest.Model {
	return llmtest.New().Loop(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		if last := req.Messages[len(req.Messages)-1]; strings.Contains(last.PlainText(), "Write the notes that will stand in") {
			return summary(ctx, req, emit)
		}
		return llmtest.Text("ok")(ctx, req, emit)
	})
}

// turnTokens is about what a turn of talk has.
const turnTokens = 1_000

// talk has messages of turnTokens answered, each in a turn of its own.
func (p *peer) talk(session string, turns int) {
	p.t.Helper()
	p.subscribe(session, 0)
	for range turns {
		p.send(session, strings.Repeat("word ", turnTokens))
		p.await(v1.EventTurnCompleted)
	}
	p.call(v1.MethodSessionUnsubscribe, params{"session_id": session})
	p.notes = nil
}

func raw(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (p *peer) compact(in params) v1.CompactionResult {
	p.t.Helper()
	return decode[v1.CompactionResult](p.t, p.call(v1.MethodSessionCompact, in))
}

func (p *peer) context(in params) v1.SessionContextResult {
	p.t.Helper()
	return decode[v1.SessionContextResult](p.t, p.call(v1.MethodSessionContext, in))
}

func (p *peer) get(session string) v1.Session {
	p.t.Helper()
	return decode[v1.SessionGetResult](p.t, p.call(v1.MethodSessionGet, params{"session_id": session})).Session
}

// TestCompaction plans one, makes one, and takes it back.
func TestCompaction(t *testing.T) {
	w := newWorld(t, setup{model: talking(llmtest.Text(scriptedSummary))})
	p := w.dial()
	s := p.create(params{"system_prompt": "Be brief."})
	in := params{"session_id": s.ID}
	if got := p.compact(in); got.Outcome != v1.CompactionNoop || got.Reason != "nothing_to_compact" || *got.Generation != 0 {
		t.Errorf("of nothing: %+v", got)
	}
	p.talk(s.ID, 5)
	before := p.context(in)
	if before.ContextTokens < 5*turnTokens || before.Generation != 0 || before.BoundarySeq != 0 || before.View != nil || before.ContextTokensLimit != 25_000 {
		t.Errorf("before: %+v", before)
	}
	session := p.get(s.ID)
	if session.Progress != before.Progress || session.Generation != 0 || session.CompactionPaused != nil {
		t.Errorf("the session tells %+v, its context %+v", session, before.Progress)
	}

	planned := p.compact(params{"session_id": s.ID, "dry_run": true})
	if planned.Outcome != "" || planned.Plan == nil || planned.Plan.Messages == 0 || *planned.TokensAfter >= *planned.TokensBefore {
		t.Errorf("planned: %+v", planned)
	}
	if again := p.context(in); !cmp.Equal(before, again) {
		t.Errorf("a plan changed something:\n%s", cmp.Diff(before, again))
	}

	in["key"] = "c"
	p.subscribe(s.ID, session.HeadSeq)
	done := p.compact(in)
	if done.Outcome != v1.CompactionApplied || done.Trigger != v1.TriggerManual || done.Writer != v1.WriterModel || *done.Generation != 1 ||
		!strings.Contains(done.Summary, "The hidden port.") || done.Usage == nil || *done.InstructionUsed {
		t.Errorf("compacted: %.500s", raw(t, done))
	}
	if n := done.Survived; n.UserMessages+n.UserMessagesCut+n.UserMessagesCounted != 4 {
		t.Errorf("of the user's words survived %+v", n)
	}
	told := decode[v1.Compaction](t, p.await(v1.EventCompactionCompleted).Data)
	if told.Summary != done.Summary || told.TokensAfter != *done.TokensAfter || told.Survived != *done.Survived {
		t.Errorf("the event tells %.500s, the result %.500s", raw(t, told), raw(t, done))
	}
	again := p.compact(in)
	if !again.Replayed || *again.Generation != 1 {
		t.Errorf("the same call again: %+v", again)
	}
	delete(in, "key")
	after := p.context(in)
	if after.ContextTokens >= before.ContextTokens || after.Generation != 1 ||
		p.get(s.ID).Progress != after.Progress {
		t.Errorf("after: %+v", after)
	}

	undone := decode[v1.CompactionResult](t, p.call(v1.MethodSessionUndoCompact, params{"session_id": s.ID, "key": "u"}))
	if undone.Outcome != v1.CompactionApplied || *undone.Generation != 2 {
		t.Errorf("undone: %+v", undone)
	}
	if e := decode[v1.Compaction](t, p.await(v1.EventCompactionUndone).Data); e.Generation != 2 {
		t.Errorf("the event of it tells %+v", e)
	}
	undone = decode[v1.CompactionResult](t, p.call(v1.MethodSessionUndoCompact, params{"session_id": s.ID}))
	if undone.Outcome != v1.CompactionNoop {
		t.Errorf("undone once more: %+v", undone)
	}
}

// TestViewIsWhatTheModelIsShown: the messages of the view are those of the next request,
// as they stand in the log or as a summary, and only the owner sees them.
func TestViewIsWhatTheModelIsShown(t *testing.T) {
	model := talking(llmtest.Text(scriptedSummary))
	w := newWorld(t, setup{model: model, edge: guarded()})
	p := w.as(alicesToken)
	s := p.create(params{"agent_prompt": "Secret rules."})
	p.talk(s.ID, 3)
	p.compact(params{"session_id": s.ID})
	p.talk(s.ID, 1)
	view := p.context(params{"session_id": s.ID, "include_view": true}).View
	requests := model.Requests()
	sent := requests[len(requests)-1].Messages
	if len(view) != len(sent)+1 { // the answer that it brought
		t.Fatalf("%d messages in the view, %d in the newest request", len(view), len(sent))
	}
	for i, m := range sent {
		v := decode[v1.ViewMessage](t, view[i])
		var shown []message.Block
		for _, b := range v.Content {
			shown = append(shown, message.Text{Text: decode[v1.TextBlock](t, b).Text})
		}
		if diff := cmp.Diff(m.Content, shown); diff != "" || string(v.Role) != string(m.Role) {
			t.Errorf("message %d, of %s (-sent by %s +shown):\n%s", i, v.Role, m.Role, diff)
		}
		if summary := i == 0; summary != (v.ID == "") || summary != (v.Seq == 0) {
			t.Errorf("message %d has id %q and seq %d", i, v.ID, v.Seq)
		}
	}
	for _, scope := range []v1.Scope{v1.ScopeRead, v1.ScopeChat} {
		ticket := w.scoped(scope)
		ticket.refused(v1.KindForbidden, v1.MethodSessionContext, params{"session_id": s.ID, "include_view": true})
		if sizes := ticket.call(v1.MethodSessionContext, params{"session_id": s.ID}); strings.Contains(string(sizes), "Secret") || strings.Contains(string(sizes), "word") {
			t.Errorf("a ticket of scope %s sees contents: %s", scope, sizes)
		}
	}
}

// TestTicketsGiveNoInstructions: neither with the call nor with the command.
func TestTicketsGiveNoInstructions(t *testing.T) {
	w := newWorld(t, setup{model: talking(llmtest.Text("Short notes.")), edge: guarded()})
	alice := w.as(alicesToken)
	s := alice.create(params{})
	alice.talk(s.ID, 4)
	chat := w.scoped(v1.ScopeChat)
	chat.refused(v1.KindForbidden, v1.MethodSessionCompact, params{"session_id": s.ID, "custom_instruction": "Tell all."})
	for _, text := range []string{"/compact Tell all.", " /compact\tTell all.", "/compact\nTell all."} {
		chat.refused(v1.KindForbidden, v1.MethodMessageSend, params{"session_id": s.ID, "content": text})
	}
	if sent := chat.send(s.ID, "/compactness of sets?"); sent.Command || sent.MessageID == "" {
		t.Errorf("no command, and sent as %+v", sent)
	}
	if sent := chat.send(s.ID, "/compact"); !sent.Command || sent.MessageID != "" || sent.TurnID != "" || sent.Seq == 0 {
		t.Errorf("a command, and sent as %+v", sent)
	}
	got := alice.compact(params{"session_id": s.ID, "custom_instruction": "Tell all."})
	if got.Outcome != v1.CompactionApplied || !*got.InstructionUsed || !strings.Contains(got.Summary, "Short notes.") {
		t.Errorf("the owner's own: %.500s", raw(t, got))
	}
}

// TestCommand: /compact as a message is an entry, no message, and compacts.
func TestCommand(t *testing.T) {
	w := newWorld(t, setup{model: talking(llmtest.Text(scriptedSummary))})
	p := w.dial()
	s := p.create(params{})
	p.talk(s.ID, 4)
	p.subscribe(s.ID, p.get(s.ID).HeadSeq)
	sent := p.send(s.ID, "/compact Only the port.")
	command := p.await(v1.EventCommand)
	if d := decode[v1.CommandData](t, command.Data); !sent.Command || sent.Seq != command.Seq || d.Command != "compact" || d.Text != "Only the port." {
		t.Errorf("sent as %+v, told as %+v", sent, d)
	}
	done := p.await(v1.EventCompactionCompleted)
	if d := decode[v1.Compaction](t, done.Data); !d.InstructionUsed || done.TurnID != "" {
		t.Errorf("in turn %q: %.500s", done.TurnID, done.Data)
	}
}

// TestWhileCompacting: the session says so, and it can be stopped.
func TestWhileCompacting(t *testing.T) {
	w := newWorld(t, setup{model: talking(llmtest.Hang())})
	p := w.dial()
	s := p.create(params{})
	p.talk(s.ID, 4)
	p.subscribe(s.ID, p.get(s.ID).HeadSeq)
	if got := p.call(v1.MethodSessionCompact, params{"session_id": s.ID, "wait": false}); string(got) != `{"queued":true}` {
		t.Errorf("without waiting: %s", got)
	}
	if a := p.activity(); a.Activity != v1.ActivityCompacting || a.Layer == nil || *a.Layer != 0 {
		t.Errorf("told %+v", a)
	}
	if got := p.get(s.ID); got.Status != v1.SessionCompacting {
		t.Errorf("status %s", got.Status)
	}
	listed := decode[v1.SessionListResult](t, p.call(v1.MethodSessionList, params{"status": "compacting"})).Sessions
	if len(listed) != 1 || listed[0].ID != s.ID {
		t.Errorf("%d sessions are listed as compacting", len(listed))
	}
	p.refused(v1.KindBusy, v1.MethodSessionUndoCompact, params{"session_id": s.ID})
	if got := decode[v1.TurnStopResult](t, p.call(v1.MethodTurnStop, params{"session_id": s.ID})); !got.Stopped {
		t.Error("nothing was stopped")
	}
	if d := decode[v1.Compaction](t, p.await(v1.EventCompactionFailed).Data); d.Outcome != v1.CompactionAborted || d.Reason != "cancelled" {
		t.Errorf("stopped: %+v", d)
	}
	if got := p.get(s.ID); got.Status != v1.SessionIdle || got.Generation != 0 {
		t.Errorf("afterwards: status %s, generation %d", got.Status, got.Generation)
	}
}

// TestUndoThatDoesNotFit tells how large it is and what fits.
func TestUndoThatDoesNotFit(t *testing.T) {
	w := newWorld(t, setup{model: talking(llmtest.Text(scriptedSummary))})
	p := w.dial()
	s := p.create(params{})
	p.talk(s.ID, 6)
	p.compact(params{"session_id": s.ID})
	p.call(v1.MethodSessionUpdate, params{"session_id": s.ID, "settings": params{"context_tokens_limit": 4000}})
	e := p.refused(v1.KindContextOverflow, v1.MethodSessionUndoCompact, params{"session_id": s.ID})
	if d := decode[v1.ErrorData](t, e.Data); d.Tokens < 6*turnTokens || d.Limit <= 0 || d.Limit > 4000 || d.Retryable {
		t.Errorf("told %s", e.Data)
	}
}

// TestProgressSubscription gets how the context changes, and no contents.
func TestProgressSubscription(t *testing.T) {
	w := newWorld(t, setup{model: talking(llmtest.Text(scriptedSummary)), edge: guarded()})
	alice := w.as(alicesToken)
	s := alice.create(params{"agent_prompt": "Secret rules."})
	alice.talk(s.ID, 4)
	reader := w.scoped(v1.ScopeRead, s.ID)
	got := decode[v1.SubscribeResult](t, reader.call(v1.MethodSessionSubscribe, params{"session_id": s.ID, "after_seq": 0, "events": "all"}))
	if len(got.Entries) > 0 || got.Session.CurrentContextTokens == 0 {
		t.Errorf("subscribed: %+v", got)
	}
	alice.compact(params{"session_id": s.ID})
	alice.send(s.ID, "on")
	var kinds []v1.EventType
	for compacted := false; !compacted; {
		f := reader.note()
		if strings.Contains(string(f.Params), "word") || strings.Contains(string(f.Params), "Secret") {
			t.Errorf("contents were told: %s", f.Params)
		}
		switch f.Method {
		case v1.NotifyEvent:
			e := decode[v1.Event](t, f.Params)
			kinds = append(kinds, e.Type)
			if d := decode[v1.Compaction](t, e.Data); d.Summary != "" || d.Generation != 1 || d.TokensAfter == 0 {
				t.Errorf("told %s", e.Data)
			}
		case v1.NotifyProgress:
			// The one that was measured after the compaction.
			d := decode[v1.SessionProgress](t, f.Params)
			compacted = len(kinds) > 0 && !d.Estimated
		case v1.NotifyActivity:
		default:
			t.Errorf("told %s", f.Method)
		}
	}
	if diff := cmp.Diff([]v1.EventType{v1.EventCompactionCompleted}, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	measured := alice.context(params{"session_id": s.ID}).Progress
	if now := alice.get(s.ID).Progress; now != measured {
		t.Errorf("the session tells %+v, its context %+v", now, measured)
	}
}

// TestInjectedTextsAreHiddenFromTickets: AGENT.md is a prompt.
func TestInjectedTextsAreHiddenFromTickets(t *testing.T) {
	w := newWorld(t, setup{model: talking(llmtest.Text(scriptedSummary)), edge: guarded()})
	alice := w.as(alicesToken)
	s := alice.create(params{"agent_prompt": "Secret rules."})
	live := w.scoped(v1.ScopeChat)
	live.subscribe(s.ID, 0)
	alice.talk(s.ID, 1)
	chat, full := w.scoped(v1.ScopeChat), w.scoped(v1.ScopeFull)
	told := []json.RawMessage{live.await(v1.EventContextInjected).Data}
	for _, reader := range []*peer{chat, full} {
		for _, entry := range reader.subscribe(s.ID, 0).Entries {
			if e := decode[v1.Entry](t, entry); e.Type == v1.EventContextInjected {
				told = append(told, e.Data)
			}
		}
	}
	if len(told) != 3 {
		t.Fatalf("%d injections were told", len(told))
	}
	for i, data := range told {
		d := decode[v1.ContextInjectedData](t, data)
		if d.Kind != v1.AttachmentAgentPrompt || d.Tokens == 0 || d.TargetMessageID == "" || (i == 2) != strings.Contains(d.Text, "Secret rules.") {
			t.Errorf("reader %d was told %s", i, data)
		}
	}
}

// TestSettingsOfContext: a session may have its own limit and buffer.
func TestSettingsOfContext(t *testing.T) {
	w := newWorld(t, setup{})
	p := w.dial()
	s := p.create(params{"settings": params{"context_tokens_limit": 4000}})
	if got := p.context(params{"session_id": s.ID}); got.ContextTokensLimit != 4000 || got.InputLimit != 4000 || got.Threshold != 1920 {
		t.Errorf("its own limit: %+v", got)
	}
	p.call(v1.MethodSessionUpdate, params{"session_id": s.ID, "settings": params{"auto_compact_buffer_tokens": 5000}})
	if got := p.context(params{"session_id": s.ID}); got.ContextTokensLimit != 25_000 || got.Threshold != 20_000 {
		t.Errorf("its own buffer: %+v", got)
	}
	for _, call := range []func(params) (json.RawMessage, *wireError){
		func(in params) (json.RawMessage, *wireError) { return p.try(v1.MethodSessionCreate, in) },
		func(in params) (json.RawMessage, *wireError) {
			return p.try(v1.MethodSessionUpdate, both(in, params{"session_id": s.ID}))
		},
	} {
		_, e := call(params{"settings": params{"auto_compact_buffer_tokens": 25_000}})
		if e == nil || e.Code != v1.CodeInvalidParams || e.member("path") != "settings.auto_compact_buffer_tokens" {
			t.Errorf("a buffer as large as the server's limit: %v", e)
		}
	}
}
