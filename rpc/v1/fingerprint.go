package v1

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"sessiond/message"
)

// Fingerprint tells calls apart for idempotency: two params objects have the same
// one exactly if they are equal as decoded JSON, their top-level member key left
// aside. So order of members, white space, escapes and the spelling of numbers don't
// count (1, 1.0 and 1e0 are equal; 1e999999 costs no more than its text). Numbers
// with an exponent of more than 17 digits are equal only if spelled alike. Absent
// params are the empty object.
//
// It fails with a *ParamError on what is no JSON object, or has a member twice; what
// [Decode] accepts it accepts.
func Fingerprint(raw json.RawMessage) ([32]byte, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	form, err := canonical(raw)
	if err != nil {
		return [32]byte{}, err
	}
	return sha256.Sum256(form), nil
}

func canonical(raw []byte) ([]byte, error) {
	w := canonicalWriter{cursor: cursor{data: raw}, out: make([]byte, 0, len(raw))}
	if w.peek() != '{' {
		return nil, w.mismatch("an object")
	}
	if err := w.object(); err != nil {
		return nil, err
	}
	if !w.end() {
		return nil, malformed()
	}
	return w.out, nil
}

// canonicalWriter copies JSON, written in the one way that all equal values share.
type canonicalWriter struct {
	cursor
	out []byte
}

func (w *canonicalWriter) value() *ParamError {
	switch b := w.peek(); {
	case b == '{':
		return w.object()
	case b == '[':
		return w.array()
	case b == '"':
		text, err := w.text()
		w.out = message.AppendString(w.out, text)
		return err
	case b == '-' || b >= '0' && b <= '9':
		text, err := w.number()
		if err == nil {
			w.out = parseDecimal(text).append(w.out)
		}
		return err
	default:
		start := w.pos
		err := w.skip()
		w.out = append(w.out, w.data[start:w.pos]...)
		return err
	}
}

func (w *canonicalWriter) array() *ParamError {
	w.out = append(w.out, '[')
	err := w.cursor.array(func(i int) *ParamError {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		return w.value()
	})
	w.out = append(w.out, ']')
	return err
}

// span is a member of an object in the output, from its name to the end of its value.
type span struct {
	name       []byte
	start, end int
}

// object writes the members as they come and puts them in order afterwards.
func (w *canonicalWriter) object() *ParamError {
	var members []span
	base, top := len(w.out), w.depth == 0
	err := w.cursor.object(func(name []byte) *ParamError {
		if top && string(name) == "key" {
			return w.skip()
		}
		m := span{name: name, start: len(w.out)}
		w.out = append(message.AppendString(w.out, name), ':')
		err := w.value()
		m.end = len(w.out)
		members = append(members, m)
		return err
	})
	if err != nil {
		return err
	}
	body := slices.Clone(w.out[base:])
	slices.SortFunc(members, func(a, b span) int { return bytes.Compare(a.name, b.name) })
	w.out = append(w.out[:base], '{')
	for i, m := range members {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, body[m.start-base:m.end-base]...)
	}
	w.out = append(w.out, '}')
	return nil
}
