package llmtest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
)

func request(text string) *llm.Request {
	return &llm.Request{
		Model: "m", System: "s",
		Tools:    []llm.Tool{{Name: "read", InputSchema: []byte(`{"type":"object"}`)}},
		Messages: []message.Message{{Role: message.RoleUser, Content: []message.Block{message.Text{Text: text}}}},
	}
}

// collect joins the deltas of each block.
type collect map[int]string

func (c collect) emit(d llm.Delta) { c[d.Block] += string(d.Kind) + ":" + d.Text + "|" }

func TestStepsPlayInOrder(t *testing.T) {
	m := llmtest.New(
		llmtest.Thinking("hm hm").Then(llmtest.Calls("Looking now.", llmtest.Call{ID: "c1", Name: "read", Input: `{ "path": "a" }`})),
		llmtest.Text("done"),
	)
	got := collect{}
	resp, err := m.Stream(t.Context(), request("q"), got.emit)
	if err != nil {
		t.Fatal(err)
	}
	want := []message.Block{
		message.Thinking{Provider: "scripted", Text: "hm hm", Raw: []byte(`{"type":"thinking","thinking":"hm hm","signature":"scripted"}`)},
		message.Text{Text: "Looking now."},
		message.ToolUse{ID: "c1", Name: "read", Input: []byte(`{ "path": "a" }`)},
	}
	if diff := cmp.Diff(want, resp.Content); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if resp.Stop != llm.StopToolUse {
		t.Errorf("stop = %s", resp.Stop)
	}
	wantDeltas := collect{
		0: "thinking:hm |thinking:hm|", 1: "text:Looking |text:now.|",
		2: `tool_input:{ |tool_input:"path": |tool_input:"a" |tool_input:}|`,
	}
	if diff := cmp.Diff(wantDeltas, got); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
	if resp, err = m.Stream(t.Context(), request("q2"), got.emit); err != nil || resp.Stop != llm.StopEnd {
		t.Errorf("second call: %v, %v", resp, err)
	}
	if n := m.Left(); n != 0 {
		t.Errorf("%d steps left", n)
	}
}

func TestRunsOutOfSteps(t *testing.T) {
	m := llmtest.New()
	_, err := m.Stream(t.Context(), request("what?"), func(llm.Delta) {})
	e, ok := llm.AsError(err)
	if !ok || e.Class.Retryable() || !strings.Contains(e.Message, "no step is left for call 1") || !strings.Contains(e.Message, "what?") {
		t.Errorf("got %v", err)
	}
	m.Add(llmtest.Text("a"))
	m.Loop(llmtest.Text("b"))
	for _, want := range []string{"a", "b", "b"} {
		resp, err := m.Stream(t.Context(), request("q"), func(llm.Delta) {})
		if err != nil || message.JoinText(resp.Content) != want {
			t.Errorf("got %v, %v, want %q", resp, err, want)
		}
	}
}

