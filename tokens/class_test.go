package tokens

import (
	"testing"
	"unicode"
)

// The tables agree with the definitions, for each character.
func TestClasses(t *testing.T) {
	both := []*unicode.RangeTable{unicode.Lm, unicode.Lo, unicode.M}
	c := newClasses()
	for r := range rune(unicode.MaxRune + 1) {
		if r >= 0xd800 && r < 0xe000 {
			continue // can't be in a text
		}
		var want class
		for _, part := range []struct {
			class class
			is    bool
		}{
			{upper, unicode.In(r, append(both, unicode.Lu, unicode.Lt)...)},
			{lower, unicode.In(r, append(both, unicode.Ll)...)},
			{mark, unicode.Is(unicode.M, r)},
			{number, unicode.Is(unicode.N, r)},
			{space, unicode.IsSpace(r) && r != '\r' && r != '\n'},
			{newline, r == '\r' || r == '\n'},
			{other, !unicode.IsSpace(r) && !unicode.In(r, unicode.L, unicode.M, unicode.N)},
		} {
			if part.is {
				want |= part.class
			}
		}
		if k, n := c.at(string(r), 0); k != want || n != len(string(r)) {
			t.Errorf("%U has the class %b, %d bytes long, want %b", r, k, n, want)
		}
	}
}

// The tables are there to be small.
func TestClassesAreSmall(t *testing.T) {
	if n := len(newClasses().cells); n > 128<<10 {
		t.Errorf("%d cells", n)
	}
}
