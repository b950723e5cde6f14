package v1

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"sessiond/message"
)

// Append writes a result, the params of a notification, or any other struct of the
// contract to dst. It differs from json.Marshal in what clients rely on: raw JSON
// keeps its bytes, a list that is nil is an empty one, metadata that is nil is an
// empty object, times are UTC, and nothing is escaped for HTML.
//
// It fails if v is no struct of the contract, or lacks raw JSON that must be there.
// Raw JSON is not checked.
func (r *Registry) Append(dst []byte, v any) ([]byte, error) {
	value := reflect.ValueOf(v)
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if !value.IsValid() {
		return dst, fmt.Errorf("encode %T: is nil", v)
	}
	s, ok := r.schemas[value.Type()]
	if !ok {
		return dst, fmt.Errorf("encode %T: is not part of the contract", v)
	}
	out, err := appendValue(dst, s, value)
	if err != nil {
		return dst, fmt.Errorf("encode %T: %w", v, err)
	}
	return out, nil
}

func appendValue(dst []byte, s *schema, v reflect.Value) ([]byte, error) {
	switch s.kind {
	case kindString:
		return message.AppendString(dst, v.String()), nil
	case kindBool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case kindInteger:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case kindNumber:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return dst, fmt.Errorf("%v is no JSON number", f)
		}
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	case kindTime:
		at, _ := reflect.TypeAssert[time.Time](v)
		dst = append(dst, '"')
		dst = at.UTC().AppendFormat(dst, time.RFC3339Nano)
		return append(dst, '"'), nil
	case kindList:
		return appendList(dst, s, v)
	case kindStruct:
		return appendStruct(dst, s, v)
	case kindRaw:
		return appendRaw(dst, s, v.Bytes())
	case kindContent:
		content, _ := reflect.TypeAssert[Content](v)
		return content.append(dst), nil
	}
	return dst, fmt.Errorf("type %s has no JSON form", s.typ)
}

func appendList(dst []byte, s *schema, v reflect.Value) ([]byte, error) {
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, s.elem, v.Index(i)); err != nil {
			return dst, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

func appendStruct(dst []byte, s *schema, v reflect.Value) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for i := range s.members {
		m := &s.members[i]
		field := v.FieldByIndex(m.field)
		if m.omits(field) {
			continue
		}
		if m.pointer {
			if field.IsNil() {
				return dst, fmt.Errorf("%s is nil", m.name)
			}
			field = field.Elem()
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(message.AppendString(dst, m.name), ':')
		var err error
		if dst, err = appendValue(dst, m.schema, field); err != nil {
			return dst, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return append(dst, '}'), nil
}

// omits reports whether an optional member is left out. One with a default is
// written unless absence says the same.
func (m *member) omits(v reflect.Value) bool {
	if !m.optional || !v.IsZero() {
		return false
	}
	return !m.fallback.IsValid() || m.fallback.IsZero() || m.schema.kind != kindBool
}

func appendRaw(dst []byte, s *schema, raw json.RawMessage) ([]byte, error) {
	switch {
	case len(raw) > 0:
		return append(dst, raw...), nil
	case s.format == formatObject:
		return append(dst, "{}"...), nil
	default:
		return dst, fmt.Errorf("raw JSON is missing")
	}
}
