package anthropicfake_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest/anthropicfake"
)

// cached asks a fake whose clock stands still, and reads what it counted.
type cached struct {
	t      *testing.T
	now    time.Time
	server *anthropicfake.Server
	model  string
}

func newCached(t *testing.T, opts anthropicfake.Options) *cached {
	t.Helper()
	c := &cached{t: t, now: time.Unix(1e9, 0), model: "claude-sonnet-5"}
	opts.Now = func() time.Time { return c.now }
	c.server = anthropicfake.New(opts)
	return c
}

// send sends members of a body and messages, and returns the request as it was recorded.
func (c *cached) send(members, messages string) anthropicfake.Request {
	c.t.Helper()
	w := post(c.t, c.server, "/v1/messages", `{"model":"`+c.model+`","max_tokens":9000,`+members+`"messages":[`+messages+`]}`)
	if w.Code != 200 {
		c.t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	all := c.server.Requests()
	return all[len(all)-1]
}

// ask is send with the content of one user message, and returns what was counted of it.
func (c *cached) ask(members string, content ...string) anthropicfake.Usage {
	c.t.Helper()
	return input(c.send(members, `{"role":"user","content":[`+strings.Join(content, ",")+`]}`).Usage)
}

func input(u anthropicfake.Usage) anthropicfake.Usage {
	u.OutputTokens = 0
	return u
}

func (c *cached) want(name string, got, want anthropicfake.Usage) {
	c.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func plain(text string) string { return `{"type":"text","text":"` + text + `"}` }

func marked(text, ttl string) string {
	return `{"type":"text","text":"` + text + `","cache_control":{"type":"ephemeral","ttl":"` + ttl + `"}}`
}

func systemOf(text, ttl string) string { return `"system":[` + marked(text, ttl) + `],` }

// long is 2,000 tokens; with the start of its turn 2,003.
var long = strings.Repeat("word", 2000)

func times(n int, block string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = block
	}
	return out
}

func TestPromptCache(t *testing.T) {
	c := newCached(t, anthropicfake.Options{})
	hour := systemOf(long, "1h")
	steps := []struct {
		name    string
		advance time.Duration
		members string
		content []string
		want    anthropicfake.Usage
	}{
		{"5.5 nothing without a marker", 0, "", []string{plain(long)}, anthropicfake.Usage{InputTokens: 2003}},
		{"5.5 nor read later", 0, "", []string{marked(long, "5m")}, anthropicfake.Usage{CacheWrite5mTokens: 2003}},
		{"read", 0, "", []string{marked(long, "5m"), plain("word")}, anthropicfake.Usage{CacheReadTokens: 2003, InputTokens: 1}},
		{"5.7 refreshed by the read before", 4 * time.Minute, "", []string{marked(long, "5m")}, anthropicfake.Usage{CacheReadTokens: 2003}},
		{"5.7 and by this one", 4 * time.Minute, "", []string{marked(long, "5m")}, anthropicfake.Usage{CacheReadTokens: 2003}},
		{"5.1 gone after five minutes", 5 * time.Minute, "", []string{marked(long, "5m")}, anthropicfake.Usage{CacheWrite5mTokens: 2003}},
		{"5.10 split by lifetime", 0, hour, []string{marked(long, "5m"), plain("wordword")}, anthropicfake.Usage{CacheWrite1hTokens: 2000, CacheWrite5mTokens: 2003, InputTokens: 2}},
		{"5.1 an hour", 59 * time.Minute, hour, []string{marked(long, "5m")}, anthropicfake.Usage{CacheReadTokens: 2000, CacheWrite5mTokens: 2003}},
		{"5.1 gone after an hour", time.Hour, hour, []string{marked(long, "5m")}, anthropicfake.Usage{CacheWrite1hTokens: 2000, CacheWrite5mTokens: 2003}},
		{"5.6 below the minimum", 0, "", []string{marked(strings.Repeat("word", 1000), "5m")}, anthropicfake.Usage{InputTokens: 1003}},
		{"5.6 below it twice", 0, "", []string{marked(strings.Repeat("word", 1000), "5m")}, anthropicfake.Usage{InputTokens: 1003}},
		{"5.6 the whole prefix counts", 0, systemOf(strings.Repeat("rule", 1000), "1h"), []string{marked(strings.Repeat("word", 1000), "5m")}, anthropicfake.Usage{CacheWrite5mTokens: 2003}},
	}
	for _, st := range steps {
		c.now = c.now.Add(st.advance)
		c.want(st.name, c.ask(st.members, st.content...), st.want)
	}
	c.model = "claude-opus-5"
	c.want("another model has another cache", c.ask(hour, plain("hi")), anthropicfake.Usage{CacheWrite1hTokens: 2000, InputTokens: 4})
}

// The example of the documentation: 10 blocks, then 15, then 35, then 35 with a second
// marker where the last write was.
func TestLookback(t *testing.T) {
	c := newCached(t, anthropicfake.Options{})
	blocks := func(n int, markedAt ...int) []string {
		out := append([]string{plain(long)}, times(n-1, plain("word"))...)
		for _, at := range markedAt {
			text := "word"
			if at == 1 {
				text = long
			}
			out[at-1] = marked(text, "5m")
		}
		return out
	}
	c.want("10 blocks", c.ask("", blocks(10, 10)...), anthropicfake.Usage{CacheWrite5mTokens: 2012})
	c.want("15", c.ask("", blocks(15, 15)...), anthropicfake.Usage{CacheReadTokens: 2012, CacheWrite5mTokens: 5})
	c.want("34: the last write is the 20th position", c.ask("", blocks(34, 34)...), anthropicfake.Usage{CacheReadTokens: 2017, CacheWrite5mTokens: 19})
	c.now = c.now.Add(time.Hour)
	c.ask("", blocks(15, 15)...)
	c.want("35: out of sight", c.ask("", blocks(35, 35)...), anthropicfake.Usage{CacheWrite5mTokens: 2037})
	c.now = c.now.Add(time.Hour)
	c.ask("", blocks(15, 15)...)
	c.want("35 with two markers", c.ask("", blocks(35, 15, 35)...), anthropicfake.Usage{CacheReadTokens: 2017, CacheWrite5mTokens: 20})
	c.want("5.5 stable content that nobody wrote is not found", c.ask("", append(blocks(5), marked("other", "5m"))...),
		anthropicfake.Usage{CacheWrite5mTokens: 2009})
}

// What is read is used, from its beginning; and so are the entries at markers inside it.
func TestReadsRefreshWhatTheyUse(t *testing.T) {
	for name, system := range map[string]string{
		"marked in every request": systemOf(long, "1h"),
		"marked in the first":     `"system":[` + plain(long) + `],`,
	} {
		c := newCached(t, anthropicfake.Options{})
		c.ask(systemOf(long, "1h"), marked("question", "5m"))
		for range 20 { // 80 minutes
			c.now = c.now.Add(4 * time.Minute)
			if got := c.ask(system, marked("question", "5m")); got.CacheReadTokens != 2005 {
				t.Fatalf("%s: %+v", name, got)
			}
		}
		want := anthropicfake.Usage{CacheReadTokens: 2000, InputTokens: 4}
		if strings.Contains(name, "first") {
			want = anthropicfake.Usage{CacheWrite1hTokens: 2000, InputTokens: 4}
		}
		c.want(name, c.ask(systemOf(long, "1h"), plain("hi")), want)
	}
}

func TestWhatChangesThePrefix(t *testing.T) {
	const (
		tool   = `"tools":[{"name":"get","description":"%s","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral","ttl":"1h"}}],`
		use    = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get","input":%s}]},`
		answer = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":%s,"cache_control":{"type":"ephemeral"}}]}`
	)
	// Read are the tools (2,008 tokens), with them the system prompt (2,000), with them the messages.
	const toolsRead, systemRead = 2008, 4008
	ask := func(c *cached, description, members, question, input, result string) int {
		all := c.send(fmt.Sprintf(tool, description)+members+systemOf(long, "1h"),
			`{"role":"user","content":`+question+`},`+fmt.Sprintf(use, input)+fmt.Sprintf(answer, result))
		return all.Usage.CacheReadTokens
	}
	const question, use1, result1 = `"why?"`, `{"a":1.0,"b":"<"}`, `"done"`
	first := func(t *testing.T) (*cached, int) {
		t.Helper()
		c := newCached(t, anthropicfake.Options{})
		if got := ask(c, long, "", question, use1, result1); got != 0 {
			t.Fatalf("read %d from an empty cache", got)
		}
		return c, ask(c, long, "", question, use1, result1)
	}
	picture := `[{"type":"text","text":"why?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pngOf(t, 8, 8) + `"}}]`
	document := `[{"type":"text","text":"why?"},{"type":"document","source":{"type":"text","data":"x"},"citations":{"enabled":true}}]`
	tests := []struct {
		name                                              string
		description, members, question, use, result, with string
		want                                              int // -1: everything
	}{
		{name: "nothing", want: -1},
		{name: "12.4 a text is a block", question: `[{"type":"text","text":"why?"}]`, result: `[{"type":"text","text":"done"}]`, want: -1},
		{name: "12.4 white space between members", question: ` [ { "type" : "text" , "text" : "why?" } ] `, want: -1},
		{name: "12.4 another marker", question: `[{"type":"text","text":"why?","cache_control":{"type":"ephemeral"}}]`, want: -1},
		{name: "12.4 a marker in a result", result: `[{"type":"text","text":"done","cache_control":{"type":"ephemeral"}}]`, want: -1},
		{name: "5.12 order of members", use: `{"b":"<","a":1.0}`, want: systemRead},
		{name: "5.12 escapes", use: `{"a":1.0,"b":"\u003c"}`, want: systemRead},
		{name: "5.12 numbers", use: `{"a":1,"b":"<"}`, want: systemRead},
		{name: "5.12 white space of an input", use: `{ "a":1.0,"b":"<"}`, want: systemRead},
		{name: "5.12 escapes of a text", question: `"\u0077hy?"`, want: systemRead},
		{name: "a result", result: `"[cleared]"`, want: systemRead},
		{name: "5.8 tools", description: long + "!", want: 0},
		{name: "5.8 speed", members: `"speed":"fast",`, want: toolsRead},
		{name: "5.8 speed said", members: `"speed":"standard",`, want: -1},
		{name: "5.8 citations", question: document, want: toolsRead},
		{name: "5.8 images", question: picture, want: systemRead},
		{name: "5.8 choice", members: `"tool_choice":{"type":"none"},`, want: systemRead},
		{name: "5.8 choice said", members: `"tool_choice":{"type":"auto"},`, want: -1},
		{name: "5.8 parallel calls", members: `"tool_choice":{"type":"auto","disable_parallel_tool_use":true},`, want: systemRead},
		{name: "5.8 effort", members: `"output_config":{"effort":"low"},`, want: systemRead},
		{name: "5.8 effort said", members: `"output_config":{"effort":"high"},`, want: -1},
		{name: "5.8 thinking", members: `"thinking":{"type":"disabled"},`, want: systemRead},
		{name: "5.8 thinking said", members: `"thinking":{"type":"adaptive"},`, want: -1},
	}
	or := func(s, byDefault string) string {
		if s == "" {
			return byDefault
		}
		return s
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, all := first(t)
			want := tt.want
			if want < 0 {
				want = all
			}
			got := ask(c, or(tt.description, long), tt.members, or(tt.question, question), or(tt.use, use1), or(tt.result, result1))
			if got != want || all <= systemRead {
				t.Errorf("read %d of %d tokens, want %d", got, all, want)
			}
		})
	}
}

