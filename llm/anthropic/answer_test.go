package anthropic

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/llm"
	"sessiond/message"
)

// play feeds events, one a line, and returns the answer.
func play(t *testing.T, lines string) (*llm.Response, error) {
	t.Helper()
	a := newAnswer(func(llm.Delta) {})
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := a.event(json.RawMessage(line)); err != nil {
			return nil, err
		}
	}
	return a.response()
}

func TestThinkingKeepsWhatItDoesNotKnow(t *testing.T) {
	resp, err := play(t, `
		{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":"","extra": {"b":1.0}}}
		{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a\"<"}}
		{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s1"}}
		{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s2"}}
		{"type":"content_block_stop","index":0}
		{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking", "data":"xyz"}}
		{"type":"content_block_stop","index":1}
		{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"","signature":""}}
		{"type":"content_block_delta","index":2,"delta":{"type":"signature_delta","signature":"only"}}
		{"type":"content_block_stop","index":2}
		{"type":"message_stop"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []message.Block{
		message.Thinking{Provider: Provider, Text: `a"<`, Raw: []byte(`{"type":"thinking","extra":{"b":1.0},"thinking":"a\"<","signature":"s1s2"}`)},
		message.Thinking{Provider: Provider, Raw: []byte(`{"type":"redacted_thinking", "data":"xyz"}`)},
		message.Thinking{Provider: Provider, Raw: []byte(`{"type":"thinking","thinking":"","signature":"only"}`)},
	}
	if diff := cmp.Diff(want, resp.Content); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnknownThingsAreIgnored(t *testing.T) {
	resp, err := play(t, `
		{"type":"dawn"}
		{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}
		{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}
		{"type":"content_block_stop","index":0}
		{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"at "}}
		{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}
		{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"once"}}
		{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"get","input":{ "whole" : 1 }}}
		{"type":"content_block_stop","index":2}
		{"type":"content_block_stop","index":99}
		{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":null}}
		{"type":"message_stop"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []message.Block{message.Text{Text: "at once"}, message.ToolUse{ID: "a", Name: "get", Input: []byte(`{ "whole" : 1 }`)}}
	if diff := cmp.Diff(want, resp.Content); diff != "" || resp.Stop != llm.StopEnd {
		t.Errorf("stop %s, (-want +got):\n%s", resp.Stop, diff)
	}
}

func TestBrokenStreams(t *testing.T) {
	for name, lines := range map[string]string{
		"no JSON":           `{"type":`,
		"no block":          `{"type":"content_block_start","index":0,"content_block":7}`,
		"a piece too early": `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`,
		"begins twice":      `{"type":"content_block_start","index":0,"content_block":{"type":"text"}}` + "\n" + `{"type":"content_block_start","index":0,"content_block":{"type":"text"}}`,
	} {
		if _, err := play(t, lines); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := play(t, `{"type":"message_start"}`); !errors.Is(err, errCutOff) {
		t.Errorf("without an end: %v", err)
	}
	resp, err := play(t, `
		{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"get","input":{}}}
		{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}
		{"type":"message_stop"}`)
	if err != nil || len(resp.Content) != 0 {
		t.Errorf("a call that was not closed: %v, %v", resp, err)
	}
}

func TestUsageOfAStream(t *testing.T) {
	tests := []struct {
		name, lines string
		want        message.Usage
	}{
		{
			"the later number wins, the split stays",
			`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":1}}}
			{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":6,"output_tokens":9,"cache_creation_input_tokens":30,"output_tokens_details":{"thinking_tokens":4}}}`,
			message.Usage{Input: 6, Output: 9, CacheRead: 7, CacheWrite5m: 10, CacheWrite1h: 20, Reasoning: 4},
		},
		{
			"writes without a split are short ones",
			`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_creation_input_tokens":30}}}`,
			message.Usage{Input: 5, CacheWrite5m: 30},
		},
		{
			"nulls change nothing",
			`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":3}}}
			{"type":"message_delta","delta":{},"usage":{"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":2}}`,
			message.Usage{Input: 5, CacheRead: 3, Output: 2},
		},
	}
	for _, tt := range tests {
		resp, err := play(t, tt.lines+"\n"+`{"type":"message_stop"}`)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, resp.Usage); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A request that only adds messages begins with the same bytes: caches and signatures
// hang on it.
func TestBodiesGrowAtTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) message.Block {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				return message.Text{Text: rapid.String().Draw(t, "text")}
			case 1:
				return message.ToolUse{ID: "a", Name: rapid.String().Draw(t, "name"), Input: []byte(rapid.SampledFrom([]string{`{}`, ` { "a" : 1.0 }`}).Draw(t, "input"))}
			case 2:
				return message.Thinking{Provider: rapid.SampledFrom([]string{Provider, "other"}).Draw(t, "provider"), Raw: []byte(`{"type":"thinking"}`)}
			default:
				return message.ToolResult{ToolUseID: "a", Content: []message.Block{message.Text{Text: rapid.String().Draw(t, "result")}}}
			}
		}), 0, 4)
		messages := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) message.Message {
			return message.Message{Role: message.RoleUser, Content: blocks.Draw(t, "content")}
		}), 0, 5)
		req := &llm.Request{Model: "m", System: rapid.String().Draw(t, "system"), Messages: messages.Draw(t, "before")}
		before, err := encode(req, tabled("claude-opus-5"))
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, messages.Draw(t, "more")...)
		after, err := encode(req, tabled("claude-opus-5"))
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(before) || !json.Valid(after) {
			t.Fatalf("no JSON: %s\n%s", before, after)
		}
		if head := strings.TrimSuffix(string(before), "]}"); !strings.HasPrefix(string(after), head) {
			t.Fatalf("%s\ndoes not begin with\n%s", after, head)
		}
	})
}

// Whatever events come: no panic, and the pieces shown join to what is returned.
func FuzzEvents(f *testing.F) {
	f.Add(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}
{"type":"message_stop"}`)
	f.Add(`{"type":"content_block_start","index":-1,"content_block":{"type":"thinking"}}
{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","input":{"a":1}}}
{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"}"}}
{"type":"content_block_stop","index":5}
{"type":"message_stop"}`)
	f.Fuzz(func(t *testing.T, lines string) {
		seen := map[int]string{}
		a := newAnswer(func(d llm.Delta) { seen[d.Block] += d.Text })
		for line := range strings.Lines(lines) {
			if a.event(json.RawMessage(line)) != nil {
				return
			}
		}
		resp, err := a.response()
		if err != nil {
			return
		}
		for i, b := range resp.Content {
			switch b := b.(type) {
			case message.Text:
				if seen[i] != b.Text {
					t.Fatalf("block %d: showed %q, is %q", i, seen[i], b.Text)
				}
			case message.Thinking:
				if seen[i] != b.Text || !json.Valid(b.Raw) {
					t.Fatalf("block %d: showed %q, is %q, %s", i, seen[i], b.Text, b.Raw)
				}
			case message.ToolUse:
				if seen[i] != string(b.Input) && string(b.Input) != "{}" {
					t.Fatalf("block %d: showed %q, is %q", i, seen[i], b.Input)
				}
			case message.Image, message.ToolResult:
				t.Fatalf("block %d is a %T", i, b)
			}
		}
	})
}
