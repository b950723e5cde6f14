package tokens

import (
	"regexp"
	"testing"
	"unicode"
)

func TestClasses(t *testing.T) {
	patterns := []struct {
		class class
		in    string
	}{
		{upper, `\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}`},
		{lower, `\p{Ll}\p{Lm}\p{Lo}\p{M}`},
		{mark, `\p{M}`},
		{number, `\p{N}`},
		{newline, `\r\n`},
	}
	c := newClasses()
	for _, p := range patterns {
		re := regexp.MustCompile(`^[` + p.in + `]$`)
		for r := range rune(unicode.MaxRune + 1) {
			if r >= 0xd800 && r < 0xe000 {
				continue // can't be in a text
			}
			k, n := c.at(string(r), 0)
			if n != len(string(r)) || (k&p.class != 0) != re.MatchString(string(r)) {
				t.Errorf("%U has the class %b and %d bytes; %s", r, k, n, p.in)
			}
		}
	}
}

func TestClassesOfTheRest(t *testing.T) {
	c := newClasses()
	for r := range rune(unicode.MaxRune + 1) {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		k, _ := c.at(string(r), 0)
		isSpace := unicode.IsSpace(r) && r != '\r' && r != '\n'
		if isSpace != (k == space) {
			t.Errorf("%U has the class %b; white space: %t", r, k, isSpace)
		}
		isOther := !unicode.In(r, unicode.L, unicode.M, unicode.N) && !unicode.IsSpace(r)
		if isOther != (k == other) {
			t.Errorf("%U has the class %b; anything else: %t", r, k, isOther)
		}
	}
}

// The tables are there to be small.
func TestClassesAreSmall(t *testing.T) {
	if n := len(newClasses().cells); n > 128<<10 {
		t.Errorf("%d cells", n)
	}
}
