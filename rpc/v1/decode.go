package v1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Decode reads the params of a call, an absent member as its default. Absent params
// are an object without members. What the contract does not allow is a *ParamError;
// any other error means that P is not the params type of a method.
//
// Integers may be written in any way that has a whole value (5, 5.0, 5e0). Raw JSON
// keeps its bytes and is a copy, but for [Content.Raw].
func Decode[P any](r *Registry, raw json.RawMessage) (P, error) {
	var params, none P
	s, ok := r.params[reflect.TypeFor[P]()]
	if !ok {
		return none, fmt.Errorf("decode params: %T is not the params type of a method", none)
	}
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	c := cursor{data: raw}
	if err := c.structure(s, reflect.ValueOf(&params).Elem()); err != nil {
		return none, err
	}
	if !c.end() {
		return none, malformed()
	}
	return params, nil
}

// value consumes a value that s allows and stores it in v, which is addressable.
func (c *cursor) value(s *schema, v reflect.Value) *ParamError {
	if c.peek() == 'n' {
		if err := c.word("null"); err != nil {
			return err
		}
		return &ParamError{Reason: "must not be null"}
	}
	switch s.kind {
	case kindString:
		return c.str(s, v)
	case kindBool:
		return c.boolean(v)
	case kindInteger:
		return c.integer(s, v)
	case kindList:
		return c.list(s, v)
	case kindStruct:
		return c.structure(s, v)
	case kindRaw:
		return c.raw(s, v)
	case kindContent:
		return c.content(s, v)
	case kindNumber, kindTime: // only in results; NewRegistry refuses them in params
	}
	return &ParamError{Reason: "can't be given"}
}

// mismatch consumes a value of the wrong type, so that text which is no JSON at all
// is called that.
func (c *cursor) mismatch(want string) *ParamError {
	if err := c.skip(); err != nil {
		return err
	}
	return &ParamError{Reason: "must be " + want}
}

func (c *cursor) str(s *schema, v reflect.Value) *ParamError {
	if c.peek() != '"' {
		return c.mismatch("a string")
	}
	text, err := c.text()
	if err != nil {
		return err
	}
	value := string(text)
	if s.clean {
		value = CleanText(value)
	}
	if s.format == formatUUID {
		value = strings.ToLower(value)
	}
	if reason := s.refuseString(value); reason != "" {
		return &ParamError{Reason: reason}
	}
	v.SetString(value)
	return nil
}

func (c *cursor) boolean(v reflect.Value) *ParamError {
	switch c.peek() {
	case 't':
		v.SetBool(true)
		return c.word("true")
	case 'f':
		v.SetBool(false)
		return c.word("false")
	default:
		return c.mismatch("true or false")
	}
}

func (c *cursor) integer(s *schema, v reflect.Value) *ParamError {
	if b := c.peek(); b != '-' && (b < '0' || b > '9') {
		return c.mismatch("an integer")
	}
	text, err := c.number()
	if err != nil {
		return err
	}
	n, whole, fits := parseDecimal(text).integer()
	if !whole {
		return &ParamError{Reason: "must be an integer"}
	}
	if reason := s.refuseInteger(n, fits); reason != "" {
		return &ParamError{Reason: reason}
	}
	v.SetInt(n)
	return nil
}

func (c *cursor) list(s *schema, v reflect.Value) *ParamError {
	if c.peek() != '[' {
		return c.mismatch("a list")
	}
	start := c.pos
	list := reflect.MakeSlice(s.typ, 0, 0)
	var known map[string]struct{} // the unique member's values so far
	if s.unique != "" {
		known = make(map[string]struct{})
	}
	err := c.array(func(i int) *ParamError {
		list = reflect.Append(list, reflect.Zero(s.elem.typ))
		item := list.Index(i)
		if err := c.value(s.elem, item); err != nil {
			return err
		}
		return s.repeated(item, known)
	})
	if err != nil {
		return err
	}
	if reason := s.refuseList(list.Len(), c.pos-start); reason != "" {
		return &ParamError{Reason: reason}
	}
	v.Set(list)
	return nil
}

// repeated refuses an item that shares a unique member with one before it.
func (s *schema) repeated(item reflect.Value, known map[string]struct{}) *ParamError {
	if s.unique == "" {
		return nil
	}
	m := s.elem.members[s.elem.index[s.unique]]
	name := item.FieldByIndex(m.field).String()
	if _, ok := known[name]; ok {
		return &ParamError{Path: m.name, Reason: "must be unique in the list"}
	}
	known[name] = struct{}{}
	return nil
}

func (c *cursor) structure(s *schema, v reflect.Value) *ParamError {
	if c.peek() != '{' {
		return c.mismatch("an object")
	}
	var given uint64
	err := c.object(func(name []byte) *ParamError {
		i, ok := s.index[string(name)]
		if !ok {
			return &ParamError{Reason: "is unknown"}
		}
		given |= 1 << i
		m := &s.members[i]
		field := v.FieldByIndex(m.field)
		if m.pointer {
			field.Set(reflect.New(m.schema.typ))
			field = field.Elem()
		}
		return c.value(m.schema, field)
	})
	if err != nil {
		return err
	}
	for i := range s.members {
		m := &s.members[i]
		switch {
		case given&(1<<i) != 0:
		case !m.optional:
			return &ParamError{Path: m.name, Reason: "is required"}
		case m.fallback.IsValid():
			v.FieldByIndex(m.field).Set(m.fallback)
		}
	}
	if s.checks {
		return v.Addr().Interface().(checker).check()
	}
	return nil
}

func (c *cursor) raw(s *schema, v reflect.Value) *ParamError {
	if s.format != formatNone && c.peek() != '{' {
		return c.mismatch("an object")
	}
	start, consume := c.pos, c.skip
	if s.format == formatSchema {
		consume = c.jsonSchema
	}
	if err := consume(); err != nil {
		return err
	}
	if size := c.pos - start; s.max != nil && int64(size) > *s.max {
		return &ParamError{Reason: tooLong(*s.max)}
	}
	v.SetBytes(bytes.Clone(c.data[start:c.pos]))
	return nil
}

// jsonSchema consumes a JSON Schema whose type is object. The schema itself is not
// judged: that is the provider's business.
func (c *cursor) jsonSchema() *ParamError {
	found := false
	err := c.object(func(name []byte) *ParamError {
		if string(name) != "type" {
			return c.skip()
		}
		if c.peek() != '"' {
			return c.mismatch(`"object"`)
		}
		found = true
		text, err := c.text()
		if err == nil && string(text) != "object" {
			err = &ParamError{Reason: `must be "object"`}
		}
		return err
	})
	if err == nil && !found {
		err = &ParamError{Path: "type", Reason: "is required"}
	}
	return err
}
