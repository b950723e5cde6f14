package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/llm"
	"sessiond/llm/demo"
	"sessiond/message"
)

func tools() []llm.Tool {
	return []llm.Tool{
		{Name: "read", InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","minimum":5}},"required":["path"]}`)},
		{Name: "grep", InputSchema: []byte(`{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"}},"required":["pattern","path"]}`)},
		{Name: "weather", InputSchema: []byte(`{"type":"object","properties":{
			"unit":{"type":"string","enum":["celsius","kelvin"]},"days":{"type":"integer","minimum":2},"where":{"type":"object","properties":{"city":{"type":"string"},"x":{"type":"string"}},"required":["city"]},
			"tags":{"type":"array","items":{"type":"string"}},"deep":{"type":["boolean","null"]},"rate":{"type":"number","default":0.5}},
			"required":["unit","days","where","tags","deep","rate"]}`)},
		{Name: "todo_write", InputSchema: []byte(`{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{
			"content":{"type":"string"},"active_form":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed"]}}}}},"required":["todos"]}`)},
		{Name: "broken", InputSchema: []byte(`no schema`)},
	}
}

func user(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleUser, Content: blocks}
}

func ask(words string) *llm.Request {
	return &llm.Request{Model: demo.Name, Tools: tools(), MaxOutputTokens: 8192, Messages: []message.Message{user(message.Text{Text: words})}}
}

// answer streams without pauses and checks that the deltas join to the content.
func answer(t *testing.T, m *demo.Model, req *llm.Request) (*llm.Response, error) {
	t.Helper()
	pieces := map[int]string{}
	resp, err := m.Stream(t.Context(), req, func(d llm.Delta) { pieces[d.Block] += d.Text })
	if err != nil {
		return nil, err
	}
	for i, b := range resp.Content {
		want := ""
		switch b := b.(type) {
		case message.Text:
			want = b.Text
		case message.Thinking:
			want = b.Text
		case message.ToolUse:
			want = string(b.Input)
		case message.Image, message.ToolResult:
			t.Errorf("block %d is a %T", i, b)
		}
		if pieces[i] != want {
			t.Errorf("block %d: streamed %q, is %q", i, pieces[i], want)
		}
	}
	return resp, nil
}

