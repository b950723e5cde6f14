package replay

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
)

var morning = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

func TestPausesAreTheRecordings(t *testing.T) {
	at := func(role message.Role, after time.Duration) Message {
		return Message{Role: role, Content: []message.Block{words("x")}, At: morning.Add(after)}
	}
	unknown := func(role message.Role) Message { return said(role, words("x")) }
	tests := []struct {
		name     string
		messages []Message
		want     []time.Duration
	}{
		{
			"as recorded",
			[]Message{at("user", 0), at("assistant", 4*time.Second), at("user", 2*time.Hour)},
			[]time.Duration{0, 4 * time.Second, 2*time.Hour - 4*time.Second},
		},
		{"never back", []Message{at("user", time.Minute), at("assistant", 0)}, []time.Duration{0, 0}},
		{
			"a round where nothing is known",
			[]Message{unknown("user"), unknown("assistant"), unknown("user"), unknown("assistant")},
			[]time.Duration{0, roundTime, 0, roundTime},
		},
		{"known on one side", []Message{at("user", 0), unknown("assistant"), at("user", time.Hour)}, []time.Duration{0, roundTime, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &Conversation{Messages: tt.messages}
			var got []time.Duration
			for i := range c.Messages {
				got = append(got, c.pause(i))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pauses differ (-want +got):\n%s", diff)
			}
		})
	}
	if got := (&Conversation{}).pause(3); got != 0 {
		t.Errorf("beyond the end: %s", got)
	}
}

// The ledger tells calls apart by what they ask, and lets the time of an answer go by once.
func TestLedgerNotesCalls(t *testing.T) {
	used := func(text string, in int64) llmtest.Step {
		return llmtest.Text(text).WithUsage(message.Usage{Input: in, CacheRead: 7, Output: 3})
	}
	summary := "Write at most 100 words. " + summaryTask + " Write at most 100 words."
	chat := func(more ...string) *llm.Request {
		req := &llm.Request{Model: "c", System: "Be brief."}
		for _, text := range append([]string{"hello"}, more...) {
			req.Messages = append(req.Messages, message.Message{Role: message.RoleUser, Content: []message.Block{words(text)}})
		}
		return req
	}
	memory := chat()
	memory.System = memoryKeeper + " between a user and an assistant."
	flat := chat()
	flat.Messages[0].Content = []message.Block{words(summary)}
	refused := &llm.Error{Class: llm.ClassOverflow, Message: "too large"}
	chats := llmtest.New(llmtest.Fail(refused), used("a", 10), used("b", 20), used("s", 30), used("f", 40))
	clock := NewClock(morning)
	l := NewLedger(chats, llmtest.New(used("m", 50)), clock, llm.Capabilities{TokenRatio: 1})
	l.cue("c", 4, time.Minute)
	for i, req := range []*llm.Request{chat(), chat(), chat("again"), chat(summary), flat, memory} {
		resp, err := l.Stream(t.Context(), req, func(llm.Delta) {})
		if (err != nil) != (i == 0) || (resp == nil) != (i == 0) {
			t.Fatalf("call %d: %v, %v", i, resp, err)
		}
		if i == 1 {
			l.cue("c", 6, 0)
		}
	}
	minute := morning.Add(time.Minute)
	want := []noted{
		{PurposeChat, false, 4, morning, 17},
		{PurposeChat, false, 6, minute, 27},
		{PurposeSummary, true, 6, minute, 37},
		{PurposeSummary, false, 6, minute, 47},
		{PurposeMemory, false, 6, minute, 57},
	}
	if diff := cmp.Diff(want, l.of("c"), cmp.AllowUnexported(noted{})); diff != "" {
		t.Errorf("calls differ (-want +got):\n%s", diff)
	}
	if got := l.of("another"); len(got) != 0 {
		t.Errorf("of another: %v", got)
	}
	if _, err := l.Capabilities(t.Context(), "c"); err == nil {
		t.Error("a model that can't be described is described")
	}
}
