//go:build e2e

// Package openaisdk_test lets OpenAI's own client for Node.js talk to the strict fake of
// Chat Completions: a fake that only our client understands would prove little.
package openaisdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest/openaifake"
)

// lacks skips the test for what is not on this machine, and fails it in CI.
func lacks(t *testing.T, what string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(what, args...)
	}
	t.Skipf(what, args...)
}

func TestOpenAIClient(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		lacks(t, "node is missing: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if _, err := os.Stat("node_modules/openai/package.json"); err != nil {
		if out, err := exec.CommandContext(ctx, "npm", "install", "--silent", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
			lacks(t, "npm cannot install the package openai: %v\n%s", err, out)
		}
	}
	fake := openaifake.New(openaifake.Options{})
	fake.Script(
		openaifake.Calls("Let me look.",
			openaifake.Call{ID: "call_1", Name: "weather", Arguments: `{"city":"Rome"}`},
			openaifake.Call{ID: "call_2", Name: "weather", Arguments: `{"city":"Oslo"}`}),
		openaifake.Text("Sunny in both."),
		openaifake.Calls("", openaifake.Call{ID: "call_3", Name: "weather", Arguments: `{"city":"Bergen"}`}),
		openaifake.Text("Wet, as ever."),
		openaifake.Text("Hello."),
		openaifake.RateLimited(time.Second),
		openaifake.Text("half an answer").Break(openaifake.ErrorObject, 2),
	)
	server := httptest.NewServer(fake)
	defer server.Close()

	cmd := exec.CommandContext(ctx, node, "conversation.mjs", server.URL+"/v1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	type list = []any
	want := map[string]any{
		"text": "Let me look.", "finish": "tool_calls", "usage": true, "second": "Sunny in both.",
		"calls":     list{list{"call_1", "weather", "Rome"}, list{"call_2", "weather", "Oslo"}},
		"loop":      list{"Wet, as ever.", "Bergen"},
		"whole":     "Hello.",
		"models":    true,
		"retrieved": "gpt-4o",
		"failures": list{
			list{"RateLimitError", 429.0, "rate_limit_exceeded"},
			list{"APIError", nil, nil},
			list{"BadRequestError", 400.0, "context_length_exceeded"},
			list{"BadRequestError", 400.0, nil},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rejected := fake.Rejected(); len(rejected) != 2 {
		t.Errorf("%d requests broke a rule, the script breaks 2", len(rejected))
	}
}
