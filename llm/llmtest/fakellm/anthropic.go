package fakellm

import (
	"fmt"
	"net/http"

	"sessiond/llm/llmtest/anthropicfake"
)

const badGateway = "<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>"

// slowBytes are written at once where a step wants pauses.
const slowBytes = 64

// anthropicStep is the step as the Messages API plays it. n makes up the ids of calls.
func (s *Step) anthropicStep(n int64) anthropicfake.Step {
	var blocks []anthropicfake.Block
	if s.Thinking != "" {
		blocks = append(blocks, anthropicfake.Thinking(s.Thinking))
	}
	if s.Text != "" {
		blocks = append(blocks, anthropicfake.Text(s.Text))
	}
	for i, c := range s.Calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("toolu_fake%03d_%d", n, i)
		}
		blocks = append(blocks, anthropicfake.ToolUse(c.ID, c.Name, c.input()))
	}
	step := s.stopped(anthropicfake.Say(blocks...))
	if s.PauseMS > 0 {
		step = step.Slowly(slowBytes, s.pause())
	}
	return s.anthropicFault(step)
}

// anthropicFault returns the step with the fault in it, or what refuses in its place.
func (s *Step) anthropicFault(step anthropicfake.Step) anthropicfake.Step {
	switch s.Fault {
	case FaultRateLimit:
		return anthropicfake.RateLimit(s.retryAfter())
	case FaultSpendLimit:
		return anthropicfake.SpendLimit()
	case FaultOverloaded:
		return anthropicfake.Overloaded()
	case FaultServerError:
		return anthropicfake.Internal()
	case FaultBadGateway:
		return anthropicfake.Page(http.StatusBadGateway, badGateway)
	case FaultAuth:
		return anthropicfake.Refuse(http.StatusUnauthorized, "authentication_error", "invalid x-api-key")
	case FaultOverflow:
		return anthropicfake.Refuse(http.StatusBadRequest, "invalid_request_error",
			fmt.Sprintf("prompt is too long: %d tokens > %d maximum", s.LimitTokens+1, s.LimitTokens))
	case FaultImage:
		return anthropicfake.Refuse(http.StatusBadRequest, "invalid_request_error", "messages.0.content.0.image.source.base64.data: Could not process image")
	case FaultInvalid:
		return anthropicfake.Refuse(http.StatusBadRequest, "invalid_request_error", "The script refuses this request.")
	case FaultError:
		return step.ThenError("overloaded_error", "Overloaded", s.After)
	case FaultEOF:
		return step.ThenEOF(s.After)
	case FaultAbort:
		return step.ThenAbort(s.After)
	case FaultSilence:
		return step.ThenSilence(s.After)
	}
	return step
}

func (s *Step) stopped(step anthropicfake.Step) anthropicfake.Step {
	if s.CutBytes > 0 {
		return step.CutInput(s.CutBytes)
	}
	switch s.Stop {
	case StopMaxTokens:
		return step.Stop("max_tokens")
	case StopContextWindow:
		return step.Stop("model_context_window_exceeded")
	case StopRefusal:
		return step.Refusal("cyber")
	case StopPause:
		return step.Stop("pause_turn")
	}
	return step
}
