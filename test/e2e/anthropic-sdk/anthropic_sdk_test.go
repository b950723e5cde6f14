//go:build e2e

// Package anthropicsdk_test lets Anthropic's own client for Node.js talk to the strict
// fake of the Messages API: a fake that only our client understands would prove little.
package anthropicsdk_test

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

	fake "sessiond/llm/llmtest/anthropicfake"
)

// lacks skips the test for what is not on this machine, and fails it in CI.
func lacks(t *testing.T, what string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(what, args...)
	}
	t.Skipf(what, args...)
}

func TestAnthropicClient(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		lacks(t, "node is missing: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if _, err := os.Stat("node_modules/@anthropic-ai/sdk/package.json"); err != nil {
		if out, err := exec.CommandContext(ctx, "npm", "install", "--silent", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
			lacks(t, "npm cannot install the package @anthropic-ai/sdk: %v\n%s", err, out)
		}
	}
	s := fake.New(fake.Options{})
	s.Script(
		fake.Say(fake.Thinking("Two cities."), fake.Text("Let me look."),
			fake.ToolUse("call_1", "weather", `{"city": "Rome"}`), fake.Redacted(), fake.ToolUse("call_2", "weather", `{"city":"Oslo"}`)),
		fake.Say(fake.Text("Sunny in both.")),
		fake.Say(fake.ToolUse("call_3", "weather", `{"city":"Bergen"}`)).Pings(1),
		fake.Say(fake.Text("Hello.")),
		fake.RateLimit(time.Second),
		fake.Overloaded(),
		fake.Say(fake.Text("half an answer")).ThenError("overloaded_error", "Overloaded", 3),
	)
	server := httptest.NewServer(s)
	defer server.Close()

	cmd := exec.CommandContext(ctx, node, "conversation.mjs", server.URL)
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
		"text": "Let me look.", "stop": "tool_use", "second": "Sunny in both.", "written": true, "read": true,
		"kinds":    list{"thinking", "text", "tool_use", "redacted_thinking", "tool_use"},
		"calls":    list{list{"call_1", "weather", "Rome"}, list{"call_2", "weather", "Oslo"}},
		"raw":      list{"message_start", "message_delta", "message_stop", `{"city":"Bergen"}`},
		"whole":    "Hello.",
		"tokens":   4.0,
		"models":   true,
		"adaptive": true,
		"failures": list{
			list{"RateLimitError", 429.0, "rate_limit_error"},
			list{"OverloadedError", 529.0, "overloaded_error"},
			list{"APIError", nil, "overloaded_error"},
			list{"BadRequestError", 400.0, "invalid_request_error"},
			list{"BadRequestError", 400.0, "invalid_request_error"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rejected := s.Rejected()
	for _, r := range rejected[:min(len(rejected), 1)] {
		t.Logf("rejected: %.300s", r.Body)
	}
	if len(rejected) != 2 {
		t.Errorf("%d requests broke a rule, the script breaks 2", len(rejected))
	}
}
