// Package demo is an [llm.Model] that needs no key, no network and no money. It
// answers by rule so that every part of the product can be seen at work offline, and
// it says in every answer that it is a demo.
//
// What it does is decided by the user's words alone: it streams text, calls the
// tools it was given, one after another or several at once, keeps a todo list, thinks
// aloud, writes long answers, waits, and fails on purpose. "help" lists it. English
// and Chinese are understood and answered.
//
// A call is a pure function of the request, but for two things: the ids of tool
// calls are fresh, and "fail twice" needs to know how often it was tried, for which
// the model keeps a bounded count of recent requests. Where a script of several
// tool rounds stands is read from its last message in the conversation, so scripts
// survive restarts and compactions. Safe for concurrent use; starts no goroutines.
package demo

import (
	"context"
	"fmt"
	"time"

	"sessiond/llm"
	"sessiond/message"
)

// Name is the model name that configurations use for the demo.
const Name = "demo"

// DefaultPause is a comfortable reading speed.
const DefaultPause = 25 * time.Millisecond

const (
	defaultWindowTokens = 200_000
	maxOutputTokens     = 32_000
	bytesPerToken       = 4        // what usage is estimated with
	maxBodyBytes        = 32 << 20 // as with the large providers
)

// Options changes how the demo behaves. The zero value streams without pauses.
type Options struct {
	Pause        time.Duration // between pieces of an answer
	WindowTokens int64         // requests over it are refused; 0 means 200,000
}

// Model is the demo model. Make it with [New].
type Model struct {
	pause  time.Duration
	window int64
	tries  tries
}

// New returns a demo model.
func New(opts Options) *Model {
	if opts.WindowTokens <= 0 {
		opts.WindowTokens = defaultWindowTokens
	}
	return &Model{pause: opts.Pause, window: opts.WindowTokens}
}

// Capabilities reports what the demo can do; see [llm.Describer]. It never fails.
func (m *Model) Capabilities(context.Context, string) (llm.Capabilities, error) {
	return llm.Capabilities{
		WindowTokens: m.window, MaxOutputTokens: maxOutputTokens, Images: true, TokenRatio: 1,
	}, nil
}

// Stream answers by rule; see [llm.Model].
func (m *Model) Stream(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if len(req.Messages) == 0 {
		return nil, &llm.Error{Class: llm.ClassInvalid, Status: 400, Message: "messages: at least one message is required"}
	}
	if sent := requestTokens(req); sent > m.window {
		return nil, overflow(sent, m.window)
	}
	if n := requestBytes(req); n > maxBodyBytes {
		return nil, &llm.Error{Class: llm.ClassSize, Status: 413, Message: fmt.Sprintf("demo: the request has %d bytes; %d are taken", n, maxBodyBytes)}
	}
	r := decide(read(req), req)
	if r.fault != nil && !m.due(r.fault, req) {
		r.fault = nil
	}
	r.limit(req.MaxOutputTokens)
	s := streamer{emit: emit, pause: m.pause}
	resp, err := s.play(ctx, &r, m.window)
	if err != nil {
		if _, failed := llm.AsError(err); failed {
			return nil, err
		}
		return nil, fmt.Errorf("demo model: %w", err)
	}
	resp.Usage = message.Usage{Input: requestTokens(req), Output: contentTokens(resp.Content)}
	return resp, nil
}

// requestBytes is the size of a request without its form.
func requestBytes(req *llm.Request) int {
	n := len(req.System)
	for i := range req.Messages {
		n += contentBytes(req.Messages[i].Content) + pictureBytes(req.Messages[i].Content)
	}
	return n
}

// pictureBytes is what pictures have beyond what they count as text.
func pictureBytes(content []message.Block) int {
	n := 0
	for _, b := range content {
		switch b := b.(type) {
		case message.Image:
			n += len(b.Data) - imageBytes
		case message.ToolResult:
			n += pictureBytes(b.Content)
		case message.Text, message.Thinking, message.ToolUse:
		}
	}
	return n
}

// requestTokens estimates what a request costs, never less than one token.
func requestTokens(req *llm.Request) int64 {
	n := len(req.System)
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	for i := range req.Messages {
		n += contentBytes(req.Messages[i].Content)
	}
	return int64(n)/bytesPerToken + 1
}

func contentTokens(content []message.Block) int64 {
	return int64(contentBytes(content)+bytesPerToken-1) / bytesPerToken
}

// imageBytes stands for a picture, whose cost does not follow from its size in base64.
const imageBytes = 1500 * bytesPerToken

func contentBytes(content []message.Block) int {
	n := 0
	for _, b := range content {
		switch b := b.(type) {
		case message.Text:
			n += len(b.Text)
		case message.Image:
			n += imageBytes
		case message.Thinking:
			n += len(b.Text)
		case message.ToolUse:
			n += len(b.Name) + len(b.Input)
		case message.ToolResult:
			n += contentBytes(b.Content)
		}
	}
	return n
}
