package openai_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"sessiond/llm"
	"sessiond/llm/llmtest/openaifake"
	"sessiond/llm/openai"
	"sessiond/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "sk-test-0123456789abcdef"

// dial returns a client of a handler. The dialect is OpenAI's unless cfg names another.
func dial(t *testing.T, h http.Handler, opts openai.Options) *openai.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	opts.BaseURL = server.URL + "/v1"
	opts.HTTPClient = server.Client()
	if opts.APIKey == "" {
		opts.APIKey = secret
	}
	if opts.Dialect.Name == "" {
		opts.Dialect = dialect(t, "openai")
	}
	c, err := openai.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dialect(t *testing.T, name string) openai.Dialect {
	t.Helper()
	d, err := openai.DialectNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func user(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleUser, Content: blocks}
}

func assistant(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: blocks}
}

func say(text string) message.Text { return message.Text{Text: text} }

func weatherTool() llm.Tool {
	return llm.Tool{Name: "weather", Description: "tells it", InputSchema: []byte(`{"type":"object","properties":{}}`)}
}

func hello() *llm.Request {
	return &llm.Request{Model: "gpt-4o", Tools: []llm.Tool{weatherTool()}, Messages: []message.Message{user(say("hi"))}}
}

// shown joins the deltas of each block.
type shown map[int]string

func (s shown) emit(d llm.Delta) { s[d.Block] += string(d.Kind[0]) + ":" + d.Text + "|" }

func discard(llm.Delta) {}

func TestStreamText(t *testing.T) {
	fake := openaifake.New(openaifake.Options{})
	fake.Script(openaifake.Step{Text: "\n Hello where, friend"})
	c := dial(t, fake, openai.Options{})
	got := shown{}
	resp, err := c.Stream(t.Context(), hello(), got.emit)
	if err != nil {
		t.Fatal(err)
	}
	want := &llm.Response{
		Content: []message.Block{say("\n Hello where, friend")},
		Usage:   message.Usage{Input: 36, Output: 6},
		Stop:    llm.StopEnd,
	}
	if diff := cmp.Diff(want, resp); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(shown{0: "t:\n Hello wher|t:e, friend|"}, got); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}

// White space before calls is no text block, and does not take a number from one.
func TestStreamBlankText(t *testing.T) {
	fake := openaifake.New(openaifake.Options{})
	fake.Script(openaifake.Calls(" \n\n", openaifake.Call{ID: "a", Name: "weather"}))
	got := shown{}
	resp, err := dial(t, fake, openai.Options{}).Stream(t.Context(), hello(), got.emit)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]message.Block{message.ToolUse{ID: "a", Name: "weather", Input: []byte("{}")}}, resp.Content); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(shown{0: "t:{}|"}, got); diff != "" { // t of tool_input
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}

// However a server spells two calls, they come out as two calls.
func TestStreamCalls(t *testing.T) {
	spellings := map[string]openaifake.Numbering{
		"openai":                    {},
		"from one":                  {First: 1},
		"repeated names":            {RepeatNames: true},
		"repeated ids":              {RepeatIDs: true},
		"everything repeated":       {RepeatIDs: true, RepeatNames: true},
		"one number, ids":           {Same: true},
		"one number, repeated ids":  {Same: true, RepeatIDs: true, RepeatNames: true},
		"one number, no ids":        {Same: true, NoIDs: true},
		"one number, names, no ids": {Same: true, NoIDs: true, RepeatNames: true},
		"one number, no ids, whole": {Same: true, NoIDs: true, Whole: true},
		"no numbers":                {None: true},
		"no numbers, repeated ids":  {None: true, RepeatIDs: true},
		"no numbers, no ids":        {None: true, NoIDs: true, Whole: true},
		"no ids":                    {NoIDs: true},
		"one id for all":            {SameIDs: true},
		"one id for all, repeated":  {SameIDs: true, RepeatIDs: true},
		"negative numbers":          {Same: true, First: -1, RepeatIDs: true},
		"objects":                   {AsObjects: true},
		"objects without numbers":   {AsObjects: true, None: true, NoIDs: true},
	}
	for name, numbering := range spellings {
		for _, finish := range []string{"tool_calls", "stop", "function_call", "STOP"} {
			t.Run(name+"/"+finish, func(t *testing.T) {
				fake := openaifake.New(openaifake.Options{})
				step := openaifake.Calls("Looking.",
					openaifake.Call{ID: "a", Name: "weather", Arguments: `{"city":"Rome","days":10.0}`},
					openaifake.Call{ID: "b", Name: "weather", Arguments: `{"city":"Oslo"}`})
				step.Numbering, step.Finish = numbering, finish
				fake.Script(step)
				resp, err := dial(t, fake, openai.Options{}).Stream(t.Context(), hello(), discard)
				if err != nil {
					t.Fatal(err)
				}
				if resp.Stop != llm.StopToolUse {
					t.Errorf("stop %q", resp.Stop)
				}
				if len(resp.Content) != 3 {
					t.Fatalf("content: %v", resp.Content)
				}
				first, second := resp.Content[1].(message.ToolUse), resp.Content[2].(message.ToolUse)
				if string(first.Input) != `{"city":"Rome","days":10.0}` || string(second.Input) != `{"city":"Oslo"}` {
					t.Errorf("inputs %s, %s", first.Input, second.Input)
				}
				if first.Name != "weather" || second.Name != "weather" {
					t.Errorf("names %q, %q", first.Name, second.Name)
				}
				if first.ID == second.ID || !first.ID.Portable() || !second.ID.Portable() {
					t.Errorf("ids %q, %q", first.ID, second.ID)
				}
				if !numbering.NoIDs && first.ID != "a" {
					t.Errorf("the server's id became %q", first.ID)
				}
			})
		}
	}
}

