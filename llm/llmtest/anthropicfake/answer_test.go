package anthropicfake_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"sessiond/llm/llmtest/anthropicfake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// streamed is what a client makes of a stream.
type streamed struct {
	names   []string
	blocks  []map[string]any // as they go back to the server
	stop    string
	details any
	usage   map[string]any // of message_start
	end     map[string]any // usage of message_delta
	failure string
	start   map[string]any
}

// readStream assembles server-sent events by hand.
func readStream(t *testing.T, r io.Reader) streamed {
	t.Helper()
	var out streamed
	inputs := map[int]string{}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		if name, ok := strings.CutPrefix(scan.Text(), "event: "); ok {
			out.names = append(out.names, name)
		}
		data, ok := strings.CutPrefix(scan.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type         string
			Index        int
			Message      map[string]any
			ContentBlock map[string]any `json:"content_block"`
			Delta        map[string]any
			Usage        map[string]any
			Error        struct{ Type, Message string }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		switch e.Type {
		case "message_start":
			out.start = e.Message
			out.usage, _ = e.Message["usage"].(map[string]any)
		case "content_block_start":
			out.blocks = append(out.blocks, e.ContentBlock)
		case "content_block_delta":
			b := out.blocks[e.Index]
			for _, member := range []string{"text", "thinking", "signature"} {
				if piece, ok := e.Delta[member].(string); ok {
					b[member] = fmt.Sprint(b[member], piece)
				}
			}
			if piece, ok := e.Delta["partial_json"].(string); ok {
				inputs[e.Index] += piece
				b["input"] = json.RawMessage(inputs[e.Index])
			}
		case "message_delta":
			out.stop, _ = e.Delta["stop_reason"].(string)
			out.details = e.Delta["stop_details"]
			out.end = e.Usage
		case "error":
			out.failure = e.Error.Type + ": " + e.Error.Message
		}
	}
	return out
}

// chat is a conversation with the fake.
type chat struct {
	t        *testing.T
	server   *anthropicfake.Server
	model    string
	extra    string // more members of the request
	messages []any
}

func (c *chat) body() string {
	raw, err := json.Marshal(c.messages)
	if err != nil {
		c.t.Fatal(err)
	}
	return `{"model":"` + c.model + `","max_tokens":9000,"stream":true,` + c.extra + `"messages":` + string(raw) + `}`
}

func (c *chat) user(content any) { c.messages = append(c.messages, message("user", content)) }

func message(role string, content any) map[string]any {
	return map[string]any{"role": role, "content": content}
}

