package tokens

import (
	"unicode"
	"unicode/utf8"
)

// class is what the patterns tell characters apart by.
type class uint8

const (
	upper   class = 1 << iota // may stand in the first half of a word
	lower                     // may stand in the second half
	mark                      // combines with the character before
	number                    //
	space                     // but no line break
	newline                   // carriage return or line feed
	other                     // all else

	word = upper | lower // letters of one case have one of these, the rest of letters and marks both
)

const pageSize = 256

// classes holds the class of every character: a table of pages, of which equal ones
// are stored once. It is not changed after it was made.
type classes struct {
	cells []class // page after page
	pages [(unicode.MaxRune + 1) / pageSize]uint16
}

func newClasses() *classes {
	flat := make([]class, unicode.MaxRune+1)
	for i := range flat {
		flat[i] = other
	}
	for _, group := range []struct {
		class class
		table *unicode.RangeTable
	}{
		{upper, unicode.Lu},
		{upper, unicode.Lt},
		{lower, unicode.Ll},
		{word, unicode.Lm},
		{word, unicode.Lo},
		{word | mark, unicode.M},
		{number, unicode.N},
		{space, unicode.White_Space},
	} {
		group.class.fill(flat, group.table)
	}
	flat['\r'], flat['\n'] = newline, newline
	return fold(flat)
}

func (k class) fill(flat []class, table *unicode.RangeTable) {
	for _, r := range table.R16 {
		for i := int(r.Lo); i <= int(r.Hi); i += int(r.Stride) {
			flat[i] = k
		}
	}
	for _, r := range table.R32 {
		for i := int(r.Lo); i <= int(r.Hi); i += int(r.Stride) {
			flat[i] = k
		}
	}
}

// fold stores each page of flat once.
func fold(flat []class) *classes {
	c := new(classes)
	known := map[[pageSize]class]uint16{}
	var count uint16
	for page := range c.pages {
		cells := [pageSize]class(flat[page*pageSize:])
		index, ok := known[cells]
		if !ok {
			index = count
			count++
			known[cells] = index
			c.cells = append(c.cells, cells[:]...)
		}
		c.pages[page] = index
	}
	return c
}

// at returns the class of the character at text[i:] and its length in bytes.
func (c *classes) at(text string, i int) (class, int) {
	if b := text[i]; b < utf8.RuneSelf {
		return c.cells[b], 1
	}
	return c.beyondASCII(text, i)
}

func (c *classes) beyondASCII(text string, i int) (class, int) {
	r, n := utf8.DecodeRuneInString(text[i:])
	return c.cells[int(c.pages[r/pageSize])*pageSize+int(r%pageSize)], n
}
