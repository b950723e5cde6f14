package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"sessiond/llm"
	"sessiond/llm/anthropic"
	fake "sessiond/llm/llmtest/anthropicfake"
	"sessiond/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial serves h and returns a client of it.
func dial(t *testing.T, h http.Handler, change ...func(*anthropic.Options)) *anthropic.Client {
	t.Helper()
	server := httptest.NewServer(h)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	opts := anthropic.Options{APIKey: "secret-key", BaseURL: server.URL, HTTPClient: &http.Client{Transport: transport}}
	for _, c := range change {
		c(&opts)
	}
	client, err := anthropic.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func user(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleUser, Content: blocks}
}

func text(s string) message.Block { return message.Text{Text: s} }

func request(model string, messages ...message.Message) *llm.Request {
	return &llm.Request{
		Model: model, System: "be kind", MaxOutputTokens: 8000, Messages: messages,
		Tools: []llm.Tool{{Name: "get", Description: "gets", InputSchema: json.RawMessage(`{ "type": "object", "x": 1.0 }`)}},
	}
}

// shown joins the pieces of each block.
type shown map[int]string

func (s shown) emit(d llm.Delta) { s[d.Block] += d.Text }

func none(llm.Delta) {}

// lastBody is the body of the newest request for a message.
func lastBody(t *testing.T, s *fake.Server) string {
	t.Helper()
	for _, r := range slices.Backward(s.Requests()) {
		if r.Path == "/v1/messages" {
			return string(r.Body)
		}
	}
	t.Fatal("no request was made")
	return ""
}

// A tool loop with thinking on every model at every level: what came goes back such
// that a fake which signs every block over the exact prefix takes it.
func TestToolLoopsOfAllModels(t *testing.T) {
	for _, m := range fake.Models() {
		for _, level := range []llm.ThinkingLevel{llm.ThinkingDefault, llm.ThinkingOff, llm.ThinkingLow, llm.ThinkingHigh, llm.ThinkingMax} {
			t.Run(m.ID+" "+string(level), func(t *testing.T) {
				s := fake.New(fake.Options{ThinkBeforeTools: true})
				s.Script(
					fake.Say(fake.Text("Looking <now> & then."), fake.ToolUse("a", "get", `{ "n" : 1.0,  "s":"\u0041<&>" }`), fake.ToolUse("b", "get", `{}`)),
					fake.Say(fake.Thinking("again \u2028 \"quoted\""), fake.Text("x"), fake.Redacted(), fake.ToolUse("c", "get", `{"z":1,"a":2}`)),
					fake.Say(fake.Text("done")),
				)
				c := dial(t, s)
				req := request(m.ID, user(text("hi")))
				req.Thinking = level
				for round := range 3 {
					seen := shown{}
					resp, err := c.Stream(t.Context(), req, seen.emit)
					if err != nil {
						t.Fatalf("round %d: %v", round, err)
					}
					checkShown(t, seen, resp.Content)
					made := message.Message{Role: message.RoleAssistant, Content: resp.Content}
					req.Messages = append(req.Messages, made)
					if calls := made.ToolUses(); len(calls) > 0 {
						var results []message.Block
						for _, call := range calls {
							results = append(results, message.ToolResult{ToolUseID: call.ID, Content: []message.Block{text("r")}, IsError: call.ID == "b"})
						}
						req.Messages = append(req.Messages, user(results...))
					}
				}
				if rejected := s.Rejected(); len(rejected) > 0 {
					t.Errorf("rejected: %s", rejected[0].Body)
				}
				if in := string(req.Messages[1].ToolUses()[0].Input); in != `{ "n" : 1.0,  "s":"\u0041<&>" }` {
					t.Errorf("input %s", in)
				}
			})
		}
	}
}

func checkShown(t *testing.T, seen shown, content []message.Block) {
	t.Helper()
	for i, b := range content {
		want := ""
		switch b := b.(type) {
		case message.Text:
			want = b.Text
		case message.Thinking:
			want = b.Text
		case message.ToolUse:
			want = string(b.Input)
			if seen[i] == "" && want == "{}" {
				want = ""
			}
		case message.Image, message.ToolResult:
			t.Errorf("block %d is a %T", i, b)
		}
		if seen[i] != want {
			t.Errorf("block %d: showed %q, is %q", i, seen[i], want)
		}
	}
}

