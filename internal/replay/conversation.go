// Package replay plays recorded conversations through a real server: the user's
// messages and the tools' results are sent by a client, the model's answers are taken
// from the recording.
//
// A replay can be killed at any moment and started again on the same database: what
// happened so far is read from the session's log, and every call carries an
// idempotency key made from its place in the recording, so nothing is done twice.
// docs/replay.md describes the format of the files.
package replay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"sessiond/message"
	"sessiond/session"
)

// Conversation is a recording in the order in which a server stores it.
type Conversation struct {
	ID       string
	System   string
	Tools    []session.Tool
	Messages []Message
}

// Message is one recorded message. A user's message is either text and images, or the
// results of the calls of the assistant's message before it.
type Message struct {
	Role    message.Role
	Content []message.Block
	At      time.Time // when it was said; zero if the recording does not tell
}

// Calls returns the tool calls of a message.
func (m *Message) Calls() []message.ToolUse {
	return (&message.Message{Content: m.Content}).ToolUses()
}

// Results reports whether the message holds tool results.
func (m *Message) Results() bool {
	if len(m.Content) == 0 {
		return false
	}
	_, ok := m.Content[0].(message.ToolResult)
	return ok
}

// maxLineBytes bounds a line of a file; the largest recorded messages are under 1 MiB.
const maxLineBytes = 64 << 20

type fileHead struct {
	ID     string `json:"id"`
	System string `json:"system"`
	Tools  []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
}

type fileMessage struct {
	Role    message.Role `json:"role"`
	Content []fileBlock  `json:"content"`
	At      string       `json:"at"`
}

type fileBlock struct {
	Type      string            `json:"type"`
	Text      string            `json:"text"`
	ID        message.ToolUseID `json:"id"`
	Name      string            `json:"name"`
	Input     json.RawMessage   `json:"input"`
	ToolUseID message.ToolUseID `json:"tool_use_id"`
	Content   json.RawMessage   `json:"content"`
	IsError   bool              `json:"is_error"`
	MimeType  string            `json:"mime_type"`
	Data      string            `json:"data"`
}

