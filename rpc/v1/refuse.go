package v1

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanText replaces every control character of a title or name by U+FFFD, so that
// it stays on one line wherever it is shown.
func CleanText(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// refuseString says what is wrong with a string, nothing if it may stand.
func (r *schema) refuseString(value string) string {
	size, unit := len(value), "bytes"
	if r.runes {
		size, unit = utf8.RuneCountInString(value), "characters"
	}
	switch {
	case r.nonempty && size == 0:
		return "must not be empty"
	case r.max != nil && int64(size) > *r.max:
		return fmt.Sprintf("must have at most %d %s", *r.max, unit)
	case r.enum != nil && !slices.Contains(r.enum, value):
		return "must be one of " + strings.Join(r.enum, ", ")
	}
	switch r.format {
	case formatUUID:
		if !isUUID(value) {
			return "must be a UUID"
		}
	case formatToolName:
		if !isToolName(value) {
			return "must be 1 to 64 letters, digits, underscores and hyphens"
		}
	case formatBase64:
		if !isBase64(value) {
			return "must be base64 with padding"
		}
	case formatNone, formatObject, formatSchema:
	}
	return ""
}

// refuseInteger says what is wrong with an integer; fits is false if it is too large
// for n to hold it.
func (r *schema) refuseInteger(n int64, fits bool) string {
	if fits && (r.min == nil || n >= *r.min) && (r.max == nil || n <= *r.max) {
		return ""
	}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if r.min != nil {
		low = *r.min
	}
	if r.max != nil {
		high = *r.max
	}
	return fmt.Sprintf("must be from %d to %d", low, high)
}

// refuseList says what is wrong with a list of so many items, written in so many
// bytes.
func (r *schema) refuseList(items, size int) string {
	switch {
	case r.max != nil && int64(items) > *r.max:
		return fmt.Sprintf("must have at most %d items", *r.max)
	case r.maxBytes != nil && int64(size) > *r.maxBytes:
		return tooLong(*r.maxBytes)
	}
	return ""
}

func tooLong(maxBytes int64) string { return fmt.Sprintf("must have at most %d bytes", maxBytes) }

// isUUID accepts the canonical form in lower case, of any version.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch b := s[i]; i {
		case 8, 13, 18, 23:
			if b != '-' {
				return false
			}
		default:
			if (b < '0' || b > '9') && (b < 'a' || b > 'f') {
				return false
			}
		}
	}
	return true
}

const maxToolNameBytes = 64

func isToolName(s string) bool {
	if s == "" || len(s) > maxToolNameBytes {
		return false
	}
	for i := range len(s) {
		b := s[i]
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
		if !letter && (b < '0' || b > '9') && b != '_' && b != '-' {
			return false
		}
	}
	return true
}

// isBase64 accepts the standard alphabet with padding and without line breaks, which
// the decoder would let pass.
func isBase64(s string) bool {
	if strings.ContainsAny(s, "\r\n") {
		return false
	}
	var buf [3 << 10]byte
	const chunk = 4 << 10 // decodes to what buf holds
	for len(s) > chunk {
		if n, err := base64.StdEncoding.Decode(buf[:], []byte(s[:chunk])); err != nil || n < len(buf) {
			return false // n is less if padding stands in the middle
		}
		s = s[chunk:]
	}
	_, err := base64.StdEncoding.Decode(buf[:], []byte(s))
	return err == nil
}