func TestThinkingSettings(t *testing.T) {
	const adaptive = `"thinking":{"type":"adaptive","display":"summarized"}`
	tests := []struct {
		model string
		level llm.ThinkingLevel
		want  string // "" means nothing about thinking
	}{
		{"claude-opus-5", llm.ThinkingDefault, ""},
		{"claude-opus-5", llm.ThinkingOff, `"thinking":{"type":"disabled"}`},
		{"claude-opus-5", llm.ThinkingMedium, adaptive + `,"output_config":{"effort":"medium"}`},
		{"claude-opus-5", llm.ThinkingMax, adaptive + `,"output_config":{"effort":"max"}`},
		{"claude-sonnet-5-5", llm.ThinkingOff, `"thinking":{"type":"between_tools"}`},
		{"claude-opus-5-5", llm.ThinkingOff, `"output_config":{"effort":"low"}`},
		{"claude-opus-4-6", llm.ThinkingXHigh, adaptive + `,"output_config":{"effort":"high"}`},
		{"claude-haiku-4-5-20251001", llm.ThinkingLow, `"thinking":{"type":"enabled","budget_tokens":2048}`},
		{"claude-haiku-4-5", llm.ThinkingMax, `"thinking":{"type":"enabled","budget_tokens":6976}`},
		{"claude-haiku-4-5", llm.ThinkingOff, `"thinking":{"type":"disabled"}`},
	}
	for _, withEndpoint := range []bool{true, false} {
		for _, tt := range tests {
			s := fake.New(fake.Options{})
			c := dial(t, hideModels(s, !withEndpoint))
			req := request(tt.model, user(text("hi")))
			req.Thinking = tt.level
			if _, err := c.Stream(t.Context(), req, none); err != nil {
				t.Fatal(err)
			}
			body := lastBody(t, s)
			if tt.want == "" && strings.Contains(body, "thinking") || !strings.Contains(body, tt.want) {
				t.Errorf("%s at %q: %s does not contain %s", tt.model, tt.level, body, tt.want)
			}
		}
	}
}

