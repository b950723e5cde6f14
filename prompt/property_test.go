package prompt_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/llm"
	"sessiond/llm/llmtest/openaifake"
	"sessiond/llm/openai"
	"sessiond/message"
	"sessiond/prompt"
)

// hostile draws logs that break every rule at once: orphans, halves, repeated and
// foreign ids, empty blocks, blocks in wrong roles, broken JSON, odd images.
type hostile struct{ images []message.Image }

func newHostile(tb testing.TB) *hostile {
	tb.Helper()
	h := &hostile{images: []message.Image{
		picture(tb, "png", 8, 8), picture(tb, "jpeg", 30, 20), picture(tb, "gif", 5, 5), picture(tb, "png", 2001, 3), picture(tb, "png", 8001, 1),
		{MimeType: "image/webp", Data: picture(tb, "png", 8, 8).Data},
		{MimeType: "image/png", Data: "%%%"},
		{MimeType: "text/plain", Data: "AAAA"},
	}}
	return h
}

func (h *hostile) id() *rapid.Generator[message.ToolUseID] {
	return rapid.SampledFrom([]message.ToolUseID{"a", "b", "c", "toolu_01", "", "functions.x:0", "call_a|fc_b", "é", message.ToolUseID(strings.Repeat("l", 50)), "\x00", "call_afe44facc2b888475e13b355"})
}

func (h *hostile) text() *rapid.Generator[message.Block] {
	return rapid.Map(rapid.SampledFrom([]string{"words", "", " ", "\n\t", "\x00", "a\xffb", "\u2003", "\xed\xa0\x80", "more words"}), func(s string) message.Block {
		return message.Text{Text: s}
	})
}

func (h *hostile) image() *rapid.Generator[message.Block] {
	return rapid.Map(rapid.SampledFrom(h.images), func(i message.Image) message.Block { return i })
}

func (h *hostile) raw() *rapid.Generator[[]byte] {
	return rapid.Map(rapid.SampledFrom([]string{
		`{}`, `{ "a" : 1.0 }`, "", `[]`, `"x"`, `{"a":`, `{"s":"\ud800"}`, `{"s":"\ud83d\ude00"}`, "{\"s\":\"\xff\"}", `{"n":"\u0000"}`, `null`,
		`{"reasoning_content":"x"}`, ` {"a":{"b":"\\ud800"}}`, `{"a":"\udc00\ud800\ud800"}`,
	}), func(s string) []byte {
		if s == "" {
			return nil
		}
		return []byte(s)
	})
}

func (h *hostile) block() *rapid.Generator[message.Block] {
	return rapid.Custom(func(t *rapid.T) message.Block {
		switch rapid.IntRange(0, 11).Draw(t, "kind") {
		case 0, 1:
			return h.text().Draw(t, "text")
		case 2:
			return h.image().Draw(t, "image")
		case 3:
			return message.Thinking{Provider: rapid.SampledFrom([]string{"p", "q", "deepseek"}).Draw(t, "provider"), Text: "hm", Raw: h.raw().Draw(t, "raw")}
		case 4, 5, 6:
			return message.ToolUse{
				ID: h.id().Draw(t, "id"), Name: rapid.SampledFrom([]string{"read", "a b", "", "functions.read", strings.Repeat("n", 70)}).Draw(t, "name"),
				Input: h.raw().Draw(t, "input"),
			}
		case 7, 8, 9, 10:
			content := rapid.SliceOfN(rapid.OneOf(h.text(), h.image()), 0, 3).Draw(t, "content")
			if rapid.IntRange(0, 9).Draw(t, "odd content") == 0 {
				content = append(content, message.ToolUse{ID: "inner"})
			}
			return message.ToolResult{ToolUseID: h.id().Draw(t, "answered"), IsError: rapid.Bool().Draw(t, "is error"), Content: content}
		}
		return nil
	})
}

func (h *hostile) log() *rapid.Generator[[]message.Message] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) message.Message {
		return message.Message{
			Role:    rapid.SampledFrom([]message.Role{"user", "user", "user", "assistant", "assistant", "assistant", "system"}).Draw(t, "role"),
			Content: rapid.SliceOfN(h.block(), 0, 6).Draw(t, "content"),
		}
	}), 0, 12)
}

