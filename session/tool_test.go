package session_test

import (
	"fmt"
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

// shown writes what a model call was shown, a line a message.
func shown(w *world, call int) []string {
	var lines []string
	names := make(map[message.ToolUseID]string)
	for _, m := range w.model.Requests()[call].Messages {
		line := string(m.Role) + ":"
		for _, use := range m.ToolUses() {
			names[use.ID] = use.Name
		}
		for _, b := range m.Content {
			line += " " + blockWords(b, names)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestToolRound(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read", "write", "find"))
		rec := w.subscribe(ref)
		w.send(ref, "go")
		if v := w.get(ref); v.Status != store.StatusWaitingTool || len(v.PendingCalls) != 3 {
			t.Errorf("waiting: %s, %v", v.Status, v.PendingCalls)
		}
		calls := w.pending(ref)
		w.submit(ref, calls["find"].ToolUseID, "found") // from one caller
		if _, err := w.m.SubmitToolResult(t.Context(), ref, session.ToolResult{
			ToolUseID: calls["read"].ToolUseID, Content: text("no such file"), IsError: true,
		}, session.Idempotency{}); err != nil { // from another
			t.Fatal(err)
		}
		if v := w.get(ref); v.Status != store.StatusWaitingTool || len(v.PendingCalls) != 1 {
			t.Errorf("still waiting: %s, %v", v.Status, v.PendingCalls)
		}
		w.submit(ref, calls["write"].ToolUseID, "wrote it")
		w.story(ref,
			`T1 message.added user: "go"`,
			`T1 turn.started`,
			`T1 message.added assistant: "Working." read() write() find()`,
			`T1 tool.called read`,
			`T1 tool.called write`,
			`T1 tool.called find`,
			`T1 tool.resolved find by client`,
			`T1 tool.resolved read by client, error`,
			`T1 tool.resolved write by client`,
			`T1 message.added user: read!→"no such file" write→"wrote it" find→"found"`,
			`T1 message.added assistant: "done"`,
			`T1 turn.completed completed`,
		)
		log := w.log(ref)
		sameEvents(t, "subscriber", log[1:], rec.all())
		if diff := cmp.Diff([]session.ActivityName{session.ActivityWaitingTool, session.ActivityNone}, rec.doing()); diff != "" {
			t.Errorf("activities (-want +got):\n%s", diff)
		}
		results := `user: read!→"no such file" write→"wrote it" find→"found"`
		want := []string{`user: "go"`, `assistant: "Working." read() write() find()`, results}
		if diff := cmp.Diff(want, shown(w, 1)); diff != "" {
			t.Errorf("the model was shown (-want +got):\n%s", diff)
		}

		// The content is stored once: the message refers to the entries.
		stored, err := w.mem.Entries(t.Context(), store.EntryQuery{Ref: ref, AfterSeq: 10, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if body := string(stored[0].Body); strings.Contains(body, "found") || !strings.Contains(body, `"ref":8`) {
			t.Errorf("stored is %s", body)
		}
		m, err := w.m.Message(t.Context(), ref, stored[0].MessageID)
		if err != nil {
			t.Fatal(err)
		}
		e, err := decode(log[10])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e.Message, m); diff != "" {
			t.Errorf("message.get (-event +got):\n%s", diff)
		}
	}, llmtest.Calls("Working.", llmtest.Call{Name: "read"}, llmtest.Call{Name: "write"}, llmtest.Call{Name: "find"}), llmtest.Text("done"))
}

func TestCallsThatNobodyRuns(t *testing.T) {
	todo := func(s string) llmtest.Call { return llmtest.Call{Name: "todo_write", Input: s} }
	item := `{"content":"c","status":"pending"}`
	tests := []struct {
		name    string
		call    llmtest.Call
		want    string // in the result
		isError bool
		input   string // as it is shown to the model; as called if empty
	}{
		{"unknown tool", llmtest.Call{Name: "fly"}, `no tool named "fly"`, true, ""},
		{"no name", llmtest.Call{Name: ""}, `no tool named ""`, true, ""},
		{"not JSON", llmtest.Call{Name: "read", Input: `{"path": `}, "not valid JSON", true, `{"invalid_json":"{\"path\": "}`},
		{"no object", llmtest.Call{Name: "read", Input: `[1]`}, "not a JSON object", true, `{"invalid_json":"[1]"}`},
		{"no UTF-8", llmtest.Call{Name: "read", Input: "{\"a\":\"\xff\"}"}, "not valid JSON", true, `{"invalid_json":"{\"a\":\"\ufffd\"}"}`},
		{"unknown tool, not JSON", llmtest.Call{Name: "fly", Input: `{`}, "not valid JSON", true, `{"invalid_json":"{"}`},
		{"todo list", todo(`{"todos":[` + item + `]}`), "1 items", false, ""},
		{"no todos", todo(`{}`), "todos is missing", true, ""},
		{"odd todos", todo(`{"todos":7}`), "does not fit", true, ""},
		{"blank todo", todo(`{"todos":[{"content":" ","status":"pending"}]}`), "todos[0].content is empty", true, ""},
		{"odd status", todo(`{"todos":[` + item + `,{"content":"c","status":"done"}]}`), `todos[1].status is "done"`, true, ""},
		{"long todo", todo(`{"todos":[{"content":"` + strings.Repeat("x", session.MaxTodoBytes+1) + `","status":"pending"}]}`), "longer than", true, ""},
		{"many todos", todo(`{"todos":[` + item + strings.Repeat(","+item, session.MaxTodos) + `]}`), fmt.Sprintf("at most %d", session.MaxTodos), true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				t := w.t
				ref := w.create(withTools("read"))
				w.send(ref, "go")
				if len(w.model.Requests()) != 2 {
					t.Fatalf("%d model calls; log: %q", len(w.model.Requests()), tell(w.log(ref)))
				}
				msgs := w.model.Requests()[1].Messages
				use := msgs[1].ToolUses()[0]
				wantInput := tt.input
				if wantInput == "" {
					wantInput = tt.call.Input
				}
				if wantInput != "" && string(use.Input) != wantInput {
					t.Errorf("the model is shown its input as %s", use.Input)
				}
				r := msgs[2].Content[0].(message.ToolResult)
				if got := message.JoinText(r.Content); !strings.Contains(got, tt.want) || r.IsError != tt.isError {
					t.Errorf("result is %q, error %v", got, r.IsError)
				}
				if changed := len(w.get(ref).Settings.TodoList) > 0; changed == tt.isError {
					t.Errorf("todo list is %v", w.get(ref).Settings.TodoList)
				}
				w.sound(ref)
				w.restart()
				w.sound(ref)
			}, llmtest.Calls("", tt.call), llmtest.Text("ok"))
		})
	}
}