// hideModels answers 404 to questions about models.
func hideModels(h http.Handler, hide bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hide && strings.HasPrefix(r.URL.Path, "/v1/models") {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Manual thinking is left off where the request would be refused for it.
func TestManualThinkingInTheMiddleOfATurn(t *testing.T) {
	s := fake.New(fake.Options{})
	c := dial(t, s)
	req := request("claude-sonnet-4-5", user(text("hi")),
		message.Message{Role: message.RoleAssistant, Content: []message.Block{message.ToolUse{ID: "a", Name: "get", Input: []byte(`{}`)}}},
		user(message.ToolResult{ToolUseID: "a"}))
	req.Thinking = llm.ThinkingHigh
	if _, err := c.Stream(t.Context(), req, none); err != nil {
		t.Fatal(err)
	}
	if body := lastBody(t, s); strings.Contains(body, "thinking") {
		t.Errorf("thinks: %s", body)
	}
	req.Messages = append(req.Messages, message.Message{Role: message.RoleAssistant, Content: []message.Block{text("done")}}, user(text("more")))
	if _, err := c.Stream(t.Context(), req, none); err != nil {
		t.Fatal(err)
	}
	if body := lastBody(t, s); !strings.Contains(body, `"budget_tokens":6976`) {
		t.Errorf("does not think in the next turn: %s", body)
	}
	req.MaxOutputTokens = 2000
	if _, err := c.Stream(t.Context(), req, none); err != nil {
		t.Fatal(err)
	}
	if body := lastBody(t, s); strings.Contains(body, "thinking") {
		t.Errorf("thinks without room: %s", body)
	}
}

func TestRequestBody(t *testing.T) {
	s := fake.New(fake.Options{})
	c := dial(t, s)
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABc3UBGAAAAABJRU5ErkJggg=="
	req := request("claude-sonnet-5",
		user(text("a\x00\"<&>"), message.Image{MimeType: "image/png", Data: png}, text("")),
		message.Message{Role: message.RoleAssistant, Content: []message.Block{
			message.Thinking{Provider: "other", Text: "hm", Raw: []byte(`{}`)},
			message.ToolUse{ID: "a", Name: "get", Input: []byte(`{ "k" : 1e2 }`)},
			message.ToolUse{ID: "b", Name: "get", Input: []byte("\n{}")},
		}},
		user(message.ToolResult{ToolUseID: "a", Content: []message.Block{text("r"), message.Image{MimeType: "image/png", Data: png}}},
			message.ToolResult{ToolUseID: "b", IsError: true, Content: []message.Block{text("")}}, text("go on")),
		message.Message{Role: message.RoleAssistant, Content: []message.Block{message.Thinking{Provider: "other", Text: "hm"}}},
		user(text("last")),
	)
	req.ToolChoice = llm.ToolChoiceNone
	req.CacheMarks = []llm.CacheMark{
		{Message: llm.CachePreamble, TTL: llm.CacheLong},
		{Message: 0, Block: 1, TTL: llm.CacheLong},
		{Message: 1, Block: 0, TTL: llm.CacheShort}, // on thinking: left out
		{Message: 4, Block: 0, TTL: llm.CacheShort},
	}
	if _, err := c.Stream(t.Context(), req, none); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"claude-sonnet-5","max_tokens":8000,"stream":true,` +
		`"tools":[{"name":"get","description":"gets","input_schema":{ "type": "object", "x": 1.0 }}],` +
		`"system":[{"type":"text","text":"be kind","cache_control":{"type":"ephemeral","ttl":"1h"}}],"tool_choice":{"type":"none"},` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"a\u0000\"<&>"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"},"cache_control":{"type":"ephemeral","ttl":"1h"}}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get","input":{ "k" : 1e2 }},{"type":"tool_use","id":"b","name":"get","input":` + "\n{}" + `}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"r"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}]},` +
		`{"type":"tool_result","tool_use_id":"b","is_error":true},{"type":"text","text":"go on"}]},` +
		`{"role":"user","content":[{"type":"text","text":"last","cache_control":{"type":"ephemeral"}}]}]}`
	if diff := cmp.Diff(want, lastBody(t, s)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	req.System = ""
	if _, err := c.Stream(t.Context(), req, none); err != nil {
		t.Fatal(err)
	}
	if body := lastBody(t, s); !strings.Contains(body, `{ "type": "object", "x": 1.0 },"cache_control":{"type":"ephemeral","ttl":"1h"}}]`) || strings.Contains(body, `"system"`) {
		t.Errorf("without a system prompt the mark stands on the last tool: %s", body)
	}
}

func TestOutputLimit(t *testing.T) {
	for asked, want := range map[int]string{0: `"max_tokens":8192,`, 100: `"max_tokens":100,`, 9_999_999: `"max_tokens":64000,`} {
		s := fake.New(fake.Options{})
		req := request("claude-haiku-4-5", user(text("hi")))
		req.MaxOutputTokens = asked
		if _, err := dial(t, s).Stream(t.Context(), req, none); err != nil {
			t.Fatal(err)
		}
		if body := lastBody(t, s); !strings.Contains(body, want) {
			t.Errorf("%d: %s", asked, body)
		}
	}
}

// What can't be sent as it is must not be sent as something else.
func TestBadRequests(t *testing.T) {
	s := fake.New(fake.Options{})
	c := dial(t, s)
	call := request("claude-opus-5", user(text("hi")), message.Message{Role: message.RoleAssistant, Content: []message.Block{message.ToolUse{ID: "a", Name: "get", Input: []byte(`{"cut`)}}})
	schema := request("claude-opus-5", user(text("hi")))
	schema.Tools[0].InputSchema = []byte(`"x"`)
	for _, req := range []*llm.Request{call, schema} {
		_, err := c.Stream(t.Context(), req, none)
		if e, ok := llm.AsError(err); !ok || e.Class != llm.ClassInvalid || !strings.Contains(e.Message, "no JSON object") {
			t.Errorf("got %v", err)
		}
	}
	for _, opts := range []anthropic.Options{{}, {APIKey: "k", BaseURL: "localhost"}, {APIKey: "k", BaseURL: "::"}} {
		if _, err := anthropic.New(opts); err == nil {
			t.Errorf("%+v was accepted", opts)
		}
	}
}

func TestAnswers(t *testing.T) {
	tests := []struct {
		name string
		step fake.Step
		want []message.Block
		stop llm.StopReason
	}{
		{"text", fake.Say(fake.Text("héllo wörld 你好")).Pings(2), []message.Block{text("héllo wörld 你好")}, llm.StopEnd},
		{"empty", fake.Say(), nil, llm.StopEnd},
		{"empty text", fake.Say(fake.Text(""), fake.Text("x")), []message.Block{text("x")}, llm.StopEnd},
		{"no input is an empty one", fake.Say(fake.ToolUse("a", "get", "")), []message.Block{message.ToolUse{ID: "a", Name: "get", Input: []byte("{}")}}, llm.StopToolUse},
		{"input that is no JSON comes as it is", fake.Say(fake.ToolUse("a", "get", `{"x": `)), []message.Block{message.ToolUse{ID: "a", Name: "get", Input: []byte(`{"x": `)}}, llm.StopToolUse},
		{"cut input", fake.Say(fake.Text("x"), fake.ToolUse("a", "get", `{"path":"abc"}`)).CutInput(9), []message.Block{text("x")}, llm.StopMaxTokens},
		{"cut before the input", fake.Say(fake.Text("x"), fake.ToolUse("a", "get", `{"path":"abc"}`)).CutInput(0), []message.Block{text("x")}, llm.StopMaxTokens},
		{"cut after the input", fake.Say(fake.ToolUse("a", "get", `{"p":1}`)).CutInput(7), []message.Block{message.ToolUse{ID: "a", Name: "get", Input: []byte(`{"p":1}`)}}, llm.StopMaxTokens},
		{"cut second call", fake.Say(fake.ToolUse("a", "get", `{"p":1}`), fake.ToolUse("b", "get", `{"p":1}`)).CutInput(3), []message.Block{message.ToolUse{ID: "a", Name: "get", Input: []byte(`{"p":1}`)}}, llm.StopMaxTokens},
		{"cut text", fake.Say(fake.Text("half a")).Stop("max_tokens"), []message.Block{text("half a")}, llm.StopMaxTokens},
		{"window", fake.Say(fake.Text("x")).Stop("model_context_window_exceeded"), []message.Block{text("x")}, llm.StopContextWindow},
		{"refusal", fake.Say(fake.Text("x")).Refusal("cyber"), []message.Block{text("x")}, llm.StopRefusal},
		{"pause", fake.Say(fake.Text("x")).Stop("pause_turn"), []message.Block{text("x")}, llm.StopPause},
		{"stop sequence", fake.Say(fake.Text("x")).Stop("stop_sequence"), []message.Block{text("x")}, llm.StopEnd},
		{"unknown reason", fake.Say(fake.Text("x")).Stop("tea_break"), []message.Block{text("x")}, llm.StopEnd},
		{"slow bytes", fake.Say(fake.Text("some words")).Slowly(3, time.Microsecond), []message.Block{text("some words")}, llm.StopEnd},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := fake.New(fake.Options{})
			s.Script(tt.step)
			seen := shown{}
			resp, err := dial(t, s).Stream(t.Context(), request("claude-opus-4-8", user(text("hi"))), seen.emit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, resp.Content); diff != "" || resp.Stop != tt.stop {
				t.Errorf("stop %s, want %s; content (-want +got):\n%s", resp.Stop, tt.stop, diff)
			}
			checkShown(t, seen, resp.Content)
		})
	}
}

// Every way a stream can end badly is an error, and none is mistaken for an answer.
func TestFaults(t *testing.T) {
	say := fake.Say(fake.Text("some words"))
	tests := []struct {
		name  string
		step  fake.Step
		class llm.Class
		shown string
		after time.Duration
	}{
		{"rate", fake.RateLimit(90 * time.Second), llm.ClassRate, "", 90 * time.Second},
		{"rate without a wish", fake.RateLimit(0), llm.ClassRate, "", 0},
		{"spend", fake.SpendLimit(), llm.ClassBilling, "", 0},
		{"overloaded", fake.Overloaded(), llm.ClassOverload, "", 0},
		{"internal", fake.Internal(), llm.ClassOverload, "", 0},
		{"page", fake.Page(502, "<html>Bad gateway</html>"), llm.ClassOverload, "", 0},
		{"overloaded in the stream", say.ThenError("overloaded_error", "Overloaded", 3), llm.ClassOverload, "some", 0},
		{"rate in the stream", say.ThenError("rate_limit_error", "slow down", 0), llm.ClassRate, "", 0},
		{"too long in the stream", say.ThenError("invalid_request_error", "prompt is too long: 5 tokens > 4 maximum", 1), llm.ClassOverflow, "", 0},
		{"end of file at once", say.ThenEOF(0), llm.ClassNetwork, "", 0},
		{"end of file in the middle", say.ThenEOF(4), llm.ClassNetwork, "some words", 0},
		{"end of file before message_stop", say.ThenEOF(6), llm.ClassNetwork, "some words", 0},
		{"broken connection", say.ThenAbort(3), llm.ClassNetwork, "some", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := fake.New(fake.Options{})
			s.Script(tt.step, say)
			c := dial(t, s)
			seen := shown{}
			resp, err := c.Stream(t.Context(), request("claude-opus-5", user(text("hi"))), seen.emit)
			e, ok := llm.AsError(err)
			if !ok || e.Class != tt.class || e.RetryAfter != tt.after || resp != nil && (resp.Content != nil || resp.Stop != "") {
				t.Fatalf("got %v, %v", resp, err)
			}
			if seen[0] != tt.shown || e.Message == "" || strings.Contains(err.Error(), "secret-key") {
				t.Errorf("showed %q, then %v", seen[0], err)
			}
			asked := len(s.Requests())
			if _, err := c.Stream(t.Context(), request("claude-opus-5", user(text("hi"))), none); err != nil {
				t.Errorf("the next call: %v", err)
			}
			if n := len(s.Requests()) - asked; n != 1 {
				t.Errorf("%d requests for one call: something was retried", n)
			}
		})
	}
}

