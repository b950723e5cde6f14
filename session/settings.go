package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sessiond/llm"
	"sessiond/message"
)

// Settings is what clients set on a session. A value is never changed once it is in
// use; a change makes a new one, so that snapshots can share it.
type Settings struct {
	Model        string          `json:"model"`
	SystemPrompt string          `json:"system_prompt,omitempty"`
	Agent        *Agent          `json:"agent,omitempty"`
	AgentPrompt  string          `json:"agent_prompt,omitempty"`
	Tools        []Tool          `json:"tools,omitempty"`
	TodoList     []Todo          `json:"todo_list,omitempty"`
	Limits       Limits          `json:"settings"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
	ForkedFrom   *ForkedFrom     `json:"forked_from,omitempty"`
}

// Agent is the definition a session was created for. Its system prompt goes before
// the session's own.
type Agent struct {
	Name         string `json:"name"`
	SystemPrompt string `json:"system_prompt"`
}

// Tool is a tool that clients run for the model.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cleanable   *bool           `json:"cleanable,omitempty"`
	Reads       string          `json:"reads,omitempty"`
	TimeoutMS   int64           `json:"timeout_ms,omitempty"`
}

// Todo is one item of a session's plan.
type Todo struct {
	Content    string `json:"content"`
	ActiveForm string `json:"active_form"`
	Status     string `json:"status"` // pending, in_progress or completed
}

// Limits are the settings a client may give a single session. Nil means: as the
// server is configured.
type Limits struct {
	ContextTokensLimit      *int64  `json:"context_tokens_limit,omitempty"`
	AutoCompactBufferTokens *int64  `json:"auto_compact_buffer_tokens,omitempty"`
	Thinking                *string `json:"thinking,omitempty"`
	MaxRoundsPerTurn        *int64  `json:"max_rounds_per_turn,omitempty"`
}

// ForkedFrom says where a session was forked.
type ForkedFrom struct {
	SessionID message.SessionID `json:"session_id"`
	Seq       int64             `json:"seq"`
}

// tool finds a registered tool.
func (s *Settings) tool(name string) (Tool, bool) {
	for _, t := range s.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// checkModel refuses a model that is not offered.
func (s *Settings) checkModel(models []string) error {
	if !slices.Contains(models, s.Model) {
		return errInvalid("model", fmt.Sprintf("%q is not offered; v1.server.info lists the models", s.Model))
	}
	return nil
}

// check refuses what the strict decoding of params can't know.
func (s *Settings) check() error {
	seen := make(map[string]bool, len(s.Tools))
	for i, t := range s.Tools {
		path := fmt.Sprintf("tools[%d]", i)
		switch {
		case isBuiltin(t.Name):
			return errInvalid(path+".name", fmt.Sprintf("%q is a built-in tool", t.Name))
		case seen[t.Name]:
			return errInvalid(path+".name", fmt.Sprintf("%q appears twice", t.Name))
		case !json.Valid(t.InputSchema):
			return errInvalid(path+".input_schema", "is no JSON")
		}
		seen[t.Name] = true
	}
	if s.Metadata != nil && !json.Valid(s.Metadata) {
		return errInvalid("metadata", "is no JSON")
	}
	return nil
}

// compacted returns the settings as they are read back from the store, which keeps JSON
// without white space: what a model is shown must not change by a restart.
func (s *Settings) compacted() *Settings {
	c := *s
	c.Tools = slices.Clone(s.Tools)
	for i := range c.Tools {
		c.Tools[i].InputSchema = compact(c.Tools[i].InputSchema)
	}
	c.Metadata = compact(c.Metadata)
	return &c
}

func compact(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	return encode(raw)
}

// systemPrompt is what the model is told first: the agent definition's prompt if the
// session has one, else the session's, else the server's.
func (s *Settings) systemPrompt(fallback string) string {
	prompt := fallback
	switch {
	case s.Agent != nil && s.Agent.SystemPrompt != "":
		prompt = s.Agent.SystemPrompt
	case s.SystemPrompt != "":
		prompt = s.SystemPrompt
	}
	return prompt
}

// modelTools are the tools the model is offered: the session's in their order, then
// the built-in ones.
func (s *Settings) modelTools(builtin []llm.Tool) []llm.Tool {
	tools := make([]llm.Tool, 0, len(s.Tools)+len(builtin))
	for _, t := range s.Tools {
		tools = append(tools, llm.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	return append(tools, builtin...)
}

// thinking is how much the model is to reason.
func (s *Settings) thinking(fallback llm.ThinkingLevel) llm.ThinkingLevel {
	if s.Limits.Thinking != nil {
		return llm.ThinkingLevel(*s.Limits.Thinking)
	}
	return fallback
}

func (t *Tool) timeout(fallback time.Duration) time.Duration {
	if t.TimeoutMS > 0 {
		return time.Duration(t.TimeoutMS) * time.Millisecond
	}
	return fallback
}

// encode writes v as JSON without HTML escaping. The types it is used for hold
// nothing that can't be encoded, so an error is a programming fault.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("session: encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
