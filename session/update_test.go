package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

func (w *world) update(ref store.Ref, u session.Update) (*session.View, error) {
	r, err := w.m.Update(w.t.Context(), ref, u, session.Idempotency{})
	return r.Value, err
}

// TestCreate gives a session all there is and reads it back, also after a reload.
func TestCreate(t *testing.T) {
	rounds, thinking := int64(7), "high"
	want := session.Settings{
		Model: "large", SystemPrompt: "sys", AgentPrompt: "agent",
		Agent:    &session.Agent{Name: "coder", SystemPrompt: "code"},
		Tools:    []session.Tool{{Name: "read", Description: "reads", InputSchema: []byte(`{"type":"object"}`), Reads: "path", TimeoutMS: 5}},
		Limits:   session.Limits{MaxRoundsPerTurn: &rounds, Thinking: &thinking},
		Metadata: json.RawMessage(`{"a":[1,"<b>"]}`),
	}
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		r, err := w.m.Create(t.Context(), alice, "title", want, session.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		v := r.Value
		if v.Owner != alice || v.Title != "title" || v.Version != 1 || v.HeadSeq != 1 || v.Status != store.StatusIdle || v.LogID == "" {
			t.Errorf("created: %+v", v)
		}
		ref := store.Ref{Owner: alice, ID: v.ID}
		for _, when := range []string{"created", "loaded"} {
			got := w.get(ref)
			if diff := cmp.Diff(viewText(v), viewText(got)); diff != "" {
				t.Errorf("%s (-create +get):\n%s", when, diff)
			}
			if diff := cmp.Diff(&want, got.Settings); diff != "" {
				t.Errorf("%s settings (-want +got):\n%s", when, diff)
			}
			w.subscribe(ref) // loads it
		}
		w.send(ref, "go")
		req := w.model.Requests()[0]
		if req.Model != "large" || req.System != "code" || len(req.Tools) != 3 || req.Tools[0].Name != "read" {
			t.Errorf("the model was asked %+v", req)
		}
		shown := req.Messages[0].Content
		if diff := cmp.Diff(message.Block(message.Text{Text: "<agent_prompt>\nagent\n</agent_prompt>"}), shown[len(shown)-1]); diff != "" {
			t.Errorf("the agent's prompt (-want +shown):\n%s", diff)
		}
	}, llmtest.Text("ok"))
}

// faultySettings are refused by create and update alike.
var faultySettings = []struct {
	name string
	s    session.Settings
	path string
}{
	{"unknown model", session.Settings{Model: "huge"}, "model"},
	{"built-in tool", session.Settings{Model: "small", Tools: []session.Tool{{Name: "todo_write", InputSchema: []byte(`{}`)}}}, "tools[0].name"},
	{"tool twice", session.Settings{Model: "small", Tools: []session.Tool{{Name: "a", InputSchema: []byte(`{}`)}, {Name: "a", InputSchema: []byte(`{}`)}}}, "tools[1].name"},
	{"schema that is no JSON", session.Settings{Model: "small", Tools: []session.Tool{{Name: "a", InputSchema: []byte(`{`)}}}, "tools[0].input_schema"},
	{"metadata that is no JSON", session.Settings{Model: "small", Metadata: []byte(`{`)}, "metadata"},
	{"limit that is too small", limited(3_999, 0), "settings.context_tokens_limit"},
	{"buffer as large as the limit", limited(5_000, 5_000), "settings.auto_compact_buffer_tokens"},
	{"buffer as large as the server's limit", limited(0, 10_000_000), "settings.auto_compact_buffer_tokens"},
}

// limited are settings with a limit and a buffer of their own; 0: the server's.
func limited(limit, buffer int64) session.Settings {
	s := session.Settings{Model: "small"}
	if limit > 0 {
		s.Limits.ContextTokensLimit = &limit
	}
	if buffer > 0 {
		s.Limits.AutoCompactBufferTokens = &buffer
	}
	return s
}

func wantPath(tb testing.TB, what string, err error, path string) {
	tb.Helper()
	var e *session.Error
	if !errors.As(err, &e) || e.Kind != session.KindInvalidParam || e.Data["path"] != path {
		tb.Errorf("%s: %v, want invalid_param of %s", what, err, path)
	}
}

func TestFaultySettingsAreRefused(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		for _, tt := range faultySettings {
			_, err := w.m.Create(t.Context(), alice, "", tt.s, session.Idempotency{})
			wantPath(t, "create with "+tt.name, err, tt.path)
			_, err = w.update(ref, session.Update{Model: &tt.s.Model, Tools: &tt.s.Tools, Limits: &tt.s.Limits, Metadata: &tt.s.Metadata})
			wantPath(t, "update with "+tt.name, err, tt.path)
		}
		w.story(ref)
		if sessions, err := w.m.List(t.Context(), store.ListQuery{Owner: alice, Limit: 10}); err != nil || len(sessions) != 1 {
			t.Errorf("%d sessions, %v", len(sessions), err)
		}
	})
}

