package demo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/message"
	"sessiond/tokens"
)

// desk is a conversation that the compaction core looks after.
type desk struct {
	planner *compaction.Planner
	state   *compaction.State
	sit     compaction.Situation
}

// talked is a conversation of 20 rounds, each with some padding.
func talked(t *testing.T, padding string) *desk {
	t.Helper()
	encoding, err := tokens.New("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	planner, err := compaction.New(compaction.DefaultConfig(), encoding, encoding.Name())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{planner: planner, state: compaction.NewState()}
	d.sit = compaction.Situation{
		Now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Ratio: 1, Trigger: compaction.TriggerManual, Tools: planner.Tools(nil),
		Images: func(message.Image) int { return 1_500 },
	}
	for seq := int64(1); seq < 40; seq += 2 {
		turn := message.TurnID(fmt.Sprint("t", seq))
		for i, said := range []string{fmt.Sprintf("The port must be %d.", 8_000+seq), "It is. " + padding} {
			m := &message.Message{
				ID: message.ID(fmt.Sprint("m", seq+int64(i))), Seq: seq + int64(i), TurnID: turn,
				Role: []message.Role{message.RoleUser, message.RoleAssistant}[i], Content: []message.Block{message.Text{Text: said}},
			}
			if err := d.state.Append(compaction.Item{Message: m, Measure: planner.Measure(m, nil, d.sit.Images)}); err != nil {
				t.Fatal(err)
			}
		}
		d.sit.Turn = turn
	}
	return d
}

// answer has the demo answer a request as a server makes it: after the chat, or alone.
func (d *desk) answer(t *testing.T, r compaction.SummaryRequest) string {
	t.Helper()
	req := &llm.Request{System: r.System}
	if r.Chat {
		req.Messages = d.state.View().Messages
	}
	req.Messages = append(req.Messages, user(message.Text{Text: r.Prompt}))
	return message.JoinText(mustAnswer(t, req).Content)
}

// TestSummaryRequests: the requests that the compaction core makes are known in all their
// forms, and what comes back is taken.
func TestSummaryRequests(t *testing.T) {
	instructions := []string{"", "In two sentences; write 5000 words about nothing, wait 20 seconds.", "用中文写 500 字"}
	for _, instruction := range instructions {
		for _, chat := range []*compaction.ChatRequest{nil, {CachedTokens: 1 << 30}} {
			t.Run(fmt.Sprintf("%.5s shared %v", instruction, chat != nil), func(t *testing.T) {
				d := talked(t, "Nothing else to say. "+strings.Repeat("More of it. ", 20))
				plan, reason := d.planner.PlanManual(d.state, &d.sit)
				if plan == nil {
					t.Fatalf("no plan: %s", reason)
				}
				call := d.planner.StartCall(plan, compaction.CallOptions{Instruction: instruction, Chat: chat})
				request := call.Request()
				if request.Chat != (chat != nil) {
					t.Fatalf("shared: %v", request.Chat)
				}
				text := d.answer(t, request)
				_, draft, failure := call.Take(compaction.Reply{Text: text})
				if draft == nil {
					t.Fatalf("not taken (%s): %s", failure, text)
				}
				for _, want := range []string{"made by rule", "The user began with “The port must be 8001.”", "the assistant last said “It is."} {
					if !strings.Contains(draft.Body, want) {
						t.Errorf("%s\ndoes not contain %q", draft.Body, want)
					}
				}
				if n := len(strings.Fields(text)); n > 250 {
					t.Errorf("%d words: %s", n, text)
				}
				if headed := strings.Contains(text, "## 1. "); headed != (instruction == "") {
					t.Errorf("headed: %v: %s", headed, text)
				}
			})
		}
	}
}

// TestNotesThatWereTooLong: asked to write notes again, the demo keeps their beginning, in
// as many words as it is given.
func TestNotesThatWereTooLong(t *testing.T) {
	d := talked(t, strings.Repeat("More of it. ", 200))
	plan, reason := d.planner.PlanManual(d.state, &d.sit)
	if plan == nil {
		t.Fatalf("no plan: %s", reason)
	}
	call := d.planner.StartCall(plan, compaction.CallOptions{Instruction: "At length, at most 3 words."})
	again, draft, failure := call.Take(compaction.Reply{Text: "The port is 8001. " + strings.Repeat("So it was said. ", 20_000)})
	if draft != nil || failure != "" {
		t.Fatalf("no second request: %s", failure)
	}
	text := d.answer(t, again.Request())
	if n := len(strings.Fields(text)); !strings.HasPrefix(text, "The port is 8001. So it was said.") || n < 50 || n > 20_000 {
		t.Errorf("%d words: %.300s", n, text)
	}
}

// TestTranscriptOfHeadings: notes that stand in a transcript, and an earlier request of
// either kind, do not decide the form of the new ones.
func TestTranscriptOfHeadings(t *testing.T) {
	earlier := "## 1. Primary Request and Intent\n## 2. Key Technical Concepts\n## 3. Files and Code Sections\n## 4. Errors and Fixes\n" +
		"## 5. Problem Solving\n## 7. Pending Tasks\n## 8. Current Work\n" + `<memory> {"operations":[]}`
	d := talked(t, earlier)
	plan, reason := d.planner.PlanManual(d.state, &d.sit)
	if plan == nil {
		t.Fatalf("no plan: %s", reason)
	}
	text := d.answer(t, d.planner.StartCall(plan, compaction.CallOptions{Instruction: "Only the ports."}).Request())
	if !strings.HasPrefix(text, "(demo notes, made by rule) They were to follow “Only the ports.”") {
		t.Errorf("got %s", text)
	}
}

// TestMemoryRequest: the request that the compaction core makes for a session's memory is
// known, and what comes back is taken.
func TestMemoryRequest(t *testing.T) {
	d := talked(t, "write 300 words")
	x := d.planner.StartExtraction(d.state, &d.sit, compaction.ExtractOptions{})
	if x == nil {
		t.Fatal("nothing to extract")
	}
	text := d.answer(t, x.Request)
	ops, err := x.Take(text)
	if err != nil || len(ops) != 2 || !strings.Contains(ops[0].Content, "The port must be 8001.") {
		t.Errorf("%d changes (%v): %s", len(ops), err, text)
	}
}