func TestTodoWriteChangesTheList(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		w.send(ref, "plan")
		want := []session.Todo{
			{Content: "Look", ActiveForm: "Looking", Status: "completed"}, {Content: "Leap", ActiveForm: "Leap", Status: "in_progress"},
		}
		if diff := cmp.Diff(want, w.get(ref).Settings.TodoList); diff != "" {
			t.Errorf("while the other call is open (-want +got):\n%s", diff)
		}
		w.submit(ref, w.pending(ref)["read"].ToolUseID, "x")
		w.story(ref,
			`T1 message.added user: "plan"`,
			`T1 turn.started`,
			`T1 message.added assistant: todo_write() read()`,
			`T1 tool.called todo_write`,
			`T1 tool.called read`,
			`session.updated todo_list`,
			`T1 tool.resolved todo_write by builtin`,
			`T1 tool.resolved read by client`,
			`T1 message.added user: todo_write→"The todo list has 2 items now." read→"x"`,
			`T1 message.added assistant: "ok"`,
			`T1 turn.completed completed`,
		)
		w.restart()
		if diff := cmp.Diff(want, w.get(ref).Settings.TodoList); diff != "" {
			t.Errorf("after a restart (-want +got):\n%s", diff)
		}
	}, llmtest.Calls("",
		llmtest.Call{Name: "todo_write", Input: `{"todos":[{"content":"Look","active_form":"Looking","status":"completed"},{"content":"Leap","status":"in_progress"}]}`},
		llmtest.Call{Name: "read"}), llmtest.Text("ok"))
}

