package anthropicfake_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sessiond/llm/llmtest/anthropicfake"
)

// post sends a body and returns the answer. Headers are pairs; an empty value removes one.
func post(t *testing.T, h http.Handler, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Anthropic-Version", "2026-10-21")
	r.Header.Set("Authorization", "Bearer key")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// pngOf is a picture of that size as base64.
func pngOf(t *testing.T, w, h int) string {
	t.Helper()
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes())
}

func pictures(t *testing.T, n, w, h int) string {
	t.Helper()
	one := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pngOf(t, w, h) + `"}}`
	return `{"model":"claude-opus-5","max_tokens":9,"messages":[{"role":"user","content":[` + strings.Repeat(one+",", n-1) + one + `]}]}`
}

const (
	tools    = `"tools":[{"name":"get","input_schema":{"type":"object"}}]`
	opus5    = `"model":"claude-opus-5","max_tokens":100`
	hi       = `"messages":[{"role":"user","content":"hi"}]`
	callA    = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get","input":{}}]}`
	resultA  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`
	question = `{"role":"user","content":"hi"}`
	eph      = `"cache_control":{"type":"ephemeral"}`
	ephHour  = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
)

type rule struct {
	name, body string
	headers    []string
	status     int // 0 means 200
	kind, want string
}

func (r rule) run(t *testing.T, s http.Handler, path string) {
	t.Helper()
	w := post(t, s, path, r.body, r.headers...)
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if w.Code != r.status {
		t.Fatalf("status %d, want %d: %s", w.Code, r.status, w.Body)
	}
	if r.status == http.StatusOK {
		return
	}
	var got struct {
		Type      string `json:"type"`
		RequestID string `json:"request_id"`
		Error     struct{ Type, Message string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	kind := r.kind
	if kind == "" {
		kind = "invalid_request_error"
	}
	if got.Type != "error" || got.RequestID == "" || got.RequestID != w.Header().Get("Request-Id") || got.Error.Type != kind {
		t.Errorf("shape: %s", w.Body)
	}
	if !strings.Contains(got.Error.Message, r.want) {
		t.Errorf("message %q does not contain %q", got.Error.Message, r.want)
	}
}

// One body for each rule of the Messages API, and next to it what is still accepted.
func TestRules(t *testing.T) {
	tests := []rule{
		{name: "1.1 version missing", body: `{}`, headers: []string{"Anthropic-Version", ""}, status: 400, want: "anthropic-version: header is required"},
		{name: "1.1 version unknown", body: `{}`, headers: []string{"Anthropic-Version", "1999-01-01"}, status: 400, want: "is not a valid version"},
		{name: "1.1 credential missing", body: `{}`, headers: []string{"Authorization", ""}, status: 401, kind: "authentication_error", want: "invalid x-api-key"},
		{name: "1.1 credential as x-api-key", body: `{` + opus5 + `,` + hi + `}`, headers: []string{"Authorization", "", "X-Api-Key", "key"}},
		{name: "1.1 credential bad", body: `{}`, headers: []string{"Authorization", "Bearer other"}, status: 401, kind: "authentication_error", want: "invalid x-api-key"},
		{name: "1.1 unknown beta", body: `{}`, headers: []string{"Anthropic-Beta", "no-such-thing-2020"}, status: 400, want: "Unexpected value(s) `no-such-thing-2020` for the `anthropic-beta` header."},
		{name: "1.1 known beta", body: `{` + opus5 + `,` + hi + `}`, headers: []string{"Anthropic-Beta", "prompt-caching-2024-07-31, extended-cache-ttl-2025-04-11"}},
		{name: "1.1 unknown field", body: `{` + opus5 + `,` + hi + `,"frobnicate":1}`, status: 400, want: "frobnicate: Extra inputs are not permitted"},
		{name: "1.1 beta field without header", body: `{` + opus5 + `,` + hi + `,"context_management":{}}`, status: 400, want: "context_management: Extra inputs are not permitted"},
		{name: "1.1 unknown field in a block", body: `{` + opus5 + `,"messages":[{"role":"user","content":[{"type":"text","text":"hi","id":"x"}]}]}`, status: 400, want: "messages.0.content.0.text.id: Extra inputs are not permitted"},
		{name: "1.1 unknown field in a message", body: `{` + opus5 + `,"messages":[{"role":"user","content":"hi","name":"x"}]}`, status: 400, want: "messages.0.name: Extra inputs are not permitted"},
		{name: "1.1 no JSON", body: `{"model":`, status: 400, want: "not valid JSON"},
		{name: "1.2 max_tokens missing", body: `{"model":"claude-opus-5",` + hi + `}`, status: 400, want: "max_tokens: Field required"},
		{name: "1.2 model missing", body: `{"max_tokens":1,` + hi + `}`, status: 400, want: "model: Field required"},
		{name: "1.2 messages missing", body: `{` + opus5 + `}`, status: 400, want: "messages: Field required"},
		{name: "1.2 unknown model", body: `{"model":"claude-2","max_tokens":1,` + hi + `}`, status: 404, kind: "not_found_error", want: "model: claude-2"},
		{name: "1.2 dated model", body: `{"model":"claude-haiku-4-5-20251001","max_tokens":1,` + hi + `}`},
		{name: "1.3 max_tokens over", body: `{"model":"claude-opus-5","max_tokens":9999999,` + hi + `}`, status: 400, want: "max_tokens: 9999999 > 128000, which is the maximum allowed number of output tokens for claude-opus-5"},
		{name: "1.3 max_tokens negative", body: `{"model":"claude-opus-5","max_tokens":-1,` + hi + `}`, status: 400, want: "max_tokens: Input should be greater than or equal to 0"},
		{name: "1.3 warming", body: `{"model":"claude-opus-5","max_tokens":0,` + hi + `}`},
		{name: "1.3 warming a stream", body: `{"model":"claude-opus-5","max_tokens":0,"stream":true,` + hi + `}`, status: 400, want: "max_tokens: 0"},
		{name: "1.3 warming with a format", body: `{"model":"claude-opus-5","max_tokens":0,"output_config":{"format":{"type":"json_schema"}},` + hi + `}`, status: 400, want: "max_tokens: 0"},
		{name: "1.3 warming with forced tools", body: `{"model":"claude-opus-5","max_tokens":0,"tool_choice":{"type":"any"},` + tools + `,` + hi + `}`, status: 400, want: "max_tokens: 0"},
		{name: "1.3 warming with manual thinking", body: `{"model":"claude-opus-4-5","max_tokens":0,"thinking":{"type":"enabled","budget_tokens":1024},` + hi + `}`, status: 400, want: "max_tokens: 0"},
		{name: "1.4 no message", body: `{` + opus5 + `,"messages":[]}`, status: 400, want: "messages: at least one message is required"},
		{name: "1.5 unknown role", body: `{` + opus5 + `,"messages":[{"role":"tool","content":"hi"}]}`, status: 400, want: "messages.0.role: Input should be 'user' or 'assistant'"},
		{name: "1.5 same role twice", body: `{` + opus5 + `,"messages":[` + question + `,` + question + `]}`},
		{name: "1.6 first message of the assistant", body: `{` + opus5 + `,"messages":[{"role":"assistant","content":"hi"},` + question + `]}`, status: 400, want: `messages: first message must use the "user" role`},
		{name: "1.6 first message with a compaction", body: `{` + opus5 + `,"messages":[{"role":"assistant","content":[{"type":"compaction","content":"s"}]},` + question + `]}`},
		{name: "1.6 first message of the system", body: `{` + opus5 + `,"messages":[{"role":"system","content":"hi"},` + question + `]}`, status: 400, want: "first message"},
		{name: "1.7 empty content", body: `{` + opus5 + `,"messages":[` + question + `,{"role":"assistant","content":[]},` + question + `]}`, status: 400, want: "messages.1: all messages must have non-empty content except for the optional final assistant message"},
		{name: "1.7 empty string", body: `{` + opus5 + `,"messages":[{"role":"user","content":""}]}`, status: 400, want: "messages.0: all messages must have non-empty content"},
		{name: "1.8 empty text", body: `{` + opus5 + `,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, status: 400, want: "messages: text content blocks must be non-empty"},
		{name: "1.8 blank text", body: `{` + opus5 + `,"messages":[{"role":"user","content":[{"type":"text","text":" \n"}]}]}`, status: 400, want: "messages: text content blocks must contain non-whitespace text"},
		{name: "1.8 blank text in a result", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,` + callA + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":""}]}]}]}`, status: 400, want: "messages: text content blocks must be non-empty"},
		{name: "1.8 empty system", body: `{` + opus5 + `,"system":[{"type":"text","text":""}],` + hi + `}`, status: 400, want: "system: text content blocks must be non-empty"},
		{name: "1.9 prefill", body: `{` + opus5 + `,"messages":[` + question + `,{"role":"assistant","content":"I"}]}`, status: 400, want: "This model does not support assistant message prefill. The conversation must end with a user message."},
		{name: "1.9 prefill on an older model", body: `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[` + question + `,{"role":"assistant","content":"I"}]}`},
		{name: "1.9 prefill with thinking", body: `{"model":"claude-sonnet-4-5","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + question + `,{"role":"assistant","content":"I"}]}`, status: 400, want: "prefill"},
		{name: "1.9 prefill ends blank", body: `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[` + question + `,{"role":"assistant","content":"I "}]}`, status: 400, want: "final assistant content cannot end with trailing whitespace"},
		{name: "1.10 result missing", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get","input":{}},{"type":"tool_use","id":"b","name":"get","input":{}}]},{"role":"user","content":"go on"}]}`, status: 400, want: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a, b. Each `tool_use` block must have a corresponding `tool_result` block in the next message."},
		{name: "1.10 one of two results missing", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get","input":{}},{"type":"tool_use","id":"b","name":"get","input":{}}]},` + resultA + `]}`, status: 400, want: "immediately after: b."},
		{name: "1.10 call is last", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,` + callA + `]}`, status: 400, want: "messages.1: `tool_use` ids were found without"},
		{name: "1.11 orphan", body: `{` + opus5 + `,` + tools + `,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]}`, status: 400, want: "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."},
		{name: "1.11 orphan beside a result", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,` + callA + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"},{"type":"tool_result","tool_use_id":"z","content":"x"}]}]}`, status: 400, want: "messages.2.content.1: unexpected `tool_use_id`"},
		{name: "1.12 text before a result", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,` + callA + `,{"role":"user","content":[{"type":"text","text":"here"},{"type":"tool_result","tool_use_id":"a","content":"x"}]}]}`, status: 400, want: "`tool_use` ids were found without `tool_result` blocks immediately after: a"},
		{name: "1.12 text after a result", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,` + callA + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"},{"type":"text","text":"here"}]}]}`},
		{name: "1.13 results in two messages", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get","input":{}},{"type":"tool_use","id":"b","name":"get","input":{}}]},` + resultA + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]}]}`},
		{name: "1.13 a message between", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,` + callA + `,` + question + `,` + resultA + `]}`, status: 400, want: "`tool_use` ids were found without"},
		{name: "1.13 a system message between", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,` + callA + `,{"role":"system","content":"x"},` + resultA + `]}`, status: 400, want: "messages.2"},
		{name: "1.14 call twice", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get","input":{}},{"type":"tool_use","id":"a","name":"get","input":{}}]},` + resultA + `]}`, status: 400, want: "messages.1.content.1: `tool_use` ids must be unique"},
		{name: "1.14 call twice in the conversation", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,` + callA + `,` + resultA + `,` + callA + `,` + resultA + `]}`, status: 400, want: "messages.3.content.0: `tool_use` ids must be unique"},
		{name: "1.14 result twice", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,` + callA + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"a"}]}]}`, status: 400, want: "each tool_use must have a single result. Found multiple `tool_result` blocks with id: a"},
		{name: "1.15 id", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"tool_use","id":"functions.x:0","name":"get","input":{}}]},` + question + `]}`, status: 400, want: "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"},
		{name: "1.15 server id", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"server_tool_use","id":"toolu_1","name":"web_search","input":{}}]},` + question + `]}`, status: 400, want: "String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'"},
		{name: "1.16 input is no object", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get","input":"{}"}]},` + resultA + `]}`, status: 400, want: "messages.1.content.0.tool_use.input: Input should be a valid dictionary"},
		{name: "1.17 name", body: `{` + opus5 + `,"tools":[{"name":"a b","input_schema":{"type":"object"}}],` + hi + `}`, status: 400, want: "tools.0.custom.name: String should match pattern"},
		{name: "1.17 name twice", body: `{` + opus5 + `,"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}],` + hi + `}`, status: 400, want: "tools: Tool names must be unique."},
		{name: "1.17 schema", body: `{` + opus5 + `,"tools":[{"name":"a","input_schema":{"type":"string"}}],` + hi + `}`, status: 400, want: "tools.0.custom.input_schema.type: Input should be 'object'"},
		{name: "1.17 strict", body: `{` + opus5 + `,"tools":[{"name":"a","strict":true,"input_schema":{"type":"object","additionalProperties":false,"properties":{"x":{"type":"object"}}}}],` + hi + `}`, status: 400, want: "'additionalProperties' must be explicitly set to false"},
		{name: "1.18 auto without tools", body: `{` + opus5 + `,"tool_choice":{"type":"auto"},` + hi + `}`},
		{name: "1.18 none without tools", body: `{` + opus5 + `,"tool_choice":{"type":"none"},` + hi + `}`},
		{name: "1.18 any without tools", body: `{` + opus5 + `,"tool_choice":{"type":"any"},` + hi + `}`, status: 400, want: "tool_choice.any may only be specified while providing tools"},
		{name: "1.18 tool that is not there", body: `{` + opus5 + `,"tool_choice":{"type":"tool","name":"x"},` + tools + `,` + hi + `}`, status: 400, want: "Tool 'x' not found in provided tools"},
		{name: "1.18 any with manual thinking", body: `{"model":"claude-sonnet-4-5","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"tool_choice":{"type":"any"},` + tools + `,` + hi + `}`, status: 400, want: "tool_choice forces tool use"},
		{name: "1.18 any on newer models", body: `{"model":"claude-opus-5-5","max_tokens":9,"tool_choice":{"type":"any"},` + tools + `,` + hi + `}`, status: 400, want: `tool_choice: type "tool" and "any" are not supported for this model.`},
		{name: "1.19 tool blocks without tools", body: `{` + opus5 + `,"messages":[` + question + `,` + callA + `,` + resultA + `]}`, status: 400, want: "Requests which include `tool_use` or `tool_result` blocks must define tools."},
		{name: "1.20 system message", body: `{` + opus5 + `,"messages":[` + question + `,{"role":"system","content":"x"}]}`},
		{name: "1.20 system message on sonnet 5", body: `{"model":"claude-sonnet-5","max_tokens":9,"messages":[` + question + `,{"role":"system","content":"x"}]}`, status: 400, want: "messages.1.role"},
		{name: "1.20 system message after an answer", body: `{` + opus5 + `,"messages":[` + question + `,{"role":"assistant","content":"a"},{"role":"system","content":"x"}]}`, status: 400, want: "must follow"},
		{name: "1.20 system message before a question", body: `{` + opus5 + `,"messages":[` + question + `,{"role":"system","content":"x"},` + question + `]}`, status: 400, want: "must be last"},
		{name: "1.21 temperature", body: `{` + opus5 + `,"temperature":1,` + hi + `}`, status: 400, want: "temperature"},
		{name: "1.21 temperature, old version, old model", body: `{"model":"claude-sonnet-4-5","max_tokens":9,"temperature":1,` + hi + `}`, headers: []string{"Anthropic-Version", "2023-06-01"}},
		{name: "1.21 document of the assistant", body: `{` + opus5 + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"document","source":{"type":"text"}}]},` + question + `]}`, status: 400, want: "document"},
		{name: "1.21 citations of the user", body: `{` + opus5 + `,"messages":[{"role":"user","content":[{"type":"text","text":"x","citations":[{"type":"char_location"}]}]}]}`, status: 400, want: "citations"},
		{name: "1.22 system as a string", body: `{` + opus5 + `,"system":"be kind",` + hi + `}`},
		{name: "1.23 image type", body: `{` + opus5 + `,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"AAAA"}}]}]}`, status: 400, want: "messages.0.content.0.image.source.base64.media_type: Input should be"},
		{name: "1.23 image that is none", body: `{` + opus5 + `,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}`, status: 400, want: "Could not process image"},
		{name: "1.23 image too heavy", body: `{` + opus5 + `,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("A", 10<<20+4) + `"}}]}]}`, status: 400, want: "messages.0.content.0.image.source.base64: image exceeds 10 MB maximum: 10485764 bytes > 10485760 bytes"},
		{name: "1.23 image too large", body: pictures(t, 1, 8001, 1), status: 400, want: "At least one of the image dimensions exceed max allowed size: 8000 pixels"},
		{name: "1.23 twenty large images", body: pictures(t, 20, 2001, 1)},
		{name: "1.23 one large image more", body: pictures(t, 21, 2001, 1), status: 400, want: "exceed max allowed size for many-image requests: 2000 pixels"},
		{name: "1.23 too many images", body: strings.Replace(pictures(t, 101, 1, 1), "claude-opus-5", "claude-opus-4-5", 1), status: 400, want: "too many images"},
		{name: "1.25 body too large", body: `{` + opus5 + `,"messages":[{"role":"user","content":"` + strings.Repeat("x", 32<<20) + `"}]}`, status: 413, kind: "request_too_large", want: "Request exceeds the maximum size"},
		{name: "1.26 over the window", body: `{"model":"claude-opus-4-5","max_tokens":9,"messages":[{"role":"user","content":"` + strings.Repeat("word", 200_000) + `"}]}`, status: 400, want: "prompt is too long: 200003 tokens > 200000 maximum"},
		{name: "1.26 over the window with the answer", body: `{"model":"claude-opus-4-5","max_tokens":64000,"messages":[{"role":"user","content":"` + strings.Repeat("word", 190_000) + `"}]}`},
		{name: "1.28 server tool without a result", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]},` + question + `]}`, status: 400, want: "`web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block"},
		{name: "1.28 paused", body: `{` + opus5 + `,` + tools + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]}]}`},
		{name: "4.1 disabled where it always thinks", body: `{"model":"claude-fable-5-2","max_tokens":9,"thinking":{"type":"disabled"},` + hi + `}`, status: 400, want: `"thinking.type.disabled" is not supported for this model.`},
		{name: "4.1 disabled at high effort", body: `{` + opus5 + `,"thinking":{"type":"disabled"},"output_config":{"effort":"max"},` + hi + `}`, status: 400, want: "effort"},
		{name: "4.1 disabled", body: `{` + opus5 + `,"thinking":{"type":"disabled"},"output_config":{"effort":"high"},` + hi + `}`},
		{name: "4.1 between tools", body: `{"model":"claude-sonnet-5-5","max_tokens":9,"thinking":{"type":"between_tools"},` + hi + `}`},
		{name: "4.1 between tools at high effort", body: `{"model":"claude-sonnet-5-5","max_tokens":9,"thinking":{"type":"between_tools"},"output_config":{"effort":"xhigh"},` + hi + `}`, status: 400, want: "effort"},
		{name: "4.2 effort that is not there", body: `{"model":"claude-haiku-4-5","max_tokens":9,"output_config":{"effort":"low"},` + hi + `}`, status: 400, want: "effort"},
		{name: "4.3 enabled on newer models", body: `{` + opus5 + `,"thinking":{"type":"enabled","budget_tokens":1024},` + hi + `}`, status: 400, want: `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`},
		{name: "4.3 adaptive on older models", body: `{"model":"claude-haiku-4-5","max_tokens":9,"thinking":{"type":"adaptive"},` + hi + `}`, status: 400, want: "adaptive thinking is not supported on this model"},
		{name: "4.4 small budget", body: `{"model":"claude-haiku-4-5","max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":1023},` + hi + `}`, status: 400, want: "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"},
		{name: "4.4 large budget", body: `{"model":"claude-haiku-4-5","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":2000},` + hi + `}`, status: 400, want: "`max_tokens` must be greater than `thinking.budget_tokens`"},
		{name: "4.7 manual thinking starts the answer", body: `{"model":"claude-haiku-4-5","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},` + tools + `,"messages":[` + question + `,` + callA + `,` + resultA + `]}`, status: 400, want: "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."},
		{name: "4.9 forged", body: `{` + opus5 + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"Zm9yZ2Vk"},{"type":"text","text":"a"}]},` + question + `]}`, status: 400, want: "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{name: "4.13 binding without its header", body: `{` + opus5 + `,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}},` + hi + `}`, status: 400, want: "thinking.adaptive.block_binding: Extra inputs are not permitted"},
		{name: "4.13 binding with its header", body: `{` + opus5 + `,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}},` + hi + `}`, headers: []string{"Anthropic-Beta", "thinking-binding-controls-2026-08-01"}},
		{name: "5.1 type", body: `{` + opus5 + `,"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"forever"}}]}]}`, status: 400, want: "Input should be 'ephemeral'"},
		{name: "5.1 ttl", body: `{` + opus5 + `,"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"2h"}}]}]}`, status: 400, want: "Input should be '5m' or '1h'"},
		{name: "5.2 five markers", body: `{` + opus5 + `,"tools":[{"name":"get","input_schema":{"type":"object"},` + eph + `}],"system":[{"type":"text","text":"s",` + eph + `}],"messages":[` + question + `,` + callA + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x",` + eph + `}]},{"type":"text","text":"x",` + eph + `},{"type":"text","text":"x",` + eph + `}]}]}`, status: 400, want: "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{name: "5.2 four markers and the automatic one", body: `{` + opus5 + `,` + eph + `,"messages":[{"role":"user","content":[{"type":"text","text":"x",` + eph + `},{"type":"text","text":"x",` + eph + `},{"type":"text","text":"x",` + eph + `},{"type":"text","text":"x",` + eph + `}]}]}`, status: 400, want: "Found 5."},
		{name: "5.3 longer after shorter", body: `{` + opus5 + `,"system":[{"type":"text","text":"s",` + eph + `}],"messages":[{"role":"user","content":[{"type":"text","text":"x",` + ephHour + `}]}]}`, status: 400, want: "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."},
		{name: "5.3 shorter after longer", body: `{` + opus5 + `,"system":[{"type":"text","text":"s",` + ephHour + `}],"messages":[{"role":"user","content":[{"type":"text","text":"x",` + eph + `}]}]}`},
		{name: "5.4 on thinking", body: `{` + opus5 + `,"messages":[` + question + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"x",` + eph + `}]},` + question + `]}`, status: 400, want: "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"},
		{name: "5.4 on an empty text", body: `{` + opus5 + `,"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"",` + eph + `}]}]}`, status: 400, want: "messages.0.content.1.text: cache_control cannot be set for empty text blocks"},
		{name: "5.4 on a deferred tool", body: `{` + opus5 + `,"tools":[{"name":"get","input_schema":{"type":"object"},"defer_loading":true,` + eph + `}],` + hi + `}`, status: 400, want: "deferred"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := anthropicfake.New(anthropicfake.Options{APIKeys: []string{"key"}})
			tt.run(t, s, "/v1/messages")
			if n := len(s.Rejected()); n != 1 == (tt.status != 0) {
				t.Errorf("%d rejected", n)
			}
		})
	}
}