func TestUpdate(t *testing.T) {
	rounds := int64(3)
	title, model, prompt, agent, raw := "t", "large", "p", "a", json.RawMessage(`{"k":1}`)
	spaced := json.RawMessage("{ \"k\":\n1 }")
	tools := []session.Tool{{Name: "read", InputSchema: []byte(`{}`)}}
	todos := []session.Todo{{Content: "c", Status: "pending"}}
	tests := []struct {
		name   string
		u      session.Update
		fields []string
		want   func(s *session.Settings)
	}{
		{"title", session.Update{Title: &title}, []string{"title"}, func(*session.Settings) {}},
		{"model", session.Update{Model: &model}, []string{"model"}, func(s *session.Settings) { s.Model = "large" }},
		{"system prompt", session.Update{SystemPrompt: &prompt}, []string{"system_prompt"}, func(s *session.Settings) { s.SystemPrompt = "p" }},
		{"agent prompt", session.Update{AgentPrompt: &agent}, []string{"agent_prompt"}, func(s *session.Settings) { s.AgentPrompt = "a" }},
		{"tools", session.Update{Tools: &tools}, []string{"tools"}, func(s *session.Settings) { s.Tools = tools }},
		{"todo list", session.Update{TodoList: &todos}, []string{"todo_list"}, func(s *session.Settings) { s.TodoList = todos }},
		{"limits", session.Update{Limits: &session.Limits{MaxRoundsPerTurn: &rounds}}, []string{"settings"}, func(s *session.Settings) { s.Limits.MaxRoundsPerTurn = &rounds }},
		{"metadata", session.Update{Metadata: &spaced}, []string{"metadata"}, func(s *session.Settings) { s.Metadata = raw }},
		{"nothing", session.Update{}, nil, func(*session.Settings) {}},
		{
			"everything",
			session.Update{Title: &title, Model: &model, SystemPrompt: &prompt, AgentPrompt: &agent, Tools: &tools, TodoList: &todos, Metadata: &raw, Limits: &session.Limits{}},
			[]string{"title", "model", "system_prompt", "agent_prompt", "tools", "settings", "todo_list", "metadata"},
			func(s *session.Settings) {
				*s = session.Settings{Model: "large", SystemPrompt: "p", AgentPrompt: "a", Tools: tools, TodoList: todos, Metadata: raw}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				t := w.t
				ref := w.create()
				want := *w.get(ref).Settings
				tt.want(&want)
				got, err := w.update(ref, tt.u)
				if err != nil {
					t.Fatal(err)
				}
				version := int64(1)
				if tt.fields != nil {
					version = 2
				}
				if diff := cmp.Diff(&want, got.Settings); diff != "" || got.Version != version {
					t.Errorf("version %d, settings (-want +got):\n%s", got.Version, diff)
				}
				w.restart()
				if diff := cmp.Diff(viewText(got), viewText(w.get(ref))); diff != "" {
					t.Errorf("after a restart (-answer +got):\n%s", diff)
				}
				entries, err := decodeAll(w.log(ref)[1:])
				if err != nil {
					t.Fatal(err)
				}
				var fields []string
				for _, e := range entries {
					fields = append(fields, e.Fields...)
				}
				if diff := cmp.Diff(tt.fields, fields); diff != "" {
					t.Errorf("fields (-want +got):\n%s", diff)
				}
				w.sound(ref)
			})
		})
	}
}

func TestIfVersion(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		title := "new"
		for _, v := range []int64{0, 2, -1} {
			_, err := w.update(ref, session.Update{Title: &title, IfVersion: &v})
			wantKind(t, "another version", err, session.KindVersionConflict)
			var e *session.Error
			if errors.As(err, &e) && e.Data["version"] != int64(1) {
				t.Errorf("the error says version %v", e.Data["version"])
			}
		}
		v := int64(1)
		if _, err := w.update(ref, session.Update{Title: &title, IfVersion: &v}); err != nil {
			t.Error(err)
		}
		_, err := w.update(ref, session.Update{Title: &title, IfVersion: &v})
		wantKind(t, "the old version", err, session.KindVersionConflict)
	})
}

