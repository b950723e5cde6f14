// Package v1test has valid calls of every method of the contract, for tests that break
// them or make them of a server. It imports nothing, so that the contract's own tests
// can use it; the names of methods are therefore spelled out.
package v1test

import "maps"

// SessionID is the session that the examples are about.
const SessionID = "0197f0d0-0000-7000-8000-000000000001"

const (
	session = `"session_id": "` + SessionID + `"`
	memory  = `"memory_id": "0197f0d0-0000-7000-8000-000000000005"`

	tools = `[
		{"name": "read", "description": "reads a file", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}, "cleanable": true, "reads": "path", "timeout_ms": 60000},
		{"name": "write_2", "description": "", "input_schema": { "type":"object" }}
	]`

	settings = `{"context_tokens_limit": 25000, "auto_compact_buffer_tokens": 13000, "thinking": "off", "max_rounds_per_turn": 200}`
)

// Examples returns valid params for every method, by its name, with every member given
// and none at its default but after_seq; of two that exclude each other only one is given.
func Examples() map[string]string {
	examples := map[string]string{
		"v1.server.info": `{}`,
		"rpc.discover":   `{}`,
	}
	maps.Copy(examples, sessionExamples())
	maps.Copy(examples, conversationExamples())
	maps.Copy(examples, memoryExamples())
	return examples
}

func sessionExamples() map[string]string {
	return map[string]string{
		"v1.session.create": `{"title": "A title", "model": "demo", "system_prompt": "Be brief.",
			"agent": {"name": "coder", "system_prompt": "You write code."}, "agent_prompt": "# AGENT.md",
			"tools": ` + tools + `, "settings": ` + settings + `, "metadata": {"a": [1, {"b": null}]}, "key": "k-1"}`,
		"v1.session.get":  `{` + session + `}`,
		"v1.session.list": `{"limit": 10, "cursor": "abc", "status": "idle"}`,
		"v1.session.update": `{` + session + `, "if_version": 3, "title": "B", "model": "demo", "system_prompt": "x", "agent_prompt": "y",
			"tools": ` + tools + `, "todo_list": [{"content": "Do it", "active_form": "Doing it", "status": "in_progress"}],
			"settings": ` + settings + `, "metadata": {"a": 1.50}, "key": "k-2"}`,
		"v1.session.close":        `{` + session + `, "key": "k"}`,
		"v1.session.open":         `{` + session + `, "key": "k"}`,
		"v1.session.delete":       `{` + session + `, "key": "k"}`,
		"v1.session.fork":         `{` + session + `, "at_seq": 7, "title": "fork", "key": "k"}`,
		"v1.session.compact":      `{` + session + `, "custom_instruction": "Only the decisions.", "dry_run": true, "wait": false, "key": "k"}`,
		"v1.session.undo_compact": `{` + session + `, "key": "k"}`,
		"v1.session.context":      `{` + session + `, "include_view": true}`,
		"v1.session.subscribe":    `{` + session + `, "after_seq": 0, "log_id": "0197f0d0-0000-7000-8000-000000000002", "deltas": false, "events": "progress"}`,
		"v1.session.unsubscribe":  `{` + session + `}`,
		"v1.session.log":          `{` + session + `, "after_seq": 12, "limit": 100}`,
	}
}

func conversationExamples() map[string]string {
	return map[string]string{
		"v1.message.send": `{` + session + `, "content": [{"type": "text", "text": "Look:"}, {"data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==", "mime_type": "image/png", "type": "image"}],
			"attachments": [{"name": "a.txt", "mime_type": "text/plain", "text": ""}, {"name": "b.pdf", "mime_type": "application/pdf", "data": "JVBERg=="}],
			"when_busy": "reject", "key": "k"}`,
		"v1.message.list":       `{` + session + `, "before_seq": 9, "limit": 5}`,
		"v1.message.get":        `{` + session + `, "message_id": "0197f0d0-0000-7000-8000-000000000003"}`,
		"v1.turn.stop":          `{` + session + `, "turn_id": "0197f0d0-0000-7000-8000-000000000004", "clear_queue": true, "key": "k"}`,
		"v1.turn.get":           `{` + session + `, "turn_id": "0197f0d0-0000-7000-8000-000000000004"}`,
		"v1.turn.list":          `{` + session + `, "limit": 5, "cursor": "abc"}`,
		"v1.tool.submit_result": `{` + session + `, "tool_use_id": "call_1", "content": [{"type": "text", "text": ""}], "is_error": true, "claim_token": "t", "key": "k"}`,
		"v1.tool.claim":         `{` + session + `, "tool_use_id": "call_1", "lease_ms": 60000, "claim_token": "t", "key": "k"}`,
	}
}

// One scope needs a session, the other has none but an importance.
func memoryExamples() map[string]string {
	return map[string]string{
		"v1.memory.list":   `{"scope": "session", ` + session + `, "limit": 5, "cursor": "abc"}`,
		"v1.memory.create": `{"scope": "user", "category": "decision", "importance": "high", "title": "Tabs", "content": "Indent with tabs.", "key": "k"}`,
		"v1.memory.update": `{` + memory + `, "category": "learning", "importance": "low", "title": "Spaces", "content": "Or not.", "key": "k"}`,
		"v1.memory.delete": `{` + memory + `, "key": "k"}`,
	}
}