func mustAnswer(t *testing.T, req *llm.Request) *llm.Response {
	t.Helper()
	resp, err := answer(t, demo.New(demo.Options{}), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func calls(resp *llm.Response) []string {
	var out []string
	for _, c := range (&message.Message{Content: resp.Content}).ToolUses() {
		out = append(out, c.Name+" "+string(c.Input))
	}
	return out
}

// run plays a whole turn, answering every call with result, and returns the calls of each round.
func run(t *testing.T, m *demo.Model, req *llm.Request, result string) (rounds [][]string, last *llm.Response) {
	t.Helper()
	for range 600 {
		resp, err := answer(t, m, req)
		if err != nil {
			t.Fatal(err)
		}
		if len(calls(resp)) == 0 {
			return rounds, resp
		}
		rounds = append(rounds, calls(resp))
		made := message.Message{Role: message.RoleAssistant, Content: resp.Content}
		var results []message.Block
		for _, c := range made.ToolUses() {
			results = append(results, message.ToolResult{ToolUseID: c.ID, Content: []message.Block{message.Text{Text: result}}})
		}
		results = append(results, message.Text{Text: "<todo_list>injected</todo_list>"})
		req.Messages = append(req.Messages, made, user(results...))
	}
	t.Fatal("the turn does not end")
	return nil, nil
}

func TestCallsFromWords(t *testing.T) {
	tests := []struct {
		name, words string
		want        [][]string
	}{
		{"json", `call grep {"pattern":"x", "n": 1.0}`, [][]string{{`grep {"pattern":"x", "n": 1.0}`}}},
		{"json without a verb", `grep {"pattern":"then read"} please`, [][]string{{`grep {"pattern":"then read"}`}}},
		{"on a file", "use read on a.txt", [][]string{{`read {"path":"a.txt"}`}}},
		{"for in", "Call grep for needle in src/", [][]string{{`grep {"pattern":"needle","path":"src/"}`}}},
		{"quoted", "run grep on \"two words\"", [][]string{{`grep {"pattern":"two words","path":"README.md"}`}}},
		{"named arguments", "call read path=b.go limit: 7", [][]string{{`read {"path":"b.go","limit":7}`}}},
		{"argument after its name", "call grep with pattern foo", [][]string{{`grep {"pattern":"foo","path":"README.md"}`}}},
		{"samples", "call weather", [][]string{{`weather {"unit":"celsius","days":2,"where":{"city":"Paris"},"tags":["demo"],"deep":false,"rate":0.5}`}}},
		{"no schema", "call broken", [][]string{{`broken {}`}}},
		{"parallel", "call read and grep", [][]string{{`read {"path":"README.md"}`, `grep {"pattern":"TODO","path":"README.md"}`}}},
		{"one after another", "call read on a.txt, then grep {\"pattern\":\"y\"}", [][]string{{`read {"path":"a.txt"}`}, {`grep {"pattern":"y"}`}}},
		{"rounds", "call read on a.txt 3 times", [][]string{{`read {"path":"a.txt"}`}, {`read {"path":"a.txt"}`}, {`read {"path":"a.txt"}`}}},
		{"at once", "call broken 3 times in parallel", [][]string{{"broken {}", "broken {}", "broken {}"}}},
		{"chinese", "调用 read 读取 a.txt，然后用grep搜索 needle", [][]string{{`read {"path":"a.txt"}`}, {`grep {"pattern":"needle","path":"README.md"}`}}},
		{"chinese rounds", "调用 broken 2 次", [][]string{{"broken {}"}, {"broken {}"}}},
		{"name as a word", "I like to read books", nil},
		{"part of another name", "call bread or read.me or read-only or grep_all", nil},
		{"nothing", "hello", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rounds, last := run(t, demo.New(demo.Options{}), ask(tt.words), "line one\nline two")
			if diff := cmp.Diff(tt.want, rounds); diff != "" {
				t.Errorf("rounds (-want +got):\n%s", diff)
			}
			if last.Stop != llm.StopEnd {
				t.Errorf("stop = %s", last.Stop)
			}
			if text := message.JoinText(last.Content); tt.want != nil && !strings.Contains(text, "line one line two") {
				t.Errorf("the results are not described: %s", text)
			}
		})
	}
}

// A script goes on by what the last round says, whatever was compacted away before it.
func TestScriptSurvivesALostBeginning(t *testing.T) {
	m := demo.New(demo.Options{})
	req := ask("call read on a.txt 5 times")
	rounds := 0
	for {
		resp, err := answer(t, m, req)
		if err != nil {
			t.Fatal(err)
		}
		made := message.Message{Role: message.RoleAssistant, Content: resp.Content}
		if len(made.ToolUses()) == 0 {
			break
		}
		rounds++
		req.Messages = []message.Message{
			user(message.Text{Text: "[Context notice from the server] call grep"}), user(message.Text{Text: "call read on a.txt 5 times"}),
			made, user(message.ToolResult{ToolUseID: made.ToolUses()[0].ID}),
		}
	}
	if rounds != 5 {
		t.Errorf("%d rounds, want 5", rounds)
	}
}

func TestPlanKeepsATodoList(t *testing.T) {
	for _, words := range []string{"please plan my week", "帮我制定计划"} {
		rounds, _ := run(t, demo.New(demo.Options{}), ask(words), "ok")
		if len(rounds) != 4 {
			t.Fatalf("%s: %d rounds", words, len(rounds))
		}
		for done, round := range rounds {
			var in struct {
				Todos []struct {
					Content, Status string
					ActiveForm      string `json:"active_form"`
				}
			}
			name, input, _ := strings.Cut(round[0], " ")
			if err := json.Unmarshal([]byte(input), &in); err != nil || name != "todo_write" || len(in.Todos) != 3 {
				t.Fatalf("%s: %v", round[0], err)
			}
			for i, item := range in.Todos {
				want := "pending"
				if i < done {
					want = "completed"
				} else if i == done {
					want = "in_progress"
				}
				if item.Status != want || item.Content == "" || item.ActiveForm == "" {
					t.Errorf("round %d: item %d is %+v, want status %s", done, i, item, want)
				}
			}
		}
	}
	req := ask("plan my week")
	req.Tools = []llm.Tool{{Name: "todo_write", InputSchema: []byte(`{"properties":{"items":{"type":"array","items":{"properties":{"activeForm":{}}}}}}`)}}
	if got := calls(mustAnswer(t, req)); !strings.Contains(got[0], `{"items":[`) || !strings.Contains(got[0], `"activeForm":`) {
		t.Errorf("members are not the tool's own: %v", got)
	}
	req.Tools = nil
	if got := calls(mustAnswer(t, req)); got != nil {
		t.Errorf("called a tool it was not given: %v", got)
	}
}

func TestEveryAnswerSaysThatItIsADemo(t *testing.T) {
	for words, want := range map[string]string{
		"hello there": "“hello there”", "help": "fail with rate", "what can you do?": "todo_write", "帮助": "模拟限流失败", "你好": "“你好”",
		"count to 5": "1 2 3 4 5", "fail": "Kinds:", "call the tool frobnicate": "no tool named frobnicate", "调用 frobnicate": "没有名为 frobnicate",
		"call read": "step 1 of 1", "write 3 words": "The session keeps.", "写 3 字": "会话保。",
	} {
		text := message.JoinText(mustAnswer(t, ask(words)).Content)
		if !strings.Contains(text, want) {
			t.Errorf("%q: %s does not contain %q", words, text, want)
		}
		if !strings.Contains(text, "Demo model") && !strings.Contains(text, "演示模型") {
			t.Errorf("%q: does not say that it is a demo: %s", words, text)
		}
	}
}

func TestImagesAreNoticed(t *testing.T) {
	req := ask("x")
	req.Messages[0].Content = []message.Block{message.Image{MimeType: "image/png", Data: "QUJD"}}
	if text := message.JoinText(mustAnswer(t, req).Content); !strings.Contains(text, " 1 image came with it, image/png of about 3 bytes.") {
		t.Errorf("got %s", text)
	}
	large := message.Image{MimeType: "image/png", Data: strings.Repeat("QUJD", 9_321)}
	req.Messages[0].Content = []message.Block{large, large}
	if text := message.JoinText(mustAnswer(t, req).Content); !strings.Contains(text, " 2 images came with it; the first is image/png of about 27,963 bytes.") {
		t.Errorf("got %s", text)
	}
	req.Messages[0].Content = []message.Block{large, message.Text{Text: "看图"}}
	if text := message.JoinText(mustAnswer(t, req).Content); !strings.Contains(text, "附带 1 张图片，类型是 image/png，约 27,963 字节。") {
		t.Errorf("got %s", text)
	}
}

func TestResultsAreDescribed(t *testing.T) {
	req := ask("call read")
	made := message.Message{Role: message.RoleAssistant, Content: []message.Block{message.ToolUse{ID: "a", Name: "read"}, message.ToolUse{ID: "b", Name: "grep"}}}
	req.Messages = append(req.Messages, made, user(
		message.ToolResult{ToolUseID: "a", Content: []message.Block{message.Text{Text: "1\n2"}, message.Image{}}},
		message.ToolResult{ToolUseID: "b", IsError: true, Content: []message.Block{message.Text{Text: "boom"}}},
	))
	text := message.JoinText(mustAnswer(t, req).Content)
	for _, want := range []string{"read returned 3 bytes in 2 lines. It holds 1 image. “1 2”", "grep failed. “boom”"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not contain %q", text, want)
		}
	}
	// A new question beside old results is a new request.
	req.Messages[2].Content = append(req.Messages[2].Content, message.Text{Text: "count to 3"})
	if text := message.JoinText(mustAnswer(t, req).Content); !strings.HasSuffix(text, "1 2 3") {
		t.Errorf("got %s", text)
	}
}

