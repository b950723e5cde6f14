package fakellm

import (
	"fmt"
	"net/http"

	"sessiond/llm/llmtest/openaifake"
)

// openaiStep is the step as Chat Completions play it.
func (s *Step) openaiStep() openaifake.Step {
	step := openaifake.Step{Reasoning: s.Thinking, Text: s.Text, Pause: s.pause()}
	for _, c := range s.Calls {
		step.Calls = append(step.Calls, openaifake.Call{ID: c.ID, Name: c.Name, Arguments: c.input()})
	}
	s.finish(&step)
	return s.openaiFault(step)
}

// openaiFault returns the step with the fault in it, or what refuses in its place.
func (s *Step) openaiFault(step openaifake.Step) openaifake.Step {
	switch s.Fault {
	case FaultRateLimit:
		return openaifake.RateLimited(s.retryAfter())
	case FaultSpendLimit:
		return openaiRefusal(http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota",
			"You exceeded your current quota, please check your plan and billing details.")
	case FaultOverloaded:
		return openaiRefusal(http.StatusServiceUnavailable, "server_error", "", "The engine is currently overloaded, please try again later.")
	case FaultServerError:
		return openaifake.ServerError()
	case FaultBadGateway:
		return openaifake.Status(http.StatusBadGateway, badGateway)
	case FaultAuth:
		return openaiRefusal(http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "Incorrect API key provided.")
	case FaultOverflow:
		return openaiRefusal(http.StatusBadRequest, "invalid_request_error", "context_length_exceeded", fmt.Sprintf(
			"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.",
			s.LimitTokens, s.LimitTokens+1))
	case FaultImage:
		return openaiRefusal(http.StatusBadRequest, "invalid_request_error", "image_parse_error", "You uploaded an unsupported image.")
	case FaultInvalid:
		return openaiRefusal(http.StatusBadRequest, "invalid_request_error", "", "The script refuses this request.")
	case FaultError:
		step.Fault.Message = "The server had an error while processing your request."
		return step.Break(openaifake.ErrorObject, s.After)
	case FaultEOF:
		return step.Break(openaifake.CleanEnd, s.After)
	case FaultAbort:
		return step.Break(openaifake.Abort, s.After)
	case FaultSilence:
		return step.Break(openaifake.Silence, s.After)
	}
	return step
}

func openaiRefusal(status int, kind, code, text string) openaifake.Step {
	return openaifake.Step{Fault: openaifake.Fault{
		Kind: openaifake.Refuse, Status: status, Type: kind, Code: code, Message: text,
	}}
}

func (s *Step) finish(step *openaifake.Step) {
	if n := len(step.Calls); s.CutBytes > 0 && n > 0 {
		c := &step.Calls[n-1]
		c.Arguments = c.Arguments[:min(s.CutBytes, len(c.Arguments))]
		step.Finish = "length"
		return
	}
	switch s.Stop {
	case StopMaxTokens:
		step.Finish = "length"
	case StopContextWindow:
		step.Finish = "model_context_window_exceeded" // as z.ai has it
	case StopRefusal:
		step.Refusal, step.Text = s.Text, ""
		if step.Refusal == "" {
			step.Refusal = "I'm sorry, but I can't help with that."
		}
	case StopPause:
	}
}
