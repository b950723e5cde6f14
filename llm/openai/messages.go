package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"sessiond/message"
)

// messagesWriter writes the messages of a request. The protocol knows roles where the
// conversation knows blocks, so a message can become several, and neighbours of one
// role become one: chat templates of many models insist that roles alternate.
type messagesWriter struct {
	d    *Dialect
	dst  []byte
	some bool
}

func (d *Dialect) appendMessages(dst []byte, system string, msgs []message.Message) []byte {
	w := &messagesWriter{d: d, dst: dst}
	if system != "" {
		w.begin("system")
		w.dst = append(w.dst, `,"content":`...)
		w.dst = message.AppendString(w.dst, system)
		w.end()
	}
	for len(msgs) > 0 {
		n := 1
		for n < len(msgs) && msgs[n].Role == msgs[0].Role {
			n++
		}
		var content []message.Block
		if n == 1 {
			content = msgs[0].Content
		} else {
			for i := range msgs[:n] {
				content = append(content, msgs[i].Content...)
			}
		}
		if msgs[0].Role == message.RoleAssistant {
			w.assistant(content)
		} else {
			w.user(content)
		}
		msgs = msgs[n:]
	}
	return w.dst
}

func (w *messagesWriter) begin(role string) {
	if w.some {
		w.dst = append(w.dst, ',')
	}
	w.some = true
	w.dst = append(w.dst, `{"role":"`+role+`"`...)
}

func (w *messagesWriter) end() { w.dst = append(w.dst, '}') }

// user writes the tool results first, one message each, then what else was said. A
// tool message holds text only, so the images of results follow with the user's words.
func (w *messagesWriter) user(content []message.Block) {
	var rest []message.Block
	for _, b := range content {
		r, ok := b.(message.ToolResult)
		if !ok {
			continue
		}
		images := imagesOf(r.Content)
		w.begin("tool")
		w.dst = append(w.dst, `,"tool_call_id":`...)
		w.dst = message.AppendString(w.dst, string(r.ToolUseID))
		w.dst = append(w.dst, `,"content":`...)
		w.dst = message.AppendString(w.dst, resultText(r, len(images) > 0))
		w.end()
		if len(images) > 0 {
			rest = append(rest, message.Text{Text: "Images returned by tool call " + string(r.ToolUseID) + ":"})
			rest = append(rest, images...)
		}
	}
	for _, b := range content {
		switch b.(type) {
		case message.Text, message.Image:
			rest = append(rest, b)
		case message.ToolResult, message.ToolUse, message.Thinking:
		}
	}
	if len(rest) > 0 {
		w.begin("user")
		w.dst = append(w.dst, `,"content":`...)
		w.dst = appendContent(w.dst, rest)
		w.end()
	}
}

// resultText is what a tool message says. The protocol has no mark for a failed call.
func resultText(r message.ToolResult, hasImages bool) string {
	text := message.JoinText(r.Content)
	blank := strings.TrimSpace(text) == ""
	switch {
	case blank && hasImages:
		text = "(see the images in the next message)"
	case blank:
		text = "(no output)"
	}
	const mark = "error"
	if r.IsError && (len(text) < len(mark) || !strings.EqualFold(text[:len(mark)], mark)) {
		text = "Error: " + text
	}
	return text
}

func imagesOf(content []message.Block) []message.Block {
	var images []message.Block
	for _, b := range content {
		if img, ok := b.(message.Image); ok {
			images = append(images, img)
		}
	}
	return images
}

// appendContent writes text alone as a string, which every server takes, and text with
// images as parts.
func appendContent(dst []byte, content []message.Block) []byte {
	if len(imagesOf(content)) == 0 {
		return message.AppendString(dst, joinParagraphs(content))
	}
	dst = append(dst, '[')
	for i, b := range content {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch b := b.(type) {
		case message.Text:
			dst = append(dst, `{"type":"text","text":`...)
			dst = message.AppendString(dst, b.Text)
			dst = append(dst, '}')
		case message.Image:
			dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
			dst = message.AppendString(dst, "data:"+b.MimeType+";base64,"+b.Data)
			dst = append(dst, `}}`...)
		case message.Thinking, message.ToolUse, message.ToolResult: // sorted out before
		}
	}
	return append(dst, ']')
}

// joinParagraphs joins texts so that they stay apart.
func joinParagraphs(content []message.Block) string {
	var texts []string
	for _, b := range content {
		if t, ok := b.(message.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// assistant writes one message: text, calls and, where the server wants it, reasoning.
// An answer that was reasoning only has nothing to say.
func (w *messagesWriter) assistant(content []message.Block) {
	text := joinParagraphs(content)
	var uses []message.ToolUse
	var reasoning []byte
	for _, b := range content {
		switch b := b.(type) {
		case message.ToolUse:
			uses = append(uses, b)
		case message.Thinking:
			if members := w.d.returnedMembers(b); members != nil {
				reasoning = members
			}
		case message.Text, message.Image, message.ToolResult:
		}
	}
	if text == "" && len(uses) == 0 {
		return
	}
	w.begin("assistant")
	w.dst = append(w.dst, `,"content":`...)
	if text == "" {
		w.dst = append(w.dst, w.d.noText...)
	} else {
		w.dst = message.AppendString(w.dst, text)
	}
	switch {
	case reasoning != nil:
		w.dst = append(w.dst, ',')
		w.dst = append(w.dst, reasoning...)
	case w.d.reasoning == returnAlways && len(uses) > 0:
		w.dst = append(w.dst, `,"`+memberReasoningContent+`":""`...)
	}
	w.calls(uses)
	w.end()
}

func (w *messagesWriter) calls(uses []message.ToolUse) {
	if len(uses) == 0 {
		return
	}
	w.dst = append(w.dst, `,"tool_calls":[`...)
	for i, use := range uses {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = append(w.dst, `{"id":`...)
		w.dst = message.AppendString(w.dst, string(use.ID))
		w.dst = append(w.dst, `,"type":"function","function":{"name":`...)
		w.dst = message.AppendString(w.dst, use.Name)
		w.dst = append(w.dst, `,"arguments":`...)
		w.dst = message.AppendString(w.dst, string(use.Input))
		w.dst = append(w.dst, `}}`...)
	}
	w.dst = append(w.dst, ']')
}

// returnedMembers are the members, without braces, that a thinking block adds to its
// message, or nil: only to the kind of server that sent it, and only members that hold
// reasoning, whatever the stored value has.
func (d *Dialect) returnedMembers(b message.Thinking) []byte {
	if d.reasoning == returnNothing || b.Provider != d.Name || len(b.Raw) == 0 {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(b.Raw, &members) != nil || len(members) == 0 {
		return nil
	}
	for name := range members {
		switch name {
		case memberReasoningContent, memberReasoning, memberDetails:
		default:
			return nil
		}
	}
	raw := bytes.TrimSpace(b.Raw)
	return raw[1 : len(raw)-1]
}

// imageBytes is the size of all images, which is no measure of their tokens.
func imageBytes(msgs []message.Message) int {
	n := 0
	for i := range msgs {
		n += contentImageBytes(msgs[i].Content)
	}
	return n
}

func contentImageBytes(content []message.Block) int {
	n := 0
	for _, b := range content {
		switch b := b.(type) {
		case message.Image:
			n += len(b.Data)
		case message.ToolResult:
			n += contentImageBytes(b.Content)
		case message.Text, message.Thinking, message.ToolUse:
		}
	}
	return n
}
