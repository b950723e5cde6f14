package tokens

// This file cuts a text into the pieces that are encoded one by one. What it does by
// hand are the alternatives of the encodings' regular expressions, in their order, with
// greedy repetition and backtracking. For o200k_base, where upper stands for
// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and lower for [\p{Ll}\p{Lm}\p{Lo}\p{M}]:
//
//	[^\r\n\p{L}\p{N}]?upper*lower+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?upper+lower*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// and for cl100k_base:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// Nothing looks at what is before a piece, and only white space looks at what is
// behind: at one character.

// endO200k returns the end of the piece of o200k_base that begins at text[i:].
func endO200k(c *classes, text string, i int) int {
	first, n := c.at(text, i)
	switch {
	case first&word != 0:
		// A mark may also be what a word is led in by, which makes no difference.
		return c.casedWord(text, i)
	case first&number != 0:
		return c.number(text, i)
	case first&newline != 0:
		return c.space(text, i)
	}
	if next := i + n; next < len(text) {
		second, _ := c.at(text, next)
		if second&word != 0 {
			return c.casedWord(text, next)
		}
		if second == other && text[i] == ' ' {
			return c.symbols(text, next, true)
		}
	}
	if first == space {
		return c.space(text, i)
	}
	return c.symbols(text, i, true)
}

// endCL100k returns the end of the piece of cl100k_base that begins at text[i:].
func endCL100k(c *classes, text string, i int) int {
	if end := contraction(text, i); end > i {
		return end
	}
	first, n := c.at(text, i)
	switch {
	case isLetter(first):
		return c.letters(text, i)
	case first&number != 0:
		return c.number(text, i)
	case first&newline != 0:
		return c.space(text, i)
	}
	if next := i + n; next < len(text) {
		second, _ := c.at(text, next)
		if isLetter(second) {
			return c.letters(text, next)
		}
		if second&(other|mark) != 0 && text[i] == ' ' {
			return c.symbols(text, next, false)
		}
	}
	if first == space {
		return c.space(text, i)
	}
	return c.symbols(text, i, false)
}

func isLetter(k class) bool { return k&word != 0 && k&mark == 0 }

// casedWord returns the end of upper*lower+ at text[i:], or else of upper+, with a
// contraction. There is a character of either at text[i].
func (c *classes) casedWord(text string, i int) int {
	end, both := i, 0 // both is the end of the last character that is upper and lower
	var k class
	var n int
	for ; end < len(text); end += n {
		if k, n = c.at(text, end); k&upper == 0 {
			break
		}
		if k&lower != 0 {
			both = end + n
		}
	}
	switch {
	case end < len(text) && k&lower != 0:
		for ; end < len(text); end += n {
			if k, n = c.at(text, end); k&lower == 0 {
				break
			}
		}
	case both > 0:
		end = both // lower+ needs one, so upper* gives back as much
	}
	return contraction(text, end)
}

func (c *classes) letters(text string, i int) int {
	for i < len(text) {
		k, n := c.at(text, i)
		if !isLetter(k) {
			break
		}
		i += n
	}
	return i
}

// contraction returns the end of a shortened English word at text[i:], or i.
func contraction(text string, i int) int {
	if i+1 >= len(text) || text[i] != '\'' {
		return i
	}
	const toLower = 'a' - 'A'
	var second byte
	switch text[i+1] | toLower {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		second = 'e'
	case 'l':
		second = 'l'
	}
	if i+2 < len(text) && second != 0 && text[i+2]|toLower == second {
		return i + 3
	}
	return i
}

// number returns the end of at most three numbers.
func (c *classes) number(text string, i int) int {
	for range 3 {
		if i == len(text) {
			break
		}
		k, n := c.at(text, i)
		if k&number == 0 {
			break
		}
		i += n
	}
	return i
}

// symbols returns the end of a run of all but letters, numbers and white space (marks
// are no letters) and the line breaks behind it, also mixed with slashes if so wanted.
func (c *classes) symbols(text string, i int, slashes bool) int {
	for i < len(text) {
		k, n := c.at(text, i)
		if k&(other|mark) == 0 {
			break
		}
		i += n
	}
	for i < len(text) && (text[i] == '\n' || text[i] == '\r' || slashes && text[i] == '/') {
		i++
	}
	return i
}

// space returns the end of the white space that belongs together: up to the last line
// break of the run, else all of the run but its last character if something follows,
// which may be led in by that.
func (c *classes) space(text string, i int) int {
	end, last, afterBreak := i, i, i
	for end < len(text) {
		k, n := c.at(text, end)
		if k&(space|newline) == 0 {
			break
		}
		last = end
		end += n
		if k == newline {
			afterBreak = end
		}
	}
	switch {
	case afterBreak > i:
		return afterBreak
	case end < len(text) && last > i:
		return last
	}
	return end
}
