package message

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// Form says how content is written.
type Form struct {
	// OmitOverBytes replaces the data of every block larger than this by its size
	// and SHA-256; 0 writes everything.
	OmitOverBytes int
}

// Append writes m as JSON to dst. Tool inputs and opaque thinking appear with the
// bytes they have.
func Append(dst []byte, m *Message, form Form) []byte {
	dst = append(dst, `{"id":`...)
	dst = AppendString(dst, string(m.ID))
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, m.Seq, 10)
	dst = append(dst, `,"turn_id":`...)
	dst = AppendString(dst, string(m.TurnID))
	dst = append(dst, `,"role":`...)
	dst = AppendString(dst, string(m.Role))
	dst = append(dst, `,"content":`...)
	dst = AppendBlocks(dst, m.Content, form)
	if m.Usage != nil {
		dst = append(dst, `,"usage":`...)
		dst = appendUsage(dst, *m.Usage)
	}
	dst = append(dst, `,"created_at":`...)
	dst = AppendTime(dst, m.CreatedAt)
	return append(dst, '}')
}

// AppendBlocks writes content as a JSON array.
func AppendBlocks(dst []byte, content []Block, form Form) []byte {
	dst = append(dst, '[')
	for i, b := range content {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendBlock(dst, b, form)
	}
	return append(dst, ']')
}

func appendBlock(dst []byte, b Block, form Form) []byte {
	switch b := b.(type) {
	case Text:
		dst = append(dst, `{"type":"text"`...)
		if form.omits(len(b.Text)) {
			dst = appendOmitted(dst, []byte(b.Text))
			break
		}
		dst = append(dst, `,"text":`...)
		dst = AppendString(dst, b.Text)
	case Image:
		dst = append(dst, `{"type":"image","mime_type":`...)
		dst = AppendString(dst, b.MimeType)
		if form.omits(len(b.Data)) {
			dst = appendOmitted(dst, []byte(b.Data))
			break
		}
		dst = append(dst, `,"data":`...)
		dst = AppendString(dst, b.Data)
	case Thinking:
		dst = append(dst, `{"type":"thinking","provider":`...)
		dst = AppendString(dst, b.Provider)
		if form.omits(len(b.Text) + len(b.Raw)) {
			dst = appendOmitted(dst, []byte(b.Text))
			break
		}
		dst = append(dst, `,"text":`...)
		dst = AppendString(dst, b.Text)
		if b.Raw != nil {
			dst = append(dst, `,"raw":`...)
			dst = append(dst, b.Raw...)
		}
	case ToolUse:
		dst = append(dst, `{"type":"tool_use","id":`...)
		dst = AppendString(dst, string(b.ID))
		dst = append(dst, `,"name":`...)
		dst = AppendString(dst, b.Name)
		if form.omits(len(b.Input)) {
			dst = appendOmitted(dst, b.Input)
			break
		}
		dst = append(dst, `,"input":`...)
		dst = append(dst, b.Input...)
	case ToolResult:
		dst = append(dst, `{"type":"tool_result","tool_use_id":`...)
		dst = AppendString(dst, string(b.ToolUseID))
		if b.Ref != 0 && b.Content == nil {
			dst = append(dst, `,"ref":`...)
			dst = strconv.AppendInt(dst, b.Ref, 10)
		} else {
			dst = append(dst, `,"content":`...)
			dst = AppendBlocks(dst, b.Content, form)
		}
		dst = append(dst, `,"is_error":`...)
		dst = strconv.AppendBool(dst, b.IsError)
	}
	return append(dst, '}')
}

func (f Form) omits(size int) bool { return f.OmitOverBytes > 0 && size > f.OmitOverBytes }

func appendOmitted(dst, data []byte) []byte {
	sum := sha256.Sum256(data)
	dst = append(dst, `,"omitted":true,"bytes":`...)
	dst = strconv.AppendInt(dst, int64(len(data)), 10)
	dst = append(dst, `,"sha256":"`...)
	dst = hex.AppendEncode(dst, sum[:])
	return append(dst, '"')
}

func appendUsage(dst []byte, u Usage) []byte {
	raw, err := json.Marshal(u)
	if err != nil { // a cost that is NaN or infinite: never made by pricing, never worth a message
		u.CostUSD = 0
		raw, _ = json.Marshal(u)
	}
	return append(dst, raw...)
}

// AppendTime writes t as a quoted RFC 3339 UTC string with up to nanoseconds.
func AppendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}

const hexDigits = "0123456789abcdef"

// AppendString writes s as a JSON string. Characters that JSON lets stand, stand;
// bytes that are no UTF-8 become U+FFFD. Unlike json.Marshal it leaves <, > and &
// alone.
func AppendString[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
