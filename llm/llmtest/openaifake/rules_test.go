package openaifake_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sessiond/llm/llmtest/openaifake"
)

// post sends a body to a fresh server and returns the answer.
func post(t *testing.T, s http.Handler, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer key")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// apiError is the documented shape of errors.
type apiError struct {
	Error struct {
		Message string
		Type    string
		Param   *string
		Code    *string
	}
}

const (
	weather  = `{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}`
	user     = `{"role":"user","content":"hi"}`
	callsA   = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"{}"}}]}`
	callsAB  = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"weather","arguments":"{}"}}]}`
	resultA  = `{"role":"tool","tool_call_id":"a","content":"sunny"}`
	resultB  = `{"role":"tool","tool_call_id":"b","content":"wet"}`
	reasoned = `{"role":"assistant","content":null,"reasoning_content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"{}"}}]}`
)

func chat(messages ...string) string {
	return `{"model":"gpt-4o","messages":[` + strings.Join(messages, ",") + `]}`
}

func with(members string, messages ...string) string {
	return `{"model":"gpt-4o",` + members + `,"messages":[` + strings.Join(messages, ",") + `]}`
}

func call(id, name, arguments string) string {
	return `{"role":"assistant","tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":` + arguments + `}}]}`
}

func picture(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

func withPicture(url string) string {
	return `{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"` + url + `"}}]}`
}

func TestRejects(t *testing.T) {
	deepseek := openaifake.Options{RequireReasoning: true}
	tests := []struct {
		name    string
		opts    openaifake.Options
		body    string
		status  int // 0 means 400
		message string
		param   string
		code    string
	}{
		{name: "no JSON", body: `{"model":`, message: "We could not parse the JSON body"},
		{name: "no object", body: `[]`, message: "We could not parse the JSON body"},
		{name: "no UTF-8", body: chat("{\"role\":\"user\",\"content\":\"\xff\"}"), message: "We could not parse the JSON body"},
		{name: "half a surrogate pair", body: chat(`{"role":"user","content":"\ud800"}`), message: "We could not parse the JSON body"},
		{name: "the other half", body: chat(`{"role":"user","content":"\udc00"}`), message: "We could not parse the JSON body"},
		{name: "two first halves", body: chat(`{"role":"user","content":"\ud83d\ud83d"}`), message: "We could not parse the JSON body"},
		{name: "unknown member", body: with(`"thinking":{}`, user), message: "Unknown parameter: 'thinking'.", param: "thinking", code: "unknown_parameter"},
		{name: "a long cache key (8.7)", body: with(`"prompt_cache_key":"`+strings.Repeat("é", 65)+`"`, user), message: "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.", param: "prompt_cache_key", code: "string_above_max_length"},
		{name: "no model", body: `{"messages":[` + user + `]}`, message: "you must provide a model parameter"},
		{name: "unknown model", body: `{"model":"nope","messages":[` + user + `]}`, status: 404, message: "The model `nope` does not exist", code: "model_not_found"},
		{name: "no messages", body: `{"model":"gpt-4o"}`, message: "Missing required parameter: 'messages'.", param: "messages", code: "missing_required_parameter"},
		{name: "no message", body: chat(), message: "Invalid 'messages': empty array.", param: "messages", code: "empty_array"},
		{name: "unknown role", body: chat(`{"role":"bot","content":"x"}`), message: "Invalid value: 'bot'.", param: "messages[0].role", code: "invalid_value"},
		{name: "unknown member of a message", body: chat(`{"role":"user","content":"x","id":"y"}`), message: "Unknown parameter: 'messages[0].id'.", code: "unknown_parameter", param: "messages[0].id"},
		{name: "null content", body: chat(`{"role":"user","content":null}`), message: "expected a string, got null", param: "messages[0].content"},
		{name: "assistant without anything", body: chat(user, `{"role":"assistant"}`), message: "expected a string, got null", param: "messages[1].content"},
		{name: "content of a wrong type", body: chat(`{"role":"user","content":7}`), message: "expected an array of objects, but got a number", param: "messages[0].content", code: "invalid_type"},
		{name: "no parts", body: chat(`{"role":"user","content":[]}`), message: "empty array", param: "messages[0].content", code: "empty_array"},
		{name: "unknown part", body: chat(`{"role":"user","content":[{"type":"tool_result"}]}`), message: "Invalid value: 'tool_result'.", param: "messages[0].content[0]", code: "invalid_value"},

		{name: "missing results (8.2)", body: chat(user, callsAB, resultB, user), message: "must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: a", param: "messages.[1].role"},
		{name: "missing results at the end (8.2)", body: chat(user, callsAB), message: "did not have response messages: a, b", param: "messages.[1].role"},
		{name: "result after other words (8.2)", body: chat(user, callsA, user, resultA), message: "did not have response messages: a", param: "messages.[1].role"},
		{name: "orphan result (8.2)", body: chat(user, resultA), message: "must be a response to a preceeding message with 'tool_calls'", param: "messages.[1].role"}, //nolint:misspell // their spelling
		{name: "result for another call (8.2)", body: chat(user, callsA, resultB), message: "'tool_call_id' of 'b' not found in 'tool_calls' of previous message", param: "messages.[2].tool_call_id"},
		{name: "two results (8.2)", body: chat(user, callsA, resultA, resultA), message: "Duplicate value for 'tool_call_id' of 'a'", param: "messages.[3].tool_call_id"},
		{name: "result without id", body: chat(user, callsA, `{"role":"tool","content":"x"}`), message: "Missing required parameter: 'messages[2].tool_call_id'", param: "messages[2].tool_call_id", code: "missing_required_parameter"},
		{name: "calls that share an id", body: chat(user, strings.ReplaceAll(callsAB, `"b"`, `"a"`), resultA), message: "Duplicate tool call id 'a'", param: "messages[1].tool_calls[1].id", code: "invalid_value"},
		{name: "call without id", body: chat(user, call("", "weather", `"{}"`)), message: "Missing required parameter: 'messages[1].tool_calls[0].id'", param: "messages[1].tool_calls[0].id", code: "missing_required_parameter"},
		{name: "call with a long id", body: chat(user, call(strings.Repeat("x", 41), "weather", `"{}"`)), message: "maximum length 40, but got a string with length 41", param: "messages[1].tool_calls[0].id", code: "string_above_max_length"},
		{name: "call with a bad name", body: chat(user, call("a", "functions.x:0", `"{}"`)), message: "string does not match pattern", param: "messages[1].tool_calls[0].function.name", code: "invalid_value"},
		{name: "call with object arguments", body: chat(user, call("a", "weather", `{}`)), message: "expected a string, but got an object", param: "messages[1].tool_calls[0].function.arguments", code: "invalid_type"},
		{name: "call with arguments that are no object", body: chat(user, call("a", "weather", `"[1]"`)), message: "not a JSON object", param: "messages[1].tool_calls[0].function.arguments", code: "invalid_value"},
		{name: "no calls", body: chat(user, `{"role":"assistant","content":"x","tool_calls":[]}`), message: "empty array", param: "messages[1].tool_calls", code: "empty_array"},
		{name: "user calls", body: chat(`{"role":"user","content":"x","tool_calls":[]}`), message: "Unknown parameter: 'messages[0].tool_calls'", param: "messages[0].tool_calls", code: "unknown_parameter"},

		{name: "no tools", body: with(`"tools":[]`, user), message: "Invalid 'tools': empty array.", param: "tools", code: "empty_array"},
		{name: "too many tools", body: with(`"tools":[`+strings.Repeat(weather+",", 128)+weather+`]`, user), message: "array too long", param: "tools", code: "array_above_max_length"},
		{name: "tool of no kind", body: with(`"tools":[{"name":"weather"}]`, user), message: "Invalid value: ''", param: "tools[0].type", code: "invalid_value"},
		{name: "tool twice", body: with(`"tools":[`+weather+`,`+weather+`]`, user), message: "Tool names must be unique", param: "tools[1].function.name", code: "invalid_value"},
		{name: "tool with a bad name", body: with(`"tools":[`+strings.Replace(weather, "weather", "a b", 1)+`]`, user), message: "string does not match pattern", param: "tools[0].function.name", code: "invalid_value"},
		{name: "tool with another schema", body: with(`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"string"}}}]`, user), message: `got 'type: "string"'`, param: "tools[0].function.parameters", code: "invalid_function_parameters"},
		{name: "tool without a type", body: with(`"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]`, user), message: `got 'type: "None"'`, param: "tools[0].function.parameters", code: "invalid_function_parameters"},
		{name: "tool without properties", body: with(`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`, user), message: "object schema missing properties", param: "tools[0].function.parameters", code: "invalid_function_parameters"},
		{name: "choice without tools", body: with(`"tool_choice":"none"`, user), message: "'tool_choice' is only allowed when 'tools' are specified.", param: "tool_choice"},
		{name: "choice of nothing known", body: with(`"tool_choice":"maybe","tools":[`+weather+`]`, user), message: "Invalid value: 'maybe'", param: "tool_choice", code: "invalid_value"},
		{name: "choice of another tool", body: with(`"tool_choice":{"type":"function","function":{"name":"x"}},"tools":[`+weather+`]`, user), message: "'x' not found", param: "tool_choice", code: "invalid_value"},

		{name: "usage without a stream (8.6)", body: with(`"stream_options":{"include_usage":true}`, user), message: "only allowed when 'stream' is enabled", param: "stream_options"},
		{name: "both caps (8.8)", body: with(`"max_tokens":1,"max_completion_tokens":1`, user), message: "at the same time", param: "max_tokens", code: "invalid_value"},
		{name: "old cap of a reasoning model (8.8)", body: `{"model":"gpt-5","max_tokens":1,"messages":[` + user + `]}`, message: "Use 'max_completion_tokens' instead", param: "max_tokens", code: "unsupported_parameter"},
		{name: "new cap at an older server (8.8)", opts: openaifake.Options{OnlyMaxTokens: true}, body: with(`"max_completion_tokens":1`, user), message: "Unknown parameter", param: "max_completion_tokens", code: "unknown_parameter"},
		{name: "cap of nothing (8.8)", body: with(`"max_tokens":0`, user), message: "integer below minimum value", param: "max_tokens", code: "integer_below_min_value"},
		{name: "cap above the model's (8.8)", body: with(`"max_tokens":20000`, user), message: "max_tokens is too large: 20000. This model supports at most 16384 completion tokens, whereas you provided 20000.", param: "max_tokens", code: "invalid_value"},
		{name: "effort of a plain model (9.3)", body: with(`"reasoning_effort":"none"`, user), message: "Unsupported parameter: 'reasoning_effort'", param: "reasoning_effort", code: "unsupported_parameter"},

		{name: "more bytes than are taken", body: with(`"user":"`+strings.Repeat("x", 32<<20)+`"`, user), status: http.StatusRequestEntityTooLarge, message: "Request too large"},
		{name: "overflow (8.1)", opts: openaifake.Options{WindowTokens: 100}, body: chat(`{"role":"user","content":"` + strings.Repeat("abcd", 100) + `"}`), message: "This model's maximum context length is 100 tokens. However, your messages resulted in 104 tokens. Please reduce the length of the messages.", param: "messages", code: "context_length_exceeded"},

		{name: "image of another format", body: chat(withPicture("data:image/bmp;base64,AAAA")), message: "You uploaded an unsupported image", param: "messages[0].content[1]", code: "invalid_image_format"},
		{name: "image that is none", body: chat(withPicture("data:image/png;base64,AAAA")), message: "Please make sure your image is valid", param: "messages[0].content[1]", code: "invalid_image_format"},
		{name: "image in bad base64", body: chat(withPicture("data:image/png;base64,A")), message: "Invalid base64 image_url", param: "messages[0].content[1]", code: "invalid_base64"},
		{name: "image of the wrong kind", body: chat(withPicture(strings.Replace(picture(t, 1, 1), "png", "jpeg", 1))), message: "Please make sure your image is valid", param: "messages[0].content[1]", code: "invalid_image_format"},
		{name: "image with too many patches (8.8)", body: chat(withPicture(picture(t, 8000, 8000))), message: "requires 62500 patches after processing, exceeding the limit of 30000", param: "messages[0].content[1]", code: "invalid_image"},
		{name: "image in a result", body: chat(user, callsA, strings.Replace(strings.Replace(withPicture(picture(t, 1, 1)), `"user"`, `"tool","tool_call_id":"a"`, 1), "look", "x", 1)), message: "Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.", param: "messages[2].content[1"},
		{name: "image for a blind model", body: `{"model":"gpt-3.5-turbo","messages":[` + withPicture(picture(t, 1, 1)) + `]}`, message: "image_url is only supported by certain models", param: "messages[0].content[1]"},

		{name: "reasoning at OpenAI", body: chat(user, reasoned, resultA), message: "Unknown parameter: 'messages[1].reasoning_content'", param: "messages[1].reasoning_content", code: "unknown_parameter"},
		{name: "reasoning not passed back (8.15)", opts: deepseek, body: chat(user, callsA, resultA), message: "The `reasoning_content` in the thinking mode must be passed back to the API.", code: "invalid_request_error"},
		{name: "reasoning null (8.15)", opts: deepseek, body: chat(user, strings.Replace(reasoned, `_content":""`, `_content":null`, 1), resultA), message: "must be passed back", code: "invalid_request_error"},
		{name: "two users in a row", opts: openaifake.Options{Alternate: true}, body: chat(user, user), message: "roles must alternate", param: "messages"},
		{name: "assistant first", opts: openaifake.Options{Alternate: true}, body: chat(`{"role":"assistant","content":"x"}`, user), message: "roles must alternate", param: "messages"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openaifake.New(tt.opts)
			w := post(t, s, tt.body)
			if tt.status == 0 {
				tt.status = http.StatusBadRequest
			}
			var e apiError
			if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != tt.status {
				t.Fatalf("status %d, want %d: %s (%v)", w.Code, tt.status, w.Body, err)
			}
			if !strings.Contains(e.Error.Message, tt.message) {
				t.Errorf("message %q, want %q", e.Error.Message, tt.message)
			}
			if e.Error.Type != "invalid_request_error" {
				t.Errorf("type %q", e.Error.Type)
			}
			if got := deref(e.Error.Param); got != tt.param {
				t.Errorf("param %q, want %q", got, tt.param)
			}
			if got := deref(e.Error.Code); got != tt.code {
				t.Errorf("code %q, want %q", got, tt.code)
			}
			if r := s.Rejected(); len(r) != 1 || r[0].Rule == "" || r[0].Status != tt.status {
				t.Errorf("rejections: %+v", r)
			}
		})
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestAccepts(t *testing.T) {
	deepseek := openaifake.Options{RequireReasoning: true}
	tests := []struct {
		name string
		opts openaifake.Options
		body string
	}{
		{"hello", openaifake.Options{}, chat(user)},
		{"two users in a row", openaifake.Options{}, chat(user, user)},
		{"system anywhere", openaifake.Options{}, chat(`{"role":"system","content":"be kind"}`, user, `{"role":"developer","content":"x"}`)},
		{"a tool round", openaifake.Options{}, chat(user, callsAB, resultB, resultA, user)},
		{"the same ids again", openaifake.Options{}, chat(user, callsA, resultA, callsA, resultA)},
		{"empty words", openaifake.Options{}, chat(`{"role":"user","content":""}`, callsA, `{"role":"tool","tool_call_id":"a","content":""}`)},
		{"NUL and whole surrogate pairs", openaifake.Options{}, chat(`{"role":"user","content":"\u0000 \ud83d\ude00 \\ud800 \""}`)},
		{"tools", openaifake.Options{}, with(`"tools":[`+weather+`],"tool_choice":{"type":"function","function":{"name":"weather"}},"parallel_tool_calls":false`, user)},
		{"a picture", openaifake.Options{}, chat(withPicture(picture(t, 100, 100)))},
		{"a link", openaifake.Options{}, chat(withPicture("https://example.com/x.png"))},
		{"reasoning passed back (8.15)", deepseek, chat(user, reasoned, resultA)},
		{"no reasoning without calls (8.15)", deepseek, chat(user, `{"role":"assistant","content":"x"}`, user)},
		{"turns", openaifake.Options{Alternate: true}, chat(user, callsA, resultA, `{"role":"assistant","content":"x"}`, user, callsA, resultA, user)},
		{"effort", openaifake.Options{}, `{"model":"gpt-5","reasoning_effort":"low","max_completion_tokens":5,"messages":[` + user + `]}`},
		{"full to the brim", openaifake.Options{WindowTokens: 104}, chat(`{"role":"user","content":"` + strings.Repeat("abcd", 100) + `"}`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openaifake.New(tt.opts)
			if w := post(t, s, tt.body); w.Code != http.StatusOK {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			if r := s.Rejected(); len(r) != 0 {
				t.Errorf("rejected: %+v", r)
			}
		})
	}
}

func TestShapes(t *testing.T) {
	tests := []struct {
		shape openaifake.Shape
		want  string
	}{
		{openaifake.ShapeOpenAI, `{"error":{"code":null,"message":"you must provide a model parameter","param":null,"type":"invalid_request_error"}}`},
		{openaifake.ShapeFlat, `{"code":400,"message":"you must provide a model parameter","object":"error","param":null,"type":"BadRequestError"}`},
		{openaifake.ShapeText, `{"error":"you must provide a model parameter"}`},
		{openaifake.ShapeRouter, `{"error":{"code":400,"message":"Provider returned error","metadata":{"provider_name":"Fake","raw":"{\"error\":{\"code\":null,\"message\":\"you must provide a model parameter\",\"param\":null,\"type\":\"invalid_request_error\"}}"}},"user_id":"user_fake"}`},
		{openaifake.ShapeList, `[{"error":{"code":400,"message":"you must provide a model parameter","status":"INVALID_ARGUMENT"}}]`},
	}
	for _, tt := range tests {
		w := post(t, openaifake.New(openaifake.Options{Shape: tt.shape}), `{}`)
		if w.Body.String() != tt.want {
			t.Errorf("got  %s\nwant %s", w.Body, tt.want)
		}
	}
}

func TestCredentialsAndPaths(t *testing.T) {
	tests := []struct {
		name, method, path, key string
		opts                    openaifake.Options
		status                  int
		message                 string
	}{
		{"no key", "GET", "/v1/models", "", openaifake.Options{}, 401, "You didn't provide an API key."},
		{"wrong key", "GET", "/v1/models", "Bearer b", openaifake.Options{APIKeys: []string{"a"}}, 401, "Incorrect API key provided"},
		{"right key", "GET", "/v1/models", "Bearer a", openaifake.Options{APIKeys: []string{"a"}}, 200, `"gpt-4o"`},
		{"no key needed", "GET", "/v1/models/gpt-4o", "", openaifake.Options{NoAuth: true}, 200, `"gpt-4o"`},
		{"window told", "GET", "/v1/models/gpt-4o", "", openaifake.Options{NoAuth: true, TellWindow: true}, 200, `"max_model_len":128000`},
		{"unknown model", "GET", "/v1/models/x", "Bearer a", openaifake.Options{}, 404, "The model `x` does not exist"},
		{"any model", "GET", "/v1/models/x", "Bearer a", openaifake.Options{Models: []openaifake.Model{{ID: "*"}}}, 200, `"x"`},
		{"wrong path", "POST", "/v1/responses", "Bearer a", openaifake.Options{}, 404, "Invalid URL (POST /v1/responses)"},
		{"wrong method", "GET", "/v1/chat/completions", "Bearer a", openaifake.Options{}, 404, "Invalid URL (GET /v1/chat/completions)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, tt.path, http.NoBody)
			if tt.key != "" {
				r.Header.Set("Authorization", tt.key)
			}
			w := httptest.NewRecorder()
			openaifake.New(tt.opts).ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.message) {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
	}
}

func TestBodyTooLarge(t *testing.T) {
	body := chat(`{"role":"user","content":"` + strings.Repeat("x", 32<<20) + `"}`)
	if w := post(t, openaifake.New(openaifake.Options{}), body); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", w.Code)
	}
}
