package chat

import "strings"

// Style says what a piece of a line is. How that looks is the terminal's business.
type Style int

// The styles.
const (
	Plain  Style = iota
	Dim          // what matters less than the conversation
	Strong       // a heading
	Accent       // what the user said, and what can be typed
	Good         // the band up to 50 %, and what went well
	Warn         // the band up to 80 %
	Bad          // the band up to 100 %, and what went wrong
	Over         // beyond 100 %
)

// Span is a piece of a line in one style. Its text has no line break and no control
// character but tabs.
type Span struct {
	Style Style
	Text  string
}

// Line is one line of output.
type Line struct {
	Spans []Span
	// Cut says that a line that is too long for the terminal is cut, not wrapped: it tells
	// of something, it is not the thing itself.
	Cut bool
	// Indent is how far the rows of a line that is wrapped are moved in, but for the first,
	// in columns.
	Indent int
}

// Text returns the line without styles.
func (l Line) Text() string {
	if len(l.Spans) == 1 {
		return l.Spans[0].Text
	}
	var b strings.Builder
	for _, s := range l.Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// line returns a line in one style; control characters of text become harmless.
func line(s Style, text string) Line {
	return Line{Spans: []Span{span(s, text)}}
}

// span returns a span; control characters of text become harmless, and line breaks
// spaces.
func span(s Style, text string) Span {
	return Span{Style: s, Text: strings.ReplaceAll(harmless(text), "\n", " ")}
}

// cut returns a line that is cut where it is too long.
func cut(spans ...Span) Line { return Line{Spans: spans, Cut: true} }
