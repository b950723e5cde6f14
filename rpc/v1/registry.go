package v1

import (
	"slices"
)

// Registry is the contract ready for use: the method table and what was compiled
// from its types. It is immutable and safe for concurrent use.
type Registry struct {
	limits  Limits
	methods []Method
	byName  map[string]int
}

// NewRegistry compiles the contract for a server with these limits.
func NewRegistry(limits Limits) (*Registry, error) {
	r := &Registry{limits: limits, methods: methodTable()}
	r.byName = make(map[string]int, len(r.methods))
	for i, m := range r.methods {
		r.byName[m.Name] = i
	}
	return r, nil
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
