package terminal

import (
	"strings"

	"sessiond/internal/chat"
)

// unsettledRows of a line that is still growing may yet be broken elsewhere.
const unsettledRows = 2

// printer turns lines into rows of the terminal.
type printer struct {
	palette
	// printed bytes of the line that is open.
	printed int
}

// take returns the rows that can be printed for good.
func (p *printer) take(v *chat.View, width int) (rows []string) {
	for _, l := range v.Take() {
		rows = append(rows, p.rowsOf(l, p.printed, width)...)
		p.printed = 0
	}
	open := v.Open()
	ends := chat.Wrap(open[p.printed:], width, 0)
	start := p.printed
	for _, end := range ends[:max(0, len(ends)-unsettledRows)] {
		rows = append(rows, p.paint(chat.Span{Text: strings.TrimRight(open[p.printed:start+end], " ")}))
		p.printed = start + end
	}
	return rows
}

// growing returns the rows of the open line that were not printed.
func (p *printer) growing(v *chat.View, width int) []string {
	if v.Open() == "" {
		return nil
	}
	return p.rowsOf(chat.Line{Spans: []chat.Span{{Text: v.Open()}}}, p.printed, width)
}

// rowsOf returns the rows of a line from a byte on.
func (p palette) rowsOf(l chat.Line, from, width int) (rows []string) {
	if l.Cut {
		return []string{p.cutTo(l, width)}
	}
	text := l.Text()
	start, indent := from, ""
	for _, end := range chat.Wrap(text[from:], width, l.Indent) {
		end += from
		rows = append(rows, indent+p.painted(l, start, start+len(strings.TrimRight(text[start:end], " "))))
		start, indent = end, strings.Repeat(" ", l.Indent)
	}
	return rows
}

// cutTo returns a line in one row.
func (p palette) cutTo(l chat.Line, width int) string {
	var b strings.Builder
	for _, s := range l.Spans {
		s.Text = chat.Head(s.Text, width)
		width -= chat.Width(s.Text)
		b.WriteString(p.paint(s))
		if width <= 0 {
			break
		}
	}
	return b.String()
}
