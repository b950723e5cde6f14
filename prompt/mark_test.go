package prompt_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/llm"
	"sessiond/llm/anthropic"
	"sessiond/llm/llmtest/anthropicfake"
	"sessiond/message"
	"sessiond/prompt"
)

// named gives messages ids by their place.
func named(msgs ...message.Message) []message.Message {
	for i := range msgs {
		msgs[i].ID = message.ID(fmt.Sprintf("m%d", i))
	}
	return msgs
}

func says(n int) []message.Block {
	out := make([]message.Block, n)
	for i := range out {
		out[i] = say("x")
	}
	return out
}

func TestMark(t *testing.T) {
	const h, m = llm.CacheLong, llm.CacheShort
	preamble := llm.CacheMark{Message: llm.CachePreamble, TTL: h}
	at := func(msg, block int, ttl time.Duration) llm.CacheMark {
		return llm.CacheMark{Message: msg, Block: block, TTL: ttl}
	}
	// Summary, question, an answer that thinks and calls, result: blocks 1-2, 3, 4-6, 7-8.
	round := named(user(say("summary"), say("memory")), user(say("why?")), assistant(think(`{}`), say("hm"), use("a")), user(result("a"), say("todo")))
	compacted := prompt.Caching{Summary: 0, SummaryTokens: 600, PreambleTokens: 500, MinTokens: 1024}
	plain := prompt.Caching{Summary: -1, PreambleTokens: 2000, MinTokens: 1024}
	many := func(n int) []message.Message {
		return named(user(say("why?")), assistant(say("because")), user(says(n)...))
	}
	tests := []struct {
		name       string
		caching    prompt.Caching
		last       prompt.LastMark
		msgs       []message.Message
		noPreamble bool
		want       []llm.CacheMark
		wantLast   prompt.LastMark
	}{
		{name: "off", caching: prompt.Caching{Off: true, Summary: -1}, last: prompt.LastMark{Message: "m0", Blocks: 1}, msgs: round},
		{
			name: "preamble and end", caching: plain, msgs: round,
			want: []llm.CacheMark{preamble, at(3, 1, m)}, wantLast: prompt.LastMark{Message: "m3", Blocks: 8},
		},
		{
			name: "a short preamble", caching: prompt.Caching{Summary: -1, PreambleTokens: 1023, MinTokens: 1024}, msgs: round,
			want: []llm.CacheMark{at(3, 1, m)}, wantLast: prompt.LastMark{Message: "m3", Blocks: 8},
		},
		{
			name: "no preamble", caching: prompt.Caching{Summary: -1}, noPreamble: true, msgs: round,
			want: []llm.CacheMark{at(3, 1, m)}, wantLast: prompt.LastMark{Message: "m3", Blocks: 8},
		},
		{
			name: "summary, with a short preamble", caching: compacted, msgs: round,
			want: []llm.CacheMark{at(0, 1, h), at(3, 1, m)}, wantLast: prompt.LastMark{Message: "m3", Blocks: 8},
		},
		{
			name: "a short summary", caching: prompt.Caching{Summary: 0, SummaryTokens: 500, PreambleTokens: 500, MinTokens: 1024}, msgs: round,
			want: []llm.CacheMark{at(3, 1, m)}, wantLast: prompt.LastMark{Message: "m3", Blocks: 8},
		},
		{
			name: "an unknown minimum", caching: prompt.Caching{Summary: 0, SummaryTokens: 1}, msgs: round,
			want: []llm.CacheMark{preamble, at(0, 1, h), at(3, 1, m)}, wantLast: prompt.LastMark{Message: "m3", Blocks: 8},
		},
		{
			name: "a request that nobody described has no summary", msgs: round,
			want: []llm.CacheMark{preamble, at(3, 1, m)}, wantLast: prompt.LastMark{Message: "m3", Blocks: 8},
		},
		{
			name: "nothing after the summary", caching: compacted, msgs: round[:1],
			want: []llm.CacheMark{at(0, 1, h)}, wantLast: prompt.LastMark{Message: "m0", Blocks: 2},
		},
		{
			name: "a paused answer that ends in thought", caching: plain, msgs: named(user(say("why?")), assistant(say("hm"), think(`{}`), say(" "))),
			want: []llm.CacheMark{preamble, at(1, 0, m)}, wantLast: prompt.LastMark{Message: "m1", Blocks: 2},
		},
		{name: "nothing to mark", caching: plain, msgs: named(user(say(" "))), want: []llm.CacheMark{preamble}},
		{
			name: "fifteen blocks more", caching: plain, msgs: many(14), last: prompt.LastMark{Message: "m0", Blocks: 1},
			want: []llm.CacheMark{preamble, at(2, 13, m)}, wantLast: prompt.LastMark{Message: "m2", Blocks: 16},
		},
		{
			name: "sixteen", caching: plain, msgs: many(15), last: prompt.LastMark{Message: "m0", Blocks: 1},
			want: []llm.CacheMark{preamble, at(0, 0, m), at(2, 14, m)}, wantLast: prompt.LastMark{Message: "m2", Blocks: 17},
		},
		{
			name: "sixteen, but other ones", caching: plain, msgs: many(15), last: prompt.LastMark{Message: "m7", Blocks: 1},
			want: []llm.CacheMark{preamble, at(2, 14, m)}, wantLast: prompt.LastMark{Message: "m2", Blocks: 17},
		},
		{
			name: "sixteen, before a compaction", caching: plain, msgs: many(15), last: prompt.LastMark{Message: "m0", Blocks: 40},
			want: []llm.CacheMark{preamble, at(2, 14, m)}, wantLast: prompt.LastMark{Message: "m2", Blocks: 17},
		},
		{
			name: "all four", caching: prompt.Caching{Summary: 0, SummaryTokens: 600, PreambleTokens: 1500, MinTokens: 1024}, last: prompt.LastMark{Message: "m1", Blocks: 2},
			msgs: many(20), want: []llm.CacheMark{preamble, at(0, 0, h), at(1, 0, m), at(2, 19, m)}, wantLast: prompt.LastMark{Message: "m2", Blocks: 22},
		},
		{
			name: "the last end was the summary's", caching: prompt.Caching{Summary: 0, SummaryTokens: 600, PreambleTokens: 1500, MinTokens: 1024}, last: prompt.LastMark{Message: "m0", Blocks: 1},
			msgs: many(20), want: []llm.CacheMark{preamble, at(0, 0, h), at(2, 19, m)}, wantLast: prompt.LastMark{Message: "m2", Blocks: 22},
		},
		{
			name: "once", caching: prompt.Caching{Once: true, Summary: -1, PreambleTokens: 2000}, last: prompt.LastMark{Message: "m0", Blocks: 1}, msgs: many(3),
			want: []llm.CacheMark{preamble, at(0, 0, m)}, wantLast: prompt.LastMark{Message: "m0", Blocks: 1},
		},
		{
			name: "once, after nothing", caching: prompt.Caching{Once: true, Summary: -1, PreambleTokens: 2000}, msgs: many(3),
			want: []llm.CacheMark{preamble},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := &llm.Request{System: "be kind", Messages: tt.msgs, CacheMarks: []llm.CacheMark{{Message: 0, TTL: h}}}
			if tt.noPreamble {
				req.System = ""
			}
			got, last := prompt.Mark(req, tt.caching, tt.last)
			if diff := cmp.Diff(tt.want, got.CacheMarks); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
			if last != tt.wantLast {
				t.Errorf("kept %+v, want %+v", last, tt.wantLast)
			}
		})
	}
}

