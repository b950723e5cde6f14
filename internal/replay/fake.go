package replay

import (
	"encoding/json"
	"fmt"
	"net/http"

	"sessiond/llm/llmtest/anthropicfake"
	"sessiond/llm/llmtest/openaifake"
	"sessiond/message"
)

// Fake is a strict fake of a provider's API whose models are recordings. Requests that
// the real API would reject are rejected.
type Fake interface {
	http.Handler
	// Seen returns how many requests came, and why those were refused that were.
	Seen() (requests int, rejected []string)
}

// windowTokens is more than any recording has.
const windowTokens = 50_000_000

// NewAnthropicFake returns a fake of the Messages API. With thinking, every answer that
// calls a tool begins with a thinking block signed over the exact prefix.
func NewAnthropicFake(all []*Conversation, thinking bool) Fake {
	recordings := NewModel(all)
	var models []anthropicfake.Model
	for _, m := range anthropicfake.Models() {
		if m.ID != "claude-haiku-5-5" { // binds thinking to the prefix, and can be kept from it
			continue
		}
		for _, c := range all {
			m.ID, m.WindowTokens = c.ID, windowTokens
			models = append(models, m)
		}
	}
	return anthropicFake{anthropicfake.New(anthropicfake.Options{
		Models: models, ThinkBeforeTools: thinking,
		Answer: func(req *anthropicfake.Request) anthropicfake.Step {
			var blocks []anthropicfake.Block
			for _, b := range recordings.next(req.Model, req.Body) {
				switch b := b.(type) {
				case message.Text:
					blocks = append(blocks, anthropicfake.Text(b.Text))
				case message.ToolUse:
					blocks = append(blocks, anthropicfake.ToolUse(string(b.ID), b.Name, string(b.Input)))
				case message.Image, message.Thinking, message.ToolResult:
				}
			}
			return anthropicfake.Say(blocks...)
		},
	})}
}

type anthropicFake struct{ *anthropicfake.Server }

func (f anthropicFake) Seen() (requests int, rejected []string) {
	for _, r := range f.Rejected() {
		rejected = append(rejected, fmt.Sprintf("%s: status %d: %s", r.Model, r.Status, r.Reason))
	}
	return len(f.Requests()), rejected
}

// NewOpenAIFake returns a fake of Chat Completions.
func NewOpenAIFake(all []*Conversation) Fake {
	recordings := NewModel(all)
	return openAIFake{openaifake.New(openaifake.Options{
		NoAuth: true, Models: []openaifake.Model{{ID: "*"}}, WindowTokens: windowTokens,
		Answer: func(req *openaifake.Request) openaifake.Step {
			var step openaifake.Step
			for _, b := range recordings.next(req.Model, req.Body) {
				switch b := b.(type) {
				case message.Text:
					step.Text += b.Text
				case message.ToolUse:
					step.Calls = append(step.Calls, openaifake.Call{ID: string(b.ID), Name: b.Name, Arguments: string(b.Input)})
				case message.Image, message.Thinking, message.ToolResult:
				}
			}
			return step
		},
	})}
}

type openAIFake struct{ *openaifake.Server }

func (f openAIFake) Seen() (requests int, rejected []string) {
	for _, r := range f.Rejected() {
		rejected = append(rejected, fmt.Sprintf("%s: rule %s: %s", r.Model, r.Rule, r.Reason))
	}
	return len(f.Requests()), rejected
}

// next returns the recorded answer to a request in either API's form: the one after as
// many answers as the request holds, if the request holds all that the user says before
// it. What is left of a split message, the text after results, is still to come if the
// request ends in results.
func (m *Model) next(id string, body []byte) []message.Block {
	var req struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	c, ok := m.conversations[id]
	if !ok || json.Unmarshal(body, &req) != nil || len(req.Messages) == 0 {
		return nil
	}
	answers := 0
	for _, msg := range req.Messages {
		if msg.Role == string(message.RoleAssistant) {
			answers++
		}
	}
	last := req.Messages[len(req.Messages)-1]
	endsInResults := last.Role == "tool" || endsInResult(last.Content)
	for i := range c.Messages {
		if c.Messages[i].Role != message.RoleAssistant {
			continue
		}
		if answers > 0 {
			answers--
			continue
		}
		if c.Messages[i-1].Results() != endsInResults {
			return nil
		}
		return c.Messages[i].Content
	}
	return nil
}

func endsInResult(content json.RawMessage) bool {
	var blocks []struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(content, &blocks) == nil && len(blocks) > 0 && blocks[len(blocks)-1].Type == "tool_result"
}
