package message

import (
	"fmt"
	"strings"
	"time"
)

// Role says who speaks. Tool results are spoken by the user's side.
type Role string

// The two roles; a system prompt is not a message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one entry of a conversation. Its seq is its place in the session's
// log and is given in the transaction that stores it.
type Message struct {
	ID        ID
	Seq       int64
	TurnID    TurnID
	Role      Role
	Content   []Block
	Usage     *Usage // of the model call that made it; nil on user messages
	CreatedAt time.Time
}

// Block is one piece of a message's content. The set is closed.
//
//sumtype:decl
type Block interface {
	block()
}

// Text is plain text, any characters, NUL included.
type Text struct {
	Text string
}

// Image is a picture, its data in standard base64 as it came.
type Image struct {
	MimeType string
	Data     string
}

// Thinking is a model's reasoning. Raw is opaque and only ever kept whole or
// dropped whole: providers sign it. Text is what may be shown of it.
type Thinking struct {
	Provider string
	Text     string
	Raw      []byte // a JSON value, or nil when the provider wants nothing back
}

// ToolUse is a model's request to run a tool. Input is a JSON object, kept byte for
// byte as the model wrote it.
type ToolUse struct {
	ID    ToolUseID
	Name  string
	Input []byte
}

// ToolResult answers the ToolUse with the same id. Its content is Text and Image
// blocks only. A stored tool round keeps the content once, in the entry that
// resolved the call: Ref is then that entry's seq and Content is nil until a reader
// fills it in.
type ToolResult struct {
	ToolUseID ToolUseID
	Content   []Block
	IsError   bool
	Ref       int64
}

func (Text) block()       {}
func (Image) block()      {}
func (Thinking) block()   {}
func (ToolUse) block()    {}
func (ToolResult) block() {}

// Usage counts the tokens of model calls. Input excludes what was read from or
// written to a prompt cache, so that the three sum to the size of the request.
type Usage struct {
	Input        int64   `json:"input"`
	Output       int64   `json:"output"`
	CacheRead    int64   `json:"cache_read"`
	CacheWrite5m int64   `json:"cache_write_5m"`
	CacheWrite1h int64   `json:"cache_write_1h"`
	Reasoning    int64   `json:"reasoning"` // part of Output
	CostUSD      float64 `json:"cost_usd"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:        u.Input + v.Input,
		Output:       u.Output + v.Output,
		CacheRead:    u.CacheRead + v.CacheRead,
		CacheWrite5m: u.CacheWrite5m + v.CacheWrite5m,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h,
		Reasoning:    u.Reasoning + v.Reasoning,
		CostUSD:      u.CostUSD + v.CostUSD,
	}
}

// Tokens is everything a provider counted: the request and the answer.
func (u Usage) Tokens() int64 {
	return u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h + u.Output
}

// ToolUses returns the tool calls of a message in order.
func (m *Message) ToolUses() []ToolUse {
	var calls []ToolUse
	for _, b := range m.Content {
		if call, ok := b.(ToolUse); ok {
			calls = append(calls, call)
		}
	}
	return calls
}

// PlainText joins the text blocks of a message with newlines.
func (m *Message) PlainText() string { return JoinText(m.Content) }

// JoinText joins the text blocks among content with newlines.
func JoinText(content []Block) string {
	var parts []string
	for _, b := range content {
		if t, ok := b.(Text); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Check reports what makes a message one that no provider would accept: an unknown
// role, a block its role can't speak, a tool result after other content, an id that
// appears twice. It names the block by its index. An empty content is legal here;
// whether a request may hold it is decided where requests are built.
func (m *Message) Check() error {
	if m.Role != RoleUser && m.Role != RoleAssistant {
		return fmt.Errorf("role %q is neither user nor assistant", m.Role)
	}
	seen := make(map[ToolUseID]bool)
	plain := false // a block other than a tool result was seen
	for i, b := range m.Content {
		var id ToolUseID
		role := m.Role
		switch b := b.(type) {
		case Text:
			plain = true
		case Image:
			role, plain = RoleUser, true
		case Thinking:
			role = RoleAssistant
		case ToolUse:
			role, id = RoleAssistant, b.ID
		case ToolResult:
			role, id = RoleUser, b.ToolUseID
			if plain {
				return fmt.Errorf("content[%d]: a tool result stands after other content", i)
			}
			if err := checkResultContent(b.Content); err != nil {
				return fmt.Errorf("content[%d]: %w", i, err)
			}
		}
		if role != m.Role {
			return fmt.Errorf("content[%d]: %T can't be spoken by the %s", i, b, m.Role)
		}
		if id != "" && seen[id] {
			return fmt.Errorf("content[%d]: tool_use_id %q appears twice", i, id)
		}
		seen[id] = true
	}
	return nil
}

func checkResultContent(content []Block) error {
	for i, b := range content {
		switch b.(type) {
		case Text, Image:
		case Thinking, ToolUse, ToolResult:
			return fmt.Errorf("content[%d]: a tool result holds text and images only, not %T", i, b)
		}
	}
	return nil
}
