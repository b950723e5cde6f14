package cost_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sessiond/cost"
	"sessiond/llm"
	"sessiond/message"
)

func say(text string) message.Block { return message.Text{Text: text} }

func user(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleUser, Content: blocks}
}

func assistant(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: blocks}
}

func conversation() *llm.Request {
	return &llm.Request{
		Model: "m", System: "be kind", CacheKey: "s",
		Tools: []llm.Tool{{Name: "read", Description: "reads", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []message.Message{
			user(say("why?"), message.Image{MimeType: "image/png", Data: "AAAA"}),
			assistant(message.Thinking{Provider: "p", Text: "hm", Raw: []byte(`{}`)}, message.ToolUse{ID: "a", Name: "read", Input: []byte(`{"n":1}`)}),
			user(message.ToolResult{ToolUseID: "a", Content: []message.Block{say("found")}}, say("and?")),
		},
	}
}

func TestFirstDifference(t *testing.T) {
	tests := []struct {
		name   string
		change func(*llm.Request)
		want   string // "" for none
	}{
		{"none", func(*llm.Request) {}, ""},
		{"more", func(r *llm.Request) { r.Messages = append(r.Messages, assistant(say("because")), user(say("ah"))) }, ""},
		{"more in the last message", func(r *llm.Request) { r.Messages[2].Content = append(r.Messages[2].Content, say("todo")) }, ""},
		{"what is not sent", func(r *llm.Request) { r.Messages[0].ID, r.Messages[0].Seq = "id", 7 }, ""},
		{"marks", func(r *llm.Request) { r.CacheMarks = []llm.CacheMark{{Message: 0, TTL: llm.CacheShort}} }, ""},
		{"the size of the answer", func(r *llm.Request) { r.MaxOutputTokens = 7 }, ""},
		{"neighbours joined", func(r *llm.Request) {
			r.Messages = slices.Insert(r.Messages, 1, user(r.Messages[0].Content[1]))
			r.Messages[0].Content = r.Messages[0].Content[:1]
		}, ""},
		{"an empty message", func(r *llm.Request) { r.Messages = slices.Insert(r.Messages, 1, user()) }, ""},
		{"model", func(r *llm.Request) { r.Model = "n" }, "model"},
		{"key", func(r *llm.Request) { r.CacheKey = "t" }, "cache key"},
		{"tool added", func(r *llm.Request) { r.Tools = append(r.Tools, llm.Tool{Name: "write"}) }, "tools"},
		{"tool described otherwise", func(r *llm.Request) { r.Tools[0].Description = "" }, "tools"},
		{"schema spelled otherwise", func(r *llm.Request) { r.Tools[0].InputSchema = []byte(`{ "type":"object"}`) }, "tools"},
		{"system", func(r *llm.Request) { r.System = "be brief"; r.Thinking = llm.ThinkingHigh }, "system"},
		{"thinking", func(r *llm.Request) { r.Thinking = llm.ThinkingHigh; r.Messages = nil }, "settings"},
		{"choice of tools", func(r *llm.Request) { r.ToolChoice = llm.ToolChoiceNone }, "settings"},
		{"words", func(r *llm.Request) { r.Messages[0].Content[0] = say("why") }, "message 0"},
		{"image", func(r *llm.Request) { r.Messages[0].Content[1] = message.Image{MimeType: "image/png", Data: "AAAB"} }, "message 0"},
		{"thinking gone", func(r *llm.Request) { r.Messages[1].Content = r.Messages[1].Content[1:] }, "message 1"},
		{"thinking changed", func(r *llm.Request) {
			r.Messages[1].Content[0] = message.Thinking{Provider: "p", Text: "hm", Raw: []byte(`[]`)}
		}, "message 1"},
		{"input", func(r *llm.Request) {
			r.Messages[1].Content[1] = message.ToolUse{ID: "a", Name: "read", Input: []byte(`{"n":1.0}`)}
		}, "message 1"},
		{"result cleared", func(r *llm.Request) {
			r.Messages[2].Content[0] = message.ToolResult{ToolUseID: "a", Content: []message.Block{say("[cleared]")}}
		}, "message 2"},
		{"result failed", func(r *llm.Request) {
			r.Messages[2].Content[0] = message.ToolResult{ToolUseID: "a", IsError: true, Content: []message.Block{say("found")}}
		}, "message 2"},
		{"another speaker", func(r *llm.Request) { r.Messages[0].Role = message.RoleAssistant }, "message 0"},
		{"one more image", func(r *llm.Request) {
			picture := message.Image{MimeType: "image/png", Data: "AAAA"}
			r.Messages[2].Content = append(r.Messages[2].Content, picture)
		}, "images"},
		{"one more image in a result", func(r *llm.Request) {
			picture := message.Image{MimeType: "image/png", Data: "AAAA"}
			r.Messages = append(r.Messages, assistant(say("look")), user(message.ToolResult{ToolUseID: "b", Content: []message.Block{picture}}))
		}, "images"},
		{"undone", func(r *llm.Request) { r.Messages = r.Messages[:1] }, "message 1"},
		{"undone within a message", func(r *llm.Request) { r.Messages[2].Content = r.Messages[2].Content[:1] }, "message 3"},
		{"compacted", func(r *llm.Request) { r.Messages = []message.Message{user(say("summary")), r.Messages[2]} }, "message 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			next := conversation()
			tt.change(next)
			part, differs := cost.FirstDifference(conversation(), next)
			got := ""
			if differs {
				got = part.String()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Whatever block is changed, its message is named; whatever is appended is no difference.
func TestFirstDifferenceIsTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		build := func() *llm.Request { return &llm.Request{} }
		prev, next := build(), build()
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 8).Draw(t, "blocks of messages")
		for i, n := range sizes {
			m := message.Message{Role: []message.Role{message.RoleUser, message.RoleAssistant}[i%2]}
			for k := range n {
				m.Content = append(m.Content, say(fmt.Sprintf("%d.%d", i, k)))
			}
			prev.Messages = append(prev.Messages, m)
			m.Content = slices.Clone(m.Content)
			next.Messages = append(next.Messages, m)
		}
		next.Messages = append(next.Messages, user(say("more")))
		if part, differs := cost.FirstDifference(prev, next); differs {
			t.Fatalf("appended: %v", part)
		}
		first := len(sizes)
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			i := rapid.IntRange(0, len(sizes)-1).Draw(t, "message")
			next.Messages[i].Content[rapid.IntRange(0, sizes[i]-1).Draw(t, "block")] = say("changed")
			first = min(first, i)
		}
		if part, differs := cost.FirstDifference(prev, next); !differs || part.Kind != cost.PartMessage || part.Message != first {
			t.Fatalf("got %v, want message %d", part, first)
		}
	})
}