// The smallest prefix that is kept, by model.
func TestCacheMinimum(t *testing.T) {
	for model, least := range map[string]int{
		"claude-opus-5": 512, "claude-fable-5": 512, "claude-mythos-5": 512,
		"claude-opus-4-8": 1024, "claude-sonnet-5": 1024, "claude-sonnet-4-6": 1024, "claude-sonnet-4-5": 1024,
		"claude-opus-4-7": 2048,
		"claude-opus-4-6": 4096, "claude-opus-4-5": 4096, "claude-haiku-4-5": 4096,
	} {
		c := newCached(t, anthropicfake.Options{})
		c.model = model
		c.want("5.6 "+model+" under", c.ask(systemOf(strings.Repeat("word", least-1), "1h"), plain("word")), anthropicfake.Usage{InputTokens: least + 3})
		c.want("5.6 "+model, c.ask(systemOf(strings.Repeat("word", least), "1h"), plain("word")), anthropicfake.Usage{CacheWrite1hTokens: least, InputTokens: 4})
	}
}

func TestAutomaticMarker(t *testing.T) {
	const automatic = `"cache_control":{"type":"ephemeral"},`
	c := newCached(t, anthropicfake.Options{})
	c.want("stands on the last block", c.ask(automatic, plain(long)), anthropicfake.Usage{CacheWrite5mTokens: 2003})
	c.want("finds as any other", c.ask(automatic, plain(long), plain("word")), anthropicfake.Usage{CacheReadTokens: 2003, CacheWrite5mTokens: 1})
	c.want("is one with an equal one", c.ask(automatic, marked(long, "5m")), anthropicfake.Usage{CacheReadTokens: 2003})
	rule{
		body: `{` + opus5 + `,` + automatic + `"messages":[{"role":"user","content":[` + marked("x", "1h") + `]}]}`, status: 400, want: "another ttl",
	}.run(t, c.server, "/v1/messages")
}

