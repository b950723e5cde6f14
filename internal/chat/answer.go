package chat

import (
	"fmt"
	"strings"
	"unicode/utf8"

	v1 "sessiond/rpc/v1"
)

// labelWidth is how much of something is shown where it is only named, in columns.
const labelWidth = 60

// answer is the message that the model is writing.
type answer struct {
	messageID string
	over      bool // it is in the log, and nothing more comes
	items     map[string]*item
	written   string          // the item of text that was written to last
	text      strings.Builder // what was shown of all its text
	thinking  strings.Builder
	folded    bool // the thinking has its line
	input     int  // characters of tool calls so far
}

// item is a block of it.
type item struct {
	next int64 // the chunk that comes next
	text strings.Builder
}

// streamed takes a piece of an answer. One that does not follow what there is is left out:
// the message will have it.
func (v *View) streamed(d v1.Delta) {
	id, _, _ := strings.Cut(d.ItemID, "/")
	if id != v.answer.messageID {
		v.breakOff("(broken off; it is answered again)")
		v.answer = answer{messageID: id, items: make(map[string]*item)}
	}
	a := &v.answer
	if a.over {
		return
	}
	i := a.items[d.ItemID]
	if i == nil {
		i = new(item)
		a.items[d.ItemID] = i
	}
	if d.From != i.next {
		return
	}
	i.next = d.To
	i.text.WriteString(d.Text)
	switch d.Kind {
	case v1.DeltaThinking:
		a.thinking.WriteString(d.Text)
	case v1.DeltaToolInput:
		v.fold()
		a.input += utf8.RuneCountInString(d.Text)
	case v1.DeltaText:
		v.fold()
		v.write(d.ItemID, d.Text)
	}
}

// catchUp takes what is being streamed as it is when the session is followed anew.
func (v *View) catchUp(o *v1.OpenItem) {
	d := v1.Delta{TurnID: o.TurnID, ItemID: o.ItemID, Kind: o.Kind, To: o.Next, Text: o.Text}
	id, _, _ := strings.Cut(o.ItemID, "/")
	if i := v.answer.items[o.ItemID]; i != nil && id == v.answer.messageID {
		rest, ok := strings.CutPrefix(o.Text, i.text.String())
		if !ok || rest == "" {
			return
		}
		d.From, d.Text = i.next, rest
	}
	v.streamed(d)
}

// write shows text of an answer. Another block begins on another line.
func (v *View) write(itemID, text string) {
	if text == "" {
		return
	}
	a := &v.answer
	if a.written != itemID && a.written != "" && !strings.HasSuffix(a.text.String(), "\n") {
		a.text.WriteByte('\n')
		v.print("\n")
	}
	a.written = itemID
	a.text.WriteString(text)
	v.print(text)
}

// print adds text of an answer to the line that is open.
func (v *View) print(text string) {
	if text == "" {
		return
	}
	if v.cr {
		text = strings.TrimPrefix(text, "\n")
	}
	v.cr = strings.HasSuffix(text, "\r")
	v.begun = true
	rows := strings.Split(harmless(text), "\n")
	for i, row := range rows {
		v.open += row
		if i < len(rows)-1 {
			v.close()
		}
	}
}

func plain(text string) Line { return Line{Spans: []Span{{Plain, text}}} }

// close finishes the line that is open, which may be empty; what waited for that comes
// next.
func (v *View) close() {
	v.lines = append(append(v.lines, plain(v.open)), v.held...)
	v.open, v.held = "", nil
}

// endLine ends the line that is open, if there is one.
func (v *View) endLine() {
	if v.open != "" {
		v.close()
	}
	v.cr = false
}

// fold gives the thinking its line, once it has ended.
func (v *View) fold() {
	a := &v.answer
	if a.folded || a.thinking.Len() == 0 {
		return
	}
	a.folded = true
	v.thought(a.thinking.String())
}

func (v *View) thought(text string) {
	v.emit(cut(span(Dim, fmt.Sprintf("∴ thought, %s: %s", plural(int64(utf8.RuneCountInString(text)), "character", "characters"),
		Head(oneLine(text), labelWidth)))))
}

// finish shows what of a message was not streamed.
func (v *View) finish(m *Message) {
	if v.answer.messageID != m.ID {
		v.breakOff("(broken off; it is answered again)")
		v.answer = answer{messageID: m.ID}
	}
	if a := &v.answer; !a.folded && a.text.Len() == 0 {
		for i := range m.Content {
			if b := &m.Content[i]; b.Type == "thinking" && b.Text != "" {
				v.thought(b.Text)
				break
			}
		}
	}
	whole := m.said()
	rest, ok := strings.CutPrefix(whole, v.answer.text.String())
	if !ok { // a piece in the middle was lost
		v.note("(a part was lost on the way; the whole answer:)")
		rest = whole
	}
	v.print(rest)
	v.endLine()
	v.answer = answer{messageID: m.ID, over: true}
}

// breakOff ends an answer that will not be finished: the attempt is repeated, or the turn
// has ended.
func (v *View) breakOff(why string) {
	if !v.answer.over && v.answer.text.Len() > 0 {
		v.note(why)
	}
	v.endLine()
	v.answer = answer{}
}

// oneLine returns text with every run of white space as one space.
func oneLine(text string) string { return strings.Join(strings.Fields(harmless(text)), " ") }
