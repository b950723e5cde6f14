package anthropicfake

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Step is how one request is answered. Steps are values: the methods return changed
// copies.
type Step struct {
	blocks  []Block
	stop    string
	details map[string]string // stop_details

	refusal *apiError
	header  map[string]string

	after    int // events that are sent before the fault
	midError *apiError
	fault    fault
	pings    int
	pause    time.Duration
	piece    int // bytes that are written at once when pause is set
	cutInput int // bytes of the last tool input that are sent; -1 sends all
}

// fault is how a stream ends that does not end well.
type fault int

const (
	faultNone fault = iota
	faultError
	faultEOF
	faultAbort
	faultSilence
)

// Block is one content block of an answer. Make it with the functions below.
type Block struct {
	kind  string
	text  string
	id    string
	name  string
	input string
}

// Text is a text block.
func Text(text string) Block { return Block{kind: "text", text: text} }

// Thinking is a thinking block; it is signed when it is sent, and left out where the
// request does not let the model think.
func Thinking(text string) Block { return Block{kind: "thinking", text: text} }

// Redacted is a thinking block whose text is hidden.
func Redacted() Block { return Block{kind: "redacted_thinking"} }

// ToolUse is a tool call. input is JSON and sent byte for byte.
func ToolUse(id, name, input string) Block {
	return Block{kind: "tool_use", id: id, name: name, input: input}
}

// Say answers with the blocks. It stops with tool_use if one of them is a call, else
// with end_turn. Without blocks it is the empty answer that the API gives at times.
func Say(blocks ...Block) Step {
	stop := "end_turn"
	if slices.ContainsFunc(blocks, func(b Block) bool { return b.kind == "tool_use" }) {
		stop = "tool_use"
	}
	return Step{blocks: blocks, stop: stop, cutInput: -1}
}

// Stop replaces the stop reason: max_tokens, pause_turn, model_context_window_exceeded
// or any other.
func (s Step) Stop(reason string) Step {
	s.stop = reason
	return s
}

// Refusal stops with a refusal of the category.
func (s Step) Refusal(category string) Step {
	s.stop = "refusal"
	s.details = map[string]string{"type": "refusal", "category": category}
	return s
}

// CutInput ends the answer with max_tokens after that many bytes of the last tool
// call's input.
func (s Step) CutInput(bytes int) Step {
	s.cutInput, s.stop = bytes, "max_tokens"
	return s
}

// ThenError sends an error event in place of the rest after so many events.
func (s Step) ThenError(kind, message string, events int) Step {
	s.fault, s.after, s.midError = faultError, events, &apiError{kind: kind, message: message}
	return s
}

// ThenEOF ends the stream in good order after so many events, without message_stop.
func (s Step) ThenEOF(events int) Step {
	s.fault, s.after = faultEOF, events
	return s
}

// ThenAbort breaks the connection after so many events.
func (s Step) ThenAbort(events int) Step {
	s.fault, s.after = faultAbort, events
	return s
}

// ThenSilence sends nothing more after so many events, until the client is gone.
func (s Step) ThenSilence(events int) Step {
	s.fault, s.after = faultSilence, events
	return s
}

// Pings sends so many pings before every event but the first.
func (s Step) Pings(n int) Step {
	s.pings = n
	return s
}

// Slowly writes so many bytes at a time with a pause after each.
func (s Step) Slowly(bytes int, pause time.Duration) Step {
	s.piece, s.pause = max(1, bytes), pause
	return s
}

// Refuse answers with an error before anything is streamed.
func Refuse(status int, kind, message string) Step {
	return Step{refusal: &apiError{status: status, kind: kind, message: message}}
}

// Code adds details.error_code to a refusal.
func (s Step) Code(code string) Step {
	if s.refusal != nil {
		e := *s.refusal
		e.code = code
		s.refusal = &e
	}
	return s
}

// Header adds a header to a refusal.
func (s Step) Header(name, value string) Step {
	s.header = maps.Clone(s.header)
	if s.header == nil {
		s.header = make(map[string]string)
	}
	s.header[name] = value
	return s
}

// Page answers with a status and a body that is no JSON, as proxies do.
func Page(status int, body string) Step {
	return Step{refusal: &apiError{status: status, plain: []byte(body)}, header: map[string]string{"Content-Type": "text/html"}}
}

// RateLimit is a 429, with the wish to wait unless that is 0.
func RateLimit(wait time.Duration) Step {
	s := Refuse(http.StatusTooManyRequests, "rate_limit_error",
		"This request would exceed your organization's rate limit of 30,000 input tokens per minute (org: 00000000-0000-0000-0000-000000000000, model: claude-opus-5). For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later.").
		Header("Anthropic-Ratelimit-Input-Tokens-Limit", "30000").Header("Anthropic-Ratelimit-Input-Tokens-Remaining", "0")
	if wait > 0 {
		s = s.Header("Retry-After", strconv.FormatFloat(wait.Seconds(), 'f', -1, 64))
	}
	return s
}

// SpendLimit is the 429 that does not go away.
func SpendLimit() Step {
	return Refuse(http.StatusTooManyRequests, "rate_limit_error", "This organization has reached its spend limit.").Code("enforced_spend_limit_reached")
}

const statusOverloaded = 529

// Overloaded is a 529.
func Overloaded() Step { return Refuse(statusOverloaded, "overloaded_error", "Overloaded") }

// Internal is a 500.
func Internal() Step {
	return Refuse(http.StatusInternalServerError, "api_error", "Internal server error")
}

// echo is what a server without a script answers.
func echo(req *Request) Step {
	var body struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	text := "nothing"
	if json.Unmarshal(req.Body, &body) == nil && len(body.Messages) > 0 {
		content := body.Messages[len(body.Messages)-1].Content
		var blocks []struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(content, &text) != nil && json.Unmarshal(content, &blocks) == nil {
			for _, b := range blocks {
				if b.Text != "" {
					text = b.Text
				}
			}
		}
	}
	return Say(Text("This is a fake of the Messages API. You said: " + text))
}