func TestOverflowNamesTheLimit(t *testing.T) {
	s := fake.New(fake.Options{WindowTokens: 1000})
	_, err := dial(t, s).Stream(t.Context(), request("claude-opus-5", user(text(strings.Repeat("word", 2000)))), none)
	if e, ok := llm.AsError(err); !ok || e.Class != llm.ClassOverflow || e.LimitTokens != 1000 || e.Status != 400 {
		t.Errorf("got %v", err)
	}
}

func TestSilence(t *testing.T) {
	s := fake.New(fake.Options{})
	s.Script(fake.Say(fake.Text("some words")).ThenSilence(2))
	c := dial(t, s, func(o *anthropic.Options) { o.IdleTimeout = 20 * time.Millisecond })
	_, err := c.Stream(t.Context(), request("claude-opus-5", user(text("hi"))), none)
	if e, ok := llm.AsError(err); !ok || e.Class != llm.ClassNetwork || !strings.Contains(e.Message, "nothing for 20ms") {
		t.Errorf("got %v", err)
	}
}

func TestCancel(t *testing.T) {
	s := fake.New(fake.Options{})
	s.Script(fake.Say(fake.Text("some words")).ThenSilence(3))
	c := dial(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Stream(ctx, request("claude-opus-5", user(text("hi"))), func(llm.Delta) { cancel() })
	if _, isModelError := llm.AsError(err); !errors.Is(err, context.Canceled) || isModelError {
		t.Errorf("in the middle: %v", err)
	}
	if _, err := c.Stream(ctx, request("claude-opus-5", user(text("hi"))), none); !errors.Is(err, context.Canceled) {
		t.Errorf("before: %v", err)
	}
	fresh := dial(t, s)
	if _, err := fresh.Stream(ctx, request("claude-opus-5", user(text("hi"))), none); !errors.Is(err, context.Canceled) {
		t.Errorf("before anything is known about the model: %v", err)
	}
}

func TestNoConnection(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL
	server.Close()
	c := dial(t, http.NotFoundHandler(), func(o *anthropic.Options) { o.BaseURL = url })
	_, err := c.Stream(t.Context(), request("claude-opus-5", user(text("hi"))), none)
	if e, ok := llm.AsError(err); !ok || e.Class != llm.ClassNetwork || e.Status != 0 {
		t.Errorf("got %v", err)
	}
}

func TestUsageAndCost(t *testing.T) {
	s := fake.New(fake.Options{})
	prices, err := llm.NewPrices(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s, func(o *anthropic.Options) { o.Prices = prices })
	req := request("claude-opus-5", user(text(strings.Repeat("word", 1000))))
	req.System = strings.Repeat("rule", 1000)
	req.CacheMarks = []llm.CacheMark{{Message: llm.CachePreamble, TTL: llm.CacheLong}, {Message: 0, Block: 0, TTL: llm.CacheShort}}
	first, err := c.Stream(t.Context(), req, none)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, message.Message{Role: message.RoleAssistant, Content: first.Content}, user(text("more")))
	second, err := c.Stream(t.Context(), req, none)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(first.Usage.Input, first.Usage.CacheRead, first.Usage.CacheWrite5m, first.Usage.CacheWrite1h,
		second.Usage.CacheRead, second.Usage.CacheWrite1h, second.Usage.CacheWrite5m)
	if want := "0 0 1003 1011 2014 0 0"; got != want {
		t.Errorf("tokens %s, want %s", got, want)
	}
	want := (1003*6.25 + 1011*10 + float64(first.Usage.Output)*25) / 1e6
	if math.Abs(first.Usage.CostUSD-want) > 1e-12 || first.Usage.Output == 0 {
		t.Errorf("cost %v, want %v", first.Usage.CostUSD, want)
	}
}

