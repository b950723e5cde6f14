package chat

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// harmless replaces what would command a terminal: models and tools may say anything.
// Line breaks, however they are written, and tabs stay. A carriage return is a line break:
// it would overwrite what was said before.
func harmless(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r) || isBidi(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// isBidi reports whether a character reorders those around it, so that a line reads as
// something that it is not.
func isBidi(r rune) bool { return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }

// TabWidth is the number of columns of a tab, wherever it stands.
const TabWidth = 4

// Width is the number of columns that a terminal shows text in. Wide characters, as
// Chinese has them, take two; what the standard calls ambiguous takes one.
func Width(text string) int { return uniseg.StringWidth(text) + TabWidth*strings.Count(text, "\t") }

// firstCluster cuts the first character, as people see it, off text.
func firstCluster(text string, state int) (cluster, rest string, columns, next int) {
	cluster, rest, columns, next = uniseg.FirstGraphemeClusterInString(text, state)
	if cluster == "\t" {
		columns = TabWidth
	}
	return cluster, rest, columns, next
}

// ellipsis stands where text was cut.
const ellipsis = "…"

// Head returns the beginning of text in at most width columns, with an ellipsis if
// something is missing.
func Head(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	used, end, state := 0, 0, -1
	for rest := text; rest != ""; {
		cluster, after, columns, next := firstCluster(rest, state)
		if used+columns > width-1 {
			break
		}
		used, end = used+columns, end+len(cluster)
		rest, state = after, next
	}
	return text[:end] + ellipsis
}

// tail returns the end of text in at most width columns, with an ellipsis if something is
// missing.
func tail(text string, width int) string {
	columns := Width(text)
	if columns <= width {
		return text
	}
	state := -1
	for text != "" && columns > width-1 {
		var lost int
		_, text, lost, state = firstCluster(text, state)
		columns -= lost
	}
	return ellipsis + text
}

// pad fills text with spaces up to width columns.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}

// padLeft fills text with spaces before it up to width columns.
func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-Width(text))) + text
}

// Wrap breaks text, which has no line break, into rows of at most width columns, all but
// the first of them less by indent, and returns where each row ends. Lines are broken where Unicode allows it (between any two
// Chinese characters, but not before a full stop), and words that are too long anywhere.
// Spaces at the end of a row may stand out of it.
//
// More text at the end changes no row but the last two, so that the rows before them may
// be printed while the text is still growing.
func Wrap(text string, width, indent int) (ends []int) {
	at := wrapping{width: max(width, TabWidth), rest: max(width-indent, TabWidth)} // what is widest has to fit
	state := -1
	for rest := text; rest != ""; {
		var segment string
		segment, rest, _, state = uniseg.FirstLineSegmentInString(rest, state)
		word := strings.TrimRight(segment, " ")
		if at.used > 0 && at.used+Width(word) > at.width {
			at.nextRow()
		}
		at.add(word)
		at.used += len(segment) - len(word)
		at.end += len(segment) - len(word)
	}
	return append(at.ends, at.end)
}

// wrapping is a place in a row: used columns of width, end bytes into the text.
type wrapping struct {
	used, end   int
	width, rest int // of this row, and of those after it
	ends        []int
}

func (w *wrapping) nextRow() {
	w.ends = append(w.ends, w.end)
	w.used, w.width = 0, w.rest
}

// add puts a word into the row, and breaks it if it is longer than one.
func (w *wrapping) add(word string) {
	state := -1
	for word != "" {
		var cluster string
		var columns int
		cluster, word, columns, state = firstCluster(word, state)
		if w.used > 0 && w.used+columns > w.width {
			w.nextRow()
		}
		w.used += columns
		w.end += len(cluster)
	}
}
