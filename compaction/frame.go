package compaction

import (
	"strings"

	"sessiond/message"
)

// The frame of a summary message says what it is: written by the server, about the
// past, asking for nothing.
const (
	frameOpening = "[Context notice from the server, not from the user] Earlier messages of this conversation were replaced by the notes below. " +
		"The messages after this one are verbatim; history_search finds the replaced ones word for word. " +
		"The notes are a record of what happened and ask for nothing."
	summaryTag = "conversation_summary"
)

// summaryText is the text of a record's summary message.
func summaryText(r *Record) string {
	var b strings.Builder
	b.WriteString(frameOpening)
	b.WriteString("\n\n")
	b.WriteString(message.Wrap(summaryTag, joinSections(withLedger(r.sections(), r.Ledger.Text))))
	return b.String()
}

// summaryMessage is the message that stands for what left the view.
func summaryMessage(r *Record) message.Message {
	content := make([]message.Block, 0, 1+len(r.Attachments))
	content = append(content, message.Text{Text: r.Text})
	for _, a := range r.Attachments {
		if a.Text != "" {
			content = append(content, message.Text{Text: a.Text})
		}
	}
	return message.Message{Role: message.RoleUser, Content: content}
}