// ask streams an answer and appends it to the conversation.
func (c *chat) ask(headers ...string) streamed {
	c.t.Helper()
	w := post(c.t, c.server, "/v1/messages", c.body(), headers...)
	if w.Code != http.StatusOK {
		c.t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	got := readStream(c.t, w.Body)
	if len(got.blocks) > 0 {
		c.messages = append(c.messages, message("assistant", got.blocks))
	}
	return got
}

func (c *chat) refused(want string) {
	c.t.Helper()
	rule{body: c.body(), status: 400, want: want}.run(c.t, c.server, "/v1/messages")
}

func result(id string) []any {
	return []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": "done"}}
}

// thinkingChat ends after a tool loop with two signed answers.
func thinkingChat(t *testing.T, opts anthropicfake.Options, model string) *chat {
	t.Helper()
	opts.ThinkBeforeTools = true
	c := &chat{
		t: t, model: model, server: anthropicfake.New(opts),
		extra: `"system":[{"type":"text","text":"be kind"}],"thinking":{"type":"adaptive"},` + tools + `,`,
	}
	c.server.Script(
		anthropicfake.Say(anthropicfake.Text("Looking."), anthropicfake.ToolUse("a", "get", `{"n": 1.0}`)),
		anthropicfake.Say(anthropicfake.Thinking("Once more."), anthropicfake.Text("Again."), anthropicfake.Redacted(), anthropicfake.ToolUse("b", "get", `{}`)),
	)
	c.user("first")
	if got := c.ask(); len(got.blocks) != 3 || got.blocks[0]["type"] != "thinking" || got.blocks[0]["signature"] == "" {
		t.Fatalf("answer: %v", got.blocks)
	}
	c.user(result("a"))
	c.ask()
	c.user(result("b"))
	return c
}

func (c *chat) block(m, b int) map[string]any {
	return c.messages[m].(map[string]any)["content"].([]map[string]any)[b]
}

func (c *chat) drop(m, b int) {
	blocks := c.messages[m].(map[string]any)["content"].([]map[string]any)
	c.messages[m] = message("assistant", append(append([]map[string]any{}, blocks[:b]...), blocks[b+1:]...))
}

const bound = "The block is bound to a different conversation."

func TestThinkingIsBoundToItsPrefix(t *testing.T) {
	const strict = "claude-opus-5-5"
	marked := map[string]any{"type": "text", "text": "first", "cache_control": map[string]any{"type": "ephemeral"}}
	tests := []struct {
		name   string
		change func(*chat)
		want   string // "" means accepted
	}{
		{"4.5 unchanged", func(*chat) {}, ""},
		{"12.4 a marker and the long form", func(c *chat) { c.messages[0] = message("user", []any{marked}) }, ""},
		{"12.4 white space and caller", func(c *chat) {
			use := c.block(1, 2)
			use["input"] = json.RawMessage(` { "n" : 1.0 } `)
			delete(use, "caller")
		}, ""},
		{"4.10 an earlier message changed", func(c *chat) { c.messages[0] = message("user", "other") }, "messages.1.content.0: Invalid `signature` in `thinking` block. " + bound},
		{"4.10 an earlier message is gone", func(c *chat) { c.messages = append([]any{message("user", "summary")}, c.messages[3:]...) }, "messages.1.content.0"},
		{"4.10 number spelled otherwise", func(c *chat) { c.block(1, 2)["input"] = json.RawMessage(`{"n":1}`) }, "messages.3.content.0"},
		{"4.10 a result changed", func(c *chat) {
			c.messages[2].(map[string]any)["content"].([]any)[0].(map[string]any)["content"] = "[cleared]"
		}, "messages.3.content.0"},
		{"4.10 system changed", func(c *chat) { c.extra = strings.Replace(c.extra, "be kind", "be rude", 1) }, "The `system` prompt differs from when the block was created."},
		{"4.10 tools changed", func(c *chat) { c.extra = strings.Replace(c.extra, `"name":"get"`, `"name":"get","description":"d"`, 1) }, "The `tools` differ from when the block was created."},
		{"4.10 an earlier thinking block is gone", func(c *chat) { c.drop(1, 0) }, "messages.3.content.0"},
		{"4.16 every thinking block is gone and the prefix changed", func(c *chat) {
			c.drop(3, 2)
			c.drop(3, 0)
			c.drop(1, 0)
			c.messages[0] = message("user", "summary")
		}, ""},
		{"4.5 one of two is gone", func(c *chat) { c.drop(3, 2) }, "blocks in the latest assistant message cannot be modified"},
		{"4.5 the first of two is gone", func(c *chat) { c.drop(3, 0) }, "blocks in the latest assistant message cannot be modified"},
		{"4.5 text of the latest changed", func(c *chat) { c.block(3, 0)["thinking"] = "Once" }, "blocks in the latest assistant message cannot be modified"},
		{"4.9 text of an earlier one changed", func(c *chat) { c.block(1, 0)["thinking"] = "x" }, "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{"4.9 signature changed", func(c *chat) { c.block(3, 0)["signature"] = "AAAA" }, "messages.3.content.0: Invalid `signature` in `thinking` block"},
		{"4.9 redacted data changed", func(c *chat) { c.block(3, 2)["data"] = "AAAA" }, "messages.3.content.2: Invalid `signature`"},
		{"4.15 another model ignores them", func(c *chat) { c.model = "claude-fable-5-2"; c.messages[0] = message("user", "other") }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := thinkingChat(t, anthropicfake.Options{}, strict)
			tt.change(c)
			if tt.want != "" {
				c.refused(tt.want)
				return
			}
			c.ask()
		})
	}
}

func TestWhoChecksThePrefix(t *testing.T) {
	change := func(c *chat) { c.messages[0] = message("user", "other") }
	t.Run("4.12 not on older accounts", func(t *testing.T) {
		c := thinkingChat(t, anthropicfake.Options{LaxThinking: true}, "claude-opus-5-5")
		change(c)
		c.ask()
	})
	t.Run("4.10 not on older models", func(t *testing.T) {
		c := thinkingChat(t, anthropicfake.Options{}, "claude-opus-5")
		change(c)
		c.ask()
	})
	t.Run("4.11 count_tokens too", func(t *testing.T) {
		c := thinkingChat(t, anthropicfake.Options{}, "claude-opus-5-5")
		change(c)
		body := strings.Replace(c.body(), `"max_tokens":9000,"stream":true,`, "", 1)
		rule{body: body, status: 400, want: bound}.run(t, c.server, "/v1/messages/count_tokens")
	})
	t.Run("4.13 dropped on request", func(t *testing.T) {
		c := thinkingChat(t, anthropicfake.Options{}, "claude-opus-5-5")
		change(c)
		c.extra = strings.Replace(c.extra, `{"type":"adaptive"}`, `{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`, 1)
		got := c.ask("Anthropic-Beta", "thinking-binding-controls-2026-08-01")
		dropped, _ := got.start["input_transformations"].([]any)
		if len(dropped) != 3 || dropped[0].(map[string]any)["path"] != "messages.1.content.0" {
			t.Errorf("dropped: %v", dropped)
		}
	})
}

func TestThinkingOnlyWhereTheModelMayThink(t *testing.T) {
	for model, want := range map[string]int{"claude-opus-4-8": 1, "claude-opus-5": 2} {
		s := anthropicfake.New(anthropicfake.Options{ThinkBeforeTools: true})
		s.Script(anthropicfake.Say(anthropicfake.ToolUse("a", "get", "{}")))
		c := &chat{t: t, server: s, model: model, extra: tools + ","}
		c.user("hi")
		if got := c.ask(); len(got.blocks) != want {
			t.Errorf("%s without a word about thinking: %v", model, got.blocks)
		}
	}
}

func TestPauseIsResumed(t *testing.T) {
	s := anthropicfake.New(anthropicfake.Options{})
	s.Script(anthropicfake.Say(anthropicfake.Text("searching")).Stop("pause_turn"), anthropicfake.Say(anthropicfake.Text("found")))
	c := &chat{t: t, server: s, model: "claude-opus-5"}
	c.user("hi")
	if got := c.ask(); got.stop != "pause_turn" {
		t.Errorf("stop %s", got.stop)
	}
	if got := c.ask(); got.blocks[0]["text"] != "found" {
		t.Errorf("resumed: %v", got.blocks)
	}
	c.refused("prefill")
}

func TestStreamShape(t *testing.T) {
	s := anthropicfake.New(anthropicfake.Options{})
	s.Script(
		anthropicfake.Say(anthropicfake.Thinking("h"), anthropicfake.Text("It is done."), anthropicfake.ToolUse("t1", "get", `{ "a" : 1.0 }`)).Pings(1),
		anthropicfake.Say(),
		anthropicfake.Say(anthropicfake.Text("no")).Refusal("cyber"),
		anthropicfake.Say(anthropicfake.Text("x"), anthropicfake.ToolUse("t2", "get", `{"path":"abc"}`)).CutInput(9),
		anthropicfake.Say(anthropicfake.Text("full")).Stop("model_context_window_exceeded"),
	)
	c := &chat{t: t, server: s, model: "claude-opus-5", extra: tools + ","}
	c.user("hi")
	got := c.ask()
	want := strings.Fields(`message_start ping content_block_start ping content_block_delta ping content_block_delta ping content_block_stop
		ping content_block_start ping content_block_delta ping content_block_delta ping content_block_stop
		ping content_block_start ping content_block_delta ping content_block_delta ping content_block_delta ping content_block_delta ping content_block_stop
		ping message_delta ping message_stop`)
	if diff := cmp.Diff(want, got.names); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got.blocks[1]["text"] != "It is done." || string(got.blocks[2]["input"].(json.RawMessage)) != `{ "a" : 1.0 }` || got.stop != "tool_use" {
		t.Errorf("answer: %v, %s", got.blocks, got.stop)
	}
	if split, _ := got.usage["cache_creation"].(map[string]any); split["ephemeral_1h_input_tokens"] == nil || got.end["cache_creation"] != nil || got.end["output_tokens"] == got.usage["output_tokens"] {
		t.Errorf("usage: %v, then %v", got.usage, got.end)
	}
	c.user(result("t1"))
	if got = c.ask(); len(got.blocks) != 0 || got.stop != "end_turn" {
		t.Errorf("empty answer: %v, %s", got.blocks, got.stop)
	}
	if got = c.ask(); got.stop != "refusal" || got.details.(map[string]any)["category"] != "cyber" {
		t.Errorf("refusal: %s, %v", got.stop, got.details)
	}
	c.user("go on")
	if got = c.ask(); got.stop != "max_tokens" || string(got.blocks[1]["input"].(json.RawMessage)) != `{"path":"` {
		t.Errorf("cut: %v, %s", got.blocks, got.stop)
	}
	c.messages = c.messages[:len(c.messages)-1]
	if got = c.ask(); got.stop != "model_context_window_exceeded" {
		t.Errorf("stop %s", got.stop)
	}
	if got = c.ask2(); got.blocks[0]["text"] == nil {
		t.Errorf("without a script: %v", got.blocks)
	}
}

// ask2 asks something new.
func (c *chat) ask2() streamed {
	c.user("anything else?")
	return c.ask()
}

func TestWholeAnswer(t *testing.T) {
	s := anthropicfake.New(anthropicfake.Options{})
	s.Script(anthropicfake.Say(anthropicfake.Text("yes"), anthropicfake.ToolUse("t", "get", `{"a":1}`)))
	w := post(t, s, "/v1/messages", `{`+opus5+`,`+tools+`,`+hi+`}`)
	var got struct {
		Content []struct {
			Type, Text string
			Input      map[string]any
		}
		StopReason string `json:"stop_reason"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != 2 || got.Content[0].Text != "yes" || got.Content[1].Input["a"] != 1.0 || got.StopReason != "tool_use" {
		t.Errorf("got %s", w.Body)
	}
	if w = post(t, s, "/v1/messages", `{"model":"claude-opus-5","max_tokens":0,`+hi+`}`); !strings.Contains(w.Body.String(), `"content":[]`) || !strings.Contains(w.Body.String(), `"stop_reason":"max_tokens"`) {
		t.Errorf("warming: %s", w.Body)
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name   string
		step   anthropicfake.Step
		status int
		want   string
		header string // retry-after
	}{
		{"rate", anthropicfake.RateLimit(90 * time.Second), 429, `"type":"rate_limit_error"`, "90"},
		{"rate without a wish", anthropicfake.RateLimit(0), 429, "rate limit of 30,000 input tokens per minute", ""},
		{"spend", anthropicfake.SpendLimit(), 429, `"details":{"error_code":"enforced_spend_limit_reached"}`, ""},
		{"overloaded", anthropicfake.Overloaded(), 529, `"type":"overloaded_error"`, ""},
		{"internal", anthropicfake.Internal(), 500, `"type":"api_error"`, ""},
		{"page", anthropicfake.Page(502, "<html>Bad gateway</html>"), 502, "<html>", ""},
	}
	for _, tt := range tests {
		s := anthropicfake.New(anthropicfake.Options{})
		s.Script(tt.step)
		w := post(t, s, "/v1/messages", `{`+opus5+`,`+hi+`}`)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) || w.Header().Get("Retry-After") != tt.header {
			t.Errorf("%s: %d %v %s", tt.name, w.Code, w.Header(), w.Body)
		}
		if len(s.Rejected()) != 0 || s.Requests()[0].Status != tt.status {
			t.Errorf("%s: counted as a broken rule: %+v", tt.name, s.Requests()[0])
		}
	}
}

func TestStreamFaults(t *testing.T) {
	fake := anthropicfake.New(anthropicfake.Options{})
	server := httptest.NewServer(fake)
	defer server.Close()
	defer server.CloseClientConnections()
	say := anthropicfake.Say(anthropicfake.Text("some words"))
	open := func(ctx context.Context, step anthropicfake.Step) *http.Response {
		t.Helper()
		fake.Script(step)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v1/messages", strings.NewReader(`{`+opus5+`,"stream":true,`+hi+`}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Anthropic-Version", "2026-10-21")
		r.Header.Set("X-Api-Key", "k")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}

	resp := open(t.Context(), say.ThenError("overloaded_error", "Overloaded", 3))
	got := readStream(t, resp.Body)
	if got.failure != "overloaded_error: Overloaded" || len(got.names) != 4 || resp.StatusCode != 200 {
		t.Errorf("error in the stream: %d %+v", resp.StatusCode, got)
	}
	_ = resp.Body.Close()

	resp = open(t.Context(), say.ThenEOF(3))
	raw, err := io.ReadAll(resp.Body)
	if err != nil || strings.Contains(string(raw), "message_stop") || strings.Count(string(raw), "event:") != 3 {
		t.Errorf("end of file: %v %s", err, raw)
	}
	_ = resp.Body.Close()

	resp = open(t.Context(), say.ThenAbort(2))
	if raw, err = io.ReadAll(resp.Body); err == nil {
		t.Errorf("abort: the body ended well: %s", raw)
	}
	_ = resp.Body.Close()

	ctx, cancel := context.WithCancel(t.Context())
	resp = open(ctx, say.ThenSilence(1))
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || line != "event: message_start\n" {
		t.Errorf("silence: %q %v", line, err)
	}
	cancel()
	_ = resp.Body.Close()

	resp = open(t.Context(), say.Slowly(7, time.Microsecond))
	if got := readStream(t, resp.Body); got.blocks[0]["text"] != "some words" {
		t.Errorf("slow bytes: %+v", got)
	}
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
}
