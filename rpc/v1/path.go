package v1

import (
	"strconv"
	"strings"
)

// maxSegmentBytes bounds how much of a client's own member name is told back.
const maxSegmentBytes = 64

// in puts a path segment before the error's path. Paths are built on the way out, so
// that a call that is right pays nothing for them.
func (e *ParamError) in(segment string) *ParamError {
	switch {
	case e.Path == "":
		e.Path = segment
	case e.Path[0] == '[':
		e.Path = segment + e.Path
	default:
		e.Path = segment + "." + e.Path
	}
	return e
}

// segment returns a member's name as a path segment: as it is if it is a plain word,
// else in brackets and quotes, and cut if it is long.
func segment(name []byte) string {
	plain := len(name) > 0 && len(name) <= maxSegmentBytes
	for i := 0; plain && i < len(name); i++ {
		b := name[i]
		plain = b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '$'
	}
	if plain {
		return string(name)
	}
	s := string(name)
	if len(s) > maxSegmentBytes {
		s = strings.ToValidUTF8(s[:maxSegmentBytes], "") + "…"
	}
	return "[" + strconv.Quote(s) + "]"
}
