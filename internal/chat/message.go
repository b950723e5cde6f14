package chat

import (
	"fmt"
	"strings"

	v1 "sessiond/rpc/v1"
)

// Message is a message of the log, as far as it is shown.
type Message struct {
	ID      string  `json:"id"`
	Seq     int64   `json:"seq"`
	TurnID  string  `json:"turn_id"`
	Role    v1.Role `json:"role"`
	Content []Block `json:"content"`
}

// Block is a part of a message; which members it has depends on its type.
type Block struct {
	Type      string  `json:"type"`
	Text      string  `json:"text"`      // text, thinking
	MimeType  string  `json:"mime_type"` // image
	ID        string  `json:"id"`        // tool_use
	Name      string  `json:"name"`      // tool_use
	Input     rawJSON `json:"input"`     // tool_use
	ToolUseID string  `json:"tool_use_id"`
	Content   []Block `json:"content"` // tool_result
	IsError   bool    `json:"is_error"`
	Omitted   bool    `json:"omitted"`
	Bytes     int64   `json:"bytes"` // of what was omitted
}

// rawJSON is JSON as it was sent.
type rawJSON string

// UnmarshalJSON implements json.Unmarshaler.
func (r *rawJSON) UnmarshalJSON(raw []byte) error {
	*r = rawJSON(raw)
	return nil
}

// said returns the text of a message. Text blocks that follow each other begin on lines
// of their own.
func (m *Message) said() string {
	var b strings.Builder
	for i := range m.Content {
		if m.Content[i].Type == "text" {
			appendBlock(&b, textOf(&m.Content[i]))
		}
	}
	return b.String()
}

// shown returns what a user's message looks like: text, and a word for each image.
func (m *Message) shown() string {
	var b strings.Builder
	for i := range m.Content {
		switch m.Content[i].Type {
		case "text", "image":
			appendBlock(&b, textOf(&m.Content[i]))
		}
	}
	return b.String()
}

// isResults reports whether a message holds the results of a tool round.
func (m *Message) isResults() bool {
	return len(m.Content) > 0 && m.Content[0].Type == "tool_result"
}

func textOf(b *Block) string {
	switch {
	case b.Omitted:
		return fmt.Sprintf("[%s of %s]", b.Type, bytesText(b.Bytes))
	case b.Type == "image":
		return "[" + b.MimeType + "]"
	}
	return b.Text
}

func resultText(content []Block) string {
	var b strings.Builder
	for i := range content {
		appendBlock(&b, textOf(&content[i]))
	}
	return b.String()
}

// appendBlock adds the text of a block on a line of its own.
func appendBlock(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString(text)
}
