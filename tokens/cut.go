package tokens

import (
	"math"
	"unicode/utf8"
)

// usualTokenBytes is more than tokens of most texts have.
const usualTokenBytes = 6

// Head returns the longest prefix of text that has at most n tokens, found in time in
// proportion to what it returns. It ends between characters, and between those that are
// seen as one (such as a letter and its accents, or the parts of an emoji) where these
// are of common kinds.
//
// A token and such a cluster may be missing from the longest: the prefix is as long as
// the first n tokens of text if these end between clusters and are n on their own too.
func (e *Encoding) Head(text string, n int) string {
	switch {
	case n <= 0:
		return ""
	case len(text) <= n:
		return text
	}
	t := e.tables()
	if n < len(text)/MaxTokenBytes {
		text = text[:t.clusterStart(text, n*MaxTokenBytes)]
	}
	if utf8.ValidString(text) {
		return t.head(text, n)
	}
	head := t.head(replaceInvalid(text), n)
	return text[:runesEnd(text, utf8.RuneCountInString(head))]
}

// Tail returns the longest suffix of text that has at most n tokens, as [Head] does
// with prefixes.
func (e *Encoding) Tail(text string, n int) string {
	switch {
	case n <= 0:
		return ""
	case len(text) <= n:
		return text
	}
	t := e.tables()
	for size := n*usualTokenBytes + 2*MaxTokenBytes; ; size *= 2 {
		from := t.clusterEnd(text, max(len(text)-size, 0))
		tail := t.tailWithin(text[from:], n)
		// What is read first is not read as it would be with more in front of it.
		if from == 0 || len(text)-from-len(tail) >= MaxTokenBytes {
			return tail
		}
	}
}

// runesEnd returns where the first n characters of text end.
func runesEnd(text string, n int) int {
	end := 0
	for range n {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return end
}

// place is where a piece begins, and the number of tokens before it.
type place struct{ pos, tokens int }

// head is [Encoding.Head] of valid UTF-8.
func (t *tables) head(text string, n int) string {
	w := walk{tables: t, text: text}
	// A cut is tried out from a place that is far enough in front to be between two
	// pieces of the prefix too.
	var from, next place
	for w.pos < len(text) && w.tokens < n {
		if w.pos-next.pos >= 2*maxCluster {
			from, next = next, place{w.pos, w.tokens}
		}
		w.step(n)
	}
	for end := w.pos; ; {
		end = max(t.clusterStart(text, end), from.pos)
		w := walk{tables: t, text: text[:end], pos: from.pos, tokens: from.tokens}
		if w.run(n); w.pos == end {
			return text[:end]
		}
		end = w.pos
	}
}

// tailWithin is [Encoding.Tail], but encodes all of text.
func (t *tables) tailWithin(text string, n int) string {
	if utf8.ValidString(text) {
		return t.tail(text, n)
	}
	fixed := replaceInvalid(text)
	before := fixed[:len(fixed)-len(t.tail(fixed, n))]
	return text[runesEnd(text, utf8.RuneCountInString(before)):]
}

// tail is tailWithin of valid UTF-8.
func (t *tables) tail(text string, n int) string {
	w := walk{tables: t, text: text}
	w.run(math.MaxInt)
	total := w.tokens
	if total <= n {
		return text
	}
	w = walk{tables: t, text: text}
	var from place // the start of the piece that is cut
	for w.tokens < total-n {
		from = place{w.pos, w.tokens}
		w.step(total - n)
	}
	for start := w.pos; ; {
		start = t.clusterEnd(text, start)
		count := total - t.tokensBefore(text, from, start)
		if count <= n {
			return text[start:]
		}
		w := walk{tables: t, text: text, pos: start}
		w.run(count - n)
		start = w.pos
	}
}

// tokensBefore returns by how many tokens text[start:] has fewer than text, given
// a place before start. It goes on from both until they meet, since behind a place
// between two pieces everything is as if the text began there.
func (t *tables) tokensBefore(text string, from place, start int) int {
	whole := walk{tables: t, text: text, pos: from.pos, tokens: from.tokens}
	part := walk{tables: t, text: text, pos: start}
	for whole.pos != part.pos {
		if whole.pos < part.pos {
			whole.step(math.MaxInt)
		} else {
			part.step(math.MaxInt)
		}
	}
	return whole.tokens - part.tokens
}
