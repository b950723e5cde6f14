package compaction

import (
	"unicode"
	"unicode/utf8"
)

// A cut must not fall inside a rune, and where it is cheap not inside what people see
// as one character: a letter and its accents, an emoji and its modifiers, a flag, a line
// break of two bytes. Only the runes around the cut are looked at; a run of combining
// marks longer than maxCluster is cut all the same.
const maxCluster = 32

// clusterStart moves a cut at byte i back to a place between characters.
func clusterStart(text string, i int) int {
	from := runeStart(text, i)
	at := from
	for range maxCluster {
		if !joined(text, at) {
			return at
		}
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return from
}

// clusterEnd moves a cut at byte i forward to a place between characters.
func clusterEnd(text string, i int) int {
	from := i
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	at := from
	for range maxCluster {
		if !joined(text, at) {
			return at
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return from
}

// runeStart moves i back to the start of the rune it lies in; in a text that is no
// UTF-8 it stays.
func runeStart(text string, i int) int {
	if i >= len(text) {
		return len(text)
	}
	for at := i; at > 0 && i-at < utf8.UTFMax; at-- {
		if utf8.RuneStart(text[at]) {
			return at
		}
	}
	return i
}

// joined reports whether the runes on both sides of byte i make one character.
func joined(text string, i int) bool {
	if i <= 0 || i >= len(text) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i:])
	const zeroWidthJoiner = '\u200d'
	switch {
	case before == '\r' && after == '\n':
		return true
	case after < 0x300: // no mark, joiner, modifier or flag is below
		return false
	case before == zeroWidthJoiner || after == zeroWidthJoiner:
		return true
	case unicode.In(after, unicode.Mn, unicode.Mc, unicode.Me) || after >= 0x1f3fb && after <= 0x1f3ff:
		return true
	case flagHalf(before) && flagHalf(after):
		return flagHalvesBefore(text[:i])%2 == 1
	}
	return false
}

func flagHalf(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

func flagHalvesBefore(text string) int {
	n := 0
	for n < maxCluster {
		r, size := utf8.DecodeLastRuneInString(text)
		if !flagHalf(r) {
			break
		}
		text = text[:len(text)-size]
		n++
	}
	return n
}