// judgeMarks is an independent reading of the rules of marks.
func judgeMarks(req *llm.Request, c prompt.Caching) error {
	if c.Off && len(req.CacheMarks) > 0 {
		return fmt.Errorf("marks though they are off")
	}
	if len(req.CacheMarks) > 4 {
		return fmt.Errorf("5.2: %d marks", len(req.CacheMarks))
	}
	before := llm.CacheMark{Message: -2, TTL: llm.CacheLong}
	for _, m := range req.CacheMarks {
		if m.Message < before.Message || m.Message == before.Message && m.Block <= before.Block {
			return fmt.Errorf("%+v after %+v", m, before)
		}
		if m.TTL > before.TTL || m.TTL != llm.CacheShort && m.TTL != llm.CacheLong {
			return fmt.Errorf("5.3: %+v after %+v", m, before)
		}
		before = m
		prefix := c.PreambleTokens
		if m.Message != llm.CachePreamble {
			switch b := req.Messages[m.Message].Content[m.Block].(type) {
			case message.Thinking:
				return fmt.Errorf("5.4: %+v is on thinking", m)
			case message.Text:
				if strings.TrimSpace(b.Text) == "" {
					return fmt.Errorf("5.4: %+v is on an empty text", m)
				}
			case message.Image, message.ToolUse, message.ToolResult:
			}
			prefix += c.SummaryTokens
		}
		if m.TTL == llm.CacheLong && prefix < c.MinTokens {
			return fmt.Errorf("5.6: %+v after %d tokens of at least %d", m, prefix, c.MinTokens)
		}
	}
	return nil
}