func TestStreamReasoning(t *testing.T) {
	for _, tt := range []struct{ dialect, member, raw string }{
		{"deepseek", "reasoning_content", `{"reasoning_content":"let me \"see\""}`},
		{"kimi", "reasoning_content", `{"reasoning_content":"let me \"see\""}`},
		{"openrouter", "reasoning", `{"reasoning":"let me \"see\""}`},
		{"vllm", "reasoning", `{"reasoning":"let me \"see\""}`},
		{"compatible", "reasoning_content", ``},
	} {
		t.Run(tt.dialect, func(t *testing.T) {
			fake := openaifake.New(openaifake.Options{})
			fake.Script(openaifake.Step{Reasoning: `let me "see"`, ReasoningMember: tt.member, Text: "yes"})
			got := shown{}
			resp, err := dial(t, fake, openai.Options{Dialect: dialect(t, tt.dialect)}).Stream(t.Context(), hello(), got.emit)
			if err != nil {
				t.Fatal(err)
			}
			th := message.Thinking{Provider: tt.dialect, Text: `let me "see"`}
			if tt.raw != "" {
				th.Raw = []byte(tt.raw)
			}
			if diff := cmp.Diff([]message.Block{th, say("yes")}, resp.Content); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(shown{0: `t:let me "see"|`, 1: "t:yes|"}, got); diff != "" {
				t.Errorf("deltas (-want +got):\n%s", diff)
			}
			if resp.Usage.Reasoning != 3 || resp.Usage.Output != 4 {
				t.Errorf("usage %+v", resp.Usage)
			}
		})
	}
}

func TestStreamStops(t *testing.T) {
	call := openaifake.Call{ID: "a", Name: "weather", Arguments: `{"city":"Rome"}`}
	tests := []struct {
		name   string
		step   openaifake.Step
		want   llm.StopReason
		blocks int
	}{
		{"end", openaifake.Text("x"), llm.StopEnd, 1},
		{"nothing to say", openaifake.Step{}, llm.StopEnd, 0},
		{"length", openaifake.Step{Text: "x", Finish: "length"}, llm.StopMaxTokens, 1},
		{"length with a whole call", openaifake.Step{Calls: []openaifake.Call{call}, Finish: "length"}, llm.StopMaxTokens, 1},
		{"length in a call", openaifake.Step{Text: "x", Calls: []openaifake.Call{call, {ID: "b", Name: "weather", Arguments: `{"city":"Os`}}, Finish: "length"}, llm.StopMaxTokens, 2},
		{"length before a call's input", openaifake.Step{Calls: []openaifake.Call{{ID: "b", Name: "weather", Arguments: " "}}, Finish: "length"}, llm.StopMaxTokens, 0},
		{"filter", openaifake.Step{Text: "x", Finish: "content_filter"}, llm.StopRefusal, 1},
		{"refusal", openaifake.Step{Refusal: "I can't"}, llm.StopRefusal, 1},
		{"window", openaifake.Step{Text: "x", Finish: "model_context_window_exceeded"}, llm.StopContextWindow, 1},
		{"tool_calls without any", openaifake.Step{Text: "x", Finish: "tool_calls"}, llm.StopEnd, 1},
		{"a reason nobody knows", openaifake.Step{Text: "x", Finish: "eos"}, llm.StopEnd, 1},
		{"a call that is no JSON", openaifake.Step{Calls: []openaifake.Call{{ID: "a", Name: "weather", Arguments: "Rome"}}}, llm.StopToolUse, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake := openaifake.New(openaifake.Options{})
			fake.Script(tt.step)
			resp, err := dial(t, fake, openai.Options{}).Stream(t.Context(), hello(), discard)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Stop != tt.want || len(resp.Content) != tt.blocks {
				t.Errorf("stop %q, content %v", resp.Stop, resp.Content)
			}
		})
	}
}