func TestToolInputIsKeptByteForByte(t *testing.T) {
	const input = "{ \"a\" : 1.0e2,\n\"b\":\"\\u0041<&\u2028\", \"a\": 2 }"
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		w.send(ref, "go")
		call := w.pending(ref)["read"]
		if string(call.Input) != input {
			t.Errorf("offered as %s", call.Input)
		}
		w.submit(ref, call.ToolUseID, "x")
		w.restart()
		w.send(ref, "more")
		first, second := w.model.Requests()[1].Messages[1].ToolUses()[0], w.model.Requests()[2].Messages[1].ToolUses()[0]
		if string(first.Input) != input || string(second.Input) != input {
			t.Errorf("shown to the model as %s, after a restart as %s", first.Input, second.Input)
		}
		w.sound(ref)
	}, llmtest.Calls("", llmtest.Call{Name: "read", Input: " " + input + "\n"}), llmtest.Text("a"), llmtest.Text("b"))
}

func TestCallTimeout(t *testing.T) {
	quick := func(s *session.Settings) { s.Tools[0].TimeoutMS = 2000 }
	inWorld(t, session.Options{ToolTimeout: time.Minute}, func(w *world) {
		t := w.t
		ref := w.create(withTools("quick", "slow"), quick)
		begin := time.Now()
		w.send(ref, "go")
		calls := w.pending(ref)
		for name, want := range map[string]time.Duration{"quick": 2 * time.Second, "slow": time.Minute} {
			if got := calls[name].Deadline.Sub(begin); got != want {
				t.Errorf("%s has %s", name, got)
			}
		}
		w.pass(2*time.Second - time.Millisecond)
		if n := len(w.pending(ref)); n != 2 {
			t.Errorf("%d calls pending before the deadline", n)
		}
		w.pass(time.Millisecond)
		if n := len(w.pending(ref)); n != 1 {
			t.Errorf("%d calls pending after the first deadline", n)
		}
		_, err := w.trySubmit(ref, calls["quick"].ToolUseID, "late", "")
		wantKind(t, "a late result", err, session.KindToolCallResolved)
		w.pass(time.Minute)
		w.story(ref,
			`T1 message.added user: "go"`,
			`T1 turn.started`,
			`T1 message.added assistant: quick() slow()`,
			`T1 tool.called quick`,
			`T1 tool.called slow`,
			`T1 tool.resolved quick by timeout, error`,
			`T1 tool.resolved slow by timeout, error`,
			`T1 message.added user: quick!→"No result came for this call of quick before its deadline." slow!→"No result came for this call of slow before its deadline."`,
			`T1 message.added assistant: "ok"`,
			`T1 turn.completed completed`,
		)
	}, llmtest.Calls("", llmtest.Call{Name: "quick"}, llmtest.Call{Name: "slow"}), llmtest.Text("ok"))
}

