package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// EncodeNotification builds the frame of a notification, to be given to
// [Conn.Send] of any number of connections. Params of type json.RawMessage go out
// byte for byte and must be valid JSON, an object or an array; nil leaves the
// member out; anything else is marshalled without HTML escaping.
func EncodeNotification(method string, params any) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","method":`)
	_ = appendJSON(&b, method) // a string cannot fail
	if raw, ok := params.(json.RawMessage); params != nil && (!ok || raw != nil) {
		b.WriteString(`,"params":`)
		if err := appendJSON(&b, params); err != nil {
			return nil, fmt.Errorf("rpc: encode notification %s: %w", method, err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encodeResult builds a reply with a result around the raw id.
func encodeResult(id []byte, result any) ([]byte, error) {
	return encodeReply(id, `,"result":`, result)
}

// encodeError builds a reply with an error; a nil id is written as null.
func encodeError(id []byte, e *Error) ([]byte, error) {
	if id == nil {
		id = []byte("null")
	}
	return encodeReply(id, `,"error":`, e)
}

func encodeReply(id []byte, member string, value any) ([]byte, error) {
	const head = `{"jsonrpc":"2.0","id":`
	var b bytes.Buffer
	raw, _ := value.(json.RawMessage)
	b.Grow(len(head) + len(id) + len(member) + max(len(raw), 64) + 2)
	b.WriteString(head)
	b.Write(id)
	b.WriteString(member)
	if err := appendJSON(&b, value); err != nil {
		return nil, err
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// appendJSON writes v; raw messages as they are, an empty one as null.
func appendJSON(b *bytes.Buffer, v any) error {
	if raw, ok := v.(json.RawMessage); ok && len(raw) > 0 {
		b.Write(raw)
		return nil
	}
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
	return nil
}