// Read reads a recording. Errors name the line. A user's message that mixes results
// and text is split in two, neighbouring messages of one role are joined, blank text
// is left out: no server stores any of these as they are.
func Read(r io.Reader) (*Conversation, error) {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLineBytes)
	if !scan.Scan() {
		if err := scan.Err(); err != nil {
			return nil, fmt.Errorf("line 1: %w", err)
		}
		return nil, fmt.Errorf("line 1: the file is empty")
	}
	var head fileHead
	if err := json.Unmarshal(scan.Bytes(), &head); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	if head.ID == "" {
		return nil, fmt.Errorf("line 1: the member id is missing")
	}
	c := &Conversation{ID: head.ID, System: head.System}
	for _, t := range head.Tools {
		c.Tools = append(c.Tools, session.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	for line := 2; scan.Scan(); line++ {
		if len(strings.TrimSpace(scan.Text())) == 0 {
			continue
		}
		var m fileMessage
		if err := json.Unmarshal(scan.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if err := c.add(&m); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	if len(c.Messages) == 0 || c.Messages[0].Role != message.RoleUser {
		return nil, fmt.Errorf("the conversation does not begin with a user's message")
	}
	return c, nil
}

// TextFirst returns the conversation as an API keeps it that has one text for each
// answer, before its calls.
func (c *Conversation) TextFirst() *Conversation {
	flat := *c
	flat.Messages = make([]Message, len(c.Messages))
	for i, m := range c.Messages {
		flat.Messages[i] = m
		if m.Role != message.RoleAssistant {
			continue
		}
		var text strings.Builder
		var rest []message.Block
		for _, b := range m.Content {
			if t, ok := b.(message.Text); ok {
				text.WriteString(t.Text)
				continue
			}
			rest = append(rest, b)
		}
		if text.Len() > 0 {
			rest = append([]message.Block{message.Text{Text: text.String()}}, rest...)
		}
		flat.Messages[i].Content = rest
	}
	return &flat
}

// add appends a message as a server stores it.
func (c *Conversation) add(m *fileMessage) error {
	at, _ := time.Parse(time.RFC3339, m.At) // a recording need not tell
	var results, rest []message.Block
	for i, b := range m.Content {
		block, err := b.block(m.Role)
		if err != nil {
			return fmt.Errorf("content[%d]: %w", i, err)
		}
		switch _, isResult := block.(message.ToolResult); {
		case block == nil:
		case isResult:
			results = append(results, block)
		default:
			rest = append(rest, block)
		}
	}
	if len(results) > 0 {
		results, err := c.inCallOrder(results)
		if err != nil {
			return err
		}
		c.Messages = append(c.Messages, Message{m.Role, results, at})
	}
	if len(rest) == 0 {
		return nil
	}
	if n := len(c.Messages); n > 0 && c.Messages[n-1].Role == m.Role && m.Role == message.RoleAssistant {
		last := &c.Messages[n-1]
		if len(last.Calls()) > 0 {
			return fmt.Errorf("the calls of the message before have no results")
		}
		last.Content, last.At = append(last.Content, rest...), at
		return nil
	}
	c.Messages = append(c.Messages, Message{m.Role, rest, at})
	return nil
}

// inCallOrder puts results into the order of the calls they answer.
func (c *Conversation) inCallOrder(results []message.Block) ([]message.Block, error) {
	if len(c.Messages) == 0 {
		return nil, fmt.Errorf("results without calls")
	}
	calls := c.Messages[len(c.Messages)-1].Calls()
	byID := make(map[message.ToolUseID]message.Block, len(results))
	for _, r := range results {
		byID[r.(message.ToolResult).ToolUseID] = r //nolint:forcetypeassert // the caller sorted them out
	}
	if len(calls) != len(results) || len(byID) != len(results) {
		return nil, fmt.Errorf("%d results answer %d calls", len(results), len(calls))
	}
	ordered := make([]message.Block, len(calls))
	for i, call := range calls {
		r, ok := byID[call.ID]
		if !ok {
			return nil, fmt.Errorf("call %s has no result", call.ID)
		}
		ordered[i] = r
	}
	return ordered, nil
}

// block translates a recorded block; blank text is nil.
func (b *fileBlock) block(role message.Role) (message.Block, error) {
	switch {
	case b.Type == "text":
		if strings.TrimSpace(b.Text) == "" {
			return nil, nil //nolint:nilnil // blank text is no block
		}
		return message.Text{Text: b.Text}, nil
	case b.Type == "image" && role == message.RoleUser:
		return message.Image{MimeType: b.MimeType, Data: b.Data}, nil
	case b.Type == "tool_use" && role == message.RoleAssistant:
		return message.ToolUse{ID: b.ID, Name: b.Name, Input: b.Input}, nil
	case b.Type == "tool_result" && role == message.RoleUser:
		content, err := resultContent(b.Content)
		return message.ToolResult{ToolUseID: b.ToolUseID, Content: content, IsError: b.IsError}, err
	}
	return nil, fmt.Errorf("a %s's message holds a block of type %q", role, b.Type)
}

// resultContent reads a result: absent, a string, or blocks.
func resultContent(raw json.RawMessage) ([]message.Block, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return []message.Block{}, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		if text == "" {
			return []message.Block{}, nil
		}
		return []message.Block{message.Text{Text: text}}, nil
	}
	var blocks []fileBlock
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return nil, fmt.Errorf("content is neither a string nor blocks: %w", err)
	}
	content := []message.Block{}
	for i, b := range blocks {
		switch b.Type {
		case "text":
			if b.Text != "" { // the server leaves empty ones out as well
				content = append(content, message.Text{Text: b.Text})
			}
		case "image":
			content = append(content, message.Image{MimeType: b.MimeType, Data: b.Data})
		default:
			return nil, fmt.Errorf("content[%d] has type %q", i, b.Type)
		}
	}
	return content, nil
}
