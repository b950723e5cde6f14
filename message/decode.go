package message

import (
	"encoding/json"
	"fmt"
	"time"
)

// wireMessage and wireBlock are the union of all members that a stored message or block can have.
type wireMessage struct {
	ID        ID                `json:"id"`
	Seq       int64             `json:"seq"`
	TurnID    TurnID            `json:"turn_id"`
	Role      Role              `json:"role"`
	Content   []json.RawMessage `json:"content"`
	Usage     *Usage            `json:"usage"`
	CreatedAt time.Time         `json:"created_at"`
}

type wireBlock struct {
	Type      string            `json:"type"`
	Text      string            `json:"text"`
	MimeType  string            `json:"mime_type"`
	Data      string            `json:"data"`
	Provider  string            `json:"provider"`
	Raw       json.RawMessage   `json:"raw"`
	ID        ToolUseID         `json:"id"`
	Name      string            `json:"name"`
	Input     json.RawMessage   `json:"input"`
	ToolUseID ToolUseID         `json:"tool_use_id"`
	Content   []json.RawMessage `json:"content"`
	IsError   bool              `json:"is_error"`
	Ref       int64             `json:"ref"`
}

// Decode reads what [Append] wrote. It is meant for stored bodies: what clients
// send is checked more strictly where it comes in. The result shares no memory
// with raw.
func Decode(raw []byte) (*Message, error) {
	var w wireMessage
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	content, err := decodeBlocks(w.Content)
	if err != nil {
		return nil, fmt.Errorf("decode message %s: %w", w.ID, err)
	}
	return &Message{
		ID: w.ID, Seq: w.Seq, TurnID: w.TurnID, Role: w.Role,
		Content: content, Usage: w.Usage, CreatedAt: w.CreatedAt,
	}, nil
}

// DecodeBlocks reads what [AppendBlocks] wrote.
func DecodeBlocks(raw []byte) ([]Block, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, fmt.Errorf("decode blocks: %w", err)
	}
	return decodeBlocks(items)
}

func decodeBlocks(items []json.RawMessage) ([]Block, error) {
	if len(items) == 0 {
		return nil, nil
	}
	blocks := make([]Block, len(items))
	for i, item := range items {
		b, err := decodeBlock(item)
		if err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
		blocks[i] = b
	}
	return blocks, nil
}

func decodeBlock(raw json.RawMessage) (Block, error) {
	var w wireBlock
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, err
	}
	switch w.Type {
	case "text":
		return Text{Text: w.Text}, nil
	case "image":
		return Image{MimeType: w.MimeType, Data: w.Data}, nil
	case "thinking":
		return Thinking{Provider: w.Provider, Text: w.Text, Raw: w.Raw}, nil
	case "tool_use":
		return ToolUse{ID: w.ID, Name: w.Name, Input: w.Input}, nil
	case "tool_result":
		content, err := decodeBlocks(w.Content)
		if err != nil {
			return nil, err
		}
		switch {
		case content != nil: // filled in: what it referred to no longer matters
			w.Ref = 0
		case w.Ref == 0:
			content = []Block{}
		}
		return ToolResult{ToolUseID: w.ToolUseID, Content: content, IsError: w.IsError, Ref: w.Ref}, nil
	default:
		return nil, fmt.Errorf("unknown block type %q", w.Type)
	}
}
