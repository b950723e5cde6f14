package llm_test

import (
	"strings"
	"testing"

	"sessiond/llm"
)

func TestDetectOverflow(t *testing.T) {
	tests := []struct {
		name   string
		status int
		text   string
		limit  int64
	}{
		{"anthropic", 400, "prompt is too long: 213462 tokens > 200000 maximum", 200000},
		{"anthropic without numbers", 400, "Prompt is too long", 0},
		{"anthropic with output", 400, "input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000, decrease input length or `max_tokens` and try again", 200000},
		{"tokens, with the status of bytes", 413, "Prompt is too long: 9000 tokens > 8192 maximum", 8192},
		{"bedrock", 400, "ValidationException: Input is too long for requested model.", 0},
		{"openai chat", 400, "context_length_exceeded: This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens. Please reduce the length of the messages.", 128000},
		{"openai configured", 400, "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens. Please reduce the length of the messages.", 272000},
		{"openai responses, in a stream", 0, "Your input exceeds the context window of this model. Please adjust your input and try again.", 0},
		{"groq", 400, "Please reduce the length of the messages or completion.", 0},
		{"vllm", 400, "This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens. Please reduce the length of the input messages.", 8192},
		{"vllm with value", 400, "This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens. Please reduce the length of the input messages. (parameter=input_tokens, value=40000)", 32768},
		{"vllm both sides", 400, "This model's maximum context length is 131072 tokens. However, you requested 4096 output tokens and your prompt contains at least 126977 input tokens.", 131072},
		{"vllm output cap", 400, "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 8192 tokens and your request has 1200 input tokens (8000 > 8192 - 1200).", 8192},
		{"vllm output cap without number", 400, "'max_tokens' is too large: 8000, over the maximum context length", 0},
		{"llama.cpp", 400, "request (10391 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096},
		{"llama.cpp older", 500, "the request exceeds the available context size. try increasing the context size or enable context shift", 0},
		{"llama.cpp type", 400, "exceed_context_size_error", 0},
		{"lm studio keep", 400, "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9128>= n_ctx: 8192)", 8192},
		{"lm studio overflows", 400, "Trying to keep the first 14538 tokens when context the overflows. However, the model is loaded with context length of only 2048 tokens, which is not enough.", 2048},
		{"lm studio mlx", 0, "Context size has been exceeded.", 0},
		{"ollama cloud", 400, "prompt too long; exceeded max context length by 1200 tokens", 0},
		{"ollama", 500, "exceeded context length", 0},
		{"gemini", 400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576},
		{"xai", 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072},
		{"kimi", 400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 270000)", 262144},
		{"mistral", 400, "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length", 32768},
		{"together", 422, "The input (34325 tokens) is longer than the model's context length (32768 tokens).", 32768},
		{"qwen", 400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]", 30720},
		{"minimax", 400, "invalid params, context window exceeds limit (2013)", 0},
		{"z.ai", 400, "Prompt exceeds max length", 0},
		{"openrouter", 400, "This endpoint's maximum context length is 200,000 tokens. However, you requested about 210000 tokens (209000 of text input, 1000 in the output).", 200000},
		{"code only", 400, "context_length_exceeded", 0},
		{"stop reason as an error", 0, "model_context_window_exceeded", 0},
		{"token limit", 400, "Input token limit exceeded", 0},
		{"limit behind a first match without one", 400, "context_length_exceeded: please reduce the length of the messages, maximum context length is 4096", 4096},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			limit, ok := llm.DetectOverflow(tt.status, tt.text)
			if !ok || limit != tt.limit {
				t.Errorf("got %d, %v; want %d, true", limit, ok, tt.limit)
			}
		})
	}
}

func TestDetectOverflowLeavesOtherErrorsAlone(t *testing.T) {
	tests := []struct {
		name   string
		status int
		text   string
	}{
		{"anthropic output cap", 400, "max_tokens: 9999999 > 128000, which is the maximum allowed number of output tokens for claude-opus-5"},
		{"anthropic rate limit", 429, "This request would exceed your organization's rate limit of 30,000 input tokens per minute. Please reduce the prompt length or the maximum tokens requested, or try again later"},
		{"anthropic rate limit in a stream", 0, "rate_limit_error: reduce the length of the prompt"},
		{"overloaded", 529, "Overloaded: prompt is too long"},
		{"openai rate limit", 429, "Rate limit reached for gpt in organization o on tokens per min (TPM): Limit 200000, Used 195869, Requested 4412. Please try again in 84ms."},
		{"openai over the rate for ever", 429, "Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 34307. The input or output tokens must be reduced in order to run successfully."},
		{"groq over the rate for ever", 413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce your message size and try again."},
		{"anthropic too many bytes", 413, "Request exceeds the maximum size"},
		{"a proxy's page", 413, "<html><title>413 Request Entity Too Large</title></html>"},
		{"too many of anything", 429, "prompt is too long: 213462 tokens > 200000 maximum"},
		{"daily quota", 400, "token limit exceeded: you have used your quota of tokens per day"},
		{"openai output cap", 400, "max_tokens is too large: 200000. This model supports at most 128000 completion tokens, whereas you provided 200000."},
		{"string too long", 400, "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 53 instead."},
		{"image too large", 400, "messages.0.content.1.image: image exceeds 10 MB maximum: 23045044 bytes > 10485760 bytes"},
		{"image patches", 400, "This image requires 47000 patches after processing, exceeding the limit of 30000"},
		{"auth", 401, "context_length_exceeded"},
		{"gateway", 502, "context_length_exceeded"},
		{"nothing", 400, ""},
		{"other", 500, "internal error"},
		{"behind what is looked at", 400, strings.Repeat("x", 16<<10) + "prompt is too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if limit, ok := llm.DetectOverflow(tt.status, tt.text); ok {
				t.Errorf("taken for an overflow with limit %d", limit)
			}
		})
	}
}

// A limit that can't be read leaves an overflow without one.
func TestDetectOverflowBadNumber(t *testing.T) {
	limit, ok := llm.DetectOverflow(400, "maximum context length is ,")
	if !ok || limit != 0 {
		t.Errorf("got %d, %v", limit, ok)
	}
	if limit, ok = llm.DetectOverflow(400, "maximum context length is 99999999999999999999"); !ok || limit != 0 {
		t.Errorf("got %d, %v", limit, ok)
	}
}

func TestDetectOversize(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		text   string
		want   bool
	}{
		{"anthropic", 413, "request_too_large: Request exceeds the maximum size", true},
		{"a proxy's page", 413, "<html><title>413 Request Entity Too Large</title></html>", true},
		{"nothing said", 413, "", true},
		{"after decoding", 400, "invalid_request_error: request_body_too_large_after_decoding", true},
		{"in a stream", 0, "request_too_large: Request exceeds the maximum size", true},
		{"of another server", 500, "the request body too large", true},
		{"a rate", 413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000", false},
		{"too many requests", 429, "request_too_large", false},
		{"tokens", 400, "prompt is too long: 213462 tokens > 200000 maximum", false},
		{"one image", 400, "messages.0.content.1.image: image exceeds 10 MB maximum", false},
	} {
		if got := llm.DetectOversize(tt.status, tt.text); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
