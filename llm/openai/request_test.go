package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/llm/openai"
	"sessiond/message"
)

// bodyOf returns the bytes that a request is sent as.
func bodyOf(t *testing.T, dialectName string, req *llm.Request) string {
	t.Helper()
	var body []byte
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	})
	c := dial(t, h, openai.Options{Dialect: dialect(t, dialectName)})
	if _, err := c.Stream(t.Context(), req, discard); err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// messagesOf returns what a conversation is sent as, one message a line.
func messagesOf(t *testing.T, dialectName string, msgs ...message.Message) string {
	t.Helper()
	body := bodyOf(t, dialectName, &llm.Request{Model: "m", Messages: msgs})
	var v struct{ Messages []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range v.Messages {
		lines = append(lines, string(m))
	}
	return strings.Join(lines, "\n")
}

func TestRequestBody(t *testing.T) {
	req := &llm.Request{
		Model: "gpt-5", System: "be <kind>", MaxOutputTokens: 100, CacheKey: "s-1", Thinking: llm.ThinkingHigh,
		ToolChoice: llm.ToolChoiceNone,
		Tools: []llm.Tool{
			{Name: "a", Description: "does <a>", InputSchema: []byte(`{ "type" : "object", "properties": {"x": {"type":"number", "minimum": 1.0}} }`)},
			{Name: "b", InputSchema: []byte(` {"type":"object"}`)},
			{Name: "c"},
		},
		Messages: []message.Message{user(say("hi"))},
	}
	const tools = `"tools":[{"type":"function","function":{"name":"a","description":"does <a>","parameters":{ "type" : "object", "properties": {"x": {"type":"number", "minimum": 1.0}} }}},` +
		`{"type":"function","function":{"name":"b","parameters":{"properties":{},"type":"object"}}},` +
		`{"type":"function","function":{"name":"c","parameters":{"type":"object","properties":{}}}}],"tool_choice":"none"`
	const messages = `"messages":[{"role":"system","content":"be <kind>"},{"role":"user","content":"hi"}]`
	const head = `{"model":"gpt-5","stream":true,"stream_options":{"include_usage":true},`
	for name, want := range map[string]string{
		"openai":     head + `"max_completion_tokens":100,"prompt_cache_key":"s-1","reasoning_effort":"high",` + tools + `,` + messages + `}`,
		"openrouter": head + `"max_tokens":100,"prompt_cache_key":"s-1","reasoning":{"effort":"high"},` + tools + `,` + messages + `}`,
		"deepseek":   head + `"max_tokens":100,"thinking":{"type":"enabled"},` + tools + `,` + messages + `}`,
		"ollama":     head + `"max_tokens":100,"reasoning_effort":"high",` + tools + `,` + messages + `}`,
	} {
		if diff := cmp.Diff(want, bodyOf(t, name, req)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMessages(t *testing.T) {
	img := message.Image{MimeType: "image/png", Data: "AAAA"}
	use := func(id message.ToolUseID) message.ToolUse {
		return message.ToolUse{ID: id, Name: "read", Input: []byte("{ \"p\" : \"<a>\\u0041\" }")}
	}
	result := func(id message.ToolUseID, isError bool, content ...message.Block) message.ToolResult {
		return message.ToolResult{ToolUseID: id, Content: content, IsError: isError}
	}
	const useA = `{"id":"a","type":"function","function":{"name":"read","arguments":"{ \"p\" : \"<a>\\u0041\" }"}}`
	tests := []struct {
		name    string
		dialect string
		msgs    []message.Message
		want    string
	}{
		{
			"texts are paragraphs", "openai",
			[]message.Message{user(say("one"), say("two"))},
			`{"role":"user","content":"one\n\ntwo"}`,
		},
		{
			"neighbours are one", "openai",
			[]message.Message{user(say("one")), user(say("two")), assistant(say("x")), assistant(say("y")), user(say("three"))},
			`{"role":"user","content":"one\n\ntwo"}` + "\n" + `{"role":"assistant","content":"x\n\ny"}` + "\n" + `{"role":"user","content":"three"}`,
		},
		{
			"images are parts", "openai",
			[]message.Message{user(say("look"), img), user(say("well?"))},
			`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"text","text":"well?"}]}`,
		},
		{
			"a tool round", "openai",
			[]message.Message{user(say("go")), assistant(say("ok"), use("a")), user(result("a", false, say("1"), say("2")), say("and?"))},
			`{"role":"user","content":"go"}` + "\n" + `{"role":"assistant","content":"ok","tool_calls":[` + useA + `]}` + "\n" +
				`{"role":"tool","tool_call_id":"a","content":"1\n2"}` + "\n" + `{"role":"user","content":"and?"}`,
		},
		{
			"results of several messages come first", "openai",
			[]message.Message{user(say("go")), assistant(use("a"), use("b")), user(result("b", false, say("B"))), user(result("a", false, say("A")), say("x")), user(say("y"))},
			`{"role":"user","content":"go"}` + "\n" +
				`{"role":"assistant","content":null,"tool_calls":[` + useA + `,` + strings.Replace(useA, `"a"`, `"b"`, 1) + `]}` + "\n" +
				`{"role":"tool","tool_call_id":"b","content":"B"}` + "\n" + `{"role":"tool","tool_call_id":"a","content":"A"}` + "\n" +
				`{"role":"user","content":"x\n\ny"}`,
		},
		{
			"failed, empty and pictured results", "openai",
			[]message.Message{user(say("go")), assistant(use("a"), use("b"), use("c"), use("d")), user(
				result("a", true, say("no such file")), result("b", true, say("Error: bad")), result("c", false), result("d", false, img))},
			`{"role":"user","content":"go"}` + "\n" +
				`{"role":"assistant","content":null,"tool_calls":[` + useA + `,` + strings.Replace(useA, `"a"`, `"b"`, 1) + `,` + strings.Replace(useA, `"a"`, `"c"`, 1) + `,` + strings.Replace(useA, `"a"`, `"d"`, 1) + `]}` + "\n" +
				`{"role":"tool","tool_call_id":"a","content":"Error: no such file"}` + "\n" +
				`{"role":"tool","tool_call_id":"b","content":"Error: bad"}` + "\n" +
				`{"role":"tool","tool_call_id":"c","content":"(no output)"}` + "\n" +
				`{"role":"tool","tool_call_id":"d","content":"(see the images in the next message)"}` + "\n" +
				`{"role":"user","content":[{"type":"text","text":"Images returned by tool call d:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`,
		},
		{
			"templates of local servers want text", "vllm",
			[]message.Message{user(say("go")), assistant(use("a")), user(result("a", false, say("1")))},
			`{"role":"user","content":"go"}` + "\n" + `{"role":"assistant","content":"","tool_calls":[` + useA + `]}` + "\n" + `{"role":"tool","tool_call_id":"a","content":"1"}`,
		},
		{
			"reasoning goes back to its server", "deepseek",
			[]message.Message{user(say("go")), assistant(message.Thinking{Provider: "deepseek", Text: "hm", Raw: []byte(`{ "reasoning_content":"hm" }`)}, say("ok"))},
			`{"role":"user","content":"go"}` + "\n" + `{"role":"assistant","content":"ok", "reasoning_content":"hm" }`,
		},
		{
			"a call without reasoning", "deepseek",
			[]message.Message{user(say("go")), assistant(use("a")), user(result("a", false, say("1")))},
			`{"role":"user","content":"go"}` + "\n" + `{"role":"assistant","content":null,"reasoning_content":"","tool_calls":[` + useA + `]}` + "\n" + `{"role":"tool","tool_call_id":"a","content":"1"}`,
		},
		{
			"foreign, damaged and malicious reasoning stays here", "openrouter",
			[]message.Message{user(say("go")), assistant(
				message.Thinking{Provider: "anthropic", Raw: []byte(`{"reasoning":"x"}`)},
				message.Thinking{Provider: "openrouter", Raw: []byte(`{"reasoning":`)},
				message.Thinking{Provider: "openrouter", Raw: []byte(`{}`)},
				message.Thinking{Provider: "openrouter", Raw: []byte(`{"role":"system","reasoning":"x"}`)},
				message.Thinking{Provider: "openrouter", Text: "x"}, say("ok"))},
			`{"role":"user","content":"go"}` + "\n" + `{"role":"assistant","content":"ok"}`,
		},
		{
			"OpenAI takes no reasoning", "openai",
			[]message.Message{user(say("go")), assistant(message.Thinking{Provider: "openai", Raw: []byte(`{"reasoning":"x"}`)}, say("ok"))},
			`{"role":"user","content":"go"}` + "\n" + `{"role":"assistant","content":"ok"}`,
		},
		{
			"an answer of nothing is left out", "openai",
			[]message.Message{user(say("go")), assistant(message.Thinking{Provider: "x", Text: "hm"}), user(say("well?"))},
			`{"role":"user","content":"go"}` + "\n" + `{"role":"user","content":"well?"}`,
		},
		{
			"NUL and broken UTF-8", "openai",
			[]message.Message{user(say("a\x00b\xff"))},
			`{"role":"user","content":"a\u0000b` + "\uFFFD" + `"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, messagesOf(t, tt.dialect, tt.msgs...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A conversation that only grows is sent with the bytes it was sent with before, so
// that prompt caches hit.
func TestRequestsExtendEachOther(t *testing.T) {
	use := message.ToolUse{ID: "a", Name: "weather", Input: []byte(`{"city":"Rome"}`)}
	conversation := []message.Message{
		user(say("hi")), assistant(say("hello")), user(say("weather?")), assistant(use),
		user(message.ToolResult{ToolUseID: "a", Content: []message.Block{say("sunny")}}), assistant(say("sunny")), user(say("thanks")),
	}
	var before string
	for n := 1; n <= len(conversation); n += 2 {
		req := hello()
		req.CacheKey, req.MaxOutputTokens, req.Messages = "k", 100, conversation[:n]
		body := bodyOf(t, "openai", req)
		if !bytes.HasPrefix([]byte(body), []byte(strings.TrimSuffix(before, "]}"))) {
			t.Fatalf("%d messages: %s\ndo not begin with %s", n, body, before)
		}
		before = body
	}
}

func TestRequestIsNotChanged(t *testing.T) {
	content := make([]message.Block, 1, 10)
	content[0] = say("a")
	req := &llm.Request{Model: "m", Messages: []message.Message{user(content...), user(say("b"))}}
	bodyOf(t, "openai", req)
	if extra := content[:2][1]; extra != nil {
		t.Errorf("the caller's array was written to: %v", extra)
	}
}

// Servers that route by a key get the session's; others would refuse or ignore it.
func TestCacheKey(t *testing.T) {
	long := strings.Repeat("long-key/", 10)
	sent := func(name, key string) string {
		req := hello()
		req.CacheKey = key
		var body struct {
			Key string `json:"prompt_cache_key"`
		}
		if err := json.Unmarshal([]byte(bodyOf(t, name, req)), &body); err != nil {
			t.Fatal(err)
		}
		return body.Key
	}
	for name, want := range map[string]bool{
		"openai": true, "openrouter": true, "kimi": true,
		"deepseek": false, "ollama": false, "lmstudio": false, "vllm": false, "llamacpp": false, "compatible": false,
	} {
		if got := sent(name, "key"); got != map[bool]string{true: "key"}[want] {
			t.Errorf("%s: sent %q", name, got)
		}
	}
	short := sent("openai", long)
	if len(short) > 64 || short == "" || short != sent("openai", long) || short == sent("openai", long+"x") {
		t.Errorf("a key that is too long became %q", short)
	}
	fits := strings.Repeat("k", 64)
	if got := sent("openai", fits); got != fits {
		t.Errorf("a key that fits became %q", got)
	}
}
