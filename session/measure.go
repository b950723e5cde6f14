package session

import (
	"encoding/base64"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/tokens"
)

// measure counts a message; calls are those that it answers. It may be called by any
// goroutine, and takes time in proportion to the message.
func (m *Manager) measure(msg *message.Message, calls []message.ToolUse) compaction.Measure {
	return m.planner.Measure(msg, calls, m.imageTokens)
}

// measureContent counts what a user is about to send.
func (m *Manager) measureContent(content []message.Block) compaction.Measure {
	return m.measure(&message.Message{Role: message.RoleUser, Content: content}, nil)
}

// imageTokens counts a picture by the formula of the provider, from its header.
func (m *Manager) imageTokens(img message.Image) int {
	count := m.imageFormula()
	head := img.Data[:min(len(img.Data), maxImageHeader)&^3]
	raw, err := base64.StdEncoding.DecodeString(head)
	if err != nil {
		return count(0, 0)
	}
	w, h, err := tokens.ImageSize(img.MimeType, raw)
	if err != nil {
		if raw, err = base64.StdEncoding.DecodeString(img.Data); err == nil {
			w, h, _ = tokens.ImageSize(img.MimeType, raw)
		}
	}
	return count(w, h)
}

const (
	providerOpenAI = "openai"
	// maxImageHeader is how much of an image's base64 is enough to find its size, but for
	// jpegs with large metadata.
	maxImageHeader = 64 << 10
)

// measureRound counts the results of a tool round that is complete, and decides what is
// shown of those that do not fit together.
func (a *actor) measureRound(t *turnRun, m *message.Message) compaction.Measure {
	calls := make([]message.ToolUse, len(t.calls))
	for i, c := range t.calls {
		calls[i] = c.use
	}
	room := a.m.planner.RoundRoom(a.history.state, a.situation(t.settings))
	return a.m.planner.MeasureRound(m, calls, room, a.m.imageTokens)
}