func TestClaims(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read", "write"))
		w.send(ref, "go")
		id := w.pending(ref)["read"].ToolUseID
		claim := func(id message.ToolUseID, token string) (session.ClaimResult, error) {
			r, err := w.m.ClaimToolCall(t.Context(), ref, id, 10*time.Second, token, session.Idempotency{})
			return r.Value, err
		}
		mine, err := claim(id, "")
		if err != nil || mine.Token == "" || !mine.LeaseUntil.Equal(time.Now().Add(10*time.Second)) {
			t.Fatalf("claim: %+v, %v", mine, err)
		}
		if got := w.pending(ref)["read"].ClaimedUntil; !got.Equal(mine.LeaseUntil) {
			t.Errorf("the view says claimed until %s", got)
		}
		for _, token := range []string{"", "wrong", mine.Token + "x", mine.Token[1:]} {
			_, err := claim(id, token)
			wantKind(t, "claim with another token", err, session.KindToolCallClaimed)
			_, err = w.trySubmit(ref, id, "x", token)
			wantKind(t, "result with another token", err, session.KindToolCallClaimed)
		}

		w.pass(9 * time.Second)
		again, err := claim(id, mine.Token)
		if err != nil || again.Token != mine.Token || !again.LeaseUntil.Equal(mine.LeaseUntil.Add(9*time.Second)) {
			t.Errorf("extended: %+v, %v", again, err)
		}
		w.pass(9 * time.Second)
		_, err = claim(id, "")
		wantKind(t, "claim within the extended lease", err, session.KindToolCallClaimed)

		w.pass(time.Second) // the lease has ended
		theirs, err := claim(id, "")
		if err != nil || theirs.Token == mine.Token {
			t.Errorf("claim after the lease: %+v, %v", theirs, err)
		}
		_, err = w.trySubmit(ref, id, "x", mine.Token)
		wantKind(t, "result with the old token", err, session.KindToolCallClaimed)
		if _, err = w.trySubmit(ref, id, "x", theirs.Token); err != nil {
			t.Errorf("result with the token: %v", err)
		}
		_, err = claim(id, theirs.Token)
		wantKind(t, "claim of a resolved call", err, session.KindToolCallResolved)
		_, err = claim("call_unknown", "")
		wantKind(t, "claim of an unknown call", err, session.KindToolCallNotFound)

		other := w.pending(ref)["write"].ToolUseID
		if _, err = claim(other, "a token of its own choice"); err != nil {
			t.Errorf("claim with a stray token: %v", err)
		}
		w.pass(10 * time.Second)
		w.submit(ref, other, "the lease is over, anybody may answer")
		_, err = claim(other, "")
		wantKind(t, "claim after the round", err, session.KindToolCallResolved)
		w.restart()
		_, err = claim(other, "")
		wantKind(t, "claim after a restart", err, session.KindToolCallResolved)
		w.story(ref,
			`T1 message.added user: "go"`,
			`T1 turn.started`,
			`T1 message.added assistant: read() write()`,
			`T1 tool.called read`,
			`T1 tool.called write`,
			`T1 tool.claimed read`,
			`T1 tool.claimed read`,
			`T1 tool.claimed read`,
			`T1 tool.resolved read by client`,
			`T1 tool.claimed write`,
			`T1 tool.resolved write by client`,
			`T1 message.added user: read→"x" write→"the lease is over, anybody may answer"`,
			`T1 message.added assistant: "ok"`,
			`T1 turn.completed completed`,
		)
	}, llmtest.Calls("", llmtest.Call{Name: "read"}, llmtest.Call{Name: "write"}), llmtest.Text("ok"))
}

func TestRepeatedResults(t *testing.T) {
	content := []message.Block{
		message.Text{Text: "a\x00\xff<b>"}, message.Image{MimeType: "image/png", Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="},
	}
	other := []message.Block{message.Text{Text: "other"}}
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read", "write"))
		w.send(ref, "go")
		calls := w.pending(ref)
		submit := func(r session.ToolResult) (session.Replay[session.SubmitResult], error) {
			return w.m.SubmitToolResult(t.Context(), ref, r, session.Idempotency{})
		}
		read, write := calls["read"].ToolUseID, calls["write"].ToolUseID
		if r, err := submit(session.ToolResult{ToolUseID: read, Content: content}); err != nil || r.Replayed {
			t.Fatalf("first result: %+v, %v", r, err)
		}
		repeat := func(when string) {
			t.Helper()
			if r, err := submit(session.ToolResult{ToolUseID: read, Content: content}); err != nil || !r.Replayed || !r.Value.Accepted {
				t.Errorf("%s: the same again: %+v, %v", when, r, err)
			}
			_, err := submit(session.ToolResult{ToolUseID: read, Content: other})
			wantKind(t, when+": other content", err, session.KindToolCallResolved)
			_, err = submit(session.ToolResult{ToolUseID: read, Content: content, IsError: true})
			wantKind(t, when+": the same as an error", err, session.KindToolCallResolved)
			_, err = submit(session.ToolResult{ToolUseID: "call_unknown", Content: content})
			wantKind(t, when+": unknown call", err, session.KindToolCallNotFound)
		}
		repeat("during the round")
		if _, err := submit(session.ToolResult{ToolUseID: write}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		repeat("after the round")
		w.restart()
		repeat("after a restart")
		if r, err := submit(session.ToolResult{ToolUseID: write}); err != nil || !r.Replayed {
			t.Errorf("an empty result again: %+v, %v", r, err)
		}
		if n := len(w.log(ref)); n != 11 {
			t.Errorf("repeating left %d entries", n)
		}
		w.sound(ref)
	}, llmtest.Calls("", llmtest.Call{Name: "read"}, llmtest.Call{Name: "write"}), llmtest.Text("ok"))
}