// What was counted until a call failed is told and priced.
func TestUsageOfCallsThatFail(t *testing.T) {
	prices, err := llm.NewPrices(nil)
	if err != nil {
		t.Fatal(err)
	}
	say := fake.Say(fake.Text("some words"))
	tests := []struct {
		name   string
		step   fake.Step
		cancel bool // at the first piece
		want   *message.Usage
	}{
		{"refused", fake.Overloaded(), false, nil},
		{"broken off at the start", say.ThenAbort(1), false, &message.Usage{Input: 17, Output: 1}},
		{"without its end", say.ThenEOF(6), false, &message.Usage{Input: 17, Output: 3}},
		{"an error in the stream", say.ThenError("overloaded_error", "Overloaded", 3), false, &message.Usage{Input: 17, Output: 1}},
		{"cancelled", say.ThenSilence(3), true, &message.Usage{Input: 17, Output: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := fake.New(fake.Options{})
			s.Script(tt.step)
			c := dial(t, s, func(o *anthropic.Options) { o.Prices = prices })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			resp, err := c.Stream(ctx, request("claude-opus-5", user(text("hi"))), func(llm.Delta) {
				if tt.cancel {
					cancel()
				}
			})
			if err == nil {
				t.Fatal("no error")
			}
			if tt.want == nil {
				if resp != nil {
					t.Errorf("got %+v", resp)
				}
				return
			}
			tt.want.CostUSD, _ = prices.Cost("claude-opus-5", *tt.want)
			if tt.want.CostUSD == 0 || resp == nil || resp.Usage != *tt.want || resp.Content != nil {
				t.Errorf("got %+v, want %+v", resp, tt.want)
			}
		})
	}
}

func TestKeyHeader(t *testing.T) {
	s := fake.New(fake.Options{APIKeys: []string{"secret-key"}})
	c := dial(t, s, func(o *anthropic.Options) { o.KeyHeader = "x-api-key" })
	if _, err := c.Stream(t.Context(), request("claude-opus-5", user(text("hi"))), none); err != nil {
		t.Fatal(err)
	}
	if h := s.Requests()[0].Header; h.Get("Authorization") != "" || h.Get("X-Api-Key") != "secret-key" {
		t.Errorf("headers: %v", h)
	}
}