func TestThinking(t *testing.T) {
	tests := []struct {
		words string
		level llm.ThinkingLevel
		want  bool
	}{
		{"think about life", llm.ThinkingOff, true},
		{"想一想再回答", llm.ThinkingDefault, true},
		{"hello", llm.ThinkingHigh, true},
		{"hello", llm.ThinkingDefault, false},
		{"hello", llm.ThinkingOff, false},
	}
	for _, tt := range tests {
		req := ask(tt.words)
		req.Thinking = tt.level
		resp := mustAnswer(t, req)
		th, got := resp.Content[0].(message.Thinking)
		if got != tt.want || got && (th.Provider != demo.Name || th.Raw != nil) {
			t.Errorf("%q at %q: %+v", tt.words, tt.level, resp.Content)
		}
	}
}

func TestLongAnswers(t *testing.T) {
	text := message.JoinText(mustAnswer(t, ask("write 500 words")).Content)
	if _, prose, _ := strings.Cut(text, "] "); len(strings.Fields(prose)) != 500 {
		t.Errorf("%d words", len(strings.Fields(prose)))
	}
	req := ask("count to 20000")
	req.MaxOutputTokens = 100
	resp := mustAnswer(t, req)
	if text := message.JoinText(resp.Content); resp.Stop != llm.StopMaxTokens || len(text) != 400 {
		t.Errorf("stop %s after %d bytes", resp.Stop, len(text))
	}
	if got := len(message.JoinText(mustAnswer(t, ask("count to 99999999999999999999")).Content)); got > 200_000 {
		t.Errorf("%d bytes", got)
	}
}