func TestRequestsAreCopies(t *testing.T) {
	m := llmtest.New().Loop(llmtest.Text("x"))
	req := request("before")
	req.Messages = append(req.Messages, message.Message{Role: message.RoleAssistant, Usage: &message.Usage{Input: 1}, Content: []message.Block{
		message.Thinking{Raw: []byte(`{}`)}, message.ToolUse{ID: "a", Input: []byte(`{}`)},
	}}, message.Message{Role: message.RoleUser, Content: []message.Block{
		message.ToolResult{ToolUseID: "a", Content: []message.Block{message.Text{Text: "r"}}},
	}})
	req.CacheMarks = []llm.CacheMark{{Message: llm.CachePreamble}}
	if _, err := m.Stream(t.Context(), req, func(llm.Delta) {}); err != nil {
		t.Fatal(err)
	}
	want := m.Requests()[0]
	if diff := cmp.Diff(req, want); diff != "" {
		t.Fatalf("recorded otherwise (-sent +recorded):\n%s", diff)
	}
	req.Messages[0].Content[0] = message.Text{Text: "after"}
	req.Messages[1].Usage.Input = 2
	req.Messages[1].Content[1].(message.ToolUse).Input[0] = '['
	req.Messages[1].Content[0].(message.Thinking).Raw[0] = '['
	req.Messages[2].Content[0].(message.ToolResult).Content[0] = message.Text{Text: "after"}
	req.Tools[0].InputSchema[0] = '['
	req.CacheMarks[0].Message = 7
	if diff := cmp.Diff(want, m.Requests()[0]); diff != "" {
		t.Errorf("the record changed with the request (-want +got):\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	rate := &llm.Error{Class: llm.ClassRate}
	tests := []struct {
		name  string
		step  llmtest.Step
		want  error
		shown collect
	}{
		{"at once", llmtest.Fail(rate), rate, collect{}},
		{"half shown", llmtest.Text("some words").Then(llmtest.Fail(rate)), rate, collect{0: "text:some |text:words|"}},
		{"nothing after a failure", llmtest.Fail(rate).Then(llmtest.Text("no")), rate, collect{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shown := collect{}
			resp, err := llmtest.New(tt.step).Stream(t.Context(), request("q"), shown.emit)
			if resp != nil || !errors.Is(err, tt.want) {
				t.Errorf("got %v, %v", resp, err)
			}
			if diff := cmp.Diff(tt.shown, shown); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
	_, err := llmtest.New(func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		return nil, nil
	}).Stream(t.Context(), request("q"), func(llm.Delta) {})
	if _, ok := llm.AsError(err); !ok {
		t.Errorf("a step without an answer: %v", err)
	}
}

func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := llmtest.New(llmtest.Wait(release).Then(llmtest.Text("now")), llmtest.Hang())
		var resp *llm.Response
		go func() { resp, _ = m.Stream(t.Context(), request("q"), func(llm.Delta) {}) }()
		synctest.Wait()
		if resp != nil || len(m.Requests()) != 1 {
			t.Fatalf("answered before it was released: %v", resp)
		}
		close(release)
		synctest.Wait()
		if resp == nil || message.JoinText(resp.Content) != "now" {
			t.Fatalf("after release: %v", resp)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := m.Stream(ctx, request("q"), func(llm.Delta) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hanging call ended with %v", err)
		}
	})
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var shown int
	m := llmtest.New(llmtest.Text("one two three"), llmtest.Text("never"))
	_, err := m.Stream(ctx, request("q"), func(llm.Delta) { shown++; cancel() })
	if !errors.Is(err, context.Canceled) || shown != 1 {
		t.Errorf("cancelled in the middle: %v after %d pieces", err, shown)
	}
	if _, err := m.Stream(ctx, request("q"), func(llm.Delta) { shown++ }); !errors.Is(err, context.Canceled) || shown != 1 {
		t.Errorf("cancelled before: %v after %d pieces", err, shown)
	}
}

func TestEdits(t *testing.T) {
	var seen string
	step := llmtest.Do(func(r *llm.Request) { seen = r.Model }).Then(llmtest.Text("cut")).
		WithStop(llm.StopMaxTokens).WithUsage(message.Usage{Input: 9, CacheRead: 8})
	resp, err := llmtest.New(step).Stream(t.Context(), request("q"), func(llm.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	want := &llm.Response{
		Content: []message.Block{message.Text{Text: "cut"}},
		Stop:    llm.StopMaxTokens, Usage: message.Usage{Input: 9, CacheRead: 8},
	}
	if diff := cmp.Diff(want, resp); diff != "" || seen != "m" {
		t.Errorf("saw %q; (-want +got):\n%s", seen, diff)
	}
}

func TestOverflowNamesTheLimit(t *testing.T) {
	e, ok := llm.AsError(llmtest.Overflow(1000))
	if !ok || e.Class != llm.ClassOverflow || e.LimitTokens != 1000 {
		t.Errorf("got %v", e)
	}
}

func TestConcurrentCalls(t *testing.T) {
	m := llmtest.New().Loop(llmtest.Text("a b c"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := m.Stream(t.Context(), request("q"), func(llm.Delta) {}); err != nil {
				t.Error(err)
			}
			m.Requests()
		})
	}
	wg.Wait()
	if n := len(m.Requests()); n != 8 {
		t.Errorf("%d requests", n)
	}
}
