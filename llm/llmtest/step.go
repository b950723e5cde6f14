package llmtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sessiond/llm"
	"sessiond/message"
)

// Step answers one call. It has the contract of [llm.Model]'s Stream.
type Step func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error)

// Call is a tool call that a step makes.
type Call struct {
	ID    message.ToolUseID // a fresh one if empty
	Name  string
	Input string // JSON, kept byte for byte; {} if empty
}

// Text answers with one text block, streamed word by word.
func Text(text string) Step {
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		if err := stream(ctx, emit, 0, llm.DeltaText, text); err != nil {
			return nil, err
		}
		return answer(req, llm.StopEnd, message.Text{Text: text}), nil
	}
}

// Thinking answers with one thinking block that carries a provider's opaque value.
// It is meant to stand before another step: Thinking("hm").Then(Text("yes")).
func Thinking(text string) Step {
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		if err := stream(ctx, emit, 0, llm.DeltaThinking, text); err != nil {
			return nil, err
		}
		raw := message.AppendString([]byte(`{"type":"thinking","thinking":`), text)
		raw = append(raw, `,"signature":"scripted"}`...)
		return answer(req, llm.StopEnd, message.Thinking{Provider: "scripted", Text: text, Raw: raw}), nil
	}
}

// Calls answers with tool calls, after a text unless that is empty.
func Calls(text string, calls ...Call) Step {
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		var content []message.Block
		if text != "" {
			if err := stream(ctx, emit, 0, llm.DeltaText, text); err != nil {
				return nil, err
			}
			content = append(content, message.Text{Text: text})
		}
		for _, c := range calls {
			if c.ID == "" {
				c.ID = message.NewToolUseID()
			}
			if c.Input == "" {
				c.Input = "{}"
			}
			if err := stream(ctx, emit, len(content), llm.DeltaToolInput, c.Input); err != nil {
				return nil, err
			}
			content = append(content, message.ToolUse{ID: c.ID, Name: c.Name, Input: []byte(c.Input)})
		}
		return answer(req, llm.StopToolUse, content...), nil
	}
}

// Fail ends the call with err, at once. After another step it is a stream that broke
// once something was shown: Text("half").Then(Fail(err)).
func Fail(err error) Step {
	return func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		return nil, err
	}
}

// Wait blocks until ch is closed or has a value, then answers with nothing, so that
// it can stand before another step. If the context ends first the call fails.
func Wait(ch <-chan struct{}) Step {
	return func(ctx context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		select {
		case <-ch:
			return answer(req, llm.StopEnd), nil
		case <-ctx.Done():
			return nil, ended(ctx)
		}
	}
}

// Hang never answers; the call fails when the context ends.
func Hang() Step { return Wait(nil) }

// Do runs f when the call is made and answers with nothing.
func Do(f func(req *llm.Request)) Step {
	return func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		f(cloneRequest(req))
		return answer(req, llm.StopEnd), nil
	}
}

// Then plays next after s in the same call: the answer is the content of both, in
// order, with the stop reason and usage of next. An error of either ends the call, with
// the usage that it came with.
func (s Step) Then(next Step) Step {
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		first, err := s(ctx, req, emit)
		if err != nil {
			return first, err
		}
		shift := len(first.Content)
		second, err := next(ctx, req, func(d llm.Delta) {
			d.Block += shift
			emit(d)
		})
		if err != nil {
			return second, err
		}
		out := *second
		out.Content = slices.Concat(first.Content, second.Content)
		out.Usage.Output = first.Usage.Output + second.Usage.Output
		return &out, nil
	}
}

// WithUsage replaces the usage that the step reports, if it fails too.
func (s Step) WithUsage(usage message.Usage) Step {
	report := s.edit(func(r *llm.Response) { r.Usage = usage })
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		resp, err := report(ctx, req, emit)
		if err != nil {
			return llm.Spent(usage), err
		}
		return resp, nil
	}
}

// WithStop replaces the stop reason that the step reports.
func (s Step) WithStop(stop llm.StopReason) Step {
	return s.edit(func(r *llm.Response) { r.Stop = stop })
}

func (s Step) edit(change func(*llm.Response)) Step {
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		resp, err := s(ctx, req, emit)
		if err != nil {
			return resp, err
		}
		out := *resp
		change(&out)
		return &out, nil
	}
}

// stream emits text in pieces that end after a space, so that joined they are text.
func stream(ctx context.Context, emit func(llm.Delta), block int, kind llm.DeltaKind, text string) error {
	for piece := range strings.SplitAfterSeq(text, " ") {
		if err := ended(ctx); err != nil {
			return err
		}
		if piece != "" {
			emit(llm.Delta{Block: block, Kind: kind, Text: piece})
		}
	}
	return nil
}

// answer is a response whose usage is four bytes a token.
func answer(req *llm.Request, stop llm.StopReason, content ...message.Block) *llm.Response {
	return &llm.Response{
		Content: content,
		Stop:    stop,
		Usage:   message.Usage{Input: RequestTokens(req), Output: tokens(contentBytes(content))},
	}
}

const bytesPerToken = 4

func tokens(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }

// RequestTokens is the input that a step reports for req: a token for every four
// bytes of system prompt, tools and messages.
func RequestTokens(req *llm.Request) int64 { return tokens(requestBytes(req)) }

// requestBytes is the size of a request without what a provider's form adds.
func requestBytes(req *llm.Request) int {
	n := len(req.System)
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	for i := range req.Messages {
		n += contentBytes(req.Messages[i].Content)
	}
	return n
}

func contentBytes(content []message.Block) int {
	n := 0
	for _, b := range content {
		switch b := b.(type) {
		case message.Text:
			n += len(b.Text)
		case message.Image:
			n += len(b.Data)
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

// Overflow is the error of a provider that names its real input limit.
func Overflow(limitTokens int64) error {
	return &llm.Error{
		Class: llm.ClassOverflow, Status: 400, LimitTokens: limitTokens,
		Message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", limitTokens+1, limitTokens),
	}
}

// Oversize is the error of a proxy that takes no body of so many bytes.
func Oversize() error {
	return &llm.Error{Class: llm.ClassSize, Status: 413, Message: "Request exceeds the maximum size"}
}
