package compaction

import (
	"strings"
	"unicode/utf8"

	"sessiond/message"
)

// Text that the server did not write stands in what it writes: a memory, a user's words,
// an answer, what a tool returned. Wherever lines have a meaning there, such as the
// headings of a summary, no line of such text may be taken for one of the server's.

// lineStartBytes is how much of a line is looked at to tell what it begins.
const lineStartBytes = 160

// quoteLines returns a text in which every line that ours takes for one of the server's
// is marked as a quotation. ours is given the beginning of the line, without what can't
// be seen. It changes nothing else, and nothing when it is done again.
func quoteLines(text string, ours func(line string) bool) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		line := rest
		if end := strings.IndexFunc(rest, endsLine); end >= 0 {
			_, size := utf8.DecodeRuneInString(rest[end:])
			line = rest[:end+size]
		}
		rest = rest[len(line):]
		if ours(lineStart(line)) {
			b.WriteString("> ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// lineStart returns the beginning of a line as it can be seen.
func lineStart(line string) string {
	line = line[:min(len(line), lineStartBytes)]
	if strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
		return line
	}
	return message.OneLine(line)
}

// endsLine reports whether a reader sees what follows on a line of its own.
func endsLine(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// foreign returns a text as it may stand in a section of a summary: it begins no section,
// and has no message of the ledger.
func foreign(text string) string {
	return withoutTag(quoteLines(text, func(line string) bool {
		n, _ := heading(line)
		return n > 0 || titled(line)
	}), ledgerTag)
}

// titled reports whether a line that is marked as a heading has the title of a section,
// with or without its number.
func titled(line string) bool {
	text := strings.TrimSpace(line)
	if !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "**") {
		return false
	}
	bare := strings.TrimLeft(text, "#*0123456789.): \t")
	for n := sectionRequest; n <= sectionNext; n++ {
		if title := sectionTitle(n); len(bare) >= len(title) && strings.EqualFold(bare[:len(title)], title) {
			return true
		}
	}
	return false
}

// withoutTag returns a text in which no tag of that name begins or ends anything.
func withoutTag(text, tag string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '<')
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i+1:]
		name := strings.TrimLeft(text, "/ \t\r\n")
		if len(name) >= len(tag) && strings.EqualFold(name[:len(tag)], tag) {
			b.WriteString("&lt;")
		} else {
			b.WriteByte('<')
		}
	}
}
