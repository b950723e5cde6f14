package anthropicfake

import (
	"slices"
	"strings"
)

// turn is a run of messages of one role, which count as one.
type turn struct {
	role   string
	blocks []*block
	last   int // index of its last message
}

// checkRoles merges messages into turns and checks who may speak when.
func (r *request) checkRoles() *apiError {
	for _, m := range r.messages {
		if n := len(r.turns); n > 0 && r.turns[n-1].role == m.role {
			r.turns[n-1].blocks = append(r.turns[n-1].blocks, m.blocks...)
			r.turns[n-1].last = m.index
			continue
		}
		r.turns = append(r.turns, turn{role: m.role, blocks: slices.Clone(m.blocks), last: m.index})
	}
	first := r.turns[0]
	if first.role == roleSystem || first.role == roleAssistant && (len(first.blocks) == 0 || first.blocks[0].kind != "compaction") {
		return invalid(`messages: first message must use the "user" role`)
	}
	for i, t := range r.turns {
		if t.role != roleSystem {
			continue
		}
		before := r.turns[i-1]
		if before.role == roleAssistant && (len(before.blocks) == 0 || !before.blocks[len(before.blocks)-1].serverTool()) {
			return invalid("messages.%d: a `system` message must follow a `user` message", t.last)
		}
		if i+1 < len(r.turns) && r.turns[i+1].role != roleAssistant {
			return invalid("messages.%d: a `system` message must be last or be followed by an `assistant` message", t.last)
		}
	}
	return nil
}

func (b *block) serverTool() bool {
	return b.kind == "server_tool_use" || b.kind == "web_search_tool_result"
}

// checkPairs checks that every tool call has its result in the next turn, and every
// result its call in the one before.
func (r *request) checkPairs() *apiError {
	seen := make(map[string]bool)
	for i, t := range r.turns {
		var next, before turn
		if i+1 < len(r.turns) {
			next = r.turns[i+1]
		}
		if i > 0 {
			before = r.turns[i-1]
		}
		if err := checkCalls(t, next, seen); err != nil {
			return err
		}
		if err := checkResults(t, before); err != nil {
			return err
		}
		if err := checkServerTools(t, next); err != nil {
			return err
		}
	}
	return nil
}

func checkCalls(t, next turn, seen map[string]bool) *apiError {
	var missing []string
	answered := leadingResults(next)
	for _, b := range t.blocks {
		if b.kind != "tool_use" {
			continue
		}
		if seen[b.id] {
			return invalid("%s: `tool_use` ids must be unique", b.path)
		}
		seen[b.id] = true
		if !slices.Contains(answered, b.id) {
			missing = append(missing, b.id)
		}
	}
	if len(missing) > 0 {
		return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
			t.last, strings.Join(missing, ", "))
	}
	return nil
}

// leadingResults lists what a turn answers before it says anything else.
func leadingResults(t turn) []string {
	var ids []string
	if t.role != roleUser {
		return nil
	}
	for _, b := range t.blocks {
		if b.kind != "tool_result" {
			break
		}
		ids = append(ids, b.id)
	}
	return ids
}

func checkResults(t, before turn) *apiError {
	answered := make(map[string]bool)
	for _, b := range t.blocks {
		if b.kind != "tool_result" {
			continue
		}
		called := before.role == roleAssistant && slices.ContainsFunc(before.blocks, func(c *block) bool {
			return c.kind == "tool_use" && c.id == b.id
		})
		if !called {
			return invalid("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
				b.path, b.id)
		}
		if answered[b.id] {
			return invalid("%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", b.path, b.id)
		}
		answered[b.id] = true
	}
	return nil
}

// checkServerTools: a call that the server has not finished is answered by nothing
// but tool results.
func checkServerTools(t, next turn) *apiError {
	if next.role != roleUser {
		return nil
	}
	for _, b := range t.blocks {
		if b.kind != "server_tool_use" {
			continue
		}
		done := slices.ContainsFunc(t.blocks, func(c *block) bool {
			if c.kind != "web_search_tool_result" {
				return false
			}
			id, err := c.fields.optionalText("tool_use_id")
			return err == nil && id == b.id
		})
		other := slices.ContainsFunc(next.blocks, func(c *block) bool { return c.kind != "tool_result" })
		if !done && other {
			return invalid("`%s` tool use with id `%s` was found without a corresponding `%s_tool_result` block", b.text, b.id, b.text)
		}
	}
	return nil
}

// checkTools checks what a request says about tools against what it uses of them.
func (r *request) checkTools() *apiError {
	names := make(map[string]bool)
	for _, t := range r.tools {
		if names[t.name] {
			return invalid("tools: Tool names must be unique.")
		}
		names[t.name] = true
	}
	if len(r.tools) == 0 && slices.ContainsFunc(r.turns, turn.usesTools) {
		return invalid("Requests which include `tool_use` or `tool_result` blocks must define tools.")
	}
	switch kind := r.toolChoice.kind; kind {
	case "auto", "none":
		return nil
	case "any", "tool":
		switch {
		case kind == "any" && len(r.tools) == 0:
			return invalid("tool_choice.any may only be specified while providing tools")
		case kind == "tool" && !names[r.toolChoice.name]:
			return invalid("Tool '%s' not found in provided tools", r.toolChoice.name)
		case r.thinking.kind == thinkingEnabled:
			return invalid("Thinking may not be enabled when tool_choice forces tool use.")
		case !r.model.ForcedTools:
			return invalid(`tool_choice: type "tool" and "any" are not supported for this model.`)
		}
		return nil
	default:
		return invalid("tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'", kind)
	}
}

func (t turn) usesTools() bool {
	return slices.ContainsFunc(t.blocks, func(b *block) bool { return b.kind == "tool_use" || b.kind == "tool_result" })
}

// checkEnd checks who has the last word.
func (s *Server) checkEnd(r *request) *apiError {
	last := r.turns[len(r.turns)-1]
	if last.role != roleAssistant {
		return nil
	}
	s.mu.Lock()
	resumed := s.paused[r.end]
	s.mu.Unlock()
	if n := len(last.blocks); resumed || n > 0 && last.blocks[n-1].serverTool() {
		return nil // goes on where the server paused
	}
	if !r.model.Prefill {
		return invalid("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	if r.thinking.on(r.model) {
		return invalid("assistant message prefill is not supported with thinking")
	}
	if n := len(last.blocks); n > 0 && last.blocks[n-1].kind == "text" {
		if text := last.blocks[n-1].text; text != strings.TrimRight(text, " \t\r\n") {
			return invalid("messages: final assistant content cannot end with trailing whitespace")
		}
	}
	return nil
}

// checkSize compares the request with the model's window.
func (s *Server) checkSize(r *request) *apiError {
	switch window := r.model.WindowTokens; {
	case r.tokens > window:
		return invalid("prompt is too long: %d tokens > %d maximum", r.tokens, window)
	case r.model.OutputCounts && r.tokens+r.maxTokens > window:
		return invalid("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again",
			r.tokens, r.maxTokens, window)
	}
	return nil
}
