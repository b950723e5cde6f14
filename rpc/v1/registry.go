package v1

import (
	"fmt"
	"reflect"
	"slices"
)

// Registry is the contract ready for use: the method table and what was compiled
// from its types. It is immutable and safe for concurrent use.
type Registry struct {
	limits  Limits
	methods []Method
	byName  map[string]int
	params  map[reflect.Type]*schema // of methods
	schemas map[reflect.Type]*schema // every struct of the contract
}

// NewRegistry compiles the contract for a server with these limits. It fails if a
// limit makes no sense.
func NewRegistry(limits Limits) (*Registry, error) {
	names, err := limitsByName(limits)
	if err != nil {
		return nil, err
	}
	r := &Registry{
		limits:  limits,
		methods: methodTable(),
		byName:  make(map[string]int),
		params:  make(map[reflect.Type]*schema),
	}
	c := compiler{limits: names, structs: make(map[reflect.Type]*schema)}
	for i, m := range r.methods {
		r.byName[m.Name] = i
		if r.params[m.Params], err = c.compile(m.Params); err != nil {
			return nil, fmt.Errorf("params of %s: %w", m.Name, err)
		}
		if err := decodable(r.params[m.Params]); err != nil {
			return nil, fmt.Errorf("params of %s: %w", m.Name, err)
		}
		if _, err = c.compile(m.Result); err != nil {
			return nil, fmt.Errorf("result of %s: %w", m.Name, err)
		}
	}
	for _, t := range otherTypes() {
		if _, err = c.compile(t); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
	}
	r.schemas = c.structs
	return r, nil
}

// otherTypes are the types that no method names: what notifications, errors and raw
// members hold.
func otherTypes() []reflect.Type {
	types := []reflect.Type{
		reflect.TypeFor[Message](), reflect.TypeFor[ViewMessage](), reflect.TypeFor[Entry](),
		reflect.TypeFor[ErrorData](), reflect.TypeFor[InvalidParamsData](), reflect.TypeFor[InternalErrorData](),
	}
	types = append(types, blockTypes()...)
	for _, n := range Notifications() {
		types = append(types, n.Params)
	}
	for _, e := range Events() {
		types = append(types, e.Data)
	}
	return types
}

// decodable refuses what the decoder does not read.
func decodable(s *schema) error {
	switch s.kind {
	case kindNumber, kindTime:
		return fmt.Errorf("type %s can't be in params", s.typ)
	case kindList:
		return decodable(s.elem)
	case kindStruct:
		for _, m := range s.members {
			if err := decodable(m.schema); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	case kindString, kindBool, kindInteger, kindRaw, kindContent:
	}
	return nil
}

// Methods returns the method table.
func (r *Registry) Methods() []Method { return slices.Clone(r.methods) }

// Lookup finds a method by its name.
func (r *Registry) Lookup(name string) (Method, bool) {
	i, ok := r.byName[name]
	if !ok {
		return Method{}, false
	}
	return r.methods[i], true
}

// Limits returns the limits the registry was made for.
func (r *Registry) Limits() Limits { return r.limits }
