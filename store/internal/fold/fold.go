// Package fold brings texts and queries into the form in which drivers compare them.
//
// # Job
//
// A database's own idea of upper and lower case depends on its locale, or ends with
// ASCII. So texts are folded here, once, when they are indexed, and queries when they
// come; a database only has to find bytes in bytes, and all drivers find the same.
//
// # Invariants
//
// Folding goes rune by rune, so a text contains a word in any case exactly if the
// folded text contains the folded word. What is folded is valid UTF-8 without NUL,
// which every database can store.
package fold

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s in its folded form.
func Text(s string) string { return strings.Map(foldRune, s) }

// foldRune goes by the upper case because some letters have two lower ones: σ and ς.
func foldRune(r rune) rune {
	switch {
	case r == 0:
		return ' '
	case r < utf8.RuneSelf && (r < 'A' || r > 'Z'):
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

// Words returns the folded words of a query, each once. They end at white space; there
// may be none.
func Words(query string) []string {
	words := strings.Fields(Text(query))
	slices.Sort(words)
	return slices.Compact(words)
}

// Contains reports whether a folded text has every one of words.
func Contains(folded string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(folded, w) {
			return false
		}
	}
	return true
}

// Find returns where the longest of words first stands in a text that is not folded,
// as offsets of bytes; both are 0 if it is not there.
func Find(text string, words []string) (start, end int) {
	if len(words) == 0 {
		return 0, 0
	}
	word := []byte(slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) }))
	for i := range text {
		if n := prefix(text[i:], word); n > 0 {
			return i, i + n
		}
	}
	return 0, 0
}

// prefix returns how many bytes of text fold to word, or 0 if text begins otherwise.
func prefix(text string, word []byte) int {
	var buf [utf8.UTFMax]byte
	for i, r := range text {
		if len(word) == 0 {
			return i
		}
		folded := utf8.AppendRune(buf[:0], foldRune(r))
		if !bytes.HasPrefix(word, folded) {
			return 0
		}
		word = word[len(folded):]
	}
	if len(word) > 0 {
		return 0
	}
	return len(text)
}

// Cut returns as much of s as fits into n bytes, without the halves of a rune.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
