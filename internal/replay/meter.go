package replay

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"sessiond/llm"
	"sessiond/message"
)

// Meter is a model that stands before another one and notes what each conversation asks
// of it, by the name of the conversation, which is that of its model.
type Meter struct {
	chat    llm.Model
	summary llm.Model // who writes summaries
	writer  string    // the name of its model; empty: the conversation's
	limit   int64

	mu       sync.Mutex
	calls    map[string]Calls
	expected map[string][]string // texts that the next chats have to hold
}

// Calls is what was asked of a model for one conversation.
type Calls struct {
	Chats     int // requests of the conversation itself
	Summaries int // requests for summaries, shorter ones and repeated ones included
	Largest   int64
	Over      int // chats over the limit, as the provider counted them
	// Missing are texts that a chat had to hold and did not.
	Missing []string
}

// NewMeter returns a meter for requests that ought to have at most limit tokens.
func NewMeter(chat llm.Model, limit int) *Meter {
	return &Meter{chat: chat, summary: chat, limit: int64(limit), calls: make(map[string]Calls), expected: make(map[string][]string)}
}

// SummariesBy has summaries written by another provider's model. It is not to be called
// once the meter is in use.
func (m *Meter) SummariesBy(by llm.Model, name string) { m.summary, m.writer = by, name }

// expect sets the texts that the next chats of a conversation have to hold.
func (m *Meter) expect(id string, texts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expected[id] = texts
}

// Of returns what a conversation asked so far.
func (m *Meter) Of(id string) Calls {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[id]
}

// Stream implements llm.Model.
func (m *Meter) Stream(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	id := req.Model
	if !isSummary(req) {
		resp, err := m.chat.Stream(ctx, req, emit)
		m.note(id, func(c *Calls) { c.chat(req, resp, m.limit, m.expected[id]) })
		return resp, err
	}
	m.note(id, func(c *Calls) { c.Summaries++ })
	if m.writer != "" {
		other := *req
		other.Model = m.writer
		req = &other
	}
	return m.summary.Stream(ctx, req, emit)
}

func (m *Meter) note(id string, change func(*Calls)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	change(&c)
	m.calls[id] = c
}

func (c *Calls) chat(req *llm.Request, resp *llm.Response, limit int64, expected []string) {
	c.Chats++
	for _, text := range expected {
		if !holds(req, text) {
			c.Missing = append(c.Missing, text)
		}
	}
	if resp == nil {
		return
	}
	in := resp.Usage.Tokens() - resp.Usage.Output
	c.Largest = max(c.Largest, in)
	if in > limit {
		c.Over++
	}
}

// holds reports whether a text of a request contains another.
func holds(req *llm.Request, text string) bool {
	for i := range req.Messages {
		for _, b := range req.Messages[i].Content {
			switch b := b.(type) {
			case message.Text:
				if strings.Contains(b.Text, text) {
					return true
				}
			case message.ToolResult:
				if strings.Contains(message.JoinText(b.Content), text) {
					return true
				}
			case message.Image, message.Thinking, message.ToolUse:
			}
		}
	}
	return false
}

func isSummary(req *llm.Request) bool {
	if len(req.Messages) == 0 {
		return false
	}
	content := req.Messages[len(req.Messages)-1].Content
	if len(content) == 0 {
		return false
	}
	t, ok := content[len(content)-1].(message.Text)
	return ok && summaryWords(t.Text) > 0
}

// Capabilities implements llm.Describer: the model that chats is asked.
func (m *Meter) Capabilities(ctx context.Context, model string) (llm.Capabilities, error) {
	d, ok := m.chat.(llm.Describer)
	if !ok {
		return llm.Capabilities{}, fmt.Errorf("model %s can't be described", model)
	}
	return d.Capabilities(ctx, model)
}
