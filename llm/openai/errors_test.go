package openai_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"sessiond/llm"
	"sessiond/llm/openai"
)

// answerWith is a server that answers everything with one status and body.
func answerWith(status int, body string, header http.Header) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	})
}

// One row for each error body that is known from the wild.
func TestErrorBodies(t *testing.T) {
	tests := []struct {
		name    string
		status  int
		body    string
		class   llm.Class
		message string // what of it is shown
		limit   int64
		wait    time.Duration
	}{
		// OpenAI
		{
			name: "openai overflow", status: 400, class: llm.ClassOverflow, limit: 128000, message: "This model's maximum context length",
			body: `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
		},
		{
			name: "openai configured limit", status: 400, class: llm.ClassOverflow, limit: 272000, message: "Input tokens exceed",
			body: `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
		},
		{
			name: "openai rate limit", status: 429, class: llm.ClassRate, wait: 84 * time.Millisecond, message: "Rate limit reached",
			body: `{"error":{"message":"Rate limit reached for gpt in organization org-1 on tokens per min (TPM): Limit 200000, Used 195869, Requested 4412. Please try again in 84ms. Visit https://platform.openai.com/account/rate-limits to learn more.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
		},
		{
			name: "openai rate limit in minutes", status: 429, class: llm.ClassRate, wait: 6*time.Minute + 1500*time.Millisecond, message: "Rate limit reached",
			body: `{"error":{"message":"Rate limit reached for requests. Please try again in 6m1.5s.","type":"requests","code":"rate_limit_exceeded"}}`,
		},
		{
			name: "openai rate limit that wants a payment method", status: 429, class: llm.ClassRate, wait: 20 * time.Second, message: "Rate limit reached",
			body: `{"error":{"message":"Rate limit reached for gpt in organization org-1 on requests per min. Limit: 3 / min. Please try again in 20s. Please add a payment method to your account to increase your rate limit. Visit https://platform.openai.com/account/billing to add a payment method.","type":"requests","param":null,"code":null}}`,
		},
		{
			name: "openai account", status: 429, class: llm.ClassBilling, message: "Your account is not active",
			body: `{"error":{"message":"Your account is not active, please check your billing details on our website.","type":"billing_not_active","param":null,"code":"billing_not_active"}}`,
		},
		{
			name: "openai larger than the rate", status: 429, class: llm.ClassInvalid, message: "Request too large",
			body: `{"error":{"message":"Request too large for gpt in organization org-1 on tokens per min (TPM): Limit 30000, Requested 34307. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
		},
		{
			name: "openai quota", status: 429, class: llm.ClassBilling, message: "You exceeded your current quota",
			body: `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
		},
		{
			name: "openai key", status: 401, class: llm.ClassAuth, message: "Incorrect API key provided: [key]. You can find",
			body: `{"error":{"message":"Incorrect API key provided: sk-proj-**********abcd. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
		},
		{
			name: "openai model", status: 404, class: llm.ClassInvalid, message: "does not exist",
			body: "{\"error\":{\"message\":\"The model `x` does not exist or you do not have access to it.\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"model_not_found\"}}",
		},
		{
			name: "openai pairing", status: 400, class: llm.ClassInvalid, message: "An assistant message with 'tool_calls'",
			body: `{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_x","type":"invalid_request_error","param":"messages.[3].role","code":null}}`,
		},
		{
			name: "openai output cap", status: 400, class: llm.ClassInvalid, message: "max_tokens is too large",
			body: `{"error":{"message":"max_tokens is too large: 200000. This model supports at most 128000 completion tokens, whereas you provided 200000.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}`,
		},
		{
			name: "openai image", status: 400, class: llm.ClassMedia, message: "You uploaded an unsupported image",
			body: `{"error":{"message":"You uploaded an unsupported image. Please make sure your image is valid.","type":"invalid_request_error","param":null,"code":"invalid_image_format"}}`,
		},
		{
			name: "openai image patches", status: 400, class: llm.ClassMedia, message: "requires 47000 patches",
			body: `{"error":{"message":"This image requires 47000 patches after processing, exceeding the limit of 30000","type":"invalid_request_error","param":null,"code":null}}`,
		},
		{
			name: "openai policy", status: 400, class: llm.ClassRefused, message: "Your request was rejected",
			body: `{"error":{"message":"Your request was rejected as a result of our safety system.","type":"invalid_request_error","param":null,"code":"content_policy_violation"}}`,
		},
		{
			name: "openai country", status: 403, class: llm.ClassAuth, message: "Country, region, or territory not supported",
			body: `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}`,
		},
		{
			name: "openai trouble", status: 500, class: llm.ClassOverload, message: "The server had an error",
			body: `{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}`,
		},
		{
			name: "openai overloaded", status: 503, class: llm.ClassOverload, message: "overloaded",
			body: `{"error":{"message":"That model is currently overloaded with other requests.","type":"server_error","param":null,"code":null}}`,
		},

		// vLLM
		{
			name: "vllm flat", status: 400, class: llm.ClassOverflow, limit: 8192, message: "This model's maximum",
			body: `{"object":"error","message":"This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens. Please reduce the length of the input messages.","type":"BadRequestError","param":null,"code":400}`,
		},
		{
			name: "vllm wrapped", status: 400, class: llm.ClassOverflow, limit: 32768, message: "This model's maximum",
			body: `{"error":{"message":"This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens. Please reduce the length of the input messages. (parameter=input_tokens, value=40000)","type":"BadRequestError","param":"input_tokens","code":400}}`,
		},
		{
			name: "vllm both sides", status: 400, class: llm.ClassOverflow, limit: 131072, message: "This model's maximum",
			body: `{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 4096 output tokens and your prompt contains at least 126977 input tokens.","type":"BadRequestError","param":null,"code":400}}`,
		},
		{
			name: "vllm output cap", status: 400, class: llm.ClassOverflow, limit: 8192, message: "'max_tokens'",
			body: `{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 8192 tokens and your request has 1200 input tokens (8000 > 8192 - 1200).","type":"BadRequestError","param":null,"code":400}`,
		},
		{
			name: "vllm text model", status: 400, class: llm.ClassMedia, message: "is not a multimodal model",
			body: `{"object":"error","message":"qwen3 is not a multimodal model","type":"BadRequestError","param":null,"code":400}`,
		},
		{
			name: "fastapi list", status: 422, class: llm.ClassInvalid, message: "Field required",
			body: `{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required"}]}`,
		},
		{
			name: "fastapi text", status: 404, class: llm.ClassInvalid, message: "Not Found",
			body: `{"detail":"Not Found"}`,
		},

		// llama.cpp
		{
			name: "llama.cpp overflow", status: 400, class: llm.ClassOverflow, limit: 8192, message: "the request exceeds",
			body: `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}`,
		},
		{
			name: "llama.cpp loading", status: 503, class: llm.ClassOverload, message: "Loading model",
			body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`,
		},
		{
			name: "llama.cpp without eyes", status: 500, class: llm.ClassMedia, message: "image input is not supported",
			body: `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`,
		},

		// LM Studio
		{
			name: "lm studio overflow", status: 400, class: llm.ClassOverflow, limit: 2048, message: "Trying to keep",
			body: `{"error":"Trying to keep the first 14538 tokens when context the overflows. However, the model is loaded with context length of only 2048 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}`,
		},
		{
			name: "lm studio n_keep", status: 400, class: llm.ClassOverflow, limit: 8192, message: "The number of tokens",
			body: `{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9128>= n_ctx: 8192)"}`,
		},
		{
			name: "lm studio model", status: 404, class: llm.ClassInvalid, message: "No models loaded",
			body: `{"error":{"message":"No models loaded. Please load a model in the developer page or use the lms load command.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`,
		},

		// Ollama
		{
			name: "ollama model", status: 404, class: llm.ClassInvalid, message: "model 'x' not found",
			body: `{"error":{"message":"model 'x' not found","type":"api_error","param":null,"code":null}}`,
		},
		{
			name: "ollama overflow", status: 400, class: llm.ClassOverflow, message: "prompt too long",
			body: `{"error":{"message":"prompt too long; exceeded max context length by 1200 tokens","type":"invalid_request_error","param":null,"code":null}}`,
		},

		// OpenRouter
		{
			name: "openrouter overflow", status: 400, class: llm.ClassOverflow, limit: 200000, message: "This endpoint's",
			body: `{"error":{"message":"This endpoint's maximum context length is 200000 tokens. However, you requested about 210000 tokens (209000 of text input, 1000 in the output). Please reduce the length of either one.","code":400,"metadata":{"provider_name":null}},"user_id":"user_1"}`,
		},
		{
			name: "openrouter hidden overflow", status: 400, class: llm.ClassOverflow, limit: 200000, message: "Provider returned error: prompt is too long",
			body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 213462 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`,
		},
		{
			name: "openrouter hidden text", status: 400, class: llm.ClassInvalid, message: "Provider returned error: ERROR from upstream",
			body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"ERROR from upstream","provider_name":"X"}}}`,
		},
		{
			name: "openrouter credits", status: 402, class: llm.ClassBilling, message: "This request requires more credits",
			body: `{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402}}`,
		},
		{
			name: "openrouter moderation", status: 403, class: llm.ClassRefused, message: "requires moderation",
			body: `{"error":{"message":"x requires moderation. Your input was flagged.","code":403,"metadata":{"reasons":["violence"],"flagged_input":"..."}}}`,
		},
		{
			name: "openrouter upstream limit", status: 429, class: llm.ClassRate, message: "Provider returned error: x is temporarily rate-limited upstream",
			body: `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"x is temporarily rate-limited upstream. Please retry shortly.","provider_name":"X"}}}`,
		},
		{
			name: "openrouter images", status: 404, class: llm.ClassMedia, message: "No endpoints found",
			body: `{"error":{"message":"No endpoints found that support image input","code":404}}`,
		},
		{
			name: "openrouter in a body with 200", status: 200, class: llm.ClassOverload, message: "Upstream error",
			body: `{"error":{"message":"Upstream error","code":502,"metadata":{}},"user_id":"u"}`,
		},

		// DeepSeek, Kimi, Gemini, Mistral, xAI, Qwen and others
		{
			name: "deepseek balance", status: 402, class: llm.ClassBilling, message: "Insufficient Balance",
			body: `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`,
		},
		{
			name: "deepseek reasoning", status: 400, class: llm.ClassInvalid, message: "must be passed back",
			body: "{\"error\":{\"message\":\"The `reasoning_content` in the thinking mode must be passed back to the API.\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"invalid_request_error\"}}",
		},
		{
			name: "deepseek without eyes", status: 400, class: llm.ClassMedia, message: "Failed to deserialize",
			body: "{\"error\":{\"message\":\"Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text` at line 1 column 90\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"invalid_request_error\"}}",
		},
		{
			name: "kimi overflow", status: 400, class: llm.ClassOverflow, limit: 262144, message: "Invalid request",
			body: `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 270000)","type":"invalid_request_error"}}`,
		},
		{
			name: "kimi overloaded", status: 429, class: llm.ClassOverload, message: "The engine is currently overloaded",
			body: `{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}`,
		},
		{
			name: "gemini list", status: 400, class: llm.ClassOverflow, limit: 1048576, message: "The input token count",
			body: `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`,
		},
		{
			name: "gemini key", status: 400, class: llm.ClassAuth, message: "API key not valid",
			body: `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`,
		},
		{
			name: "mistral overflow", status: 400, class: llm.ClassOverflow, limit: 32768, message: "Prompt contains",
			body: `{"object":"error","message":"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":"3051"}`,
		},
		{
			name: "mistral complaint", status: 422, class: llm.ClassInvalid, message: "Extra inputs are not permitted",
			body: `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","foo"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error","code":null}`,
		},
		{
			name: "mistral key", status: 401, class: llm.ClassAuth, message: "Unauthorized",
			body: `{"message":"Unauthorized","request_id":"1"}`,
		},
		{
			name: "xai overflow", status: 400, class: llm.ClassOverflow, limit: 131072, message: "This model's maximum prompt length",
			body: `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`,
		},
		{
			name: "qwen overflow", status: 400, class: llm.ClassOverflow, limit: 30720, message: "Range of input length",
			body: `{"error":{"code":"invalid_parameter_error","message":"Range of input length should be [1, 30720]","param":null,"type":"invalid_request_error"}}`,
		},
		{
			name: "qwen inspection", status: 400, class: llm.ClassRefused, message: "inappropriate content",
			body: `{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content.","param":null,"type":"data_inspection_failed"}}`,
		},
		{
			name: "groq larger than the rate", status: 413, class: llm.ClassInvalid, message: "Request too large",
			body: "{\"error\":{\"message\":\"Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce your message size and try again.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}",
		},
		{
			name: "azure filter", status: 400, class: llm.ClassRefused, message: "The response was filtered",
			body: `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400}}`,
		},

		// No JSON at all
		{name: "nginx too large", status: 413, class: llm.ClassSize, message: "Request Entity Too Large", body: "<html>\r\n<head><title>413 Request Entity Too Large</title></head></html>"},
		{name: "tokens told with the status of bytes", status: 413, class: llm.ClassOverflow, limit: 8192, message: "maximum context length", body: `{"error":{"message":"This model's maximum context length is 8192 tokens."}}`},
		{name: "nginx gateway", status: 502, class: llm.ClassOverload, message: "Bad Gateway", body: "<html><head><title>502 Bad Gateway</title></head></html>"},
		{name: "gateway timeout", status: 504, class: llm.ClassNetwork, message: "Gateway Timeout", body: ""},
		{name: "cloudflare", status: 524, class: llm.ClassNetwork, message: "", body: "error code: 524"},
		{name: "envoy", status: 503, class: llm.ClassOverload, message: "upstream connect error", body: "upstream connect error or disconnect/reset before headers"},
		{name: "nothing with 429", status: 429, class: llm.ClassRate, message: "Too Many Requests", body: ""},
		{name: "broken JSON", status: 400, class: llm.ClassInvalid, message: "Bad Request", body: `{"error":{"message":"x`},
		{name: "odd types", status: 400, class: llm.ClassInvalid, message: "odd", body: `{"error":{"message":"odd","type":7,"code":{"a":1},"metadata":"none","n_ctx":"many"}}`},
		{name: "an object for a message", status: 400, class: llm.ClassInvalid, message: "deep", body: `{"error":{"message":{"error":{"message":"deep"}}}}`},
		{name: "an error without words", status: 418, class: llm.ClassInvalid, message: "I'm a teapot", body: `{"error":{}}`},
		{name: "a page instead of a stream", status: 200, class: llm.ClassNetwork, message: "without a finish_reason", body: "<html>Sign in to the network</html>"},
		{name: "nothing instead of a stream", status: 200, class: llm.ClassNetwork, message: "without a finish_reason", body: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, answerWith(tt.status, tt.body, nil), openai.Options{})
			_, err := c.Stream(t.Context(), hello(), discard)
			e, ok := llm.AsError(err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if e.Class != tt.class || e.LimitTokens != tt.limit || e.RetryAfter != tt.wait {
				t.Errorf("class %s, limit %d, wait %v; want %s, %d, %v", e.Class, e.LimitTokens, e.RetryAfter, tt.class, tt.limit, tt.wait)
			}
			if tt.status != http.StatusOK && e.Status != tt.status {
				t.Errorf("status %d", e.Status)
			}
			if !strings.Contains(err.Error(), tt.message) {
				t.Errorf("error %q lacks %q", err, tt.message)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		name   string
		status int
		header http.Header
		want   time.Duration
	}{
		{"seconds", 429, http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{"milliseconds", 503, http.Header{"Retry-After-Ms": {"250"}}, 250 * time.Millisecond},
		{"date", 429, http.Header{"Retry-After": {"Mon, 30 Nov 2026 10:00:30 GMT"}, "Date": {"Mon, 30 Nov 2026 10:00:00 GMT"}}, 30 * time.Second},
		{"nothing to wait for", 400, http.Header{"Retry-After": {"7"}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, answerWith(tt.status, `{"error":{"message":"no"}}`, tt.header), openai.Options{})
			_, err := c.Stream(t.Context(), hello(), discard)
			if e, ok := llm.AsError(err); !ok || e.RetryAfter != tt.want {
				t.Errorf("got %+v", err)
			}
		})
	}
}

// Whatever a server repeats of a request or a key, an error shows neither.
func TestErrorsTellNoSecrets(t *testing.T) {
	const header = "tenant-credential-1"
	for _, body := range []string{
		`{"error":{"message":"key ` + secret + ` is bad, so is ` + header + `"}}`,
		`{"error":"Authorization: Bearer ` + secret + `"}`,
		`{"error":{"message":"Incorrect API key provided: gsk-12345678"}}`,
		`denied for ` + secret,
		`{"error":{"code":"` + secret + `"}}`,
		`{"error":{"message":"x","metadata":{"raw":"` + header + `"}}}`,
	} {
		for _, status := range []int{200, 401} {
			c := dial(t, answerWith(status, body, nil), openai.Options{Header: http.Header{"X-Tenant": {header}}})
			_, err := c.Stream(t.Context(), hello(), discard)
			if err == nil {
				t.Fatalf("%s: no error", body)
			}
			for _, s := range []string{secret, header, "12345678"} {
				if strings.Contains(err.Error(), s) {
					t.Errorf("%s: %v", body, err)
				}
			}
		}
	}
}

func TestErrorsAreBounded(t *testing.T) {
	body := `{"error":{"message":"` + strings.Repeat("é\\u0007\\n", 10_000) + `"}}`
	_, err := dial(t, answerWith(400, body, nil), openai.Options{}).Stream(t.Context(), hello(), discard)
	e, ok := llm.AsError(err)
	if !ok || len(e.Message) > 1<<10+3 || strings.ContainsAny(e.Message, "\a\n") || !strings.HasSuffix(e.Message, "…") {
		t.Errorf("got %d bytes: %.40q…", len(e.Message), e.Message)
	}
}

// A body that never ends is not read to its end.
func TestEndlessBodies(t *testing.T) {
	endless := func(status int, begin, piece string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, begin)
			chunk := []byte(strings.Repeat(piece, 64<<10/len(piece)))
			for {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		})
	}
	tests := []struct {
		name    string
		h       http.Handler
		class   llm.Class
		message string
	}{
		{"refusal", endless(500, "", "x"), llm.ClassOverload, "Internal Server Error"},
		{"line", endless(200, "data: ", "x"), llm.ClassNetwork, "an event is larger than"},
		{"event", endless(200, "data: x\n", "data: "+strings.Repeat("x", 1000)+"\n"), llm.ClassNetwork, "an event is larger than"},
		{"comments", endless(200, "", ": still here\n"), llm.ClassNetwork, "the answer is larger than"},
		{"whole body", endless(200, "{", " "), llm.ClassNetwork, "an event is larger than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := dial(t, tt.h, openai.Options{}).Stream(t.Context(), hello(), discard)
			e, ok := llm.AsError(err)
			if !ok || e.Class != tt.class || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("got %v", err)
			}
		})
	}
}
