package compaction

import (
	"strconv"
	"strings"
)

// Cut says how a text that is too long is shown: its first Head and last Tail bytes,
// and between them a marker with the tokens that are left out. It is decided once, from
// the whole text, and stored.
type Cut struct {
	Head    int `json:"head"`
	Tail    int `json:"tail"`
	Missing int `json:"missing"` // tokens left out
	Tokens  int `json:"tokens"`  // of what is shown, marker included
	// Images is how many of a tool result's images are shown, from the first.
	Images int `json:"images,omitempty"`
}

// truncated is the marker between head and tail. Its words never change: they are part
// of what a provider's cache has seen.
const truncated = "[...truncated...]"

// render returns the text as the cut shows it. A cut that does not fit the text, which
// a damaged record could hold, shows as much as there is.
func (c Cut) render(text string) string {
	head := min(max(c.Head, 0), len(text))
	tail := min(max(c.Tail, 0), len(text)-head)
	var b strings.Builder
	b.Grow(head + tail + 64)
	b.WriteString(text[:head])
	b.WriteString(marker(c.Missing))
	b.WriteString(text[len(text)-tail:])
	return b.String()
}

func marker(missing int) string {
	return "\n" + truncated + " (" + strconv.Itoa(missing) + " tokens)\n"
}

// cut decides how a text of total tokens is shown within a budget, the two percentages
// of it from the start and the end. The shown text never has more than budget tokens,
// the marker included, as long as the budget holds the marker itself.
func (p *Planner) cut(text string, total, budget, headPercent, tailPercent int) Cut {
	room := max(budget-p.counter.Count(marker(total)), 0)
	head := min(budget*headPercent/100, room*headPercent/(headPercent+tailPercent))
	tail := min(budget*tailPercent/100, room-head)
	first := p.counter.Head(text, head)
	last := p.counter.Tail(text[len(first):], tail)
	c := Cut{Head: len(first), Tail: len(last)}
	c.Missing = max(total-p.counter.Count(first)-p.counter.Count(last), 1)
	c.Tokens = p.counter.Count(c.render(text))
	return c
}

// shorten returns a text as a string of at most limit tokens: whole, or by head and
// tail, or, where not even the marker fits, nothing.
func (p *Planner) shorten(text string, limit int) string {
	if limit <= 0 {
		return ""
	}
	return p.shortenOf(text, p.counter.Count(text), limit)
}

// shortenOf is shorten of a text that is known to have total tokens, so that a long one
// is not counted again.
func (p *Planner) shortenOf(text string, total, limit int) string {
	switch {
	case limit <= 0:
		return ""
	case total <= limit:
		return text
	}
	for budget := limit; budget > 0; budget -= max(budget/16, 1) {
		c := p.cut(text, total, budget, 60, 40)
		if c.Head+c.Tail == 0 {
			return ""
		}
		if c.Tokens <= limit {
			return c.render(text)
		}
	}
	return ""
}
