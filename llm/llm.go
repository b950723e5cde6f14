// Package llm is the contract between sessions and language models.
//
// A [Model] streams one request: it reports pieces as they come and returns the
// whole answer at the end. It keeps no conversation, retries nothing and decides
// nothing: retries, limits and what is done with tool calls belong to the session.
// Implementations are safe for concurrent use and keep nothing of a conversation
// between calls.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sessiond/message"
)

// Model is one provider's service.
type Model interface {
	// Stream sends req and blocks until the answer is complete or failed. emit is
	// called from this goroutine only, in order, and must not block for long.
	//
	// It returns nil error only if the provider said that the answer is finished; an
	// answer that was cut off is an *Error of class network. When ctx ends it returns
	// promptly with an error that wraps ctx.Err(). Every other error is an *Error.
	// req is not changed and not kept. Usage.CostUSD is filled in where the price is
	// known.
	//
	// With an error the response is nil, or, if the provider had counted anything by
	// then, see [Spent], one with nothing but that usage: it is paid for all the same.
	Stream(ctx context.Context, req *Request, emit func(Delta)) (*Response, error)
}

// Request is everything a model is told.
type Request struct {
	Model           string
	System          string
	Tools           []Tool
	Messages        []message.Message // starts with a user message
	Resume          bool              // the last message is an answer that the provider paused: it goes on there
	MaxOutputTokens int
	MaxBodyBytes    int    // what the provider takes, encoded; pictures are left out for it. 0: not known
	CacheKey        string // stable per session; for providers that route by it

	Thinking   ThinkingLevel
	ToolChoice ToolChoice
	CacheMarks []CacheMark // in order of place; for providers whose cache is told where to keep
}

// Tool is a tool the model may call.
type Tool struct {
	Name        string
	Description string
	InputSchema json.RawMessage // JSON Schema of type object, bytes as the client gave them
}

// DeltaKind says what a piece belongs to.
type DeltaKind string

// The kinds of pieces.
const (
	DeltaText      DeltaKind = "text"
	DeltaThinking  DeltaKind = "thinking"
	DeltaToolInput DeltaKind = "tool_input"
)

// Delta is a piece of the block with the given index of the coming answer.
type Delta struct {
	Block int
	Kind  DeltaKind
	Text  string
}

// StopReason says why a model stopped. Whether tools are to be run is decided by
// the presence of tool calls, never by this.
type StopReason string

// The stop reasons, normalised over providers.
const (
	StopEnd           StopReason = "end"
	StopToolUse       StopReason = "tool_use"
	StopMaxTokens     StopReason = "max_tokens" // the output limit cut the answer
	StopContextWindow StopReason = "context_window"
	StopRefusal       StopReason = "refusal"
	StopPause         StopReason = "pause"
)

// Response is a finished answer. A tool call that was cut off is not in it; each
// ToolUse.Input is a JSON object, or, if the model wrote something else, that text
// as it came, which the caller must not send back.
type Response struct {
	Content []message.Block // Text, Thinking and ToolUse only
	Usage   message.Usage
	Stop    StopReason
}

// Spent is the response that stands next to an error: what was counted of a call until
// it failed, nil if that is nothing.
func Spent(u message.Usage) *Response {
	if u == (message.Usage{}) {
		return nil
	}
	return &Response{Usage: u}
}

// Class says what kind of failure an [Error] is, and with it what can be done.
type Class string

// The classes. Only those for which [Class.Retryable] holds may go away by waiting.
const (
	ClassOverflow Class = "overflow" // the request has more tokens than the model takes
	ClassSize     Class = "size"     // its body has more bytes than the service takes; says nothing of tokens
	ClassRate     Class = "rate"
	ClassOverload Class = "overload"
	ClassAuth     Class = "auth"
	ClassBilling  Class = "billing"
	ClassMedia    Class = "media" // an image or document was refused
	ClassInvalid  Class = "invalid"
	ClassNetwork  Class = "network" // no or half an answer
	ClassRefused  Class = "refused" // by the provider's policy
)

// Retryable reports whether the same request may succeed later.
func (c Class) Retryable() bool {
	return c == ClassRate || c == ClassOverload || c == ClassNetwork
}

// Error is a failed model call.
type Error struct {
	Class       Class
	Status      int    // HTTP status, 0 if there was none
	Message     string // the provider's words; may be shown to the session's owner
	LimitTokens int64  // the model's real input limit, when an overflow names it
	RetryAfter  time.Duration
	Err         error // what lies under it, or nil
}

func (e *Error) Error() string {
	s := fmt.Sprintf("model call failed (%s)", e.Class)
	if e.Status != 0 {
		s = fmt.Sprintf("model call failed (%s, status %d)", e.Class, e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	} else if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns what lies under the error.
func (e *Error) Unwrap() error { return e.Err }

// AsError finds the *Error in err's chain.
func AsError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}
