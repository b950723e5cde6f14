package session_test

import (
	"fmt"
	"strings"
	"testing"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// injections are the attachments that a log put into its messages.
func (w *world) injections(ref store.Ref, kind compaction.AttachmentKind) []string {
	w.t.Helper()
	var texts []string
	for _, e := range w.entries(ref, session.EntryContextInjected) {
		in := decodeAs[struct {
			Kind compaction.AttachmentKind `json:"kind"`
			Text string                    `json:"text"`
		}](w.t, e.Data)
		if in.Kind == kind {
			texts = append(texts, in.Text)
		}
	}
	return texts
}

// Each version of an attachment is put into the conversation once, however many rounds
// there are, and what was sent once stays as it was.
func TestB81EachVersionIsInjectedOnce(t *testing.T) {
	const turns, rounds = 20, 10
	withClerk(t, 4_000_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create(withTools("read"), func(s *session.Settings) { s.AgentPrompt = "Never push. v0" })
		for turn := range turns {
			if turn%5 == 4 {
				prompt := fmt.Sprint("Never push. v", turn)
				w.change(ref, session.Update{AgentPrompt: &prompt})
			}
			if turn%4 == 3 {
				w.change(ref, session.Update{TodoList: &[]session.Todo{{Content: fmt.Sprint("step ", turn), Status: "pending"}}})
			}
			for range rounds - 1 {
				c.say(calls("read", `{"path":"a"}`))
			}
			c.say(says("done"))
			w.send(ref, "Read it.")
			w.answerCalls(ref, func(session.PendingCall) string { return "content" })
		}
		chats, _ := w.requests()
		if len(chats) != turns*rounds {
			t.Fatalf("%d requests, want %d", len(chats), turns*rounds)
		}
		for i := 1; i < len(chats); i++ {
			if at := firstDifference(blocksOf(chats[i-1]), blocksOf(chats[i])); at >= 0 {
				t.Fatalf("request %d does not begin with request %d: block %d differs", i, i-1, at)
			}
		}
		last := rendered(chats[len(chats)-1])
		for _, version := range []string{"v0", "v4", "v9", "v14", "v19"} {
			if n := strings.Count(last, "Never push. "+version+"\\n"); n != 1 {
				t.Errorf("%s of AGENT.md stands %d times in the last request", version, n)
			}
		}
		for _, turn := range []int{3, 7, 11, 15, 19} {
			if n := strings.Count(last, fmt.Sprintf("[pending] step %d\\n", turn)); n != 1 {
				t.Errorf("the todo list of turn %d stands %d times in the last request", turn, n)
			}
		}
		if a, b := w.injections(ref, compaction.AttachAgentPrompt), w.injections(ref, compaction.AttachTodoList); len(a) != 5 || len(b) != 5 {
			t.Errorf("%d injections of AGENT.md and %d of the list, want 5 and 5", len(a), len(b))
		}
		for _, m := range w.messagesBy(ref, message.RoleUser) {
			if strings.Contains(string(message.AppendBlocks(nil, m.Content, message.Form{})), "Never push") {
				t.Error("a stored message holds the attachment")
			}
		}
	})
}

// The first message brings AGENT.md; one that changed comes at the end of the newest
// message, after a round's results.
func TestWhereInjectionsStand(t *testing.T) {
	withClerk(t, 100_000, func(w *world, c *clerk) {
		t := w.t
		c.say(calls("read", `{}`), says("done"))
		ref := w.create(withTools("read"), func(s *session.Settings) { s.AgentPrompt = "Rule one." })
		w.send(ref, "Begin.")
		w.change(ref, session.Update{TodoList: &[]session.Todo{{Content: "a step", Status: "pending"}}})
		w.answerCalls(ref, func(session.PendingCall) string { return "content" })
		chats, _ := w.requests()
		first, second := chats[0].Messages, chats[1].Messages
		if n := len(first[0].Content); n != 2 || !strings.Contains(first[0].Content[1].(message.Text).Text, "Rule one.") {
			t.Errorf("the first message is %s", message.AppendBlocks(nil, first[0].Content, message.Form{}))
		}
		results := second[len(second)-1].Content
		if _, ok := results[0].(message.ToolResult); !ok || len(results) != 2 || !strings.Contains(results[1].(message.Text).Text, "a step") {
			t.Errorf("the newest message is %s", message.AppendBlocks(nil, results, message.Form{}))
		}
	})
}

// A list that the model wrote itself is not repeated while its call is in view; once the
// call has left, the summary message shows the list.
func TestTheModelsOwnTodoListIsNotRepeated(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.say(calls("todo_write", `{"todos":[{"content":"paint the fence","status":"pending"}]}`), says("planned"))
		ref := w.create()
		w.completed(ref, "Plan.")
		if got := w.injections(ref, compaction.AttachTodoList); len(got) != 0 {
			t.Errorf("the model's own list was injected: %q", got)
		}
		for i := range 20 {
			w.completed(ref, words(fmt.Sprint("message ", i), 400))
		}
		chats, _ := w.requests()
		for i, req := range chats[1:] {
			if n := strings.Count(rendered(req), "paint the fence"); n != 1 {
				t.Errorf("request %d holds the list %d times", i+1, n)
			}
		}
		if got := w.injections(ref, compaction.AttachTodoList); len(got) != 0 {
			t.Errorf("the list was injected after a compaction that shows it: %q", got)
		}
	})
}

// Standing instructions are in every request, word for word, whatever was compacted, and
// in none twice.
func TestB68StandingInstructionsAreInEveryRequest(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		const rule = "Never push to the main branch; ask first."
		ref := w.create(withFixedTool("query"), func(s *session.Settings) { s.AgentPrompt = rule })
		for i := range 10 {
			for range 4 {
				c.say(calls("query", `{}`))
			}
			c.say(says("done"))
			w.send(ref, words(fmt.Sprint("message ", i), 200))
			w.answerCalls(ref, func(session.PendingCall) string { return words("row", 500) })
		}
		if n := len(w.compactions(ref)); n < 3 {
			t.Fatalf("%d compactions", n)
		}
		chats, _ := w.requests()
		for i, req := range chats {
			if n := strings.Count(rendered(req), rule); n != 1 {
				t.Errorf("request %d holds the rule %d times", i, n)
			}
		}
	})
}
