package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
)

var (
	errSyntax = errors.New("not JSON")
	errDepth  = errors.New("nested too deep")
)

// scanner walks over JSON text once, checking its grammar, and copies nothing.
// It accepts exactly what encoding/json accepts, lone surrogate escapes included;
// that the text is UTF-8 has been checked before.
type scanner struct {
	data []byte
	pos  int
}

// peek returns the next byte, or 0 at the end. A NUL in the text is refused by
// every caller just as the end is.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// token skips white space and returns the byte behind it, not consuming it.
func (s *scanner) token() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// end reports whether nothing but white space is left.
func (s *scanner) end() bool {
	s.token()
	return s.pos == len(s.data)
}

// take consumes the next token if it is c.
func (s *scanner) take(c byte) bool {
	if s.token() != c {
		return false
	}
	s.pos++
	return true
}

// raw returns the text from start to here; appending to it cannot reach what
// follows.
func (s *scanner) raw(start int) []byte {
	return s.data[start:s.pos:s.pos]
}

// object consumes the object whose brace comes next and calls visit with each of
// its members: the name as written, without quotes, and the value's raw text.
func (s *scanner) object(maxDepth int, visit func(name, value []byte)) error {
	s.take('{')
	if s.take('}') {
		return nil
	}
	for {
		name, err := s.name()
		if err != nil {
			return err
		}
		s.token()
		start := s.pos
		if err := s.value(maxDepth - 1); err != nil {
			return err
		}
		visit(name, s.raw(start))
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return errSyntax
		}
	}
}

// value consumes one value. It does not recurse: the depth of hostile text must
// not become the depth of a stack.
func (s *scanner) value(maxDepth int) error {
	open := make([]byte, 0, 64) // the closing bytes that are waited for
	for {
		closer, err := s.begin()
		if err != nil {
			return err
		}
		if closer != 0 {
			if len(open) == maxDepth {
				return errDepth
			}
			open = append(open, closer)
			if s.token() != closer {
				if err := s.member(closer); err != nil {
					return err
				}
				continue
			}
		}
		for { // a value has ended, or an empty array or object is about to
			if len(open) == 0 {
				return nil
			}
			closer := open[len(open)-1]
			if s.take(closer) {
				open = open[:len(open)-1]
				continue
			}
			if !s.take(',') {
				return errSyntax
			}
			if err := s.member(closer); err != nil {
				return err
			}
			break
		}
	}
}

// begin consumes a scalar, or the first byte of an array or object and returns
// the byte that will end it.
func (s *scanner) begin() (closer byte, err error) {
	switch c := s.token(); c {
	case '{':
		s.pos++
		return '}', nil
	case '[':
		s.pos++
		return ']', nil
	case '"':
		return 0, s.str()
	case 't':
		return 0, s.literal("true")
	case 'f':
		return 0, s.literal("false")
	case 'n':
		return 0, s.literal("null")
	default:
		return 0, s.number()
	}
}

// member consumes what stands before a value: in an object its name.
func (s *scanner) member(closer byte) error {
	if closer != '}' {
		return nil
	}
	_, err := s.name()
	return err
}

// name consumes a member's name and the colon and returns the text between the
// quotes.
func (s *scanner) name() ([]byte, error) {
	if s.token() != '"' {
		return nil, errSyntax
	}
	start := s.pos
	if err := s.str(); err != nil {
		return nil, err
	}
	quoted := s.raw(start)
	if !s.take(':') {
		return nil, errSyntax
	}
	return quoted[1 : len(quoted)-1], nil
}

func (s *scanner) str() error {
	for i := s.pos + 1; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			s.pos = i + 1
			return nil
		case c == '\\':
			n := escapeLen(s.data[i+1:])
			if n == 0 {
				return errSyntax
			}
			i += n
		case c < ' ':
			return errSyntax
		}
	}
	return errSyntax
}

// escapeLen returns the length of the escape whose backslash lies before text, 0
// if there is none.
func escapeLen(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(text) < 5 {
			return 0
		}
		for _, c := range text[1:5] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 5
	default:
		return 0
	}
}

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return errSyntax
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return errSyntax
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return errSyntax
		}
	}
	if s.peek()|0x20 == 'e' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return errSyntax
		}
	}
	return nil
}

// digits consumes at least one digit.
func (s *scanner) digits() bool {
	start := s.pos
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start
}

// unquote decodes the text between a valid string's quotes.
func unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	var decoded string
	quoted := append(append([]byte{'"'}, text...), '"')
	_ = json.Unmarshal(quoted, &decoded) // cannot fail: the scanner has accepted it
	return decoded
}
