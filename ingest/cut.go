package ingest

import (
	"strconv"
	"strings"
)

// Cut says how a text that is longer than it may be is shown: its first Head and last
// Tail bytes, and between them a marker with the tokens that are left out. It is decided
// once, from the whole text, and holds for the text of the block, wrapper and all.
type Cut struct {
	Head    int // bytes
	Tail    int // bytes
	Missing int // tokens left out
	Tokens  int // of what is shown, marker included
}

// Render returns the text of the block as the cut shows it. A cut that does not fit the
// text shows as much as there is.
func (c Cut) Render(text string) string {
	head := min(max(c.Head, 0), len(text))
	tail := min(max(c.Tail, 0), len(text)-head)
	var b strings.Builder
	b.Grow(head + tail + 64)
	b.WriteString(text[:head])
	b.WriteString(marker(c.Missing))
	b.WriteString(text[len(text)-tail:])
	return b.String()
}

// marker stands for what is left out. It is the same as that of tool results which are
// cut, and part of what a provider's cache has seen.
func marker(missing int) string {
	return "\n[...truncated...] (" + strconv.Itoa(missing) + " tokens)\n"
}

// headShare is how much of what is shown is the beginning: three quarters, as with tool
// results.
const headShare = 75 // percent

// cut decides how the document is shown in at most limit tokens. Its tags are always
// shown. It returns false if not even they and the marker fit.
func (d *document) cut(c Counter, limit int) (Cut, bool) {
	body := d.whole[d.open : len(d.whole)-d.close]
	bodyTokens := c.Count(body)
	for room := limit - d.frame(c); room > 0; room -= max(room/16, 1) {
		head := c.Head(body, room*headShare/100)
		tail := c.Tail(body[len(head):], room-room*headShare/100)
		cut := Cut{Head: d.open + len(head), Tail: d.close + len(tail)}
		cut.Missing = max(bodyTokens-c.Count(head)-c.Count(tail), 1)
		cut.Tokens = c.Count(cut.Render(d.whole))
		if cut.Tokens <= limit { // what is put together may have more tokens than its parts
			return cut, true
		}
	}
	return Cut{}, false
}

// frame is what the tags and the marker take.
func (d *document) frame(c Counter) int {
	return c.Count(Cut{Head: d.open, Tail: d.close, Missing: d.tokens}.Render(d.whole))
}