// A server's manners: comments, null errors, one byte at a time, no end mark, no usage.
func TestStreamManners(t *testing.T) {
	step := openaifake.Step{Reasoning: "hm", Text: "Hällo 👍🏽 there", Noise: true, ByteByByte: true, NoDone: true, NoUsage: true, PieceBytes: 1}
	fake := openaifake.New(openaifake.Options{})
	fake.Script(step)
	resp, err := dial(t, fake, openai.Options{}).Stream(t.Context(), hello(), discard)
	if err != nil {
		t.Fatal(err)
	}
	if text := message.JoinText(resp.Content); text != step.Text || resp.Usage != (message.Usage{}) {
		t.Errorf("got %q, %+v", text, resp.Usage)
	}
}

// Each way a stream can break ends the call with an error of the right class, and what
// came before it was shown.
func TestStreamFaults(t *testing.T) {
	tests := []struct {
		name    string
		fault   openaifake.Fault
		class   llm.Class
		status  int
		message string
	}{
		{"error object", openaifake.Fault{Kind: openaifake.ErrorObject, Message: "boom", Type: "server_error"}, llm.ClassOverload, 0, "boom"},
		{"error text", openaifake.Fault{Kind: openaifake.ErrorText, Message: "boom"}, llm.ClassNetwork, 0, "boom"},
		{"flat error", openaifake.Fault{Kind: openaifake.ErrorFlat, Message: "boom", Type: "InternalServerError", Status: 500}, llm.ClassOverload, 500, "boom"},
		{"error event", openaifake.Fault{Kind: openaifake.ErrorEvent, Message: "boom", Type: "overloaded_error"}, llm.ClassOverload, 0, "boom"},
		{"error in a choice", openaifake.Fault{Kind: openaifake.ErrorChoice, Message: "boom", Status: 502}, llm.ClassOverload, 502, "boom"},
		{"error as a finish", openaifake.Fault{Kind: openaifake.ErrorFinish}, llm.ClassNetwork, 0, "the model server stopped with an error"},
		{"rate limit inside", openaifake.Fault{Kind: openaifake.ErrorObject, Message: "slow down", Status: 429}, llm.ClassRate, 429, "slow down"},
		{"overflow inside", openaifake.Fault{Kind: openaifake.ErrorObject, Message: "maximum context length is 4096 tokens", Code: "context_length_exceeded"}, llm.ClassOverflow, 0, "maximum context"},
		{"overflow inside as text", openaifake.Fault{Kind: openaifake.ErrorText, Message: "Context size has been exceeded."}, llm.ClassOverflow, 0, "Context size"},
		{"clean end", openaifake.Fault{Kind: openaifake.CleanEnd}, llm.ClassNetwork, 0, "without a finish_reason"},
		{"broken connection", openaifake.Fault{Kind: openaifake.Abort}, llm.ClassNetwork, 0, "it broke off"},
		{"done without a finish", openaifake.Fault{Kind: openaifake.DoneOnly}, llm.ClassNetwork, 0, "without a finish_reason"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake := openaifake.New(openaifake.Options{})
			step := openaifake.Text("Hello where, friend")
			step.Fault = tt.fault
			step.Fault.After = 2
			fake.Script(step, openaifake.Text("back"))
			c := dial(t, fake, openai.Options{})
			got := shown{}
			resp, err := c.Stream(t.Context(), hello(), got.emit)
			e, ok := llm.AsError(err)
			if !ok || resp != nil {
				t.Fatalf("got %v, %v", resp, err)
			}
			if e.Class != tt.class || e.Status != tt.status || !strings.Contains(e.Error(), tt.message) {
				t.Errorf("got %+v (%v)", e, e)
			}
			if got[0] != "t:Hello where,|" {
				t.Errorf("shown %v", got)
			}
			if _, err := c.Stream(t.Context(), hello(), discard); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func TestStreamSilence(t *testing.T) {
	for _, after := range []int{0, 2} {
		fake := openaifake.New(openaifake.Options{})
		fake.Script(openaifake.Text("Hello where, friend").Break(openaifake.Silence, after))
		c := dial(t, fake, openai.Options{IdleTimeout: 20 * time.Millisecond})
		_, err := c.Stream(t.Context(), hello(), discard)
		e, ok := llm.AsError(err)
		if !ok || e.Class != llm.ClassNetwork || !strings.Contains(err.Error(), "sent nothing for 20ms") {
			t.Errorf("after %d chunks: %v", after, err)
		}
	}
}

// A slow server is not a silent one: the whole answer takes longer than the longest
// silence allowed, each pause does not.
func TestStreamSlowly(t *testing.T) {
	fake := openaifake.New(openaifake.Options{})
	step := openaifake.Text(strings.Repeat("word ", 20))
	step.Pause = 5 * time.Millisecond
	step.PieceBytes = 5
	fake.Script(step)
	c := dial(t, fake, openai.Options{IdleTimeout: 30 * time.Second})
	if _, err := c.Stream(t.Context(), hello(), discard); err != nil {
		t.Error(err)
	}
}

// The end of the context ends the call in every phase, with its error and none of the
// network's.
func TestStreamCancel(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := dial(t, openaifake.New(openaifake.Options{}), openai.Options{}).Stream(ctx, hello(), discard)
		if _, isModel := llm.AsError(err); isModel || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("in the middle", func(t *testing.T) {
		fake := openaifake.New(openaifake.Options{})
		fake.Script(openaifake.Text("Hello where, friend").Break(openaifake.Silence, 2))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := dial(t, fake, openai.Options{}).Stream(ctx, hello(), func(llm.Delta) { cancel() })
		if _, isModel := llm.AsError(err); isModel || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("by a deadline", func(t *testing.T) {
		fake := openaifake.New(openaifake.Options{})
		fake.Script(openaifake.Text("x").Break(openaifake.Silence, 0))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := dial(t, fake, openai.Options{}).Stream(ctx, hello(), discard)
		if _, isModel := llm.AsError(err); isModel || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestUnreachableServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := openai.New(openai.Options{BaseURL: server.URL, APIKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Stream(t.Context(), hello(), discard)
	e, ok := llm.AsError(err)
	if !ok || e.Class != llm.ClassNetwork || e.Status != 0 {
		t.Fatalf("got %v", err)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the error tells the key: %v", err)
	}
}

// What servers do to a prompt over the window without saying so.
func TestSilentTruncation(t *testing.T) {
	long := hello()
	long.Messages = []message.Message{user(say(strings.Repeat("word ", 2000)))} // 2,500 tokens
	tests := []struct {
		name   string
		mode   openaifake.Overflow
		window int64 // that the client knows
		class  llm.Class
	}{
		{"said", openaifake.OverflowRefused, 0, llm.ClassOverflow},
		{"cut (Ollama)", openaifake.OverflowTruncated, 1000, llm.ClassOverflow},
		{"cut, window unknown", openaifake.OverflowTruncated, 0, ""},
		{"nothing (LM Studio)", openaifake.OverflowEmpty, 1000, llm.ClassOverflow},
		{"nothing, window unknown", openaifake.OverflowEmpty, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake := openaifake.New(openaifake.Options{WindowTokens: 1000, OnOverflow: tt.mode})
			c := dial(t, fake, openai.Options{Windows: map[string]int64{"gpt-4o": tt.window}})
			_, err := c.Stream(t.Context(), long, discard)
			e, ok := llm.AsError(err)
			if tt.class == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !ok || e.Class != tt.class || e.LimitTokens != 1000 {
				t.Errorf("got %+v", err)
			}
		})
	}
}

// An empty stream that only says [DONE] is an overflow when the prompt can hardly have
// fitted, and half an answer otherwise.
func TestNothingButDone(t *testing.T) {
	for window, want := range map[int64]llm.Class{10: llm.ClassOverflow, 100_000: llm.ClassNetwork, 0: llm.ClassNetwork} {
		fake := openaifake.New(openaifake.Options{})
		fake.Script(openaifake.Step{}.Break(openaifake.DoneOnly, 0))
		c := dial(t, fake, openai.Options{Windows: map[string]int64{"gpt-4o": window}})
		_, err := c.Stream(t.Context(), hello(), discard)
		if e, ok := llm.AsError(err); !ok || e.Class != want {
			t.Errorf("window %d: %v, want class %s", window, err, want)
		}
	}
}

// An answer that ends for its length at the edge of the window was ended by that.
func TestLengthAtTheWindow(t *testing.T) {
	for prompt, want := range map[int64]llm.StopReason{900: llm.StopContextWindow, 899: llm.StopMaxTokens} {
		fake := openaifake.New(openaifake.Options{})
		fake.Script(openaifake.Step{Text: "x", Finish: "length", Usage: &openaifake.Usage{PromptTokens: prompt, CompletionTokens: 100}})
		c := dial(t, fake, openai.Options{Windows: map[string]int64{"gpt-4o": 1000}})
		resp, err := c.Stream(t.Context(), hello(), discard)
		if err != nil || resp.Stop != want {
			t.Errorf("prompt %d: %v, %v", prompt, resp, err)
		}
	}
}

// The parts of a request that the cache knows are counted as read from it.
func TestUsageOfTheCache(t *testing.T) {
	fake := openaifake.New(openaifake.Options{CountsWrites: true})
	c := dial(t, fake, openai.Options{})
	req := hello()
	req.CacheKey = "session"
	req.System = strings.Repeat("rule ", 1000)
	first, err := c.Stream(t.Context(), req, discard)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, assistant(first.Content...), user(say("more")))
	second, err := c.Stream(t.Context(), req, discard)
	if err != nil {
		t.Fatal(err)
	}
	if u := first.Usage; u.CacheRead != 0 || u.CacheWrite5m != 1280 || u.Input != 10 {
		t.Errorf("first %+v", u)
	}
	if u := second.Usage; u.CacheRead != 1280 || u.CacheWrite5m != 0 || u.Input == 0 {
		t.Errorf("second %+v", u)
	}
}

func TestCost(t *testing.T) {
	prices, err := llm.NewPrices(map[string]llm.Price{"gpt-4o": {Rates: llm.Rates{Input: 1, Output: 10}}})
	if err != nil {
		t.Fatal(err)
	}
	fake := openaifake.New(openaifake.Options{})
	fake.Script(openaifake.Step{Text: "x", Usage: &openaifake.Usage{PromptTokens: 1_000_000, CompletionTokens: 50_000}})
	resp, err := dial(t, fake, openai.Options{Prices: prices}).Stream(t.Context(), hello(), discard)
	if err != nil || resp.Usage.CostUSD != 1.5 {
		t.Errorf("got %+v, %v", resp, err)
	}
}

// What a server had counted when its answer broke off is told and priced.
func TestUsageOfCallsThatFail(t *testing.T) {
	prices, err := llm.NewPrices(map[string]llm.Price{"gpt-4o": {Rates: llm.Rates{Input: 1, Output: 10}}})
	if err != nil {
		t.Fatal(err)
	}
	const counted = `data: {"choices":[{"index":0,"delta":{"content":"Hel"}}],"usage":{"prompt_tokens":1000,"completion_tokens":50}}` + "\n\n"
	const uncounted = `data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}` + "\n\n"
	const failed = `data: {"error":{"message":"The server had an error","type":"server_error"}}` + "\n\n"
	header := http.Header{"Content-Type": {"text/event-stream"}}
	want := message.Usage{Input: 1000, Output: 50, CostUSD: 0.0015}
	for _, tt := range []struct {
		name, body string
		want       *message.Usage
	}{
		{"cut off", counted, &want},
		{"cut off before it was counted", uncounted, nil},
		{"an error in the stream", counted + failed, &want},
		{"an error before it was counted", failed, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := dial(t, answerWith(http.StatusOK, tt.body, header), openai.Options{Prices: prices}).Stream(t.Context(), hello(), discard)
			if _, ok := llm.AsError(err); !ok {
				t.Fatalf("got %v", err)
			}
			if tt.want == nil {
				if resp != nil {
					t.Errorf("got %+v", resp)
				}
			} else if diff := cmp.Diff(&llm.Response{Usage: *tt.want}, resp, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
