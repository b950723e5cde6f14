package fakellm_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest/fakellm"
)

func TestReadScript(t *testing.T) {
	steps, err := fakellm.ReadScript(strings.NewReader(`
# a comment
{"text":"hi","calls":[{"name":"read","input":{ "a" : 1.0 }}]}

{"api":"openai","fault":"rate_limit","retry_after":2.5,"times":3}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []fakellm.Step{
		{Text: "hi", Calls: []fakellm.Call{{Name: "read", Input: []byte(`{ "a" : 1.0 }`)}}},
		{API: fakellm.OpenAI, Fault: fakellm.FaultRateLimit, RetryAfterSeconds: 2.5, Times: 3},
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Error(diff)
	}
}

func TestReadScriptRefuses(t *testing.T) {
	for line, want := range map[string]string{
		`{`:                               "line 1: unexpected EOF",
		`{"txt":"a"}`:                     `line 1: json: unknown field "txt"`,
		`{} {}`:                           "line 1: more than one value",
		"{}\n{\"api\":\"x\"}":             `line 2: api "x" is neither anthropic nor openai`,
		`{"fault":"x"}`:                   `line 1: fault "x" is not known`,
		`{"stop":"x"}`:                    `line 1: stop "x" is not known`,
		`{"times":-1}`:                    "line 1: a number is negative",
		`{"after":1}`:                     "line 1: after goes with a fault that breaks a stream",
		`{"after":1,"fault":"auth"}`:      "line 1: after goes with a fault that breaks a stream",
		`{"retry_after":1}`:               "line 1: retry_after goes with fault rate_limit",
		`{"fault":"overflow"}`:            "line 1: limit and fault overflow go together",
		`{"limit":5}`:                     "line 1: limit and fault overflow go together",
		`{"cut_bytes":5}`:                 "line 1: cut_bytes goes with calls",
		`{"calls":[{"input":{"a":"b"}}]}`: "line 1: a call has no name",
	} {
		if _, err := fakellm.ReadScript(strings.NewReader(line)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// ask sends a request in the form of an API and returns the status and the body.
func ask(t *testing.T, s http.Handler, api fakellm.API) (status int, body string) {
	t.Helper()
	path, request := "/openai/v1/chat/completions", `{"model":"gpt-4.1","messages":[{"role":"user","content":"hello"}]}`
	if api == fakellm.Anthropic {
		path = "/anthropic/v1/messages"
		request = `{"model":"claude-opus-5","max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(request))
	r.Header.Set("X-Api-Key", "any")
	r.Header.Set("Anthropic-Version", "2026-10-21")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// Every API plays the steps that are not the other's, and then goes on without a script.
func TestEachAPIPlaysTheScript(t *testing.T) {
	s := fakellm.New(fakellm.Options{})
	s.Script(
		fakellm.Step{Text: "for both", Times: 2},
		fakellm.Step{Text: "for one", API: fakellm.Anthropic},
		fakellm.Step{Text: "for the other", API: fakellm.OpenAI},
	)
	for api, want := range map[fakellm.API][]string{
		fakellm.Anthropic: {"for both", "for both", "for one", "You said: hello"},
		fakellm.OpenAI:    {"for both", "for both", "for the other", "You said: hello"},
	} {
		for i, text := range want {
			if status, body := ask(t, s, api); status != http.StatusOK || !strings.Contains(body, text) {
				t.Errorf("%s, answer %d: %d %s, want %q", api, i, status, body, text)
			}
		}
	}
	if n, rejected := s.Seen(); n != 8 || len(rejected) > 0 {
		t.Errorf("%d requests, rejected %q", n, rejected)
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		step              fakellm.Step
		anthropic, openai int
		words             string // in both bodies
	}{
		{fakellm.Step{Fault: fakellm.FaultRateLimit}, 429, 429, "rate"},
		{fakellm.Step{Fault: fakellm.FaultSpendLimit}, 429, 429, ""},
		{fakellm.Step{Fault: fakellm.FaultOverloaded}, 529, 503, "verloaded"},
		{fakellm.Step{Fault: fakellm.FaultServerError}, 500, 500, "error"},
		{fakellm.Step{Fault: fakellm.FaultBadGateway}, 502, 502, "<html>"},
		{fakellm.Step{Fault: fakellm.FaultAuth}, 401, 401, ""},
		{fakellm.Step{Fault: fakellm.FaultOverflow, LimitTokens: 4000}, 400, 400, "4001"},
		{fakellm.Step{Fault: fakellm.FaultImage}, 400, 400, "image"},
		{fakellm.Step{Fault: fakellm.FaultInvalid}, 400, 400, "The script refuses"},
	}
	for _, tt := range tests {
		s := fakellm.New(fakellm.Options{})
		s.Script(tt.step)
		for api, want := range map[fakellm.API]int{fakellm.Anthropic: tt.anthropic, fakellm.OpenAI: tt.openai} {
			status, body := ask(t, s, api)
			if status != want || !strings.Contains(body, tt.words) {
				t.Errorf("%s, %s: %d %s, want %d", tt.step.Fault, api, status, body, want)
			}
			if status, body = ask(t, s, api); status != http.StatusOK {
				t.Errorf("%s, %s: afterwards %d %s", tt.step.Fault, api, status, body)
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	call := []fakellm.Call{{Name: "read", Input: []byte(`{"path":"a"}`)}}
	tests := []struct {
		name              string
		step              fakellm.Step
		anthropic, openai string
	}{
		{"empty", fakellm.Step{}, `"content":[]`, `"content":""`},
		{"cut text", fakellm.Step{Text: "a", Stop: fakellm.StopMaxTokens}, `"stop_reason":"max_tokens"`, `"finish_reason":"length"`},
		{"full window", fakellm.Step{Text: "a", Stop: fakellm.StopContextWindow}, "model_context_window_exceeded", "model_context_window_exceeded"},
		{"refusal", fakellm.Step{Stop: fakellm.StopRefusal}, `"stop_reason":"refusal"`, `"refusal":"I'm sorry, but I can't help with that."`},
		{"pause", fakellm.Step{Text: "a", Stop: fakellm.StopPause}, `"stop_reason":"pause_turn"`, `"finish_reason":"stop"`},
		{"call", fakellm.Step{Calls: call}, `"name":"read"`, `"name":"read"`},
		{"cut call", fakellm.Step{Calls: call, CutBytes: 5}, `"stop_reason":"max_tokens"`, `"arguments":"{\"pat"`},
	}
	for _, tt := range tests {
		s := fakellm.New(fakellm.Options{})
		s.Script(tt.step)
		for api, want := range map[fakellm.API]string{fakellm.Anthropic: tt.anthropic, fakellm.OpenAI: tt.openai} {
			if status, body := ask(t, s, api); status != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s, %s: %d %s, want %s", tt.name, api, status, body, want)
			}
		}
	}
}

func TestThink(t *testing.T) {
	s := fakellm.New(fakellm.Options{Think: true})
	s.Script(fakellm.Step{Calls: []fakellm.Call{{Name: "read"}}})
	if _, body := ask(t, s, fakellm.Anthropic); !strings.Contains(body, `"type":"thinking"`) || !strings.Contains(body, `"signature":"`) {
		t.Errorf("no signed thinking: %s", body)
	}
	if _, body := ask(t, s, fakellm.OpenAI); !strings.Contains(body, `"reasoning_content":"`) {
		t.Errorf("no reasoning: %s", body)
	}
}

func TestWindow(t *testing.T) {
	s := fakellm.New(fakellm.Options{WindowTokens: 1})
	for _, api := range []fakellm.API{fakellm.Anthropic, fakellm.OpenAI} {
		if status, body := ask(t, s, api); status != http.StatusBadRequest || !strings.Contains(body, "1") {
			t.Errorf("%s: %d %s", api, status, body)
		}
	}
	n, rejected := s.Seen()
	if n != 2 || len(rejected) != 2 {
		t.Fatalf("%d requests, rejected %q", n, rejected)
	}
	for i, want := range []string{
		"anthropic /v1/messages: 400 prompt is too long", "openai /v1/chat/completions: 400 rule 8.1: This model's maximum context length is 1 tokens",
	} {
		if !strings.HasPrefix(rejected[i], want) {
			t.Errorf("rejection %d is %q, want %q", i, rejected[i], want)
		}
	}
}

func ExampleReadScript() {
	steps, err := fakellm.ReadScript(strings.NewReader(`{"text": "Let me see.", "calls": [{"name": "read", "input": {"path": "a.txt"}}]}
{"fault": "overloaded", "times": 2}
{"text": "It says hello."}`))
	fmt.Println(len(steps), err)
	// Output: 3 <nil>
}
