package message

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Attr is an attribute of a wrapper. Its name is ours and written as it is; its value
// may come from anywhere.
type Attr struct{ Name, Value string }

// Wrap puts text that is data, not instructions, between tags:
//
//	<tag name="value">
//	text
//	</tag>
//
// Neither the text nor a value can end what it stands in: what looks like a closing tag
// of that name loses its "<" to "&lt;", see closing.go, and values are as [EscapeAttr]
// writes them. The rest of the text keeps its bytes; a newline follows it if it has none
// at its end. It takes time in proportion to the text.
func Wrap(tag, text string, attrs ...Attr) string {
	var b strings.Builder
	b.Grow(len(text) + 2*len(tag) + 64)
	b.WriteString("<" + tag)
	for _, a := range attrs {
		b.WriteString(" " + a.Name + `="`)
		writeWithoutClosing(&b, tag, EscapeAttr(a.Value))
		b.WriteByte('"')
	}
	b.WriteString(">\n")
	writeWithoutClosing(&b, tag, text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString("</" + tag + ">")
	return b.String()
}

// EscapeAttr makes a value fit between the quotes of an attribute: what [OneLine] makes
// of it, with entities for quotes, angle brackets and ampersands.
func EscapeAttr(value string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;").Replace(OneLine(value))
}

// OneLine makes a name that may come from anywhere fit on one line and look like what it
// is: control characters and line separators become spaces; what changes the direction
// of text, or can't be seen, is left out. Only joiners, which some scripts need, stay.
// Bytes that are not UTF-8 become U+FFFD.
func OneLine(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	for _, r := range name {
		switch {
		case unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp):
			b.WriteByte(' ')
		case unseen(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unseen reports whether a character leaves no mark of its own.
func unseen(r rune) bool {
	if r < utf8.RuneSelf {
		return false
	}
	const lastOfEmoji = 0xfe0f // the variation selectors after it stand behind ideographs only, and can carry bytes
	return unicode.Is(unicode.Cf, r) && !unicode.In(r, unicode.Join_Control, unicode.Prepended_Concatenation_Mark) ||
		unicode.Is(unicode.Variation_Selector, r) && r > lastOfEmoji
}
