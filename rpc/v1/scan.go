package v1

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth guards the recursion over nested values. It lies far above what a frame
// may nest, so that a configured limit is never reached here first.
const maxDepth = 1000

// cursor walks over JSON text. It accepts exactly the JSON grammar, refuses an
// object that has a member twice, and keeps no state but its position.
type cursor struct {
	data  []byte
	pos   int
	depth int
}

func malformed() *ParamError { return &ParamError{Reason: "is not valid JSON"} }

// peek returns the first byte of the next token, 0 at the end of the text.
func (c *cursor) peek() byte {
	for c.pos < len(c.data) {
		switch b := c.data[c.pos]; b {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return b
		}
	}
	return 0
}

// take consumes the next token if it is this byte.
func (c *cursor) take(b byte) bool {
	if c.peek() != b {
		return false
	}
	c.pos++
	return true
}

// end reports whether nothing but white space is left.
func (c *cursor) end() bool { return c.peek() == 0 && c.pos >= len(c.data) }

// object walks over an object and calls member with each name, the cursor standing
// before the member's value; member must consume it.
func (c *cursor) object(member func(name []byte) *ParamError) *ParamError {
	if err := c.enter(); err != nil {
		return err
	}
	if c.take('}') {
		c.depth--
		return nil
	}
	var seen nameSet
	for {
		name, err := c.name()
		if err != nil {
			return err
		}
		if !seen.add(name) {
			return (&ParamError{Reason: "is given twice"}).in(segment(name))
		}
		if err := member(name); err != nil {
			return err.in(segment(name))
		}
		switch {
		case c.take(','):
		case c.take('}'):
			c.depth--
			return nil
		default:
			return malformed()
		}
	}
}

// array walks over an array and calls item with each index, the cursor standing
// before the item; item must consume it.
func (c *cursor) array(item func(i int) *ParamError) *ParamError {
	if err := c.enter(); err != nil {
		return err
	}
	if c.take(']') {
		c.depth--
		return nil
	}
	for i := 0; ; i++ {
		if err := item(i); err != nil {
			return err.in("[" + strconv.Itoa(i) + "]")
		}
		switch {
		case c.take(','):
		case c.take(']'):
			c.depth--
			return nil
		default:
			return malformed()
		}
	}
}

// enter consumes the opening bracket that peek has seen.
func (c *cursor) enter() *ParamError {
	c.pos++
	if c.depth++; c.depth > maxDepth {
		return &ParamError{Reason: "is nested too deeply"}
	}
	return nil
}

// name consumes a member's name and the colon after it.
func (c *cursor) name() ([]byte, *ParamError) {
	name, err := c.text()
	if err != nil {
		return nil, err
	}
	if !c.take(':') {
		return nil, malformed()
	}
	return name, nil
}

// skip consumes one value of any kind.
func (c *cursor) skip() *ParamError {
	switch b := c.peek(); b {
	case '{':
		return c.object(func([]byte) *ParamError { return c.skip() })
	case '[':
		return c.array(func(int) *ParamError { return c.skip() })
	case '"':
		_, _, err := c.quoted()
		return err
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	default:
		_, err := c.number()
		return err
	}
}

func (c *cursor) word(w string) *ParamError {
	if !bytes.HasPrefix(c.data[c.pos:], []byte(w)) {
		return malformed()
	}
	c.pos += len(w)
	return nil
}

// number consumes a number and returns its text.
func (c *cursor) number() ([]byte, *ParamError) {
	start := c.pos
	if c.at('-') {
		c.pos++
	}
	if c.at('0') {
		c.pos++
	} else if !c.digits() {
		return nil, malformed()
	}
	if c.at('.') {
		c.pos++
		if !c.digits() {
			return nil, malformed()
		}
	}
	if c.at('e') || c.at('E') {
		c.pos++
		if c.at('+') || c.at('-') {
			c.pos++
		}
		if !c.digits() {
			return nil, malformed()
		}
	}
	return c.data[start:c.pos], nil
}

func (c *cursor) at(b byte) bool { return c.pos < len(c.data) && c.data[c.pos] == b }

func (c *cursor) digits() bool {
	start := c.pos
	for c.pos < len(c.data) && c.data[c.pos] >= '0' && c.data[c.pos] <= '9' {
		c.pos++
	}
	return c.pos > start
}

// text consumes a string and returns what it says in valid UTF-8: lone surrogates
// and bytes that are no UTF-8 become U+FFFD. The result may share the text's memory.
func (c *cursor) text() ([]byte, *ParamError) {
	inner, plain, err := c.quoted()
	if err != nil || plain {
		return inner, err
	}
	return unescape(inner), nil
}

// quoted consumes a string and returns what stands between its quotes; plain means
// that it says what it reads.
func (c *cursor) quoted() (inner []byte, plain bool, err *ParamError) {
	if !c.take('"') {
		return nil, false, malformed()
	}
	start, escaped, ascii := c.pos, false, true
	for c.pos < len(c.data) {
		switch b := c.data[c.pos]; {
		case b == '"':
			inner = c.data[start:c.pos]
			c.pos++
			return inner, !escaped && (ascii || utf8.Valid(inner)), nil
		case b == '\\':
			escaped = true
			n := escapeLen(c.data[c.pos:])
			if n == 0 {
				return nil, false, malformed()
			}
			c.pos += n
		case b < 0x20:
			return nil, false, malformed()
		default:
			ascii = ascii && b < utf8.RuneSelf
			c.pos++
		}
	}
	return nil, false, malformed()
}

// escapeLen returns the length of the escape sequence that s begins with, 0 if it is
// none.
func escapeLen(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(s); ok {
			return 6
		}
	}
	return 0
}

// hex4 reads the code unit of the escape \uXXXX that s begins with.
func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, b := range s[2:6] {
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b >= 'a' && b <= 'f':
			b -= 'a' - 10
		case b >= 'A' && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	return r, true
}

// unescape resolves escape sequences that quoted has accepted.
func unescape(s []byte) []byte {
	if !utf8.Valid(s) {
		s = []byte(string([]rune(string(s)))) // each bad byte becomes U+FFFD
	}
	out := make([]byte, 0, len(s))
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(out, s...)
		}
		out = append(out, s[:i]...)
		s = s[i:]
		if s[1] == 'u' {
			r, n := codePoint(s)
			out = utf8.AppendRune(out, r)
			s = s[n:]
		} else {
			out = append(out, unescapeByte(s[1]))
			s = s[2:]
		}
	}
}

// codePoint reads a \u escape, or two that are a surrogate pair.
func codePoint(s []byte) (r rune, n int) {
	r, _ = hex4(s)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(s[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func unescapeByte(b byte) byte {
	switch b {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default: // a quote, a backslash or a slash stands for itself
		return b
	}
}

// nameSet remembers the names of one object. Most objects have few.
type nameSet struct {
	few  [8][]byte
	n    int
	many map[string]struct{}
}

// add reports whether the name is new.
func (s *nameSet) add(name []byte) bool {
	if s.many != nil {
		_, known := s.many[string(name)]
		s.many[string(name)] = struct{}{}
		return !known
	}
	for _, known := range s.few[:s.n] {
		if bytes.Equal(known, name) {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return true
	}
	s.many = make(map[string]struct{}, 4*len(s.few))
	for _, known := range s.few {
		s.many[string(known)] = struct{}{}
	}
	s.many[string(name)] = struct{}{}
	return true
}
