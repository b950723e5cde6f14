package compaction

import "strings"

// Tool is what matters here of a tool's registration.
type Tool struct {
	Name      string
	Cleanable *bool  // nil: as the configuration says
	Reads     string // the parameter that names the file the tool reads, or empty
}

// Tools answers questions about a session's tools. A tool that is not registered is
// treated by its name alone.
type Tools struct {
	byName map[string]Tool
	listed map[string]bool // cleanable by configuration, lower case
}

// Tools prepares the registrations of a session.
func (p *Planner) Tools(registered []Tool) Tools {
	t := Tools{byName: make(map[string]Tool, len(registered)), listed: make(map[string]bool)}
	for _, tool := range registered {
		t.byName[tool.Name] = tool
	}
	for _, name := range p.cfg.Microcompact.Tools {
		t.listed[strings.ToLower(name)] = true
	}
	return t
}

// cleanable reports whether old results of a tool may go by themselves.
func (t Tools) cleanable(name string) bool {
	if c := t.byName[name].Cleanable; c != nil {
		return *c
	}
	return t.listed[strings.ToLower(name)]
}

// clearable reports whether results of a tool may go when room is needed.
func (t Tools) clearable(name string) bool {
	c := t.byName[name].Cleanable
	return c == nil || *c
}

// reads returns the path that a call reads, or "".
func (t Tools) reads(c call) string {
	if param := t.byName[c.Name].Reads; param != "" {
		return stringMember(c.Input, param)
	}
	if strings.EqualFold(c.Name, "read") {
		return c.path
	}
	return ""
}

// writes returns the path that a call writes whole, or "".
func (t Tools) writes(c call) string {
	if strings.EqualFold(c.Name, "write") && t.byName[c.Name].Reads == "" {
		return c.path
	}
	return ""
}
