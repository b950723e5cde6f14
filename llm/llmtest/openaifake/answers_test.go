package openaifake_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"sessiond/llm/llmtest/openaifake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const streamed = `"stream":true,"stream_options":{"include_usage":true}`

// stream posts a request over a real connection and returns the data lines. The error
// is how the body ended.
func stream(t *testing.T, step openaifake.Step) (lines []string, err error) {
	t.Helper()
	s := openaifake.New(openaifake.Options{})
	s.Script(step)
	server := httptest.NewServer(s)
	defer server.Close()
	r, err := http.NewRequest(http.MethodPost, server.URL+"/v1/chat/completions", strings.NewReader(with(streamed, user)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer key")
	resp, err := server.Client().Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	scanner := bufio.NewScanner(resp.Body)
	for scanner.Scan() {
		if line := scanner.Text(); line != "" {
			lines = append(lines, line)
		}
	}
	return lines, scanner.Err()
}

func TestStream(t *testing.T) {
	lines, err := stream(t, openaifake.Step{Text: "Hello there, friend", Reasoning: "hm"})
	if err != nil {
		t.Fatal(err)
	}
	const (
		head = `data: {"choices":[{"delta":`
		tail = `,"finish_reason":null,"index":0,"logprobs":null}],"created":1790000000,"id":"chatcmpl-fake000001","model":"gpt-4o","object":"chat.completion.chunk","system_fingerprint":"fp_fake","usage":null}`
	)
	want := []string{
		head + `{"content":"","refusal":null,"role":"assistant"}` + tail,
		head + `{"content":null,"reasoning_content":"hm"}` + tail,
		head + `{"content":"Hello there,"}` + tail,
		head + `{"content":" friend"}` + tail,
		head + `{}` + strings.Replace(tail, "null", `"stop"`, 1),
		`data: {"choices":[],"created":1790000000,"id":"chatcmpl-fake000001","model":"gpt-4o","object":"chat.completion.chunk","system_fingerprint":"fp_fake","usage":{"completion_tokens":6,"completion_tokens_details":{"audio_tokens":0,"reasoning_tokens":1},"prompt_tokens":5,"prompt_tokens_details":{"audio_tokens":0,"cached_tokens":0},"total_tokens":11}}`,
		`data: [DONE]`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWholeAnswer(t *testing.T) {
	s := openaifake.New(openaifake.Options{})
	s.Script(openaifake.Calls("Looking.", openaifake.Call{ID: "a", Name: "weather", Arguments: `{"city":"Rome"}`}))
	w := post(t, s, chat(user))
	const want = `{"choices":[{"finish_reason":"tool_calls","index":0,"logprobs":null,"message":{"content":"Looking.","refusal":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"city\":\"Rome\"}","name":"weather"},"id":"a","type":"function"}]}}],"created":1790000000,"id":"chatcmpl-fake000001","model":"gpt-4o","object":"chat.completion","usage":{"completion_tokens":8,"completion_tokens_details":{"audio_tokens":0,"reasoning_tokens":0},"prompt_tokens":5,"prompt_tokens_details":{"audio_tokens":0,"cached_tokens":0},"total_tokens":13}}`
	if w.Body.String() != want {
		t.Errorf("got  %s\nwant %s", w.Body, want)
	}
	if w = post(t, s, chat(user)); !strings.Contains(w.Body.String(), "You said: hi") {
		t.Errorf("after the script: %s", w.Body)
	}
}

// The pieces of two calls, in the spelling of each kind of server.
func TestNumbering(t *testing.T) {
	tests := []struct {
		name string
		n    openaifake.Numbering
		want []string
	}{
		{"openai", openaifake.Numbering{}, []string{
			`{"function":{"arguments":"","name":"f"},"id":"a","index":0,"type":"function"}`, `{"function":{"arguments":"{\"x\":1}"},"index":0}`,
			`{"function":{"arguments":"","name":"g"},"id":"b","index":1,"type":"function"}`, `{"function":{"arguments":"{}"},"index":1}`,
		}},
		{"from one", openaifake.Numbering{First: 1, Whole: true}, []string{
			`{"function":{"arguments":"{\"x\":1}","name":"f"},"id":"a","index":1,"type":"function"}`,
			`{"function":{"arguments":"{}","name":"g"},"id":"b","index":2,"type":"function"}`,
		}},
		{"all the same", openaifake.Numbering{Same: true, Whole: true}, []string{
			`{"function":{"arguments":"{\"x\":1}","name":"f"},"id":"a","index":0,"type":"function"}`,
			`{"function":{"arguments":"{}","name":"g"},"id":"b","index":0,"type":"function"}`,
		}},
		{"neither numbers nor ids", openaifake.Numbering{None: true, NoIDs: true, Whole: true}, []string{
			`{"function":{"arguments":"{\"x\":1}","name":"f"},"type":"function"}`,
			`{"function":{"arguments":"{}","name":"g"},"type":"function"}`,
		}},
		{"one id for all", openaifake.Numbering{SameIDs: true, Whole: true}, []string{
			`{"function":{"arguments":"{\"x\":1}","name":"f"},"id":"a","index":0,"type":"function"}`,
			`{"function":{"arguments":"{}","name":"g"},"id":"a","index":1,"type":"function"}`,
		}},
		{"everything again and again", openaifake.Numbering{RepeatNames: true, RepeatIDs: true}, []string{
			`{"function":{"arguments":"","name":"f"},"id":"a","index":0,"type":"function"}`, `{"function":{"arguments":"{\"x\":1}","name":"f"},"id":"a","index":0}`,
			`{"function":{"arguments":"","name":"g"},"id":"b","index":1,"type":"function"}`, `{"function":{"arguments":"{}","name":"g"},"id":"b","index":1}`,
		}},
		{"objects", openaifake.Numbering{AsObjects: true}, []string{
			`{"function":{"arguments":{"x":1},"name":"f"},"id":"a","index":0,"type":"function"}`,
			`{"function":{"arguments":{},"name":"g"},"id":"b","index":1,"type":"function"}`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			step := openaifake.Calls("", openaifake.Call{ID: "a", Name: "f", Arguments: `{"x":1}`}, openaifake.Call{ID: "b", Name: "g"})
			step.Numbering = tt.n
			lines, err := stream(t, step)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, line := range lines {
				var c struct {
					Choices []struct {
						Delta struct {
							ToolCalls []json.RawMessage `json:"tool_calls"`
						}
					}
				}
				_ = json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &c)
				for _, ch := range c.Choices {
					for _, call := range ch.Delta.ToolCalls {
						got = append(got, string(call))
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// How a stream ends that breaks after the first piece of its text.
func TestFaults(t *testing.T) {
	tests := []struct {
		kind openaifake.FaultKind
		want string // the last line
	}{
		{openaifake.ErrorObject, `data: {"error":{"code":null,"message":"the fake broke","type":"server_error"}}`},
		{openaifake.ErrorText, `data: {"error":"the fake broke"}`},
		{openaifake.ErrorFlat, `data: {"code":null,"message":"the fake broke","object":"error","param":null,"type":"server_error"}`},
		{openaifake.ErrorEvent, `data: {"code":null,"message":"the fake broke","type":"server_error"}`},
		{openaifake.ErrorChoice, `"error":{"code":null,"message":"the fake broke","type":"server_error"},"finish_reason":"error"`},
		{openaifake.ErrorFinish, `"finish_reason":"error"`},
		{openaifake.CleanEnd, `"delta":{"content":"Hello there,"}`},
		{openaifake.DoneOnly, `data: [DONE]`},
		{openaifake.Abort, `"delta":{"content":"Hello there,"}`},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.kind), func(t *testing.T) {
			lines, err := stream(t, openaifake.Text("Hello there, friend").Break(tt.kind, 2))
			if broken := tt.kind == openaifake.Abort; broken != errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("the body ended with %v", err)
			}
			if last := lines[len(lines)-1]; !strings.Contains(last, tt.want) {
				t.Errorf("last line %s, want %s", last, tt.want)
			}
			if isEvent := tt.kind == openaifake.ErrorEvent; isEvent && lines[len(lines)-2] != "event: error" {
				t.Errorf("no event name: %q", lines)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name   string
		step   openaifake.Step
		status int
		body   string
		retry  string
	}{
		{"rate limit with a wait", openaifake.RateLimited(1500 * time.Millisecond), 429, `"code":"rate_limit_exceeded"`, "1.5"},
		{"rate limit without", openaifake.RateLimited(0), 429, `"code":"rate_limit_exceeded"`, ""},
		{"server error", openaifake.ServerError(), 500, `"type":"server_error"`, ""},
		{"a body as it stands", openaifake.Status(502, "<html>"), 502, "<html>", ""},
		{"an error for a body", openaifake.Step{Fault: openaifake.Fault{Kind: openaifake.WholeBody, Body: `{"error":"x"}`}}, 200, `{"error":"x"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openaifake.New(openaifake.Options{})
			s.Script(tt.step)
			w := post(t, s, with(streamed, user))
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) || w.Header().Get("Retry-After") != tt.retry {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			if len(s.Rejected()) != 0 {
				t.Error("a fault of the script counts as a broken rule")
			}
			if r := s.Requests(); r[0].Status != tt.status {
				t.Errorf("recorded status %d", r[0].Status)
			}
		})
	}
}

func TestManners(t *testing.T) {
	step := openaifake.Text("hi")
	step.Noise, step.NoDone, step.NoUsage, step.ByteByByte = true, true, true, true
	step.Pause = time.Millisecond
	lines, err := stream(t, step)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(lines, "\n")
	if strings.Count(all, ": OPENROUTER PROCESSING") != 3 || strings.Count(all, `"error":null`) != 3 {
		t.Errorf("noise: %s", all)
	}
	if strings.Contains(all, "[DONE]") || strings.Contains(all, "prompt_tokens") {
		t.Errorf("more than was asked for: %s", all)
	}
}

func TestSilenceEndsWithTheClient(t *testing.T) {
	s := openaifake.New(openaifake.Options{})
	s.Script(openaifake.Text("hi").Break(openaifake.Silence, 1))
	server := httptest.NewServer(s)
	defer server.Close() // returns only when the handler has
	r, err := http.NewRequest(http.MethodPost, server.URL+"/v1/chat/completions", strings.NewReader(with(streamed, user)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer key")
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
}

func TestOverflowInSilence(t *testing.T) {
	long := chat(`{"role":"user","content":"` + strings.Repeat("abcd", 200) + `"}`)
	for mode, want := range map[openaifake.Overflow]string{
		openaifake.OverflowRefused:   `"context_length_exceeded"`,
		openaifake.OverflowTruncated: `"prompt_tokens":100,`,
		openaifake.OverflowEmpty:     `"content":""`,
	} {
		s := openaifake.New(openaifake.Options{WindowTokens: 100, OnOverflow: mode})
		s.Script(openaifake.Text("as if nothing had happened"))
		w := post(t, s, long)
		if silent := mode != openaifake.OverflowRefused; silent != (w.Code == http.StatusOK) || !strings.Contains(w.Body.String(), want) {
			t.Errorf("mode %d: %d %s", mode, w.Code, w.Body)
		}
	}
}

func TestRecordsWhatItSaw(t *testing.T) {
	s := openaifake.New(openaifake.Options{RequireReasoning: true, Answer: func(req *openaifake.Request) openaifake.Step {
		if len(req.Messages) != 3 {
			return openaifake.ServerError()
		}
		return openaifake.Text("ok")
	}})
	post(t, s, with(`"prompt_cache_key":"k","tools":[`+weather+`]`, withPicture(picture(t, 40, 10)), reasoned, resultA))
	empty := ""
	want := []openaifake.Message{
		{Role: "user", Text: "look", Images: 1},
		{Role: "assistant", Calls: []openaifake.Call{{ID: "a", Name: "weather", Arguments: "{}"}}, Reasoning: &empty},
		{Role: "tool", ToolCallID: "a", Text: "sunny"},
	}
	r := s.Requests()[0]
	if diff := cmp.Diff(want, r.Messages); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Model != "gpt-4o" || r.CacheKey != "k" || cmp.Diff([]string{"weather"}, r.Tools) != "" || r.Status != 200 {
		t.Errorf("recorded %+v", r)
	}
}

// A fake that shares code with what it judges proves nothing.
func TestImportsNothingOfOurs(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		checked++
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range parsed.Imports {
			if strings.HasPrefix(imp.Path.Value, `"sessiond`) {
				t.Errorf("%s imports %s", f.Name(), imp.Path.Value)
			}
		}
	}
	if checked == 0 {
		t.Error("no files found")
	}
}