// TestARunningTurnKeepsItsSnapshot, also across a restart, whatever is changed.
func TestARunningTurnKeepsItsSnapshot(t *testing.T) {
	call := func() llmtest.Step { return llmtest.Calls("", llmtest.Call{Name: "read"}) }
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		one := int64(1)
		ref := w.create(withTools("read"), func(s *session.Settings) { s.SystemPrompt = "old" })
		w.send(ref, "go")
		change := func(model, prompt string, tools ...session.Tool) {
			t.Helper()
			if _, err := w.update(ref, session.Update{Model: &model, SystemPrompt: &prompt, Tools: &tools, Limits: &session.Limits{MaxRoundsPerTurn: &one}}); err != nil {
				t.Fatal(err)
			}
		}
		change("large", "new")
		w.submit(ref, w.pending(ref)["read"].ToolUseID, "1")
		w.restart()
		change("small", "newer")
		w.submit(ref, w.pending(ref)["read"].ToolUseID, "2")
		w.crash()
		w.submit(ref, w.pending(ref)["read"].ToolUseID, "3")
		for i, req := range w.model.Requests() {
			if req.Model != "small" || req.System != "old" || len(req.Tools) != 3 {
				t.Errorf("call %d: model %s, system %q, %d tools", i, req.Model, req.System, len(req.Tools))
			}
		}
		w.send(ref, "next")
		reqs := w.model.Requests()
		if req := reqs[len(reqs)-1]; len(reqs) != 5 || req.System != "newer" || len(req.Tools) != 2 {
			t.Errorf("the next turn: %d calls, system %q, %d tools", len(reqs), req.System, len(req.Tools))
		}
		row, err := w.mem.ListTurns(t.Context(), ref, 0, 9)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range row {
			if strings.Contains(string(r.Detail), `"settings"`) {
				t.Errorf("an ended turn still holds its snapshot: %s", r.Detail)
			}
		}
		w.sound(ref)
	}, call(), call(), call(), llmtest.Text("ok"), llmtest.Text("ok"))
}

// TestAModelThatIsNoLongerOffered keeps nobody from changing something else.
func TestAModelThatIsNoLongerOffered(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(func(s *session.Settings) { s.Model = "large" })
		w.opts.Models = []string{"small"}
		w.restart()
		title, model := "new", "small"
		if _, err := w.update(ref, session.Update{Title: &title}); err != nil {
			t.Error(err)
		}
		if _, err := w.update(ref, session.Update{Model: &model}); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseAndOpen(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		w.send(ref, "go")
		w.send(ref, "two")
		closed, err := w.m.CloseSession(t.Context(), ref, session.Idempotency{})
		if err != nil || closed.Value.Status != store.StatusClosed || !closed.Value.ClosedAt.Equal(time.Now()) || closed.Value.Queued != 0 {
			t.Fatalf("close: %+v, %v", closed.Value, err)
		}
		again, err := w.m.CloseSession(t.Context(), ref, session.Idempotency{})
		if err != nil || again.Value.HeadSeq != closed.Value.HeadSeq {
			t.Errorf("closing again: %+v, %v", again.Value, err)
		}
		for range 2 {
			title := "new"
			_, err = w.trySend(ref, "hi", "")
			wantKind(t, "send", err, session.KindSessionClosed)
			_, err = w.update(ref, session.Update{Title: &title})
			wantKind(t, "update", err, session.KindSessionClosed)
			if w.stop(ref, "", true) {
				t.Error("something was stopped")
			}
			if v := w.get(ref); v.Status != store.StatusClosed {
				t.Errorf("status %s", v.Status)
			}
			if _, err := w.m.Subscribe(t.Context(), ref, session.Where{}, &recorder{}); err != nil {
				t.Errorf("subscribe: %v", err)
			}
			w.restart()
		}
		opened, err := w.m.OpenSession(t.Context(), ref, session.Idempotency{})
		if err != nil || opened.Value.Status != store.StatusIdle || !opened.Value.ClosedAt.IsZero() {
			t.Errorf("open: %+v, %v", opened.Value, err)
		}
		if _, err := w.m.OpenSession(t.Context(), ref, session.Idempotency{}); err != nil {
			t.Error(err)
		}
		w.send(ref, "back")
		w.story(ref,
			`T1 message.added user: "go"`,
			`T1 turn.started`,
			`T1 message.added assistant: read()`,
			`T1 tool.called read`,
			`T2 message.queued user: "two"`,
			`T2 message.dropped`,
			`T1 tool.resolved read by stop, error`,
			`T1 message.added user: read!→"The turn was stopped before this call had a result."`,
			`T1 turn.completed stopped`,
			`session.updated status`,
			`session.updated status`,
			`T3 message.added user: "back"`,
			`T3 turn.started`,
			`T3 message.added assistant: "ok"`,
			`T3 turn.completed completed`,
		)
	}, llmtest.Calls("", llmtest.Call{Name: "read"}), llmtest.Text("ok"))
}

