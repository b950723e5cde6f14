package terminal

import (
	"strings"

	"charm.land/lipgloss/v2"

	"sessiond/internal/chat"
)

// palette decides how styles look. Bubble Tea would take colours away where they are not
// wanted, but not from what it prints above itself.
type palette struct {
	colours bool
}

// style returns how a style looks. The colours are the terminal's own sixteen, which fit
// its background.
func (p palette) style(s chat.Style) lipgloss.Style {
	none := lipgloss.NewStyle()
	if !p.colours {
		return none.Faint(s == chat.Dim).Bold(s == chat.Strong || s == chat.Over)
	}
	switch s {
	case chat.Dim:
		return none.Faint(true)
	case chat.Strong:
		return none.Bold(true)
	case chat.Accent:
		return none.Foreground(lipgloss.Cyan)
	case chat.Good:
		return none.Foreground(lipgloss.Green)
	case chat.Warn:
		return none.Foreground(lipgloss.Yellow)
	case chat.Bad:
		return none.Foreground(lipgloss.Red)
	case chat.Over:
		return none.Foreground(lipgloss.Magenta).Bold(true)
	case chat.Plain:
	}
	return none
}

// paint returns a span with its style.
func (p palette) paint(s chat.Span) string {
	text := strings.ReplaceAll(s.Text, "\t", strings.Repeat(" ", chat.TabWidth))
	if s.Style == chat.Plain || text == "" {
		return text
	}
	return p.style(s.Style).Render(text)
}

// painted returns the part of a line from one byte of its text to another.
func (p palette) painted(l chat.Line, from, to int) string {
	var b strings.Builder
	for _, s := range l.Spans {
		first, last := min(max(from, 0), len(s.Text)), min(max(to, 0), len(s.Text))
		b.WriteString(p.paint(chat.Span{Style: s.Style, Text: s.Text[first:last]}))
		from, to = from-len(s.Text), to-len(s.Text)
	}
	return b.String()
}
