package prompt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sessiond/message"
)

// readMessages takes the messages over, each made valid for itself: what a role can't
// say and what says nothing goes. An empty message of the user gets words; an
// assistant's stays empty for now, as the border of a turn that it is.
func (b *builder) readMessages(msgs []message.Message) {
	for i := range msgs {
		m := &msgs[i]
		if m.Role != message.RoleUser && m.Role != message.RoleAssistant {
			b.repaired("1.5", messageAt(i))
			continue
		}
		d := &draft{given: m, role: m.Role, content: make([]block, 0, len(m.Content))}
		for k, given := range m.Content {
			at := place{i, k}
			kept, ok := b.readBlock(m.Role, given, at)
			if !ok {
				d.changed = true
				continue
			}
			if kept == nil {
				kept = given
			} else {
				d.changed = true
			}
			d.content = append(d.content, block{kept, at})
		}
		b.checkThinking(d, i)
		if len(d.content) == 0 {
			b.repaired("1.7", messageAt(i))
			d.changed = true
			if m.Role == message.RoleUser {
				d.content = append(d.content, block{message.Text{Text: emptyMessage}, made()})
			}
		}
		b.drafts = append(b.drafts, d)
	}
}

// readBlock reports whether a block can stay, and returns what takes its place if it
// can't stay as it is.
func (b *builder) readBlock(role message.Role, given message.Block, at place) (message.Block, bool) {
	speaker := role
	var changed message.Block
	switch g := given.(type) {
	case message.Text:
		if blank(g.Text) {
			b.repaired("1.8", at.String())
			return nil, false
		}
	case message.Image:
		speaker = message.RoleUser
		if role == speaker {
			changed = b.readImage(g, at.String())
		}
	case message.Thinking:
		speaker = message.RoleAssistant
	case message.ToolUse:
		speaker = message.RoleAssistant
		if role == speaker {
			changed = b.readToolUse(g, at)
		}
	case message.ToolResult:
		speaker = message.RoleUser
		if role == speaker {
			changed = b.readToolResult(g, at)
		}
	default: // no block at all
		b.repaired("1.7", at.String())
		return nil, false
	}
	if speaker != role {
		b.repaired("1.5", at.String())
		return nil, false
	}
	return changed, true
}

// readToolUse returns nil, or the call with a name and an input that may be sent back.
func (b *builder) readToolUse(use message.ToolUse, at place) message.Block {
	changed := false
	if !toolName(use.Name) {
		b.repaired("1.17", at.String())
		use.Name, changed = asToolName(use.Name), true
	}
	if !b.memo.knows(use.Input) {
		input, ok := asObject(use.Input)
		if !ok {
			b.repaired("1.16", at.String())
			changed = true
		}
		b.memo.note(input)
		use.Input = input
	}
	if !changed {
		return nil
	}
	return use
}

// readToolResult returns nil, or the result with the content a result may have. One
// that had no content keeps none, which is legal; one that loses all of it says so.
func (b *builder) readToolResult(r message.ToolResult, at place) message.Block {
	var content []message.Block
	changed := false
	for k, given := range r.Content {
		where := fmt.Sprintf("%s.content[%d]", at, k)
		ok := true
		switch g := given.(type) {
		case message.Text:
			if blank(g.Text) {
				b.repaired("1.8", where)
				changed = true
				continue
			}
		case message.Image:
			if img := b.readImage(g, where); img != nil {
				given, changed = img, true
			}
		case message.Thinking, message.ToolUse, message.ToolResult:
			ok = false
		default: // no block at all
			ok = false
		}
		if !ok {
			b.repaired("1.16", where)
			changed = true
			continue
		}
		content = append(content, given)
	}
	if !changed {
		return nil
	}
	if len(content) == 0 {
		content = append(content, message.Text{Text: noOutput})
	}
	r.Content, r.Ref = content, 0
	return r
}

// checkThinking drops the thinking of a message if it can't be sent back whole, or if
// nothing follows it: no answer ends in a thought (rule 4.5).
func (b *builder) checkThinking(d *draft, i int) {
	var first message.Thinking
	count, whole := 0, true
	for k := range d.content {
		th, ok := d.content[k].Block.(message.Thinking)
		if !ok {
			continue
		}
		if count == 0 {
			first = th
		}
		count++
		if th.Provider != first.Provider || (th.Raw == nil) != (first.Raw == nil) || th.Raw != nil && !b.sendable(th.Raw) || k == len(d.content)-1 {
			whole = false
		}
	}
	if count > 0 && !whole {
		b.repaired("4.5", messageAt(i))
		d.dropThinking()
	}
}

// dropThinking reports whether there was any.
func (d *draft) dropThinking() bool {
	var kept []block
	for _, c := range d.content {
		if _, ok := c.Block.(message.Thinking); !ok {
			kept = append(kept, c)
		}
	}
	if len(kept) == len(d.content) {
		return false
	}
	d.content, d.changed = kept, true
	return true
}

const maxToolNameBytes = 64

func toolName(name string) bool {
	return name != "" && len(name) <= maxToolNameBytes && strings.IndexFunc(name, notNameRune) < 0
}

func notNameRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// asToolName makes a name out of what a model called a tool.
func asToolName(name string) string {
	name = strings.Map(func(r rune) rune {
		if notNameRune(r) {
			return '_'
		}
		return r
	}, name)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), maxToolNameBytes)]
}

// asObject reports whether raw is a JSON object that every provider can read, and
// returns the nearest one if not: half surrogate pairs and broken UTF-8 become U+FFFD,
// what is no object becomes an empty one.
func asObject(raw []byte) ([]byte, bool) {
	switch {
	case !isObject(raw):
		return []byte("{}"), false
	case !readable(raw):
		return mend(raw), false
	}
	return raw, true
}

func isObject(raw []byte) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(raw)
}

// sendable reports whether raw is JSON that every provider can read.
func (b *builder) sendable(raw []byte) bool {
	if b.memo.knows(raw) {
		return true
	}
	ok := json.Valid(raw) && readable(raw)
	if ok {
		b.memo.note(raw)
	}
	return ok
}
