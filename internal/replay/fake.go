package replay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"sessiond/llm/llmtest/anthropicfake"
	"sessiond/llm/llmtest/openaifake"
	"sessiond/message"
)

// Fake is a strict fake of a provider's API whose models are recordings. Requests that
// the real API would reject are rejected.
type Fake interface {
	http.Handler
	// Seen returns what came so far.
	Seen() Seen
}

// Seen is what a fake was sent.
type Seen struct {
	Requests int
	TooLarge int      // refused because they were larger than the window
	Rejected []string // why others were
}

// unlimitedWindow is more than any recording has.
const unlimitedWindow = 50_000_000

// FakeOptions say how a fake answers.
type FakeOptions struct {
	Conversations []*Conversation // whose names are those of the models
	// Thinking: every answer that calls a tool begins with a thinking block signed over
	// the exact prefix. Only the Messages API has that.
	Thinking bool
	// Script: what is answered when the recordings can't tell; nil: they can.
	Script *Script
	// WindowTokens is that of every model; 0: more than any recording has. Chat
	// Completions tell of it only when they refuse a request.
	WindowTokens int
	// Count returns the tokens of a text; nil: one for every four bytes.
	Count func(text string) int
}

// source is where the answers of a fake come from, given a request in its API's form.
type source interface {
	answer(model string, body []byte) []message.Block
}

// counter returns what the fakes count by: the text as a model reads it, without the
// escapes that encoding/json puts into the inputs of tools, and the same in every run.
func (o *FakeOptions) counter() func(text string) int {
	if o.Count == nil {
		return nil
	}
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
	ids := newMemoryIDs()
	return func(text string) int { return o.Count(ids.alike(plain.Replace(text))) }
}

func (o *FakeOptions) window() int {
	if o.WindowTokens > 0 {
		return o.WindowTokens
	}
	return unlimitedWindow
}

func (o *FakeOptions) source() source {
	if o.Script != nil {
		return o.Script
	}
	return NewModel(o.Conversations)
}

// NewAnthropicFake returns a fake of the Messages API.
func NewAnthropicFake(o FakeOptions) Fake {
	answers := o.source()
	var models []anthropicfake.Model
	for _, m := range anthropicfake.Models() {
		if m.ID != "claude-haiku-5-5" { // binds thinking to the prefix, and can be kept from it
			continue
		}
		for _, c := range o.Conversations {
			m.ID, m.WindowTokens = c.ID, o.window()
			models = append(models, m)
		}
	}
	return anthropicFake{anthropicfake.New(anthropicfake.Options{
		Models: models, ThinkBeforeTools: o.Thinking, CountText: o.counter(), Answer: saying(answers),
	})}
}

// saying has a fake of the Messages API say what a source answers.
func saying(answers source) func(*anthropicfake.Request) anthropicfake.Step {
	return func(req *anthropicfake.Request) anthropicfake.Step {
		var blocks []anthropicfake.Block
		for _, b := range answers.answer(req.Model, req.Body) {
			switch b := b.(type) {
			case message.Text:
				blocks = append(blocks, anthropicfake.Text(b.Text))
			case message.ToolUse:
				blocks = append(blocks, anthropicfake.ToolUse(string(b.ID), b.Name, string(b.Input)))
			case message.Image, message.Thinking, message.ToolResult:
			}
		}
		return anthropicfake.Say(blocks...)
	}
}

type anthropicFake struct{ *anthropicfake.Server }

func (f anthropicFake) Seen() Seen {
	s := Seen{Requests: len(f.Requests())}
	for _, r := range f.Rejected() {
		if strings.HasPrefix(r.Reason, "prompt is too long") {
			s.TooLarge++
			continue
		}
		s.Rejected = append(s.Rejected, fmt.Sprintf("%s: status %d: %s", r.Model, r.Status, r.Reason))
	}
	return s
}

// NewOpenAIFake returns a fake of Chat Completions.
func NewOpenAIFake(o FakeOptions) Fake {
	answers := o.source()
	return openAIFake{openaifake.New(openaifake.Options{
		NoAuth: true, Models: []openaifake.Model{{ID: "*"}}, WindowTokens: int64(o.window()), CountText: o.counter(),
		Answer: func(req *openaifake.Request) openaifake.Step {
			var step openaifake.Step
			for _, b := range answers.answer(req.Model, req.Body) {
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

func (f openAIFake) Seen() Seen {
	s := Seen{Requests: len(f.Requests())}
	for _, r := range f.Rejected() {
		if strings.HasPrefix(r.Reason, "This model's maximum context length is") {
			s.TooLarge++
			continue
		}
		s.Rejected = append(s.Rejected, fmt.Sprintf("%s: rule %s: %s", r.Model, r.Rule, r.Reason))
	}
	return s
}

// answer returns the recorded answer to a request in either API's form: the one after as
// many answers as the request holds, if the request holds all that the user says before
// it. What is left of a split message, the text after results, is still to come if the
// request ends in results. It implements source.
func (m *Model) answer(id string, body []byte) []message.Block {
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
