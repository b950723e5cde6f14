package openaifake

import (
	"net/http"
	"strconv"
	"time"
)

// Step is what the model does with one request. The zero value is an answer without
// content.
type Step struct {
	Reasoning       string
	ReasoningMember string // where it is sent; "" means reasoning_content
	Text            string
	Refusal         string
	Calls           []Call
	Numbering       Numbering // how the calls are spelled
	Finish          string    // finish_reason; "" means tool_calls or stop

	Usage   *Usage // instead of what was counted
	NoUsage bool   // none is sent

	PieceBytes int           // of a chunk's text; 0 means 12
	Pause      time.Duration // before each chunk
	ByteByByte bool          // the body comes in writes of one byte
	Noise      bool          // comments, and a null error in every chunk
	NoDone     bool          // the stream ends without [DONE], though the answer is whole

	Fault Fault
}

// Call is a tool call.
type Call struct {
	ID        string // "" means a made-up one
	Name      string
	Arguments string // "" means {}
}

// Numbering is how a server spells the pieces of tool calls. The zero value is what
// OpenAI does: numbers from 0, id and name in the first piece only.
type Numbering struct {
	First       int  // the number of the first call
	Same        bool // every call has the number First
	None        bool // calls have no numbers
	RepeatNames bool // each piece repeats the name
	RepeatIDs   bool // each piece repeats the id
	NoIDs       bool
	SameIDs     bool // every call has the first one's id
	Whole       bool // a call is one piece
	AsObjects   bool // arguments are an object, not a string; implies Whole
}

// FaultKind is a way to fail.
type FaultKind int

// The ways. All but [Refuse] happen inside a stream that began well.
const (
	NoFault     FaultKind = iota
	Refuse                // an HTTP status instead of an answer
	ErrorObject           // data: {"error": {…}}
	ErrorText             // data: {"error": "…"}
	ErrorFlat             // data: {"object": "error", "message": "…"}
	ErrorEvent            // event: error, data: {"message": "…"}
	ErrorChoice           // a chunk whose choice has the error and finish_reason "error" (OpenRouter)
	ErrorFinish           // finish_reason "error" and nothing else
	WholeBody             // 200 with the error as the whole JSON body
	CleanEnd              // the body ends, the connection does not break
	Abort                 // the connection breaks
	Silence               // nothing more comes until the client goes
	DoneOnly              // [DONE] without a finish_reason
)

// Fault is how a step fails.
type Fault struct {
	Kind    FaultKind
	After   int // chunks that are sent before it
	Status  int // of Refuse; the code of other errors if not 0
	Message string
	Type    string
	Code    string
	Header  http.Header // added to the response
	Body    string      // of Refuse and WholeBody, instead of one made of the fields above
}

// Text answers with text.
func Text(words string) Step { return Step{Text: words} }

// Calls answers with tool calls, after a text unless that is empty.
func Calls(words string, calls ...Call) Step { return Step{Text: words, Calls: calls} }

// Status refuses the request with a body as it stands.
func Status(status int, body string) Step {
	return Step{Fault: Fault{Kind: Refuse, Status: status, Body: body}}
}

// RateLimited refuses with 429, and retry-after unless wait is 0.
func RateLimited(wait time.Duration) Step {
	f := Fault{
		Kind: Refuse, Status: http.StatusTooManyRequests, Type: "tokens", Code: "rate_limit_exceeded",
		Message: "Rate limit reached for gpt in organization org-fake on tokens per min (TPM): Limit 200000, Used 195869, Requested 4412.",
	}
	if wait > 0 {
		f.Header = http.Header{"Retry-After": {strconv.FormatFloat(wait.Seconds(), 'f', -1, 64)}}
	}
	return Step{Fault: f}
}

// ServerError refuses with 500.
func ServerError() Step {
	return Step{Fault: Fault{
		Kind: Refuse, Status: http.StatusInternalServerError, Type: "server_error",
		Message: "The server had an error while processing your request. Sorry about that!",
	}}
}

// Break makes the step fail after some chunks.
func (s Step) Break(kind FaultKind, after int) Step {
	s.Fault.Kind, s.Fault.After = kind, after
	if s.Fault.Message == "" {
		s.Fault.Message = "the fake broke"
	}
	return s
}

// finish is the finish_reason the step ends with.
func (s *Step) finish() string {
	switch {
	case s.Finish != "":
		return s.Finish
	case len(s.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}
