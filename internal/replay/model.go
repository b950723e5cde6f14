package replay

import (
	"context"
	"fmt"

	"sessiond/llm"
	"sessiond/message"
)

// Model answers with what was recorded. A request names its conversation by its model;
// where the conversation stands is read off the number of its messages, so a restart
// loses nothing. Where the recording goes on with the user, it answers nothing.
type Model struct {
	conversations map[string]*Conversation
}

// NewModel returns a model for these conversations.
func NewModel(all []*Conversation) *Model {
	m := &Model{conversations: make(map[string]*Conversation, len(all))}
	for _, c := range all {
		m.conversations[c.ID] = c
	}
	return m
}

// Stream implements llm.Model. A recording does not tell what its model calls used, and
// neither does the answer: a server would draw conclusions from it.
func (m *Model) Stream(_ context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	c, ok := m.conversations[req.Model]
	if !ok {
		return nil, &llm.Error{Class: llm.ClassInvalid, Message: fmt.Sprintf("no recording is named %q", req.Model)}
	}
	resp := &llm.Response{Stop: llm.StopEnd}
	at := len(req.Messages)
	if at >= len(c.Messages) || c.Messages[at].Role != message.RoleAssistant {
		return resp, nil
	}
	resp.Content = c.Messages[at].Content
	for i, b := range resp.Content {
		switch b := b.(type) {
		case message.Text:
			emit(llm.Delta{Block: i, Kind: llm.DeltaText, Text: b.Text})
		case message.ToolUse:
			emit(llm.Delta{Block: i, Kind: llm.DeltaToolInput, Text: string(b.Input)})
			resp.Stop = llm.StopToolUse
		case message.Image, message.Thinking, message.ToolResult:
		}
	}
	return resp, nil
}