func TestResultsForAClosedSessionAreRefused(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		w.send(ref, "go")
		id := w.pending(ref)["read"].ToolUseID
		if _, err := w.m.CloseSession(t.Context(), ref, session.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		_, err := w.trySubmit(ref, id, "x", "")
		wantKind(t, "result", err, session.KindSessionClosed)
		_, err = w.m.ClaimToolCall(t.Context(), ref, id, time.Second, "", session.Idempotency{})
		wantKind(t, "claim", err, session.KindSessionClosed)
		w.sound(ref)
	}, llmtest.Calls("", llmtest.Call{Name: "read"}))
}

func TestToolUseIDsAreUniqueInASession(t *testing.T) {
	call := func(id message.ToolUseID) llmtest.Call { return llmtest.Call{ID: id, Name: "read"} }
	tests := []struct {
		name  string
		calls [][]llmtest.Call // of the answers, one a turn
		kept  [][]bool         // whether the provider's id stays
	}{
		{"its own", [][]llmtest.Call{{call("toolu_1"), call("b")}}, [][]bool{{true, true}}},
		{"twice in one answer", [][]llmtest.Call{{call("a"), call("a"), call("b")}}, [][]bool{{true, false, true}}},
		{"again later", [][]llmtest.Call{{call("a")}, {call("b"), call("a")}}, [][]bool{{true}, {true, false}}},
		{"not portable", [][]llmtest.Call{{call("a b"), call("functions.read:0"), call(message.ToolUseID(strings.Repeat("x", 65)))}}, [][]bool{{false, false, false}}},
	}
	for _, restart := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, restart %v", tt.name, restart), func(t *testing.T) {
				inWorld(t, session.Options{}, func(w *world) {
					t := w.t
					ref := w.create(withTools("read"))
					for turn, calls := range tt.calls {
						w.model.Add(llmtest.Calls("", calls...), llmtest.Text("ok"))
						w.send(ref, "go")
						if restart {
							w.restart()
						}
						pending := w.get(ref).PendingCalls
						if len(pending) != len(calls) {
							t.Fatalf("%d calls pending, want %d", len(pending), len(calls))
						}
						for i, p := range pending {
							if kept := p.ToolUseID == calls[i].ID; kept != tt.kept[turn][i] || !p.ToolUseID.Portable() {
								t.Errorf("call %d of turn %d: %q became %q", i, turn, calls[i].ID, p.ToolUseID)
							}
							w.submit(ref, p.ToolUseID, fmt.Sprint(turn, i))
						}
					}
					w.sound(ref)
				})
			})
		}
	}
}

func TestAnswersWithOddBlocks(t *testing.T) {
	thinking := message.Thinking{Provider: "p", Text: "hm", Raw: []byte(`{"s":1}`)}
	tests := []struct {
		name    string
		content []message.Block
		want    string // of the answer in the log; none if empty
	}{
		{"nothing", nil, ""},
		{"blank text", []message.Block{message.Text{Text: " \n"}, message.Text{}}, ""},
		{"blank text beside thinking", []message.Block{thinking, message.Text{Text: "\n"}}, `T1 message.added assistant: thinking`},
		{"blocks only users send", []message.Block{message.Image{MimeType: "image/png", Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="}, message.ToolResult{ToolUseID: "x"}, message.Text{Text: "a"}}, `T1 message.added assistant: "a"`},
		{"thinking that is no JSON", []message.Block{message.Thinking{Provider: "p", Text: "hm", Raw: []byte(`{"s":`)}, message.Text{Text: "a"}}, `T1 message.added assistant: "a"`},
		{"thinking without a value", []message.Block{message.Thinking{Provider: "p", Text: "hm"}, message.Text{Text: "a"}}, `T1 message.added assistant: thinking "a"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				t := w.t
				ref := w.create()
				w.send(ref, "go")
				want := []string{`T1 message.added user: "go"`, `T1 turn.started`}
				if tt.want != "" {
					want = append(want, tt.want)
				}
				want = append(want, `T1 turn.completed completed`)
				w.story(ref, want...)
				w.restart()
				w.send(ref, "more")
				w.sound(ref)
				for i, m := range w.model.Requests()[1].Messages {
					if len(m.Content) == 0 {
						t.Errorf("the model was shown an empty message %d", i)
					}
				}
			}, answerOf(tt.content...), llmtest.Text("ok"))
		})
	}
}