func TestOlderModelsCountTheAnswer(t *testing.T) {
	old := anthropicfake.Model{ID: "claude-old", WindowTokens: 1000, MaxOutputTokens: 500, OutputCounts: true}
	s := anthropicfake.New(anthropicfake.Options{Models: []anthropicfake.Model{old}})
	rule{
		body:   `{"model":"claude-old","max_tokens":500,"messages":[{"role":"user","content":"` + strings.Repeat("word", 600) + `"}]}`,
		status: 400, want: "input length and `max_tokens` exceed context limit: 603 + 500 > 1000, decrease input length or `max_tokens` and try again",
	}.run(t, s, "/v1/messages")
}

func TestCountTokens(t *testing.T) {
	s := anthropicfake.New(anthropicfake.Options{})
	w := post(t, s, "/v1/messages/count_tokens", `{"model":"claude-opus-5",`+hi+`}`)
	if w.Code != http.StatusOK || w.Body.String() != `{"input_tokens":4}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	rule{body: `{"model":"claude-opus-5","max_tokens":1,` + hi + `}`, status: 400, want: "max_tokens: Extra inputs are not permitted"}.run(t, s, "/v1/messages/count_tokens")
	rule{body: `{"model":"claude-opus-5","messages":[]}`, status: 400, want: "at least one message"}.run(t, s, "/v1/messages/count_tokens")

	double := anthropicfake.New(anthropicfake.Options{CountText: func(text string) int { return 2 * len(text) }})
	if w := post(t, double, "/v1/messages/count_tokens", `{"model":"claude-opus-5",`+hi+`}`); w.Body.String() != `{"input_tokens":7}` {
		t.Errorf("own count: %s", w.Body)
	}
}

func TestModels(t *testing.T) {
	s := anthropicfake.New(anthropicfake.Options{WindowTokens: 5000})
	var info struct {
		ID             string
		MaxInputTokens int `json:"max_input_tokens"`
		MaxTokens      int `json:"max_tokens"`
		Capabilities   struct {
			Thinking struct {
				Types map[string]struct{ Supported bool }
			}
		}
	}
	w := post(t, s, "/v1/models/claude-sonnet-5-5", "")
	if err := json.Unmarshal(w.Body.Bytes(), &info); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s %d %d %v", info.ID, info.MaxInputTokens, info.MaxTokens, info.Capabilities.Thinking.Types)
	if want := "claude-sonnet-5-5 5000 128000 map[adaptive:{true} between_tools:{true} disabled:{false} enabled:{false}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	rule{status: 404, kind: "not_found_error", want: "model: gpt-5"}.run(t, s, "/v1/models/gpt-5")
	if w := post(t, s, "/v1/models", ""); !strings.Contains(w.Body.String(), `"last_id":"claude-haiku-4-5"`) {
		t.Errorf("list: %s", w.Body)
	}
	rule{status: 404, kind: "not_found_error"}.run(t, s, "/v2/models")
	rule{status: 405}.run(t, s, "/v1/messages")
}
