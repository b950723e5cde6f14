package openai_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sessiond/llm"
	"sessiond/llm/llmtest/openaifake"
	"sessiond/llm/openai"
	"sessiond/message"
)

const finished = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"

// Bodies as servers send them, hand-written.
func TestAnswers(t *testing.T) {
	tests := []struct {
		name    string
		body    string
		content []message.Block
		usage   message.Usage
	}{
		{
			"line ends, several data lines, no space, comments, other fields",
			": hi\r\nid: 1\r\nretry: 5\r\nevent: message\r\ndata:{\"choices\":[{\"delta\":\r\ndata: {\"content\":\"a\"}}]}\r\n\r\n\n\n" + finished + "data: [DONE]\n\n",
			[]message.Block{say("a")},
			message.Usage{},
		},
		{
			"no blank line at the end",
			`data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`,
			[]message.Block{say("a")},
			message.Usage{},
		},
		{
			"a whole answer instead of a stream",
			` {"choices":[{"index":0,"message":{"role":"assistant","content":"a","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`,
			[]message.Block{say("a"), message.ToolUse{ID: "x", Name: "f", Input: []byte("{}")}},
			message.Usage{Input: 3, Output: 2},
		},
		{
			"only the first choice counts",
			`data: {"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}` + "\n\n" + finished,
			[]message.Block{say("a")},
			message.Usage{},
		},
		{
			"content in parts (Mistral), odd members, null deltas",
			`data: {"choices":[{"delta":null}],"usage":null,"error":null}` + "\n\n" +
				`data: {"object":7,"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"reference"},{"type":"text","text":"b"}],"tool_calls":null}}]}` + "\n\n" + finished,
			[]message.Block{say("ab")},
			message.Usage{},
		},
		{
			"errors that are none",
			`data: {"error":false,"choices":[{"delta":{"content":"a"},"error":null}]}` + "\n\n" + `data: {"error":"","choices":[]}` + "\n\n" + finished,
			[]message.Block{say("a")},
			message.Usage{},
		},
		{
			"an empty call is none, null arguments are",
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":null}},{"index":1,"id":"x","function":{"name":"f","arguments":null}}]}}]}` + "\n\n" + finished,
			[]message.Block{message.ToolUse{ID: "x", Name: "f", Input: []byte("{}")}},
			message.Usage{},
		},
		{
			"the name before the id, a number for an id",
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":77,"function":{"arguments":"{}"}}]}}]}` + "\n\n" + finished,
			[]message.Block{message.ToolUse{ID: "77", Name: "f", Input: []byte("{}")}},
			message.Usage{},
		},
		{
			"pieces of two calls in turn, told apart by number or id",
			`data: {"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{\"a\""}},{"id":"y","function":{"name":"g","arguments":"{\"b\""}}]}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"arguments":":1}"}},{"id":"y","function":{"arguments":":2}"}}]}}]}` + "\n\n" + finished,
			[]message.Block{
				message.ToolUse{ID: "x", Name: "f", Input: []byte(`{"a":1}`)}, message.ToolUse{ID: "y", Name: "g", Input: []byte(`{"b":2}`)},
			},
			message.Usage{},
		},
		{
			"braces and quotes in strings do not end an object",
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":\"}\\\\\\\"{\","}}]}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"b\":"}}]}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}}"}}]}}]}` + "\n\n" + finished,
			[]message.Block{message.ToolUse{ID: "x", Name: "f", Input: []byte(`{"a":"}\\\"{","b":{}}`)}},
			message.Usage{},
		},
		{
			"thinking after text, twice named",
			`data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"content":"b"}}]}` + "\n\n" + finished,
			[]message.Block{say("ab"), message.Thinking{Provider: "openrouter", Text: "hm", Raw: []byte(`{"reasoning_content":"hm"}`)}},
			message.Usage{},
		},
		{
			"signed reasoning in pieces (OpenRouter)",
			`data: {"choices":[{"delta":{"reasoning":"let ","reasoning_details":[{"type":"reasoning.text","text":"let ","signature":null,"index":0,"format":"f"}]}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"reasoning":"me","reasoning_details":[{"type":"reasoning.text","text":"me","index":0}]}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"SIG","index":0},{"type":"reasoning.encrypted","data":"X","index":1},{"type":"reasoning.encrypted","data":"Y","index":1},7]}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + finished,
			[]message.Block{message.Thinking{Provider: "openrouter", Text: "let me", Raw: []byte(
				`{"reasoning":"let me","reasoning_details":[{"format":"f","index":0,"signature":"SIG","text":"let me","type":"reasoning.text"},{"data":"X","index":1,"type":"reasoning.encrypted"},{"data":"Y","index":1,"type":"reasoning.encrypted"}]}`)}, say("a")},
			message.Usage{},
		},
		{
			"reasoning that is only a signature",
			`data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"X"}]}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + finished,
			[]message.Block{message.Thinking{Provider: "openrouter", Raw: []byte(`{"reasoning_details":[{"data":"X","type":"reasoning.encrypted"}]}`)}, say("a")},
			message.Usage{},
		},
		{
			"usage of OpenAI",
			finished + `data: {"choices":[],"usage":{"prompt_tokens":2006,"completion_tokens":300,"total_tokens":2306,"prompt_tokens_details":{"cached_tokens":1920,"cache_write_tokens":80},"completion_tokens_details":{"reasoning_tokens":256}}}` + "\n\n",
			nil,
			message.Usage{Input: 6, CacheRead: 1920, CacheWrite5m: 80, Output: 300, Reasoning: 256},
		},
		{
			"usage of DeepSeek",
			`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":5,"total_tokens":105,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}` + "\n\n",
			nil,
			message.Usage{Input: 36, CacheRead: 64, Output: 5},
		},
		{
			"usage of Kimi",
			`data: {"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":100,"completion_tokens":5,"total_tokens":105,"cached_tokens":80}}]}` + "\n\n",
			nil,
			message.Usage{Input: 20, CacheRead: 80, Output: 5},
		},
		{
			"usage with the reasoning in the total only",
			finished + `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":75,"completion_tokens_details":{"reasoning_tokens":60}}}` + "\n\n",
			nil,
			message.Usage{Input: 10, Output: 65, Reasoning: 60},
		},
		{
			"usage with a price (OpenRouter)",
			finished + `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"cost":0.25}}` + "\n\n",
			nil,
			message.Usage{Input: 10, Output: 5, CostUSD: 0.25},
		},
		{
			"usage with every chunk",
			`data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}}` + "\n\n" +
				`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}` + "\n\n",
			[]message.Block{say("a")},
			message.Usage{Input: 10, Output: 2},
		},
		{
			"usage that can't be",
			finished + `data: {"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":-1,"prompt_tokens_details":{"cached_tokens":10},"completion_tokens_details":{"reasoning_tokens":9}}}` + "\n\n",
			nil,
			message.Usage{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, answerWith(200, tt.body, nil), openai.Options{Dialect: dialect(t, "openrouter")})
			resp, err := c.Stream(t.Context(), hello(), discard)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.content, resp.Content, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.usage, resp.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// The deltas of a block joined are its text, wherever the pieces were cut and however
// the calls were numbered.
func TestDeltasAreTheAnswer(t *testing.T) {
	fake := openaifake.New(openaifake.Options{})
	c := dial(t, fake, openai.Options{Dialect: dialect(t, "deepseek")})
	rapid.Check(t, func(t *rapid.T) {
		step := openaifake.Step{
			Reasoning:  rapid.String().Draw(t, "reasoning"),
			Text:       rapid.String().Draw(t, "text"),
			PieceBytes: rapid.IntRange(1, 20).Draw(t, "piece"),
			Noise:      rapid.Bool().Draw(t, "noise"),
			Numbering: openaifake.Numbering{
				First: rapid.IntRange(-1, 2).Draw(t, "first"), RepeatNames: rapid.Bool().Draw(t, "repeat names"), RepeatIDs: true,
				Same: rapid.Bool().Draw(t, "same"), None: rapid.Bool().Draw(t, "none"), AsObjects: rapid.Bool().Draw(t, "objects"),
			},
		}
		n := rapid.IntRange(0, 4).Draw(t, "calls")
		for i := range n {
			step.Calls = append(step.Calls, openaifake.Call{
				ID: string(rune('a' + i)), Name: "weather",
				Arguments: string(message.AppendString([]byte(`{"city":`), rapid.String().Draw(t, "city"))) + "}",
			})
		}
		fake.Script(step)
		got := map[int]string{}
		resp, err := c.Stream(t.Context(), hello(), func(d llm.Delta) { got[d.Block] += d.Text })
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		for i, b := range resp.Content {
			var text string
			switch b := b.(type) {
			case message.Text:
				text = b.Text
				if text != step.Text {
					t.Fatalf("text %q became %q", step.Text, text)
				}
			case message.Thinking:
				text = b.Text
				if text != step.Reasoning {
					t.Fatalf("reasoning %q became %q", step.Reasoning, text)
				}
			case message.ToolUse:
				text = string(b.Input)
				if text != step.Calls[calls].Arguments {
					t.Fatalf("input %s became %s", step.Calls[calls].Arguments, text)
				}
				calls++
			case message.Image, message.ToolResult:
				t.Fatalf("a %T in an answer", b)
			}
			if got[i] != text {
				t.Fatalf("block %d: deltas %q, text %q", i, got[i], text)
			}
		}
		if calls != n || len(got) != len(resp.Content) {
			t.Fatalf("%d calls of %d, deltas of %d blocks for %d", calls, n, len(got), len(resp.Content))
		}
		if hasText := strings.TrimSpace(step.Text) != ""; hasText != (message.JoinText(resp.Content) != "") {
			t.Fatalf("text %q is missing", step.Text)
		}
	})
}