func TestFailures(t *testing.T) {
	for _, class := range []llm.Class{
		llm.ClassOverflow, llm.ClassSize, llm.ClassRate, llm.ClassOverload, llm.ClassAuth, llm.ClassBilling,
		llm.ClassMedia, llm.ClassInvalid, llm.ClassNetwork, llm.ClassRefused,
	} {
		resp, err := answer(t, demo.New(demo.Options{}), ask("please fail with "+string(class)))
		e, ok := llm.AsError(err)
		if !ok || e.Class != class || resp != nil {
			t.Errorf("%s: got %v, %v", class, resp, err)
		}
	}
	for words, class := range map[string]llm.Class{
		"模拟限流失败": llm.ClassRate, "模拟过载错误": llm.ClassOverload, "模拟网络失败，中途": llm.ClassNetwork, "fail with network, halfway": llm.ClassNetwork,
	} {
		_, err := answer(t, demo.New(demo.Options{}), ask(words))
		if e, ok := llm.AsError(err); !ok || e.Class != class {
			t.Errorf("%s: got %v", words, err)
		}
	}
}

func TestFailsHalfway(t *testing.T) {
	shown := ""
	_, err := demo.New(demo.Options{}).Stream(t.Context(), ask("fail halfway with network"), func(d llm.Delta) { shown += d.Text })
	if e, ok := llm.AsError(err); !ok || e.Class != llm.ClassNetwork || !strings.HasPrefix(shown, "[Demo model") {
		t.Errorf("showed %q, then %v", shown, err)
	}
}

