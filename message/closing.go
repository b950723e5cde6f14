package message

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A closing tag is taken as a generous reader would: in any case and in the forms of its
// letters that mean the same; with white space, control characters and what can't be seen
// anywhere in it; and with brackets and slashes that only look like them. The readers are
// models, which are trained on text that people write.

// writeWithoutClosing writes text in which no closing tag of a name is left. The bracket
// of one becomes an entity, so that the text can be had back; all else is written as it is.
func writeWithoutClosing(b *strings.Builder, tag, text string) {
	done := 0
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && c != '<' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if opens(r) && closes(text[i+n:], tag) {
			b.WriteString(text[done:i])
			if r == '<' {
				b.WriteString("&lt;")
			} else {
				fmt.Fprintf(b, "&#x%X;", r)
			}
			done = i + n
		}
		i += n
	}
	b.WriteString(text[done:])
}

// closes reports whether what follows a bracket makes it a closing tag. It looks no
// further than the next bracket, so that a text is looked at twice at most.
func closes(after, tag string) bool {
	slash := false
	for _, r := range after {
		switch {
		case ignorable(r):
		case !slash:
			if !slashes(r) {
				return false
			}
			slash = true
		default:
			var ok bool
			if tag, ok = eat(tag, r); !ok {
				return false
			}
			if tag == "" {
				return true
			}
		}
	}
	return false
}

// eat takes a character from the front of a tag's name, whatever form it has. One that
// stands for several takes as many as are left.
func eat(tag string, r rune) (rest string, ok bool) {
	if r < utf8.RuneSelf { // as nearly always
		return tag[1:], unicode.ToLower(r) == unicode.ToLower(rune(tag[0]))
	}
	for _, c := range norm.NFKC.String(string(r)) {
		if tag == "" {
			return "", true
		}
		if !strings.EqualFold(string(c), tag[:1]) {
			return tag, false
		}
		tag = tag[1:]
	}
	return tag, true
}

// opens reports whether a character is, or looks like, the bracket of a tag.
func opens(r rune) bool {
	switch r {
	case '<', '\u02c2', '\u1438', '\u16b2', '\u2039', '\u226e', '\u2329', '\u276c', '\u276e', '\u2770', '\u27e8',
		'\u29fc', '\u3008', '\ufe3f', '\ufe64', '\uff1c', '\U0001d236':
		return true
	}
	return false
}

// slashes reports whether a character is, or looks like, a slash.
func slashes(r rune) bool {
	switch r {
	case '/', '\u1735', '\u2041', '\u2044', '\u2215', '\u2571', '\u27cb', '\u29f8', '\uff0f':
		return true
	}
	return false
}

// ignorable reports whether a reader may pass over a character: white space, controls,
// marks without a form of their own, and bytes that are no character.
func ignorable(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7f
	}
	return r == utf8.RuneError || unicode.In(r, unicode.White_Space, unicode.Z, unicode.Cc, unicode.Cf,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
