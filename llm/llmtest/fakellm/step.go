package fakellm

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// API names one of the two interfaces.
type API string

// The APIs.
const (
	Anthropic API = "anthropic"
	OpenAI    API = "openai"
)

// Fault is a way to fail.
type Fault string

// The faults. Those up to FaultInvalid refuse the request; the others break a stream
// that began well, after as many of its events as Step.After says.
const (
	FaultRateLimit   Fault = "rate_limit"   // 429, with retry-after if Step.RetryAfterSeconds says so
	FaultSpendLimit  Fault = "spend_limit"  // 429 that does not go away
	FaultOverloaded  Fault = "overloaded"   // 529; 503 from Chat Completions
	FaultServerError Fault = "server_error" // 500
	FaultBadGateway  Fault = "bad_gateway"  // 502 with a page instead of JSON
	FaultAuth        Fault = "auth"         // 401
	FaultOverflow    Fault = "overflow"     // 400: more tokens than Step.LimitTokens
	FaultImage       Fault = "image"        // 400: an image can't be processed
	FaultInvalid     Fault = "invalid"      // 400: something else

	FaultError   Fault = "error"   // an error event
	FaultEOF     Fault = "eof"     // the body ends in good order, the answer does not
	FaultAbort   Fault = "abort"   // the connection breaks
	FaultSilence Fault = "silence" // nothing more comes until the client goes
)

// Stop is why an answer ends, for answers that end in good order.
type Stop string

// The reasons besides the usual ones, which follow from what is answered.
const (
	StopMaxTokens     Stop = "max_tokens"
	StopContextWindow Stop = "context_window"
	StopRefusal       Stop = "refusal"
	StopPause         Stop = "pause" // of the Messages API only
)

// Step answers one request. The zero value is the empty answer that models give at
// times.
type Step struct {
	API   API `json:"api,omitempty"`   // empty: both
	Times int `json:"times,omitempty"` // how often the step is played; 0 means once

	Thinking string `json:"thinking,omitempty"`
	Text     string `json:"text,omitempty"`
	Calls    []Call `json:"calls,omitempty"`
	Stop     Stop   `json:"stop,omitempty"`

	// CutBytes ends the answer with max_tokens after so many bytes of the last call's
	// input; 0 sends it whole.
	CutBytes int `json:"cut_bytes,omitempty"`

	// PauseMS is waited between small pieces of the stream.
	PauseMS int `json:"pause_ms,omitempty"`

	Fault             Fault   `json:"fault,omitempty"`
	After             int     `json:"after,omitempty"` // events of the stream before the fault
	RetryAfterSeconds float64 `json:"retry_after,omitempty"`
	LimitTokens       int     `json:"limit,omitempty"`
}

// Call is a tool call.
type Call struct {
	ID    string          `json:"id,omitempty"` // empty: one is made up
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input,omitempty"` // sent byte for byte; {} if it is left out
}

func (s *Step) check() error {
	faults := []Fault{
		"", FaultRateLimit, FaultSpendLimit, FaultOverloaded, FaultServerError, FaultBadGateway, FaultAuth,
		FaultOverflow, FaultImage, FaultInvalid, FaultError, FaultEOF, FaultAbort, FaultSilence,
	}
	negative := s.Times < 0 || s.CutBytes < 0 || s.PauseMS < 0 || s.After < 0 || s.RetryAfterSeconds < 0 || s.LimitTokens < 0
	switch {
	case s.API != "" && s.API != Anthropic && s.API != OpenAI:
		return fmt.Errorf("api %q is neither %s nor %s", s.API, Anthropic, OpenAI)
	case !slices.Contains(faults, s.Fault):
		return fmt.Errorf("fault %q is not known", s.Fault)
	case !slices.Contains([]Stop{"", StopMaxTokens, StopContextWindow, StopRefusal, StopPause}, s.Stop):
		return fmt.Errorf("stop %q is not known", s.Stop)
	case negative:
		return fmt.Errorf("a number is negative")
	case s.After > 0 && !s.Fault.breaks():
		return fmt.Errorf("after goes with a fault that breaks a stream")
	case s.RetryAfterSeconds > 0 && s.Fault != FaultRateLimit:
		return fmt.Errorf("retry_after goes with fault %s", FaultRateLimit)
	case (s.Fault == FaultOverflow) != (s.LimitTokens > 0):
		return fmt.Errorf("limit and fault %s go together", FaultOverflow)
	case s.CutBytes > 0 && len(s.Calls) == 0:
		return fmt.Errorf("cut_bytes goes with calls")
	}
	for _, c := range s.Calls {
		if c.Name == "" {
			return fmt.Errorf("a call has no name")
		}
	}
	return nil
}

// breaks reports whether the fault happens inside a stream.
func (f Fault) breaks() bool {
	return f == FaultError || f == FaultEOF || f == FaultAbort || f == FaultSilence
}

func (s *Step) pause() time.Duration { return time.Duration(s.PauseMS) * time.Millisecond }

func (s *Step) retryAfter() time.Duration {
	return time.Duration(s.RetryAfterSeconds * float64(time.Second))
}

// input is the call's input as text.
func (c *Call) input() string {
	if len(c.Input) == 0 {
		return "{}"
	}
	return string(c.Input)
}