// everything calls each method with a session and returns what each answers.
func everything(w *world, ref store.Ref) map[string]error {
	ctx, none := w.t.Context(), session.Idempotency{}
	got := make(map[string]error)
	note := func(name string, err error) { got[name] = err }
	_, err := w.m.Get(ctx, ref)
	note("get", err)
	_, err = w.m.Log(ctx, ref, 0, 10)
	note("log", err)
	_, err = w.m.Message(ctx, ref, message.NewID())
	note("message", err)
	_, _, err = w.m.Messages(ctx, ref, session.MessageQuery{Limit: 1})
	note("messages", err)
	_, err = w.m.Turn(ctx, ref, message.NewTurnID())
	note("turn", err)
	_, err = w.m.Turns(ctx, ref, 0, 1)
	note("turns", err)
	_, err = w.m.Subscribe(ctx, ref, session.Where{}, &recorder{})
	note("subscribe", err)
	_, err = w.trySend(ref, "x", "")
	note("send", err)
	_, err = w.m.Stop(ctx, ref, "", false, none)
	note("stop", err)
	_, err = w.update(ref, session.Update{})
	note("update", err)
	_, err = w.m.CloseSession(ctx, ref, none)
	note("close", err)
	_, err = w.m.OpenSession(ctx, ref, none)
	note("open", err)
	_, err = w.m.Fork(ctx, ref, 0, nil, none)
	note("fork", err)
	_, err = w.trySubmit(ref, "x", "x", "")
	note("submit", err)
	_, err = w.m.ClaimToolCall(ctx, ref, "x", time.Second, "", none)
	note("claim", err)
	return got
}

func TestDelete(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		w.model.Loop(llmtest.Hang())
		ref := w.create()
		foreign := store.Ref{Owner: mallory, ID: ref.ID}
		recs := []*recorder{w.subscribe(ref), w.subscribe(ref)}
		recs[0].blockGone = make(chan struct{}) // the end takes its time
		w.send(ref, "go")
		w.send(ref, "queued")
		wantKind(t, "delete by another owner", w.m.Delete(t.Context(), foreign), session.KindNotFound)
		head := w.get(ref).HeadSeq
		if err := w.m.Delete(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		for name, err := range everything(w, ref) { // at once: whoever was told must not find it
			wantKind(t, name, err, session.KindNotFound)
		}
		close(recs[0].blockGone)
		synctest.Wait()
		for i, rec := range recs {
			events := rec.all()
			last := events[len(events)-1]
			if last.Kind != session.EntryDeleted || last.Seq != head+1 {
				t.Errorf("subscriber %d was told %s %d last", i, last.Kind, last.Seq)
			}
			if gone := rec.ended(); len(gone) != 1 || !gone[0] {
				t.Errorf("subscriber %d: gone %v", i, gone)
			}
		}
		if err := w.m.Delete(t.Context(), ref); err != nil {
			t.Errorf("delete again: %v", err)
		}
		wantKind(t, "delete by another owner afterwards", w.m.Delete(t.Context(), foreign), session.KindNotFound)
		wantKind(t, "delete of an unknown session", w.m.Delete(t.Context(), store.Ref{Owner: alice, ID: message.NewSessionID()}), session.KindNotFound)
		if got, err := w.m.List(t.Context(), store.ListQuery{Owner: alice, Limit: 9}); err != nil || len(got) != 0 {
			t.Errorf("%d sessions listed, %v", len(got), err)
		}
		w.restart()
		for name, err := range everything(w, ref) {
			wantKind(t, name+" after a restart", err, session.KindNotFound)
		}
		if n := w.m.Loaded(); n != 0 {
			t.Errorf("%d sessions loaded", n)
		}
	})
}

func TestForeignSessionsAreNotFound(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		for range 2 {
			for name, err := range everything(w, store.Ref{Owner: mallory, ID: ref.ID}) {
				wantKind(t, name, err, session.KindNotFound)
			}
			w.subscribe(ref) // loads it
		}
		w.story(ref)
	})
}

// TestAForeignCallIsInNobodysWay: while the session is looked for in vain for a stranger,
// its owner is served.
func TestAForeignCallIsInNobodysWay(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		w.life.stuck.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		var foreign error
		go func() { _, foreign = w.m.Get(ctx, store.Ref{Owner: mallory, ID: ref.ID}) }()
		synctest.Wait()
		if v := w.get(ref); v.ID != ref.ID {
			t.Errorf("got %+v", v)
		}
		cancel()
		synctest.Wait()
		if foreign == nil {
			t.Error("the stranger got the session")
		}
	})
}

