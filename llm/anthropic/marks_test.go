package anthropic_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/llm"
	fake "sessiond/llm/llmtest/anthropicfake"
	"sessiond/message"
)

// markersOf lists the markers of a body in order of the prompt, like "system 1h" or "2.1 5m".
func markersOf(t *testing.T, body string) []string {
	t.Helper()
	type part struct {
		Cache *struct {
			TTL string `json:"ttl"`
		} `json:"cache_control"`
		Content json.RawMessage
	}
	var b struct {
		Tools, System []part
		Messages      []struct{ Content []part }
	}
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		t.Fatal(err)
	}
	var out []string
	list := func(where string, numbered bool, parts []part) {
		for i, p := range parts {
			name := where
			if numbered {
				name = fmt.Sprintf("%s.%d", where, i)
			}
			if p.Cache != nil {
				out = append(out, strings.TrimSpace(name+" "+p.Cache.TTL))
			}
			if strings.Contains(string(p.Content), "cache_control") {
				out = append(out, name+" inside")
			}
		}
	}
	list("tools", false, b.Tools)
	list("system", false, b.System)
	for i, m := range b.Messages {
		list(fmt.Sprint(i), true, m.Content)
	}
	return out
}

func TestMarksThatBreakRules(t *testing.T) {
	mark := func(m, b int, ttl time.Duration) llm.CacheMark {
		return llm.CacheMark{Message: m, Block: b, TTL: ttl}
	}
	preamble := llm.CacheMark{Message: llm.CachePreamble, Block: 7, TTL: llm.CacheLong}
	const short, long = llm.CacheShort, llm.CacheLong
	tests := []struct {
		name   string
		change func(*llm.Request)
		marks  []llm.CacheMark
		want   []string
	}{
		{"as they are", nil, []llm.CacheMark{preamble, mark(0, 1, long), mark(2, 0, short)}, []string{"system 1h", "0.1 1h", "2.0"}},
		{"in any order", nil, []llm.CacheMark{mark(2, 0, short), preamble}, []string{"system 1h", "2.0"}},
		{"5.2 the last four", nil, []llm.CacheMark{preamble, mark(0, 0, long), mark(0, 1, long), mark(2, 0, short), mark(4, 0, short)}, []string{"0.0 1h", "0.1 1h", "2.0", "4.0"}},
		{"5.2 those that are not written do not count", nil, []llm.CacheMark{preamble, mark(1, 0, long), mark(0, 0, long), mark(0, 1, long), mark(9, 0, long), mark(4, 0, short)}, []string{"system 1h", "0.0 1h", "0.1 1h", "4.0"}},
		{"5.3 a lifetime does not rise", nil, []llm.CacheMark{preamble, mark(0, 1, short), mark(4, 0, long)}, []string{"system 1h", "0.1", "4.0"}},
		{"two on one block", nil, []llm.CacheMark{mark(0, 1, long), mark(0, 1, short)}, []string{"0.1 1h"}},
		{"5.4 on thinking", nil, []llm.CacheMark{mark(1, 0, short)}, nil},
		{"5.4 on an empty text", nil, []llm.CacheMark{mark(0, 2, short)}, nil},
		{"nowhere", nil, []llm.CacheMark{mark(9, 0, short), mark(0, 9, short), mark(-2, 0, short), mark(0, -1, short)}, nil},
		{"tools are the preamble without a system prompt", func(r *llm.Request) { r.System = "" }, []llm.CacheMark{preamble}, []string{"tools 1h"}},
		{"no preamble", func(r *llm.Request) { r.System, r.Tools, r.Messages = "", nil, r.Messages[:1] }, []llm.CacheMark{preamble, mark(0, 0, short)}, []string{"0.0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := fake.New(fake.Options{})
			req := markedRequest()
			if tt.change != nil {
				tt.change(req)
			}
			req.CacheMarks = tt.marks
			if _, err := dial(t, s).Stream(t.Context(), req, none); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, markersOf(t, lastBody(t, s))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func markedRequest() *llm.Request {
	return request("claude-sonnet-5",
		user(text("a"), text("b"), text("")),
		message.Message{Role: message.RoleAssistant, Content: []message.Block{
			message.Thinking{Provider: "other", Raw: []byte(`{}`)}, message.ToolUse{ID: "x", Name: "get", Input: []byte(`{}`)},
		}},
		user(message.ToolResult{ToolUseID: "x", Content: []message.Block{text("r"), text("s")}}, text("c")),
		message.Message{Role: message.RoleAssistant, Content: []message.Block{text("d")}},
		user(text("e")),
	)
}

// No request is refused for its marks, whatever they are.
func TestMarksNeverFailARequest(t *testing.T) {
	s := fake.New(fake.Options{})
	c := dial(t, s)
	rapid.Check(t, func(rt *rapid.T) {
		req := markedRequest()
		if rapid.Bool().Draw(rt, "no system prompt") {
			req.System = ""
		}
		req.CacheMarks = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) llm.CacheMark {
			return llm.CacheMark{
				Message: rapid.IntRange(-3, len(req.Messages)).Draw(rt, "message"), Block: rapid.IntRange(-1, 3).Draw(rt, "block"),
				TTL: rapid.SampledFrom([]time.Duration{0, time.Second, llm.CacheShort, llm.CacheLong, 2 * llm.CacheLong}).Draw(rt, "ttl"),
			}
		}), 0, 9).Draw(rt, "marks")
		given := slices.Clone(req.CacheMarks)
		if _, err := c.Stream(t.Context(), req, none); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(given, req.CacheMarks); diff != "" {
			rt.Fatalf("the request was changed:\n%s", diff)
		}
	})
}