func TestFailsAFewTimes(t *testing.T) {
	for words, times := range map[string]int{
		"fail once with overload": 1, "fail twice with rate": 2, "fail 3 times with network": 3, "模拟过载失败两次": 2, "模拟过载失败 4 次": 4,
	} {
		m := demo.New(demo.Options{})
		req := ask(words)
		for try := 1; try <= times; try++ {
			if _, err := answer(t, m, req); err == nil {
				t.Errorf("%s: try %d succeeded", words, try)
			}
		}
		if _, err := answer(t, m, req); err != nil {
			t.Errorf("%s: still fails after %d times: %v", words, times, err)
		}
		other := ask(words)
		other.CacheKey = "another session"
		if _, err := answer(t, m, other); err == nil {
			t.Errorf("%s: another session's first try succeeded", words)
		}
	}
}

func TestTriesAreBounded(t *testing.T) {
	m := demo.New(demo.Options{})
	first := ask("fail once with rate")
	for i := range 200 {
		req := ask("fail once with rate")
		req.CacheKey = fmt.Sprint(i)
		if _, err := answer(t, m, req); err == nil {
			t.Fatal("a first try succeeded")
		}
		if i == 0 {
			first = req
		}
	}
	if _, err := answer(t, m, first); err == nil {
		t.Error("a try of long ago is still remembered")
	}
}

func TestOddAnswers(t *testing.T) {
	tests := []struct {
		words string
		stop  llm.StopReason
		check func(*llm.Response) bool
	}{
		{"fail with refusal", llm.StopRefusal, func(r *llm.Response) bool { return len(r.Content) == 1 }},
		{"fail with empty", llm.StopEnd, func(r *llm.Response) bool { return len(r.Content) == 0 }},
		{"fail with max tokens", llm.StopMaxTokens, func(r *llm.Response) bool { return len(r.Content) == 1 }},
		{"fail with unknown_tool", llm.StopToolUse, func(r *llm.Response) bool { return calls(r)[0] == "no_such_tool {}" }},
		{"fail with bad input", llm.StopToolUse, func(r *llm.Response) bool { return calls(r)[0] == `read {"broken": ` }},
	}
	for _, tt := range tests {
		if resp := mustAnswer(t, ask(tt.words)); resp.Stop != tt.stop || !tt.check(resp) {
			t.Errorf("%s: %+v", tt.words, resp)
		}
	}
	req := ask("call read")
	req.ToolChoice = llm.ToolChoiceNone
	if got := calls(mustAnswer(t, req)); got != nil {
		t.Errorf("called %v although no tool may be called", got)
	}
}

func TestOverTheWindow(t *testing.T) {
	_, err := answer(t, demo.New(demo.Options{WindowTokens: 1000}), ask(strings.Repeat("word ", 1000)))
	if e, ok := llm.AsError(err); !ok || e.Class != llm.ClassOverflow || e.LimitTokens != 1000 {
		t.Errorf("got %v", err)
	}
	if _, err := demo.New(demo.Options{}).Stream(t.Context(), &llm.Request{}, nil); err == nil {
		t.Error("a request without messages was answered")
	}
}

func TestSummary(t *testing.T) {
	req := ask("Port must be 8081")
	req.Messages = append(req.Messages,
		message.Message{Role: message.RoleAssistant, Content: []message.Block{message.Text{Text: "Reading."}, message.ToolUse{ID: "a", Name: "read", Input: []byte(`{"path":"main.go"}`)}}},
		user(message.ToolResult{ToolUseID: "a", IsError: true, Content: []message.Block{message.Text{Text: "no such file"}}}, message.Text{Text: `Write a summary. Do not call read.
## 1. Primary Request and Intent: what was asked
## 2. Key Technical Concepts
## 3. Files and Code Sections
## 4. Errors and Fixes
## 5. Problem Solving
## 7. Pending Tasks
## 8. Current Work
## 9. Optional Next Step`}))
	resp := mustAnswer(t, req)
	text := message.JoinText(resp.Content)
	for _, want := range []string{"## 1. Primary Request and Intent\n", "Port must be 8081", "main.go", "no such file", "## 7. Pending Tasks\n", "## 8. Current Work\n", "demo summary"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\ndoes not contain %q", text, want)
		}
	}
	if strings.Contains(text, "All User Messages") || len(calls(resp)) != 0 {
		t.Errorf("a section that was not asked for, or a call: %s", text)
	}
}

func TestPausesAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		m := demo.New(demo.Options{Pause: 10 * time.Millisecond})
		pieces := 0
		if _, err := m.Stream(t.Context(), ask("count to 100"), func(llm.Delta) { pieces++ }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); pieces < 100 || took != time.Duration(pieces)*10*time.Millisecond {
			t.Errorf("%d pieces took %s", pieces, took)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		start = time.Now()
		_, err := m.Stream(ctx, ask("wait 20 seconds"), func(llm.Delta) { t.Error("spoke while it waited") })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 500*time.Millisecond {
			t.Errorf("ended after %s with %v", time.Since(start), err)
		}
		start = time.Now()
		if _, err := m.Stream(t.Context(), ask("等待 3 秒"), func(llm.Delta) {}); err != nil || time.Since(start) < 3*time.Second {
			t.Errorf("waited %s, %v", time.Since(start), err)
		}

		ctx, cancel = context.WithCancel(t.Context())
		pieces = 0
		_, err = demo.New(demo.Options{}).Stream(ctx, ask("count to 100"), func(llm.Delta) {
			if pieces++; pieces == 3 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || pieces != 3 {
			t.Errorf("%d pieces after the cancel, %v", pieces, err)
		}
	})
}

func TestUsage(t *testing.T) {
	resp := mustAnswer(t, ask("hello"))
	if resp.Usage.Input == 0 || resp.Usage.Output == 0 || resp.Usage.CostUSD != 0 {
		t.Errorf("usage %+v", resp.Usage)
	}
	c, err := demo.New(demo.Options{}).Capabilities(t.Context(), demo.Name)
	if err != nil || c.WindowTokens == 0 || c.MaxOutputTokens == 0 {
		t.Errorf("capabilities %+v, %v", c, err)
	}
}

// Whatever is said: no panic, the pieces join to the content, the answer is the same
// every time, and inputs that the demo makes are JSON objects with what is required.
func TestAnyWords(t *testing.T) {
	m := demo.New(demo.Options{})
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"call ", "调用", "read", "weather", "grep", " then ", "然后", `{"a":`, `{"a":1}`, "}", "\"", "'", "5 times", " in parallel", "plan", "think", "ſ", "İ", "=", "path=", "write 9 words",
		}))
		req := ask(strings.Join(rapid.SliceOfN(part, 1, 8).Draw(rt, "words"), rapid.SampledFrom([]string{"", " "}).Draw(rt, "between")))
		first, err := answer(t, m, req)
		if err != nil {
			return
		}
		again, err := answer(t, m, req)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(calls(first), calls(again)); diff != "" {
			rt.Fatalf("two answers:\n%s", diff)
		}
		for _, c := range calls(first) {
			name, input, _ := strings.Cut(c, " ")
			var in map[string]any
			if err := json.Unmarshal([]byte(input), &in); err != nil && name != "no_such_tool" {
				rt.Fatalf("%s: %v", c, err)
			}
		}
	})
}

// What is counted has its form for one, and a list ends where the list ends.
func TestWordsOfTheDemo(t *testing.T) {
	first := message.JoinText(mustAnswer(t, ask("hello")).Content)
	if !strings.Contains(first, "has 1 message.") {
		t.Errorf("the first answer: %s", first)
	}
	for _, words := range []string{"help", "帮助"} {
		items := false
		for line := range strings.Lines(message.JoinText(mustAnswer(t, ask(words)).Content)) {
			isItem := strings.HasPrefix(line, "- ")
			if items && !isItem && strings.TrimSpace(line) != "" {
				t.Errorf("%s: this line is a part of the last item: %s", words, line)
			}
			items = isItem
		}
	}
}
