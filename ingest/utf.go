package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// The encodings of Unicode, as they are named to people.
const (
	utf8Name    = "UTF-8"
	utf16leName = "UTF-16LE"
	utf16beName = "UTF-16BE"
	utf32leName = "UTF-32LE"
	utf32beName = "UTF-32BE"
)

// byteOrderMark is no part of a text; it only tells its encoding.
const byteOrderMark = "\ufeff"

// decodeText returns a text as UTF-8 and the name of the encoding it was in, or the
// reason why it isn't one. Line endings stay as they are.
//
// A byte order mark decides, and then what is declared, if the text is clean when it is
// decoded so; what is declared as an encoding of single bytes, in which all texts are, is
// UTF-8 if it is valid as that. Else a text is UTF-8 if it is valid as that and has no NUL, and UTF-16 or
// UTF-32 if it has NULs and reads as nothing but characters that are printed. Other
// encodings are taken at their word and never guessed: each of them fits nearly any bytes,
// and a wrong guess is a wrong text that nobody notices.
func decodeText(data []byte, charset string) (text, encoding, reason string) {
	if name, mark := sniffMark(data); name != "" {
		text, ok := decodeUnicode(name, data[mark:])
		if !ok || strings.ContainsRune(text, 0) {
			return "", "", "begins as " + name + " does, but is not valid as such"
		}
		return text, name, ""
	}
	declared, name := decodeDeclared(data, charset)
	if declared != "" {
		return declared, name, ""
	}
	if bytes.IndexByte(data, 0) >= 0 {
		if text, name := guessUnicode(data); name != "" {
			return text, name, ""
		}
		return "", "", "is binary, not text"
	}
	switch {
	case utf8.Valid(data):
		return string(data), utf8Name, ""
	case name != "":
		return "", "", "is not valid as " + name + ", which it is declared as"
	}
	return "", "", undecodable(data)
}

// decodeDeclared decodes a text as it is declared. The text is empty if that doesn't give a
// clean one, and the name if nothing is declared that has to be tried: UTF-8 is in any case,
// and so is UTF-16 whose order isn't told.
func decodeDeclared(data []byte, charset string) (text, name string) {
	legacy, err := htmlindex.Get(charset)
	if err != nil {
		return "", ""
	}
	name, err = htmlindex.Name(legacy)
	if err != nil {
		return "", ""
	}
	switch name {
	case "utf-8", "replacement", "x-user-defined":
		return "", ""
	case "utf-16le", "utf-16be":
		name = strings.ToUpper(name)
		decoded, ok := decodeUnicode(name, data)
		if charset = strings.ToLower(strings.TrimSpace(charset)); !strings.HasSuffix(charset, "le") && !strings.HasSuffix(charset, "be") {
			if guessed, order := guessUnicode(data); order != "" {
				decoded, name = guessed, order
			}
		}
		if !ok || countPrinted(decoded) < 0 {
			return "", name
		}
		return decoded, name
	}
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 && !isMultiByte(name) {
		return "", name // every byte is a character in these: that it decodes says nothing
	}
	decoded, err := legacy.NewDecoder().Bytes(data)
	if err != nil || bytes.ContainsRune(decoded, utf8.RuneError) || bytes.IndexByte(decoded, 0) >= 0 {
		return "", name
	}
	if utf8.Valid(data) && string(decoded) == string(data) { // both say the same
		return string(data), utf8Name
	}
	return string(decoded), name
}

// isMultiByte reports whether not all bytes are a text in an encoding.
func isMultiByte(name string) bool {
	switch name {
	case "gbk", "gb18030", "big5", "euc-jp", "euc-kr", "shift_jis", "iso-2022-jp":
		return true
	}
	return false
}

