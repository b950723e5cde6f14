package v1

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

// examples has valid params for every method, with every member given and none at
// its default. Tests break them in every way.
func examples() map[string]string {
	const session = `"session_id": "0197f0d0-0000-7000-8000-000000000001"`
	const tools = `[
		{"name": "read", "description": "reads a file", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}, "cleanable": true, "reads": "path", "timeout_ms": 60000},
		{"name": "write_2", "description": "", "input_schema": { "type":"object" }}
	]`
	const settings = `{"context_tokens_limit": 25000, "auto_compact_buffer_tokens": 13000, "thinking": "off", "max_rounds_per_turn": 200}`
	return map[string]string{
		MethodServerInfo: `{}`,
		MethodSessionCreate: `{"title": "A title", "model": "demo", "system_prompt": "Be brief.",
			"agent": {"name": "coder", "system_prompt": "You write code."}, "agent_prompt": "# AGENT.md",
			"tools": ` + tools + `, "settings": ` + settings + `, "metadata": {"a": [1, {"b": null}]}, "key": "k-1"}`,
		MethodSessionGet:  `{` + session + `}`,
		MethodSessionList: `{"limit": 10, "cursor": "abc", "status": "idle"}`,
		MethodSessionUpdate: `{` + session + `, "if_version": 3, "title": "B", "model": "demo", "system_prompt": "x", "agent_prompt": "y",
			"tools": ` + tools + `, "todo_list": [{"content": "Do it", "active_form": "Doing it", "status": "in_progress"}],
			"settings": ` + settings + `, "metadata": {"a": 1.50}, "key": "k-2"}`,
		MethodSessionClose:       `{` + session + `, "key": "k"}`,
		MethodSessionOpen:        `{` + session + `, "key": "k"}`,
		MethodSessionDelete:      `{` + session + `, "key": "k"}`,
		MethodSessionFork:        `{` + session + `, "at_seq": 7, "title": "fork", "key": "k"}`,
		MethodSessionSubscribe:   `{` + session + `, "after_seq": 0, "log_id": "0197f0d0-0000-7000-8000-000000000002", "deltas": false, "events": "progress"}`,
		MethodSessionUnsubscribe: `{` + session + `}`,
		MethodSessionLog:         `{` + session + `, "after_seq": 12, "limit": 100}`,
		MethodMessageSend: `{` + session + `, "content": [{"type": "text", "text": "Look:"}, {"data": "iVBORw==", "mime_type": "image/png", "type": "image"}],
			"attachments": [{"name": "a.txt", "mime_type": "text/plain", "text": ""}, {"name": "b.pdf", "mime_type": "application/pdf", "data": "JVBERg=="}],
			"when_busy": "reject", "key": "k"}`,
		MethodMessageList:      `{` + session + `, "before_seq": 9, "limit": 5}`,
		MethodMessageGet:       `{` + session + `, "message_id": "0197f0d0-0000-7000-8000-000000000003"}`,
		MethodTurnStop:         `{` + session + `, "turn_id": "0197f0d0-0000-7000-8000-000000000004", "clear_queue": true, "key": "k"}`,
		MethodTurnGet:          `{` + session + `, "turn_id": "0197f0d0-0000-7000-8000-000000000004"}`,
		MethodTurnList:         `{` + session + `, "limit": 5, "cursor": "abc"}`,
		MethodToolSubmitResult: `{` + session + `, "tool_use_id": "call_1", "content": [{"type": "text", "text": ""}], "is_error": true, "claim_token": "t", "key": "k"}`,
		MethodToolClaim:        `{` + session + `, "tool_use_id": "call_1", "lease_ms": 60000, "claim_token": "t", "key": "k"}`,
		MethodDiscover:         `{}`,
	}
}

func newTestRegistry(tb testing.TB) *Registry {
	tb.Helper()
	r, err := NewRegistry(DefaultLimits())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// decodeAny decodes the params of a method known only at run time.
func decodeAny(r *Registry, m Method, raw string) (any, error) {
	v := reflect.New(m.Params).Elem()
	c := cursor{data: []byte(raw)}
	if err := c.structure(r.params[m.Params], v); err != nil {
		return nil, err
	}
	if !c.end() {
		return nil, malformed()
	}
	return v.Interface(), nil
}

// wantPath checks that err blames the member at path.
func wantPath(t *testing.T, err error, path string) {
	t.Helper()
	var bad *ParamError
	if !errors.As(err, &bad) {
		t.Errorf("got error %v, want a *ParamError with path %q", err, path)
		return
	}
	if bad.Path != path {
		t.Errorf("got path %q (%s), want %q", bad.Path, bad.Reason, path)
	}
	if bad.Reason == "" {
		t.Error("the error gives no reason")
	}
}

func parse(t *testing.T, raw string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

func unparse(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
