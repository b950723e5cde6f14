package anthropic_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"sessiond/llm"
)

// One row for every error body that is known.
func TestErrorBodies(t *testing.T) {
	invalid := func(message string) string { return body("invalid_request_error", message, "") }
	tests := []struct {
		name    string
		status  int
		body    string
		header  http.Header
		class   llm.Class
		limit   int64
		after   time.Duration
		message string
	}{
		{name: "invalid", status: 400, body: invalid("messages: at least one message is required"), class: llm.ClassInvalid, message: "at least one message"},
		{name: "unknown field", status: 400, body: invalid("frobnicate: Extra inputs are not permitted"), class: llm.ClassInvalid},
		{name: "too long", status: 400, body: invalid("prompt is too long: 213462 tokens > 200000 maximum"), class: llm.ClassOverflow, limit: 200_000},
		{name: "too long with the answer", status: 400, body: invalid("input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000, decrease input length or `max_tokens` and try again"), class: llm.ClassOverflow, limit: 200_000},
		{name: "body too large, a page", status: 413, body: "<html>413</html>", class: llm.ClassSize, message: "Request Entity Too Large"},
		{name: "body too large", status: 413, body: body("request_too_large", "Request exceeds the maximum size", ""), class: llm.ClassSize},
		{name: "body too large after decoding", status: 413, body: body("request_too_large", "x", "request_body_too_large_after_decoding"), class: llm.ClassSize},
		{name: "max_tokens over the cap", status: 400, body: invalid("max_tokens: 9999999 > 128000, which is the maximum allowed number of output tokens for claude-opus-5"), class: llm.ClassInvalid},
		{name: "pairing", status: 400, body: invalid("messages.125: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_A."), class: llm.ClassInvalid},
		{name: "bound thinking", status: 400, body: invalid("messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."), class: llm.ClassInvalid},
		{name: "image too heavy", status: 400, body: invalid("messages.0.content.1.image.source.base64: image exceeds 10 MB maximum: 23045044 bytes > 10485760 bytes"), class: llm.ClassMedia},
		{name: "image too large", status: 400, body: body("invalid_request_error", "messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels", "image_dimensions_too_large"), class: llm.ClassMedia},
		{name: "image too large by its code", status: 400, body: body("invalid_request_error", "new words", "image_dimensions_too_large"), class: llm.ClassMedia},
		{name: "image unreadable", status: 400, body: invalid("Could not process image"), class: llm.ClassMedia},
		{name: "credit", status: 400, body: invalid("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."), class: llm.ClassBilling},
		{name: "own spend limit", status: 400, body: invalid("You have reached your specified API usage limits. You will regain access on 2026-12-01."), class: llm.ClassBilling},
		{name: "filtered", status: 400, body: invalid("Output blocked by content filtering policy"), class: llm.ClassRefused},
		{name: "key", status: 401, body: body("authentication_error", "invalid x-api-key", ""), class: llm.ClassAuth, message: "invalid x-api-key"},
		{name: "billing", status: 402, body: body("billing_error", "x", ""), class: llm.ClassBilling},
		{name: "linked organisation", status: 402, body: body("billing_error", "x", "linked_organization_spend_limit_reached"), class: llm.ClassBilling},
		{name: "permission", status: 403, body: body("permission_error", "x", ""), class: llm.ClassAuth},
		{name: "billing of a user", status: 403, body: body("permission_error", "x", "user_profile_not_billable"), class: llm.ClassBilling},
		{name: "model", status: 404, body: body("not_found_error", "model: claude-2", ""), class: llm.ClassInvalid, message: "model: claude-2"},
		{name: "conflict", status: 409, body: body("conflict_error", "x", ""), class: llm.ClassInvalid},
		{name: "timeout of the request", status: 408, body: "", class: llm.ClassNetwork},
		{name: "rate", status: 429, body: body("rate_limit_error", "This request would exceed your organization's rate limit of 30,000 input tokens per minute. Please reduce the prompt length or the maximum tokens requested, or try again later.", ""), header: http.Header{"Retry-After": {"12"}}, class: llm.ClassRate, after: 12 * time.Second},
		{name: "rate that speaks of length", status: 429, body: body("rate_limit_error", "prompt is too long: 5 tokens > 4 maximum", ""), class: llm.ClassRate},
		{name: "rate without a body", status: 429, body: "", class: llm.ClassRate, message: "Too Many Requests"},
		{name: "ramp", status: 429, body: body("rate_limit_error", "x", "ramp_limit_exceeded"), header: http.Header{"Retry-After": {"3"}}, class: llm.ClassRate, after: 3 * time.Second},
		{name: "spend limit", status: 429, body: body("rate_limit_error", "x", "enforced_spend_limit_reached"), class: llm.ClassBilling},
		{name: "contract spend limit", status: 429, body: body("rate_limit_error", "x", "contract_spend_limit_reached"), header: http.Header{"Retry-After": {"3"}}, class: llm.ClassBilling},
		{name: "internal", status: 500, body: body("api_error", "Internal server error", ""), class: llm.ClassOverload},
		{name: "gateway page", status: 502, body: "<html>", class: llm.ClassOverload, message: "Bad Gateway"},
		{name: "key of the customer", status: 503, body: body("api_error", "x", "cmek_key_unreachable"), header: http.Header{"Retry-After": {"1"}}, class: llm.ClassOverload, after: time.Second},
		{name: "timeout", status: 504, body: body("timeout_error", "x", ""), class: llm.ClassOverload},
		{name: "overloaded", status: 529, body: body("overloaded_error", "Overloaded", ""), class: llm.ClassOverload, message: "Overloaded"},
		{name: "overloaded that speaks of length", status: 529, body: body("overloaded_error", "prompt is too long", ""), class: llm.ClassOverload},
		{name: "compaction", status: 529, body: body("overloaded_error", "x", "compaction_unavailable"), class: llm.ClassOverload},
		{name: "unknown kind", status: 418, body: body("teapot_error", "x", ""), class: llm.ClassInvalid},
		{name: "the key in the message", status: 401, body: body("authentication_error", "bad key secret-key.", ""), class: llm.ClassAuth, message: "bad key [key]."},
		{name: "endless message", status: 400, body: invalid(strings.Repeat("é", 9000)), class: llm.ClassInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					http.NotFound(w, r)
					return
				}
				maps.Copy(w.Header(), tt.header)
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			_, err := c.Stream(t.Context(), request("claude-opus-5", user(text("hi"))), none)
			e, ok := llm.AsError(err)
			if !ok || e.Class != tt.class || e.LimitTokens != tt.limit || e.RetryAfter != tt.after || e.Status != tt.status {
				t.Fatalf("got %+v, %v", e, err)
			}
			if !strings.Contains(e.Message, tt.message) || len(e.Message) > 2<<10 || strings.Contains(err.Error(), "secret-key") {
				t.Errorf("message %q", e.Message)
			}
		})
	}
}

func body(kind, message, code string) string {
	details := ""
	if code != "" {
		details = `,"details":{"error_code":"` + code + `"}`
	}
	return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"` + details + `},"request_id":"req_1"}`
}
