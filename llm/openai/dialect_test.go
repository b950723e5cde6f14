package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/llm/llmtest/openaifake"
	"sessiond/llm/openai"
	"sessiond/message"
)

func TestDialectFor(t *testing.T) {
	for url, want := range map[string]string{
		"https://api.openai.com/v1":              "openai",
		"https://API.OpenAI.com/v1/":             "openai",
		"https://eu.api.openai.com/v1":           "openai",
		"https://notopenai.com/v1":               "compatible",
		"https://openrouter.ai/api/v1":           "openrouter",
		"https://api.deepseek.com":               "deepseek",
		"https://api.moonshot.cn/v1":             "kimi",
		"http://localhost:11434/v1":              "ollama",
		"http://gpu-box:11434/v1":                "ollama",
		"http://127.0.0.1:1234/v1":               "lmstudio",
		"http://127.0.0.1:8000/v1":               "vllm",
		"http://[::1]:8080/v1":                   "llamacpp",
		"https://example.com:8080/v1":            "compatible",
		"https://api.groq.com/openai/v1":         "compatible",
		"http://openai.com.evil.example:9999/v1": "compatible",
		"://":                                    "compatible",
	} {
		if got := openai.DialectFor(url).Name; got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

func TestDialectNamed(t *testing.T) {
	if d, err := openai.DialectNamed("vllm"); err != nil || d.Name != "vllm" {
		t.Errorf("got %v, %v", d, err)
	}
	if _, err := openai.DialectNamed("cobol"); err == nil || !strings.Contains(err.Error(), "openrouter") {
		t.Errorf("got %v", err)
	}
}

func TestNewRefusesBadURLs(t *testing.T) {
	for _, url := range []string{"", "api.openai.com/v1", "ftp://x/v1", "http://", "http://u:p@x/v1", "http://x/v1?key=" + secret, "http://x\x7f/"} {
		_, err := openai.New(openai.Options{BaseURL: url})
		if err == nil {
			t.Errorf("%q: accepted", url)
		} else if strings.Contains(err.Error(), ":p@") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// bodies records what is asked about reasoning and refuses it as long as refuse says.
func bodies(refuse func(body map[string]json.RawMessage) string) (http.Handler, *[]string) {
	var asked []string
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		var said []string
		for _, name := range []string{"reasoning_effort", "reasoning", "thinking", "chat_template_kwargs"} {
			if v, ok := body[name]; ok {
				said = append(said, name+"="+string(v))
			}
		}
		asked = append(asked, strings.Join(said, " "))
		if message := refuse(body); message != "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":{"message":%q}}`, message)
			return
		}
		_, _ = fmt.Fprint(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	}), &asked
}

func TestThinkingIsAskedFor(t *testing.T) {
	takesAll := func(map[string]json.RawMessage) string { return "" }
	tests := []struct {
		dialect, model string
		level          llm.ThinkingLevel
		want           string
	}{
		{"openai", "gpt-6", llm.ThinkingDefault, ""},
		{"openai", "gpt-6", llm.ThinkingOff, `reasoning_effort="none"`},
		{"openai", "gpt-6", llm.ThinkingMax, `reasoning_effort="max"`},
		{"openai", "gpt-4o", llm.ThinkingOff, ""},
		{"openai", "gpt-4.1", llm.ThinkingHigh, ""},
		{"openrouter", "x/y", llm.ThinkingOff, `reasoning={"enabled":false}`},
		{"openrouter", "x/y", llm.ThinkingLow, `reasoning={"effort":"low"}`},
		{"deepseek", "x", llm.ThinkingOff, `thinking={"type":"disabled"}`},
		{"deepseek", "x", llm.ThinkingXHigh, `thinking={"type":"enabled"}`},
		{"kimi", "x", llm.ThinkingOff, `thinking={"type":"disabled"}`},
		{"ollama", "x", llm.ThinkingOff, `reasoning_effort="none"`},
		{"vllm", "x", llm.ThinkingOff, `chat_template_kwargs={"enable_thinking":false}`},
		{"llamacpp", "x", llm.ThinkingOff, `chat_template_kwargs={"enable_thinking":false}`},
		{"lmstudio", "x", llm.ThinkingOff, ""},
		{"compatible", "x", llm.ThinkingOff, ""},
		{"compatible", "x", llm.ThinkingMedium, `reasoning_effort="medium"`},
	}
	for _, tt := range tests {
		t.Run(tt.dialect+"/"+tt.model+"/"+string(tt.level), func(t *testing.T) {
			h, asked := bodies(takesAll)
			req := hello()
			req.Model, req.Thinking = tt.model, tt.level
			if _, err := dial(t, h, openai.Options{Dialect: dialect(t, tt.dialect)}).Stream(t.Context(), req, discard); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.want}, *asked); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A server that refuses how it was asked about reasoning is asked in the next best way,
// and the next request begins there.
func TestThinkingIsNegotiated(t *testing.T) {
	tests := []struct {
		name, dialect string
		level         llm.ThinkingLevel
		refuse        func(map[string]json.RawMessage) string
		want          []string
		err           string
	}{
		{
			"steps down", "openai", llm.ThinkingOff,
			func(b map[string]json.RawMessage) string {
				if v := string(b["reasoning_effort"]); v == `"none"` || v == `"minimal"` {
					return "Unsupported value: 'reasoning_effort' does not support " + v + " with this model."
				}
				return ""
			},
			[]string{`reasoning_effort="none"`, `reasoning_effort="minimal"`, `reasoning_effort="low"`, `reasoning_effort="low"`},
			"",
		},
		{
			"says nothing at last", "ollama", llm.ThinkingMax,
			func(b map[string]json.RawMessage) string {
				if b["reasoning_effort"] != nil {
					return `"x" does not support thinking`
				}
				return ""
			},
			[]string{`reasoning_effort="max"`, `reasoning_effort="xhigh"`, `reasoning_effort="high"`, "", ""},
			"",
		},
		{
			"mandatory", "openrouter", llm.ThinkingOff,
			func(b map[string]json.RawMessage) string {
				if string(b["reasoning"]) == `{"enabled":false}` {
					return "Reasoning is mandatory for this endpoint and cannot be disabled."
				}
				return ""
			},
			[]string{`reasoning={"enabled":false}`, `reasoning={"effort":"low"}`, `reasoning={"effort":"low"}`},
			"",
		},
		{
			"refused for something else", "openai", llm.ThinkingOff,
			func(map[string]json.RawMessage) string { return "Unknown parameter: 'foo'." },
			[]string{`reasoning_effort="none"`, `reasoning_effort="none"`},
			"Unknown parameter",
		},
		{
			"reasoning that was not passed back", "deepseek", llm.ThinkingOff,
			func(map[string]json.RawMessage) string {
				return "The `reasoning_content` in the thinking mode must be passed back to the API."
			},
			[]string{`thinking={"type":"disabled"}`, `thinking={"type":"disabled"}`},
			"passed back",
		},
		{
			"refused whatever is said", "vllm", llm.ThinkingOff,
			func(map[string]json.RawMessage) string { return "chat_template_kwargs and all is bad" },
			[]string{`chat_template_kwargs={"enable_thinking":false}`, "", `chat_template_kwargs={"enable_thinking":false}`, ""},
			"all is bad",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, asked := bodies(tt.refuse)
			c := dial(t, h, openai.Options{Dialect: dialect(t, tt.dialect)})
			req := hello()
			req.Model, req.Thinking = "gpt-6", tt.level
			for range 2 {
				_, err := c.Stream(t.Context(), req, discard)
				if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v", err)
				}
			}
			if diff := cmp.Diff(tt.want, *asked); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCapabilities(t *testing.T) {
	type want struct {
		path   string
		window int64
		output int64
		images bool
	}
	tests := []struct {
		name, dialect, model, body string
		want                       want
	}{
		{"openai", "openai", "gpt-6", `{"data":[{"id":"gpt-6","object":"model"}]}`, want{"/v1/models", 0, 0, true}},
		{"vllm", "vllm", "q", `{"data":[{"id":"p","max_model_len":1},{"id":"q","max_model_len":32768}]}`, want{"/v1/models", 32768, 0, true}},
		{"openrouter", "openrouter", "a/b", `{"data":[{"id":"a/b","context_length":1000000,"architecture":{"input_modalities":["text"]},"top_provider":{"context_length":200000,"max_completion_tokens":64000}}]}`, want{"/v1/models", 200000, 64000, false}},
		{"groq", "compatible", "g", `{"data":[{"id":"g","context_window":131072,"max_completion_tokens":8192}]}`, want{"/v1/models", 131072, 8192, true}},
		{"mistral", "compatible", "m", `{"data":[{"id":"m","max_context_length":131072}]}`, want{"/v1/models", 131072, 0, true}},
		{"kimi", "kimi", "k", `{"data":[{"id":"k","context_length":262144}]}`, want{"/v1/models", 262144, 0, true}},
		{"ollama", "ollama", "qwen3", `{"models":[{"name":"qwen3:latest","model":"qwen3:latest","context_length":4096}]}`, want{"/api/ps", 4096, 0, true}},
		{"lm studio", "lmstudio", "l", `{"data":[{"id":"l","loaded_context_length":8192,"max_context_length":131072}]}`, want{"/api/v0/models", 8192, 0, true}},
		{"llama.cpp", "llamacpp", "any", `{"default_generation_settings":{"n_ctx":16384,"params":{}}}`, want{"/props", 16384, 0, true}},
		{"unknown model", "vllm", "x", `{"data":[]}`, want{"/v1/models", 0, 0, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var path string
			asked := 0
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				path = r.URL.Path
				asked++
				_, _ = fmt.Fprint(w, tt.body)
			})
			c := dial(t, h, openai.Options{Dialect: dialect(t, tt.dialect)})
			for range 2 {
				caps, err := c.Capabilities(t.Context(), tt.model)
				if err != nil {
					t.Fatal(err)
				}
				got := want{path, caps.WindowTokens, caps.MaxOutputTokens, caps.Images}
				if got != tt.want || caps.TokenRatio != 1 {
					t.Errorf("got %+v, want %+v", caps, tt.want)
				}
			}
			if once := tt.want.window > 0; once != (asked == 1) {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

func TestCapabilitiesWithoutTheServersHelp(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"refused":   answerWith(401, `{"error":{"message":"no"}}`, nil),
		"no JSON":   answerWith(200, `<html>`, nil),
		"overruled": answerWith(200, `{"data":[{"id":"m","max_model_len":1}]}`, nil),
	} {
		c := dial(t, h, openai.Options{Windows: map[string]int64{"m": 5000}})
		caps, err := c.Capabilities(t.Context(), "m")
		if caps.WindowTokens != 5000 || !caps.Images {
			t.Errorf("%s: %+v", name, caps)
		}
		if ok := name == "overruled"; ok != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the models list says about a window is what a cut prompt is recognised by.
func TestLearnedWindowFindsTruncation(t *testing.T) {
	fake := openaifake.New(openaifake.Options{WindowTokens: 1000, TellWindow: true, OnOverflow: openaifake.OverflowTruncated})
	c := dial(t, fake, openai.Options{Dialect: dialect(t, "vllm")})
	if _, err := c.Capabilities(t.Context(), "gpt-4o"); err != nil {
		t.Fatal(err)
	}
	req := hello()
	req.Messages = []message.Message{user(say(strings.Repeat("word ", 2000)))}
	_, err := c.Stream(t.Context(), req, discard)
	if e, ok := llm.AsError(err); !ok || e.Class != llm.ClassOverflow || e.LimitTokens != 1000 {
		t.Errorf("got %v", err)
	}
}

func TestHeaders(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		_, _ = fmt.Fprint(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	}))
	defer server.Close()
	c, err := openai.New(openai.Options{
		BaseURL: server.URL + "/v1/", APIKey: secret, HTTPClient: server.Client(),
		Header: http.Header{"api-key": {"other"}, "User-Agent": {"mine"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stream(t.Context(), hello(), discard); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer " + secret, "Api-Key": "other", "User-Agent": "mine",
		"Accept": "text/event-stream", "Content-Type": "application/json",
	} {
		if got.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Get(name), want)
		}
	}
}