// Older models do not see what they thought before the user's last words, so these
// change the prompt; results of tools do not.
func TestForgottenThinking(t *testing.T) {
	for model, kept := range map[string]bool{"claude-haiku-4-5": false, "claude-sonnet-4-5": false, "claude-opus-4-5": true} {
		now := time.Unix(1e9, 0)
		s := anthropicfake.New(anthropicfake.Options{Now: func() time.Time { return now }})
		c := &chat{t: t, server: s, model: model, extra: `"thinking":{"type":"enabled","budget_tokens":1024},"cache_control":{"type":"ephemeral"},` + tools + `,`}
		s.Script(anthropicfake.Say(anthropicfake.Thinking("Considering."), anthropicfake.ToolUse("a", "get", "{}")))
		c.user(strings.Repeat("word", 5000))
		c.ask()
		last := func() anthropicfake.Usage {
			all := s.Requests()
			return input(all[len(all)-1].Usage)
		}
		c.user(result("a"))
		c.ask()
		inLoop := last()
		if inLoop.CacheReadTokens < 5000 {
			t.Errorf("4.9 %s: a result made it forget: %+v", model, inLoop)
		}
		c.user("and?")
		c.ask()
		whole := inLoop.CacheReadTokens + inLoop.CacheWrite5mTokens
		if got := last(); (got.CacheReadTokens == whole) != kept || !kept && got.CacheReadTokens < 5000 {
			t.Errorf("4.9 %s: read %d of %d", model, got.CacheReadTokens, whole)
		}
	}
}