// TestConcurrentDeletes and calls that meet them.
func TestConcurrentDeletes(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		w.model.Loop(llmtest.Hang())
		ref := w.create()
		w.send(ref, "go")
		release := w.gate.hold()
		var sent error
		go func() { _, sent = w.trySend(ref, "two", "") }()
		synctest.Wait()
		deletes := make([]error, 3)
		for i := range deletes {
			go func() { deletes[i] = w.m.Delete(t.Context(), ref) }()
			synctest.Wait()
		}
		var late error
		go func() { _, late = w.trySend(ref, "three", "") }()
		synctest.Wait()
		release()
		synctest.Wait()
		for i, err := range deletes {
			if err != nil {
				t.Errorf("delete %d: %v", i, err)
			}
		}
		if sent != nil {
			t.Errorf("the message that was under way: %v", sent)
		}
		wantKind(t, "a message after the delete", late, session.KindNotFound)
	})
}

// TestAFailedDelete leaves the session as it was, and its turn goes on.
func TestAFailedDelete(t *testing.T) {
	for _, gathering := range []bool{false, true} {
		inWorld(t, session.Options{}, func(w *world) {
			t := w.t
			ref := w.create()
			w.model.Add(llmtest.Hang(), llmtest.Text("ok"))
			rec := w.subscribe(ref)
			w.send(ref, "go")
			w.life.failDeletes.Store(true)
			release := w.gate.hold()
			if gathering { // something is to be committed before
				title := "new"
				go w.update(ref, session.Update{Title: &title}) //nolint:errcheck // the log tells
				synctest.Wait()
				go w.update(ref, session.Update{Title: &title}) //nolint:errcheck // the log tells
				synctest.Wait()
			}
			var err error
			go func() { err = w.m.Delete(t.Context(), ref) }()
			synctest.Wait()
			release()
			synctest.Wait()
			if !errors.Is(err, errFault) {
				t.Errorf("delete: %v", err)
			}
			if gone := rec.ended(); len(gone) != 1 || gone[0] {
				t.Errorf("gone: %v", gone)
			}
			w.pass(2 * time.Second)
			if n := len(w.model.Requests()); n != 2 { // without any call
				t.Errorf("%d model calls", n)
			}
			log := tell(w.log(ref))
			if log[len(log)-1] != `T1 turn.completed completed` {
				t.Errorf("log: %q", log)
			}
			w.sound(ref)
		})
	}
}

func TestList(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		var refs []store.Ref
		for range 5 {
			refs = append(refs, w.create(withTools("read")))
			w.pass(time.Second)
		}
		w.send(refs[1], "go")
		w.send(refs[1], "queued")
		w.pass(time.Second)
		if _, err := w.m.CloseSession(t.Context(), refs[3], session.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		list := func(q store.ListQuery) (got []int) {
			t.Helper()
			q.Owner, q.Limit = alice, max(q.Limit, 1)
			views, err := w.m.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range views {
				for i, ref := range refs {
					if ref.ID == v.ID {
						got = append(got, i)
					}
				}
			}
			return got
		}
		if diff := cmp.Diff([]int{3, 1, 4, 2, 0}, list(store.ListQuery{Limit: 9})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{1}, list(store.ListQuery{Limit: 9, Status: store.StatusWaitingTool})); diff != "" {
			t.Errorf("waiting (-want +got):\n%s", diff)
		}
		views, err := w.m.List(t.Context(), store.ListQuery{Owner: alice, Limit: 2})
		if err != nil || views[1].Queued != 1 || len(views[1].PendingCalls) != 1 {
			t.Errorf("the loaded session: %+v, %v", views[1], err)
		}
	}, llmtest.Calls("", llmtest.Call{Name: "read"}))
}

// TestListGoesByWhatIsStored: a page's last row is where the next one begins, so its
// time must be the one the list was ordered by, even if the session has just changed.
func TestListGoesByWhatIsStored(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		w.subscribe(ref)
		w.pass(time.Second)
		release := w.gate.holdAnswers()
		title := "new"
		go w.update(ref, session.Update{Title: &title}) //nolint:errcheck // the list tells
		synctest.Wait()                                 // it is stored; the session does not know yet
		views, err := w.m.List(t.Context(), store.ListQuery{Owner: alice, Limit: 1})
		if err != nil || views[0].Title != title || !views[0].UpdatedAt.Equal(time.Now()) {
			t.Errorf("listed: %+v, %v", views[0], err)
		}
		release()
		synctest.Wait()
	})
}