func (h *hostile) request() *rapid.Generator[llm.Request] {
	return rapid.Custom(func(t *rapid.T) llm.Request {
		req := llm.Request{
			Model: "gpt-4o", MaxOutputTokens: 100, Messages: h.log().Draw(t, "log"),
			System: rapid.SampledFrom([]string{"", " ", "be kind"}).Draw(t, "system"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "tools") {
			req.Tools = append(req.Tools, llm.Tool{
				Name:        rapid.SampledFrom([]string{"read", "write", "a b", ""}).Draw(t, "tool"),
				InputSchema: rapid.SampledFrom([]json.RawMessage{nil, []byte(`{"type":"object"}`), []byte(`{"properties":{}}`), []byte(`{"type":"string"}`), []byte(`[]`), []byte(`{`)}).Draw(t, "schema"),
			})
		}
		for i, m := range req.Messages {
			if len(m.Content) > 0 && rapid.Bool().Draw(t, "marked") {
				req.CacheMarks = append(req.CacheMarks, llm.CacheMark{Message: i, Block: rapid.IntRange(0, len(m.Content)-1).Draw(t, "block")})
			}
		}
		if n := rapid.SampledFrom([]int{0, 0, 0, 21, 30}).Draw(t, "more images"); n > 0 {
			for range n {
				req.Messages = append(req.Messages, user(h.image().Draw(t, "one of many")))
			}
		}
		return req
	})
}

// judge is an independent reading of the rules: what every provider demands of a
// conversation, in the words of the rules and not of the code that keeps them.
func judge(req *llm.Request) error {
	msgs := req.Messages
	if len(msgs) == 0 || msgs[0].Role != message.RoleUser || msgs[len(msgs)-1].Role != message.RoleUser {
		return fmt.Errorf("a conversation of %d messages does not begin and end with the user", len(msgs))
	}
	ids := map[message.ToolUseID]bool{}
	hasCalls := false
	var calls, results []message.ToolUseID // of the latest assistant's turn and of the user's after it
	others := false                        // something else than a result was said in this user's turn
	idPattern := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	namePattern := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	endTurn := func() error {
		slices.Sort(calls)
		slices.Sort(results)
		if !slices.Equal(calls, results) {
			return fmt.Errorf("calls %q, results %q", calls, results)
		}
		calls, results, others = nil, nil, false
		return nil
	}
	var before message.Role
	for i, m := range msgs {
		if m.Role != before && m.Role == message.RoleAssistant {
			if err := endTurn(); err != nil {
				return fmt.Errorf("before message %d: %w", i, err)
			}
		}
		if m.Role != before {
			others = false
		}
		before = m.Role
		if len(m.Content) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		if err := m.Check(); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		var thinking []message.Thinking
		for _, b := range m.Content {
			switch b := b.(type) {
			case message.Text:
				if strings.TrimSpace(b.Text) == "" {
					return fmt.Errorf("message %d has a blank text", i)
				}
				others = true
			case message.Image:
				others = true
			case message.Thinking:
				thinking = append(thinking, b)
			case message.ToolUse:
				hasCalls = true
				var input map[string]any
				if ids[b.ID] || !idPattern.MatchString(string(b.ID)) || !namePattern.MatchString(b.Name) || json.Unmarshal(b.Input, &input) != nil || input == nil {
					return fmt.Errorf("message %d: bad call %q %q %s", i, b.ID, b.Name, b.Input)
				}
				ids[b.ID] = true
				calls = append(calls, b.ID)
			case message.ToolResult:
				if others {
					return fmt.Errorf("message %d: a result after other words", i)
				}
				for _, c := range b.Content {
					if text, ok := c.(message.Text); ok && strings.TrimSpace(text.Text) == "" {
						return fmt.Errorf("message %d: a blank text in a result", i)
					}
				}
				results = append(results, b.ToolUseID)
			}
		}
		for _, th := range thinking {
			if th.Provider != thinking[0].Provider || (th.Raw == nil) != (thinking[0].Raw == nil) || th.Raw != nil && !json.Valid(th.Raw) {
				return fmt.Errorf("message %d: thinking in part", i)
			}
		}
		if _, ends := m.Content[len(m.Content)-1].(message.Thinking); ends {
			return fmt.Errorf("message %d ends in a thought", i)
		}
	}
	names := map[string]bool{}
	for _, tool := range req.Tools {
		var schema struct{ Type string }
		if names[tool.Name] || !namePattern.MatchString(tool.Name) || json.Unmarshal(tool.InputSchema, &schema) != nil || schema.Type != "object" {
			return fmt.Errorf("bad tool %q %s", tool.Name, tool.InputSchema)
		}
		names[tool.Name] = true
	}
	if hasCalls && len(names) == 0 {
		return fmt.Errorf("calls without tools")
	}
	for k, m := range req.CacheMarks {
		if m.Message == llm.CachePreamble {
			continue
		}
		if m.Message >= len(msgs) || m.Block >= len(msgs[m.Message].Content) {
			return fmt.Errorf("mark %d stands nowhere", k)
		}
	}
	return endTurn()
}

// direct serves a client's requests without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

func clientOf(t *testing.T, fake http.Handler, dialect string) *openai.Client {
	t.Helper()
	d, err := openai.DialectNamed(dialect)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openai.New(openai.Options{BaseURL: "http://fake/v1", APIKey: "k", Dialect: d, HTTPClient: &http.Client{Transport: direct{fake}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHostileLogs(t *testing.T) {
	h := newHostile(t)
	type server struct {
		dialect string
		fake    *openaifake.Server
	}
	servers := []server{
		{"openai", openaifake.New(openaifake.Options{})},
		{"deepseek", openaifake.New(openaifake.Options{RequireReasoning: true, OnlyMaxTokens: true, Alternate: true})},
		{"vllm", openaifake.New(openaifake.Options{AllowReasoning: true, Alternate: true})},
	}
	var clients []*openai.Client
	for _, s := range servers {
		clients = append(clients, clientOf(t, s.fake, s.dialect))
	}
	rapid.Check(t, func(t *rapid.T) {
		in := h.request().Draw(t, "request")
		before := dump(&in)
		req, repairs := prompt.Build(in)
		if after := dump(&in); after != before {
			t.Fatalf("the request given was changed:\n%s", cmp.Diff(before, after))
		}
		if err := judge(req); err != nil {
			t.Fatalf("%v\n%s", err, dump(req))
		}
		again, more := prompt.Build(*req)
		if len(more) != 0 || dump(again) != dump(req) {
			t.Fatalf("a second time: %v", more)
		}
		if second, same := prompt.Build(in); dump(second) != dump(req) || !cmp.Equal(same, repairs) {
			t.Fatal("the same request was repaired in two ways")
		}
		if len(repairs) == 0 && dump(req) != before {
			t.Fatal("changed without a repair")
		}
		for _, r := range repairs {
			if r.Rule == "" || r.Where == "" || r.Count < 1 {
				t.Fatalf("a repair says nothing: %+v", r)
			}
		}
		for i, c := range clients {
			if _, err := c.Stream(t.Context(), req, func(llm.Delta) {}); err != nil {
				t.Fatalf("%s: %v\n%s", servers[i].dialect, err, dump(req))
			}
		}
	})
}

// A conversation that grows keeps its beginning as it was sent.
func TestRepairsLookBackOnly(t *testing.T) {
	h := newHostile(t)
	h.images = h.images[:3] // too many large ones change the beginning, and may
	rapid.Check(t, func(t *rapid.T) {
		log := h.log().Draw(t, "log")
		whole, _ := prompt.Build(llm.Request{Messages: log})
		for n := 1; n < len(log); n++ {
			if log[n-1].Role != message.RoleUser || log[n].Role != message.RoleAssistant {
				continue
			}
			part, _ := prompt.Build(llm.Request{Messages: log[:n]})
			got, want := messagesOf(part.Messages), messagesOf(whole.Messages)
			if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
				t.Fatalf("%d messages:\n%s", n, cmp.Diff(got, want))
			}
		}
	})
}

func messagesOf(msgs []message.Message) []string {
	var out []string
	for i := range msgs {
		out = append(out, string(msgs[i].Role)+string(message.AppendBlocks(nil, msgs[i].Content, message.Form{})))
	}
	return out
}

// dump writes all of a request, capacity that is not in use included.
func dump(req *llm.Request) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%q %q %+v\n", req.Model, req.System, req.CacheMarks)
	for _, tool := range req.Tools[:cap(req.Tools)] {
		fmt.Fprintf(&b, "%q %s\n", tool.Name, tool.InputSchema)
	}
	for _, m := range req.Messages {
		fmt.Fprintf(&b, "%s", m.Role)
		for _, c := range m.Content[:cap(m.Content)] {
			fmt.Fprintf(&b, " %T%q", c, c)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}
