package prompt

import (
	"bytes"
	"unicode/utf8"
)

// readable reports whether valid JSON has neither broken UTF-8 nor half pairs.
func readable(raw []byte) bool { return utf8.Valid(raw) && len(halfPairs(raw)) == 0 }

// halfPairs returns where in valid JSON an escape stands that is half of a surrogate
// pair without the other half: legal by the grammar, refused by those who decode it.
func halfPairs(raw []byte) []int {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return nil
	}
	var at []int
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		first, ok := escaped(raw, i)
		if !ok {
			i++ // a short escape, such as \\
			continue
		}
		start := i
		i += escapeBytes - 1
		switch {
		case isLow(first):
			at = append(at, start)
		case isHigh(first):
			if second, ok := escaped(raw, i+1); ok && isLow(second) {
				i += escapeBytes
			} else {
				at = append(at, start)
			}
		}
	}
	return at
}

const escapeBytes = len(`\uXXXX`)

func isHigh(unit int) bool { return unit >= 0xD800 && unit <= 0xDBFF }
func isLow(unit int) bool  { return unit >= 0xDC00 && unit <= 0xDFFF }

// escaped reads an escape with four digits at i.
func escaped(raw []byte, i int) (unit int, ok bool) {
	if len(raw) < i+escapeBytes || raw[i] != '\\' || raw[i+1] != 'u' {
		return 0, false
	}
	for _, c := range raw[i+2 : i+escapeBytes] {
		unit <<= 4
		switch {
		case c >= '0' && c <= '9':
			unit |= int(c - '0')
		case c >= 'a' && c <= 'f':
			unit |= int(c-'a') + 10
		case c >= 'A' && c <= 'F':
			unit |= int(c-'A') + 10
		default:
			return 0, false
		}
	}
	return unit, true
}

// mend returns valid JSON without half pairs and broken UTF-8, and otherwise with the
// bytes it had.
func mend(raw []byte) []byte {
	out := bytes.Clone(raw)
	for _, i := range halfPairs(out) {
		copy(out[i:], `\ufffd`)
	}
	return bytes.ToValidUTF8(out, []byte("\uFFFD"))
}
