package prompt

import (
	"encoding/json"
	"fmt"
	"slices"

	"sessiond/llm"
	"sessiond/message"
)

// checkTools returns tools with valid schemas and names of their own (rule 1.17), and
// at least one where the conversation has tool calls (rule 1.19).
func (b *builder) checkTools(tools []llm.Tool) []llm.Tool {
	names := make(map[string]bool, len(tools))
	var out []llm.Tool
	for i, t := range tools {
		where := fmt.Sprintf("tools[%d]", i)
		if !toolName(t.Name) || names[t.Name] {
			b.repaired("1.17", where)
			continue
		}
		names[t.Name] = true
		if schema, ok := asSchema(t.InputSchema); !ok {
			b.repaired("1.17", where)
			t.InputSchema = schema
		}
		out = append(out, t)
	}
	if name, ok := b.firstCall(); ok && len(out) == 0 {
		b.repaired("1.19", "tools")
		out = append(out, llm.Tool{
			Name: name, Description: "No longer available; do not call it.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		})
	}
	return out
}

// firstCall returns the name of the first tool that the conversation has a call of.
// The stub made of it does not change while the conversation grows.
func (b *builder) firstCall() (string, bool) {
	for _, d := range b.drafts {
		for _, c := range d.content {
			if use, ok := c.Block.(message.ToolUse); ok {
				return use.Name, true
			}
		}
	}
	return "", false
}

// asSchema reports whether raw is a schema of an object, and returns the nearest one if
// not.
func asSchema(raw json.RawMessage) (json.RawMessage, bool) {
	const anything = `{"type":"object","properties":{}}`
	var members map[string]json.RawMessage
	if !isObject(raw) || !readable(raw) || json.Unmarshal(raw, &members) != nil {
		return json.RawMessage(anything), false
	}
	kind, given := members["type"]
	switch {
	case string(kind) == `"object"`:
		return raw, true
	case given || len(members) == 0:
		return json.RawMessage(anything), false
	}
	brace := slices.Index(raw, '{')
	return slices.Concat(json.RawMessage(`{"type":"object",`), raw[brace+1:]), false
}
