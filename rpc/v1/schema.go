package v1

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// kind is the JSON form of a Go type.
type kind int

const (
	kindString kind = iota
	kindBool
	kindInteger
	kindNumber
	kindTime
	kindList
	kindStruct
	kindRaw
	kindContent
)

// schema is a Go type and its rules, compiled. The decoder walks it, the encoder
// walks it, and the description is printed from it.
type schema struct {
	kind kind
	typ  reflect.Type
	rules
	enum    []string
	elem    *schema        // of a list; of content, its blocks
	members []member       // of a struct, embedded ones included
	index   map[string]int // of members by name
	checks  bool           // the type has a check method
}

// member is one member of a struct.
type member struct {
	name     string
	doc      string
	field    []int // for reflect.Value.FieldByIndex
	optional bool
	pointer  bool
	fallback reflect.Value // what an absent member means; invalid if nothing
	schema   *schema
}

// enumerated is implemented by the string types whose values are a closed set.
type enumerated interface{ enum() []string }

// checker is implemented by params whose members depend on each other. The paths of
// its errors are relative to the value.
type checker interface{ check() *ParamError }

// maxMembers is how many members of a struct the decoder can keep track of.
const maxMembers = 64

// compiler turns types into schemas, each struct once.
type compiler struct {
	limits  map[string]int64
	structs map[reflect.Type]*schema
}

// compile returns the schema of a type without rules of its own.
func (c *compiler) compile(t reflect.Type) (*schema, error) {
	return c.field(t, rules{})
}

// field returns the schema of a type under the rules of the field that has it.
func (c *compiler) field(t reflect.Type, r rules) (*schema, error) {
	if r.min != nil && t.Kind() != reflect.Int64 {
		return nil, fmt.Errorf("rule min is for integers, not for %s", t)
	}
	s := &schema{typ: t, rules: r}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		s.kind = kindRaw
		return s, nil
	case t == reflect.TypeFor[time.Time]():
		s.kind = kindTime
		return s, nil
	case t == reflect.TypeFor[Content]():
		s.kind = kindContent
		var err error
		s.elem, err = c.compile(reflect.TypeFor[wireBlock]())
		return s, err
	}
	switch t.Kind() { //nolint:exhaustive // the default refuses every other kind of type
	case reflect.String:
		s.kind = kindString
		if e, ok := reflect.TypeAssert[enumerated](reflect.Zero(t)); ok {
			s.enum = e.enum()
		}
		return s, nil
	case reflect.Bool:
		s.kind = kindBool
		return s, nil
	case reflect.Int64:
		s.kind = kindInteger
		return s, nil
	case reflect.Float64:
		s.kind = kindNumber
		return s, nil
	case reflect.Slice:
		return c.list(s)
	case reflect.Struct:
		if r != (rules{}) {
			return nil, fmt.Errorf("type %s can't have rules", t)
		}
		return c.structure(t)
	default:
		return nil, fmt.Errorf("type %s has no place in the contract", t)
	}
}

func (c *compiler) list(s *schema) (*schema, error) {
	s.kind = kindList
	elem, err := c.compile(s.typ.Elem())
	if err != nil {
		return nil, err
	}
	if s.ref != "" { // says what the items are, not what the list is
		elem.ref, s.ref = s.ref, ""
	}
	if s.unique != "" {
		if _, ok := elem.index[s.unique]; !ok {
			return nil, fmt.Errorf("rule unique: %s has no member %q", elem.typ, s.unique)
		}
	}
	s.elem = elem
	return s, nil
}

func (c *compiler) structure(t reflect.Type) (*schema, error) {
	if s, ok := c.structs[t]; ok {
		return s, nil
	}
	s := &schema{kind: kindStruct, typ: t, index: make(map[string]int)}
	c.structs[t] = s
	_, s.checks = reflect.TypeAssert[checker](reflect.New(t))
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue // its fields are visible by themselves
		}
		m, err := c.member(f)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		s.index[m.name] = len(s.members)
		s.members = append(s.members, m)
	}
	if len(s.members) > maxMembers || len(s.index) < len(s.members) {
		return nil, fmt.Errorf("%s has too many members, or two of one name", t)
	}
	return s, nil
}

func (c *compiler) member(f reflect.StructField) (member, error) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" || !f.IsExported() {
		return member{}, fmt.Errorf("has no json name")
	}
	r, err := parseRules(f.Tag.Get("v"), c.limits)
	if err != nil {
		return member{}, err
	}
	m := member{name: name, doc: f.Tag.Get("doc"), field: f.Index}
	m.optional = options == "omitempty" || r.defaults != nil
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t, m.pointer = t.Elem(), true
	}
	if m.schema, err = c.field(t, r); err != nil {
		return member{}, err
	}
	if r.defaults != nil {
		m.fallback, err = m.schema.parseDefault(*r.defaults)
	}
	return m, err
}

// parseDefault reads the value of a default rule.
func (s *schema) parseDefault(text string) (reflect.Value, error) {
	v := reflect.New(s.typ).Elem()
	switch s.kind {
	case kindString:
		v.SetString(text)
	case kindBool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return v, fmt.Errorf("default: %w", err)
		}
		v.SetBool(b)
	case kindInteger:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return v, fmt.Errorf("default: %w", err)
		}
		v.SetInt(n)
	case kindNumber, kindTime, kindList, kindStruct, kindRaw, kindContent:
		return v, fmt.Errorf("type %s can't have a default", s.typ)
	}
	return v, nil
}