// undecodable says what to do about bytes that are not UTF-8.
func undecodable(data []byte) string {
	if countControls(data) > len(data)/50 && !maybeUTF16(data) {
		return "is binary, not text"
	}
	valid := 0
	for valid < len(data) {
		r, size := utf8.DecodeRune(data[valid:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		valid += size
	}
	return fmt.Sprintf("is not UTF-8 (at byte %d) nor UTF-16 or UTF-32; save it as UTF-8, or declare its charset in its type", valid)
}

// maybeUTF16 reports whether bytes read as East Asian UTF-16: enough to say what to do, and
// too little to believe it, for bytes in the older encodings do so by chance.
func maybeUTF16(data []byte) bool {
	for _, name := range []string{utf16leName, utf16beName} {
		if text, ok := decodeUnicode(name, data); ok && countPrinted(text) >= 0 && isEastAsian(text) {
			return true
		}
	}
	return false
}

// textControls are the control characters that texts have: white space, and what terminals
// are told by.
const textControls = "\t\n\v\f\r\b\x1b"

// countControls counts the control characters that texts don't have.
func countControls(data []byte) int {
	n := 0
	for _, b := range data {
		if b < ' ' && !strings.ContainsRune(textControls, rune(b)) || b == 0x7f {
			n++
		}
	}
	return n
}

// sniffMark returns the encoding that a byte order mark tells, and the mark's length. A
// mark of UTF-32LE begins with one of UTF-16LE, after which a NUL would be unusual.
func sniffMark(data []byte) (name string, size int) {
	switch {
	case begins(data, "\xef\xbb\xbf"):
		return utf8Name, 3
	case begins(data, "\xff\xfe\x00\x00"):
		return utf32leName, 4
	case begins(data, "\x00\x00\xfe\xff"):
		return utf32beName, 4
	case begins(data, "\xff\xfe"):
		return utf16leName, 2
	case begins(data, "\xfe\xff"):
		return utf16beName, 2
	}
	return "", 0
}

// guessUnicode finds the encoding of a text with NULs and without a mark, if there is
// just one in which it reads as a text. It is that with the most ASCII: letters of other
// scripts appear by chance when bytes are read in the wrong order, ASCII doesn't. A text
// without any is believed only if nearly all of it is East Asian, and not too short.
func guessUnicode(data []byte) (text, name string) {
	best := -1
	for _, candidate := range []string{utf32leName, utf32beName, utf16leName, utf16beName} {
		decoded, ok := decodeUnicode(candidate, data)
		if !ok {
			continue
		}
		n := countPrinted(decoded)
		if n == 0 && !isEastAsian(decoded) {
			continue
		}
		switch {
		case n > best:
			text, name, best = decoded, candidate, n
		case n == best:
			text, name = "", ""
		}
	}
	return text, name
}

// countPrinted counts the ASCII characters of a text, or returns -1 if it has characters
// that aren't printed and that texts don't have.
func countPrinted(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case r >= ' ' && r <= '~' || strings.ContainsRune(textControls, r):
			n++
		case !unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r):
			return -1
		}
	}
	return n
}

// isEastAsian reports whether nearly all of a text are characters of China, Japan or Korea.
func isEastAsian(text string) bool {
	const fewest = 4
	all, east := 0, 0
	for _, r := range text {
		all++
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) ||
			r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef { // their punctuation, and wide forms
			east++
		}
	}
	return all >= fewest && east*10 >= all*9
}

// decodeUnicode decodes strictly: it returns false for anything that is not valid.
func decodeUnicode(name string, data []byte) (text string, ok bool) {
	switch name {
	case utf8Name:
		return string(data), utf8.Valid(data)
	case utf16leName:
		return decodeUTF16(binary.LittleEndian, data)
	case utf16beName:
		return decodeUTF16(binary.BigEndian, data)
	case utf32leName:
		return decodeUTF32(binary.LittleEndian, data)
	default:
		return decodeUTF32(binary.BigEndian, data)
	}
}

func decodeUTF16(order binary.ByteOrder, data []byte) (string, bool) {
	if len(data)%2 != 0 {
		return "", false
	}
	var b strings.Builder
	b.Grow(len(data))
	for len(data) > 0 {
		r := rune(order.Uint16(data))
		data = data[2:]
		if utf16.IsSurrogate(r) {
			if len(data) == 0 {
				return "", false
			}
			r = utf16.DecodeRune(r, rune(order.Uint16(data)))
			if r == utf8.RuneError {
				return "", false
			}
			data = data[2:]
		}
		b.WriteRune(r)
	}
	return b.String(), true
}

func decodeUTF32(order binary.ByteOrder, data []byte) (string, bool) {
	if len(data)%4 != 0 {
		return "", false
	}
	var b strings.Builder
	b.Grow(len(data) / 2)
	for ; len(data) > 0; data = data[4:] {
		n := order.Uint32(data)
		if n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
			return "", false
		}
		b.WriteRune(rune(n))
	}
	return b.String(), true
}