func anyCaching() *rapid.Generator[prompt.Caching] {
	return rapid.Custom(func(t *rapid.T) prompt.Caching {
		size := rapid.SampledFrom([]int64{0, 1, 500, 1024, 5000})
		return prompt.Caching{
			Off: rapid.IntRange(0, 9).Draw(t, "off") == 0, Once: rapid.IntRange(0, 4).Draw(t, "once") == 0,
			PreambleTokens: size.Draw(t, "preamble"), Summary: rapid.IntRange(-1, 3).Draw(t, "summary"),
			SummaryTokens: size.Draw(t, "summary tokens"), MinTokens: size.Draw(t, "minimum"),
		}
	})
}

func messagesClient(tb testing.TB, fake http.Handler) *anthropic.Client {
	tb.Helper()
	c, err := anthropic.New(anthropic.Options{APIKey: "k", BaseURL: "http://fake", HTTPClient: &http.Client{Transport: direct{fake}}})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestMarksOfHostileLogs(t *testing.T) {
	h := newHostile(t)
	fake := anthropicfake.New(anthropicfake.Options{})
	client := messagesClient(t, fake)
	rapid.Check(t, func(t *rapid.T) {
		in := h.request().Draw(t, "request")
		in.Model = "claude-sonnet-5"
		for i := range in.Messages {
			in.Messages[i].ID = message.ID(fmt.Sprintf("m%d", i))
		}
		built, _ := prompt.Build(in)
		before := dump(built)
		c := anyCaching().Draw(t, "caching")
		last := prompt.LastMark{
			Message: message.ID(fmt.Sprintf("m%d", rapid.IntRange(0, 4).Draw(t, "message"))), Blocks: rapid.IntRange(-1, 12).Draw(t, "blocks"),
		}
		got, next := prompt.Mark(built, c, last)
		if dump(built) != before {
			t.Fatal("the request given was changed")
		}
		if err := judgeMarks(got, c); err != nil {
			t.Fatalf("%v\n%s", err, dump(got))
		}
		if again, same := prompt.Mark(got, c, last); !cmp.Equal(again.CacheMarks, got.CacheMarks) || same != next {
			t.Fatalf("a second time: %v %v", again.CacheMarks, same)
		}
		if more := prompt.Check(got); len(more) > 0 {
			t.Fatalf("marks made repairs necessary: %v", more)
		}
		if _, err := client.Stream(t.Context(), got, func(llm.Delta) {}); err != nil {
			t.Fatalf("%v\n%s", err, dump(got))
		}
	})
}

// talk is a conversation that grows, is compacted, and is sent again and again.
type talk struct {
	t      *rapid.T
	client *anthropic.Client
	fake   *anthropicfake.Server

	system  string
	msgs    []message.Message
	summary bool
	calls   int
	last    prompt.LastMark
}

// tokens counts text as the fake does.
func tokens(text string) int64 { return int64(len(text)+3) / 4 }

func (k *talk) add(m message.Message) {
	if rapid.IntRange(0, 4).Draw(k.t, "has an id") > 0 {
		m.ID = message.ID(fmt.Sprintf("m%d", k.calls+len(k.msgs)))
	}
	k.msgs = append(k.msgs, m)
}

// grow adds what is sent between two requests: an answer and what follows it. At times it
// is more than a mark sees.
func (k *talk) grow() {
	n := rapid.SampledFrom([]int{0, 1, 2, 7, 9, 10, 30}).Draw(k.t, "calls")
	if len(k.msgs) > 0 {
		answer := []message.Block{say("answer")}
		if rapid.Bool().Draw(k.t, "thinks") {
			answer = append([]message.Block{think(`{}`)}, answer...)
		}
		var results []message.Block
		for range n {
			id := message.ToolUseID(fmt.Sprintf("call%d", k.calls))
			k.calls++
			answer = append(answer, use(id))
			results = append(results, result(id, say("found")))
		}
		k.add(assistant(answer...))
		if n > 0 {
			k.add(user(results...))
			if rapid.Bool().Draw(k.t, "no words") {
				return
			}
		}
	}
	k.add(user(append(says(rapid.SampledFrom([]int{0, 0, 0, 18, 25}).Draw(k.t, "attachments")), say("question"))...))
}

// compact replaces all but the newest user's words by a summary.
func (k *talk) compact() {
	k.msgs = append([]message.Message{user(say(fmt.Sprintf("summary %d", k.calls)), say(strings.Repeat("memory", 100)))}, user(say("question")))
	k.summary = true
	k.calls++
}

func (k *talk) request() (*llm.Request, prompt.Caching) {
	c := prompt.Caching{Summary: -1, PreambleTokens: tokens(k.system), MinTokens: 1024}
	if k.summary {
		c.Summary = 0
		c.SummaryTokens = tokens(message.JoinText(k.msgs[0].Content))
	}
	req, repairs := prompt.Build(llm.Request{Model: "claude-sonnet-5", System: k.system, Tools: []llm.Tool{readTool()}, Messages: k.msgs})
	if len(repairs) > 0 {
		k.t.Fatalf("a clean conversation was repaired: %v", repairs)
	}
	return req, c
}

// send sends the conversation as it is now, and returns the body and what was counted.
func (k *talk) send() (string, anthropicfake.Usage) {
	req, c := k.request()
	kept, err := json.Marshal(k.last) // what comes back from the session's row
	if err != nil {
		k.t.Fatal(err)
	}
	var last prompt.LastMark
	if err := json.Unmarshal(kept, &last); err != nil {
		k.t.Fatal(err)
	}
	marked, next := prompt.Mark(req, c, last)
	if _, err := k.client.Stream(k.t.Context(), marked, func(llm.Delta) {}); err != nil {
		k.t.Fatal(err)
	}
	k.last = next
	all := k.fake.Requests()
	r := all[len(all)-1]
	return unmarked(string(r.Body)), r.Usage
}

var marker = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

// unmarked is a body without its markers and without its end.
func unmarked(body string) string {
	return strings.TrimSuffix(marker.ReplaceAllString(body, ""), "]}")
}

// While a conversation only grows, each request begins with the bytes of the one before,
// and reads from the cache all that the one before had written or read, however much was
// added. After a compaction the preamble is read still.
func TestRequestsReadWhatTheLastOneWrote(t *testing.T) {
	now := time.Unix(1e9, 0)
	rapid.Check(t, func(rt *rapid.T) {
		fake := anthropicfake.New(anthropicfake.Options{Now: func() time.Time { return now }})
		k := &talk{t: rt, fake: fake, client: messagesClient(t, fake), system: strings.Repeat("rule ", rapid.SampledFrom([]int{1, 800, 900, 2000}).Draw(rt, "rules"))}
		var before string
		var read anthropicfake.Usage
		for range rapid.IntRange(2, 8).Draw(rt, "requests") {
			compacted := len(k.msgs) > 0 && rapid.IntRange(0, 4).Draw(rt, "compacts") == 0
			if compacted {
				k.compact()
			} else {
				k.grow()
			}
			body, usage := k.send()
			kept := read.CacheReadTokens + read.CacheWrite5mTokens + read.CacheWrite1hTokens
			switch preamble := int(tokens(k.system)); {
			case compacted && before != "" && preamble >= 1024 && usage.CacheReadTokens < preamble:
				rt.Fatalf("read %d after a compaction, the preamble has %d", usage.CacheReadTokens, preamble)
			case compacted:
			case !strings.HasPrefix(body, before):
				rt.Fatalf("the prefix changed:\n%s", cmp.Diff(before, body))
			case usage.CacheReadTokens != kept:
				rt.Fatalf("read %d of %d: %+v", usage.CacheReadTokens, kept, k.last)
			}
			before, read = body, usage
		}
	})
}

// A request for a summary reads what the chat wrote and writes nothing.
func TestRequestsOnce(t *testing.T) {
	now := time.Unix(1e9, 0)
	rapid.Check(t, func(rt *rapid.T) {
		fake := anthropicfake.New(anthropicfake.Options{Now: func() time.Time { return now }})
		k := &talk{t: rt, fake: fake, client: messagesClient(t, fake), system: strings.Repeat("rule ", 1000)}
		k.grow()
		_, chat := k.send()
		k.grow()
		req, c := k.request()
		c.Once = true
		marked, last := prompt.Mark(req, c, k.last)
		resp, err := k.client.Stream(rt.Context(), marked, func(llm.Delta) {})
		if err != nil {
			rt.Fatal(err)
		}
		u := resp.Usage
		if want := int64(chat.CacheWrite5mTokens + chat.CacheWrite1hTokens); u.CacheRead != want || u.CacheWrite5m+u.CacheWrite1h != 0 || last != k.last {
			rt.Fatalf("%+v after %+v", u, chat)
		}
	})
}