// One run of the same requests is counted under every way to cache.
func TestCacheModes(t *testing.T) {
	type counts = map[anthropicfake.CacheMode]anthropicfake.Usage
	want := []counts{
		{
			anthropicfake.CacheMarked:    {CacheWrite1hTokens: 2000, CacheWrite5mTokens: 2003, InputTokens: 1, OutputTokens: 1},
			anthropicfake.CacheAutomatic: {CacheWrite5mTokens: 4004, OutputTokens: 1},
			anthropicfake.CacheNone:      {InputTokens: 4004, OutputTokens: 1},
		},
		{
			anthropicfake.CacheMarked:    {CacheReadTokens: 2000, InputTokens: 5, OutputTokens: 1},
			anthropicfake.CacheAutomatic: {CacheWrite5mTokens: 2005, OutputTokens: 1},
			anthropicfake.CacheNone:      {InputTokens: 2005, OutputTokens: 1},
		},
	}
	for mode := range want[0] {
		c := newCached(t, anthropicfake.Options{Cache: mode, Answer: func(*anthropicfake.Request) anthropicfake.Step {
			return anthropicfake.Say(anthropicfake.Text("yes"))
		}})
		system := systemOf(long, "1h")
		for i, r := range []anthropicfake.Request{
			c.send(system, `{"role":"user","content":[`+marked(long, "5m")+`,`+plain("word")+`]}`),
			c.send(system, `{"role":"user","content":"question"}`),
		} {
			got := maps.Clone(want[i])
			for m := range got {
				got[m] = r.UsageUnder(m)
			}
			if diff := cmp.Diff(want[i], got); diff != "" {
				t.Errorf("request %d (-want +got):\n%s", i, diff)
			}
			c.want("what is reported in mode "+strconv.Itoa(int(mode)), r.Usage, want[i][mode])
		}
	}
}

// Nothing is written by what is not answered, nor by counting.
func TestOnlyAnswersWrite(t *testing.T) {
	c := newCached(t, anthropicfake.Options{})
	body := `"messages":[{"role":"user","content":[` + marked(long, "5m") + `]}]}`
	c.server.Script(anthropicfake.Overloaded())
	if w := post(t, c.server, "/v1/messages", `{"model":"claude-sonnet-5","max_tokens":9,`+body); w.Code != 529 {
		t.Fatalf("status %d", w.Code)
	}
	if w := post(t, c.server, "/v1/messages/count_tokens", `{"model":"claude-sonnet-5",`+body); w.Code != 200 {
		t.Fatalf("status %d", w.Code)
	}
	c.want("first answer", c.ask("", marked(long, "5m")), anthropicfake.Usage{CacheWrite5mTokens: 2003})
	w := post(t, c.server, "/v1/messages", `{"model":"claude-sonnet-5","max_tokens":9,`+body)
	var got struct {
		Usage struct {
			Input int `json:"input_tokens"`
			Read  int `json:"cache_read_input_tokens"`
			Write int `json:"cache_creation_input_tokens"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Usage.Input != 0 || got.Usage.Read != 2003 || got.Usage.Write != 0 {
		t.Errorf("reported %+v", got)
	}
}
