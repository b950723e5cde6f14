package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessiond/llm"
	"sessiond/llm/llmtest/fakellm"
	"sessiond/message"
	"sessiond/prompt"
)

// direct serves a client's requests without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

// hostile draws what no provider takes: orphans, halves, repeated and foreign ids, empty
// blocks, blocks in wrong roles, broken JSON, images by the dozen.
type hostile struct{ images []message.Image }

func newHostile(tb testing.TB) *hostile {
	tb.Helper()
	large := picture(tb)
	return &hostile{images: []message.Image{
		{MimeType: "image/png", Data: large},
		{MimeType: "image/jpeg", Data: large},
		{MimeType: "image/png", Data: "%%%"},
		{MimeType: "text/plain", Data: "AAAA"},
	}}
}

func (h *hostile) id() *rapid.Generator[message.ToolUseID] {
	return rapid.SampledFrom([]message.ToolUseID{
		"a", "b", "toolu_01", "", "functions.x:0", "call_a|fc_b", "é", "\x00", message.ToolUseID(strings.Repeat("l", 50)),
	})
}

func (h *hostile) text(t *rapid.T) message.Block {
	return message.Text{Text: rapid.SampledFrom([]string{"words", "", " ", "\n\t", "\x00", "a\xffb", "\u2003", "\xed\xa0\x80"}).Draw(t, "text")}
}

func (h *hostile) raw(t *rapid.T) []byte {
	return []byte(rapid.SampledFrom([]string{
		`{}`, `{ "a" : 1.0 }`, "", `[]`, `"x"`, `{"a":`, `{"s":"\ud800"}`, `{"s":"\ud83d\ude00"}`, "{\"s\":\"\xff\"}", `{"n":"\u0000"}`,
		` {"a":{"b":"\\ud800"}}`, `{"a":"\udc00\ud800"}`,
	}).Draw(t, "raw"))
}

func (h *hostile) block(t *rapid.T) message.Block {
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0, 1:
		return h.text(t)
	case 2:
		return rapid.SampledFrom(h.images).Draw(t, "image")
	case 3: // of a provider that nobody here is
		return message.Thinking{Provider: "another", Text: "hm", Raw: h.raw(t)}
	case 4, 5, 6:
		name := rapid.SampledFrom([]string{"read", "a b", "", "functions.read", strings.Repeat("n", 70)}).Draw(t, "name")
		return message.ToolUse{ID: h.id().Draw(t, "id"), Name: name, Input: h.raw(t)}
	case 7, 8:
		r := message.ToolResult{ToolUseID: h.id().Draw(t, "answered"), IsError: rapid.Bool().Draw(t, "is error")}
		for range rapid.IntRange(0, 2).Draw(t, "content") {
			r.Content = append(r.Content, h.text(t), rapid.SampledFrom(h.images).Draw(t, "image"))
		}
		return r
	}
	return nil
}

// messages draws a few messages, or thirty images.
func (h *hostile) messages(t *rapid.T) []message.Message {
	if rapid.IntRange(0, 5).Draw(t, "many images") == 0 {
		m := message.Message{Role: message.RoleUser}
		for range 30 {
			m.Content = append(m.Content, rapid.SampledFrom(h.images).Draw(t, "image"))
		}
		return []message.Message{m}
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) message.Message {
		m := message.Message{Role: rapid.SampledFrom([]message.Role{"user", "assistant", "system"}).Draw(t, "role")}
		for range rapid.IntRange(0, 5).Draw(t, "blocks") {
			m.Content = append(m.Content, h.block(t))
		}
		return m
	}), 0, 6).Draw(t, "messages")
}

// results draws the results of some of an answer's calls, in any order, some of them
// twice.
func (h *hostile) results(t *rapid.T, answer *message.Message) []message.Message {
	var out []message.Message
	for _, use := range answer.ToolUses() {
		for range rapid.IntRange(0, 2).Draw(t, "results") {
			r := message.ToolResult{ToolUseID: use.ID, Content: []message.Block{h.text(t)}}
			out = append(out, message.Message{Role: message.RoleUser, Content: []message.Block{r}})
		}
	}
	return rapid.Permutation(out).Draw(t, "order")
}

// A conversation that grows by hostile messages, by what the model answers and by what
// the user says is taken by the strictest servers after every step, its bound thinking
// included.
func TestHostileConversations(t *testing.T) {
	h := newHostile(t)
	for _, p := range providers() {
		for _, model := range playModels(p.api) {
			t.Run(model, func(t *testing.T) {
				rapid.Check(t, func(rt *rapid.T) {
					fakes := fakellm.New(fakellm.Options{Think: true})
					client := p.client(t, "http://fake.test", &http.Client{Transport: direct{fakes}}, nil)
					req := llm.Request{
						Model: model, System: rapid.SampledFrom([]string{"", " ", "be kind"}).Draw(rt, "system"),
						MaxOutputTokens: 4096, Thinking: rapid.SampledFrom([]llm.ThinkingLevel{"", "off", "medium", "max"}).Draw(rt, "thinking"),
						Tools: []llm.Tool{{Name: "read", InputSchema: []byte(`{"type":"object"}`)}, {Name: "no name"}},
					}
					for i := range rapid.IntRange(1, 4).Draw(rt, "rounds") {
						req.Messages = append(req.Messages, h.messages(rt)...)
						req.Messages = append(req.Messages, message.Message{Role: message.RoleUser, Content: text("go on")})
						fakes.Script(rapid.SampledFrom(polite()).Draw(rt, "answer"))
						built, _ := prompt.Build(req)
						resp, err := client.Stream(t.Context(), built, func(llm.Delta) {})
						if _, rejected := fakes.Seen(); err != nil || len(rejected) > 0 {
							rt.Fatalf("round %d: %v %s\n%s", i, err, rejected, bodies(fakes))
						}
						answer := message.Message{Role: message.RoleAssistant, Content: resp.Content}
						req.Messages = append(req.Messages, answer)
						req.Messages = append(req.Messages, h.results(rt, &answer)...)
					}
				})
			})
		}
	}
}

// polite are answers that end in good order.
func polite() []fakellm.Step {
	return []fakellm.Step{
		{Thinking: "Hm \u2028 \"hm\".", Text: "done"},
		{Thinking: "Two.", Calls: []fakellm.Call{{Name: "read", Input: []byte(`{ "a" : 1.0, "s" : "\ud800" }`)}, {Name: "read", ID: "a"}}},
		{Text: "I read.", Calls: []fakellm.Call{{Name: "no such tool"}}},
		{Thinking: "Nothing."},
		{},
	}
}

func bodies(fakes *fakellm.Server) string {
	var b strings.Builder
	for _, r := range fakes.Anthropic.Requests() {
		fmt.Fprintf(&b, "%d %s\n", r.Status, r.Body)
	}
	for _, r := range fakes.OpenAI.Requests() {
		fmt.Fprintf(&b, "%d %s\n", r.Status, r.Body)
	}
	return b.String()
}
