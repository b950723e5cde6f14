// Package llmtest has a scripted [llm.Model] for tests of what stands on models.
//
// A [Model] takes one [Step] for every call, in the order of the calls, and records
// what it was asked. A test writes the conversation down as steps and judges the
// recorded requests:
//
//	m := llmtest.New(
//		llmtest.Calls("Looking.", llmtest.Call{Name: "read", Input: `{"path":"a.txt"}`}),
//		llmtest.Text("It says hello."),
//	)
//
// A model that has run out of steps fails the call and says so, rather than invent
// an answer. A request of more than 32 MB is refused whatever the script says, as it is by
// the providers; its step is used up. Nothing here starts goroutines, reads a clock or sleeps: steps that
// wait do it on channels and the context, so models work inside testing/synctest
// bubbles and outside of them. All methods are safe for concurrent use.
//
// The fakes of the providers' HTTP interfaces are packages of their own below this
// one.
package llmtest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"sessiond/llm"
	"sessiond/message"
)

// Model is a scripted model. Make it with [New].
type Model struct {
	mu       sync.Mutex
	steps    []Step // not yet taken
	loop     Step   // for every call after the last step, or nil
	requests []*llm.Request
}

// New returns a model that plays the steps, one a call.
func New(steps ...Step) *Model {
	return &Model{steps: slices.Clone(steps)}
}

// Loop makes step answer every call after the last scripted one, and returns m.
func (m *Model) Loop(step Step) *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loop = step
	return m
}

// Add appends steps to the script.
func (m *Model) Add(steps ...Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = append(m.steps, steps...)
}

// Left returns how many scripted steps no call has taken yet.
func (m *Model) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.steps)
}

// Requests returns deep copies of everything asked so far, in order, calls that
// failed or still run included.
func (m *Model) Requests() []*llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*llm.Request, len(m.requests))
	for i, r := range m.requests {
		out[i] = cloneRequest(r)
	}
	return out
}

// Stream plays the next step. See [llm.Model].
func (m *Model) Stream(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	step, err := m.take(req)
	if err != nil {
		return nil, err
	}
	if err := ended(ctx); err != nil {
		return nil, err
	}
	if requestBytes(req) > MaxBodyBytes {
		return nil, Oversize()
	}
	resp, err := step(ctx, req, emit)
	if err != nil {
		return resp, err
	}
	if resp == nil {
		return nil, scriptError("the step returned neither an answer nor an error")
	}
	return resp, nil
}

func (m *Model) take(req *llm.Request) (Step, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, cloneRequest(req))
	switch {
	case len(m.steps) > 0:
		step := m.steps[0]
		m.steps = m.steps[1:]
		return step, nil
	case m.loop != nil:
		return m.loop, nil
	}
	return nil, scriptError(fmt.Sprintf("no step is left for call %d; its last message is %s",
		len(m.requests), lastText(req)))
}

// MaxBodyBytes is the most that a [Model] takes of a request, as providers do.
const MaxBodyBytes = 32 << 20

// scriptError is of a class that nobody retries.
func scriptError(text string) error {
	return &llm.Error{Class: llm.ClassInvalid, Message: "scripted model: " + text}
}

func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("scripted model: %w", err)
	}
	return nil
}

func lastText(req *llm.Request) string {
	const most = 200
	if len(req.Messages) == 0 {
		return "missing"
	}
	text := string(message.AppendBlocks(nil, req.Messages[len(req.Messages)-1].Content, message.Form{}))
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

func cloneRequest(req *llm.Request) *llm.Request {
	out := *req
	out.Tools = slices.Clone(req.Tools)
	for i := range out.Tools {
		out.Tools[i].InputSchema = slices.Clone(out.Tools[i].InputSchema)
	}
	out.Messages = slices.Clone(req.Messages)
	for i := range out.Messages {
		m := &out.Messages[i]
		m.Content = cloneBlocks(m.Content)
		if m.Usage != nil {
			u := *m.Usage
			m.Usage = &u
		}
	}
	out.CacheMarks = slices.Clone(req.CacheMarks)
	return &out
}

func cloneBlocks(content []message.Block) []message.Block {
	out := slices.Clone(content)
	for i, b := range out {
		switch b := b.(type) {
		case message.Text, message.Image: // strings only
		case message.Thinking:
			b.Raw = slices.Clone(b.Raw)
			out[i] = b
		case message.ToolUse:
			b.Input = slices.Clone(b.Input)
			out[i] = b
		case message.ToolResult:
			b.Content = cloneBlocks(b.Content)
			out[i] = b
		}
	}
	return out
}
