package compaction

import (
	"strings"

	"sessiond/message"
)

// View is what the model sees of a conversation. Its messages share blocks with the log
// and must not be changed.
type View struct {
	Messages []message.Message
	Summary  int // index of the summary message, or -1
	Pinned   int // index of the pinned request, or -1
	// ThinkingDropped: the last assistant message had thinking that is no longer shown.
	// A model that demands it there needs the rest of the turn with thinking off.
	ThinkingDropped bool
}

// View builds the view: the summary message, the pinned request, and the units from the
// boundary on as the shape shows them. It is a function of the log, the newest active
// record and the shape alone; the same state gives the same bytes.
func (s *State) View() *View {
	boundary := s.boundary()
	first := s.conv.firstItem(boundary)
	v := &View{Summary: -1, Pinned: -1, Messages: make([]message.Message, 0, len(s.conv.items)-first+2)}
	if r := s.Record(); r != nil {
		v.Summary = 0
		v.Messages = append(v.Messages, summaryMessage(r))
		if m, ok := s.pinnedMessage(r); ok {
			v.Pinned = len(v.Messages)
			v.Messages = append(v.Messages, m)
		}
	}
	injected := make(map[int][]*Injection)
	s.eachInjection(boundary, func(item int, in *Injection) { injected[item] = append(injected[item], in) })
	l := s.shape.lens()
	for i := first; i < len(s.conv.items); i++ {
		m, dropped := s.show(l, i, injected[i])
		if m.Role == message.RoleAssistant {
			v.ThinkingDropped = dropped
		}
		if len(m.Content) > 0 {
			v.Messages = append(v.Messages, m)
		}
	}
	return v
}

// show returns a message as it is shown and whether thinking was left out of it. One
// that is shown as it is stored shares the stored content.
func (s *State) show(l lens, item int, injected []*Injection) (m message.Message, thinkingDropped bool) {
	it := &s.conv.items[item]
	m = *it.Message
	m.Usage = nil
	if l.shownAsStored(it) && len(injected) == 0 {
		return m, false
	}
	content := make([]message.Block, 0, len(m.Content)+len(injected))
	for i, b := range m.Content {
		switch b := b.(type) {
		case message.Thinking:
			if m.Seq < l.thinkingFrom {
				thinkingDropped = true
				continue
			}
		case message.Text:
			if blank(b.Text) {
				continue
			}
		case message.ToolResult:
			content = append(content, l.result(s.conv, b, &it.Measure.Blocks[i]))
			continue
		case message.Image, message.ToolUse:
		}
		content = append(content, b)
	}
	for _, in := range injected {
		if in.Text != "" {
			content = append(content, message.Text{Text: in.Text})
		}
	}
	if len(content) == 0 && m.Role == message.RoleUser {
		content = append(content, message.Text{Text: emptyMessage})
	}
	m.Content = content
	return m, thinkingDropped
}

// The words that stand for what has none; no provider takes an empty block.
const (
	emptyMessage = "(empty message)"
	noOutput     = "(no output)"
)

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// shownAsStored reports whether nothing of a message has to change.
func (l lens) shownAsStored(it *Item) bool {
	for i, b := range it.Message.Content {
		switch b := b.(type) {
		case message.Text:
			if blank(b.Text) {
				return false
			}
		case message.Thinking:
			if it.Message.Seq < l.thinkingFrom {
				return false
			}
		case message.ToolResult:
			_, recut := l.cuts[b.ToolUseID]
			if recut || l.cleared[b.ToolUseID] || it.Measure.Blocks[i].Cut != nil || !says(b.Content) {
				return false
			}
		case message.Image, message.ToolUse:
		}
	}
	return len(it.Message.Content) > 0
}

// says reports whether a result's content may be sent as it is.
func says(content []message.Block) bool {
	for _, b := range content {
		if t, ok := b.(message.Text); ok && blank(t.Text) {
			return false
		}
	}
	return len(content) > 0
}

// result returns a tool result as it is shown.
func (l lens) result(c *Conversation, r message.ToolResult, bm *BlockMeasure) message.ToolResult {
	shown := message.ToolResult{ToolUseID: r.ToolUseID, IsError: r.IsError}
	if l.cleared[r.ToolUseID] {
		text := placeholder(c.call(r.ToolUseID), bm.Tokens-callTokens)
		shown.Content = []message.Block{message.Text{Text: text}}
		return shown
	}
	cut, ok := l.cuts[r.ToolUseID]
	if !ok && bm.Cut != nil {
		cut, ok = *bm.Cut, true
	}
	if ok {
		shown.Content = cut.content(r.Content)
		return shown
	}
	for _, b := range r.Content {
		if t, isText := b.(message.Text); isText && blank(t.Text) {
			continue
		}
		shown.Content = append(shown.Content, b)
	}
	if len(shown.Content) == 0 {
		shown.Content = []message.Block{message.Text{Text: noOutput}}
	}
	return shown
}

// content returns a result's content as the cut shows it: its text in one block, then
// the images that stay.
func (c Cut) content(content []message.Block) []message.Block {
	out := []message.Block{message.Text{Text: c.render(message.JoinText(content))}}
	images := 0
	for _, b := range content {
		if img, ok := b.(message.Image); ok && images < c.Images {
			out = append(out, img)
			images++
		}
	}
	return out
}
