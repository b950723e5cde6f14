package anthropicfake

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// fields are the members of a JSON object that came in, and where it stood.
type fields struct {
	path string
	has  map[string]json.RawMessage
}

// object reads an object and refuses members that are not allowed.
func object(path string, raw json.RawMessage, allowed ...string) (fields, *apiError) {
	f := fields{path: path}
	if kindOf(raw) != '{' || json.Unmarshal(raw, &f.has) != nil {
		return f, invalid("%s: Input should be a valid dictionary", at(path, ""))
	}
	for _, name := range slices.Sorted(maps.Keys(f.has)) {
		if !slices.Contains(allowed, name) {
			return f, invalid("%s: Extra inputs are not permitted", at(path, name))
		}
	}
	return f, nil
}

// at joins a path and a member's name.
func at(path, name string) string {
	switch {
	case path == "":
		return name
	case name == "":
		return path
	}
	return path + "." + name
}

func index(path string, i int) string { return at(path, strconv.Itoa(i)) }

func kindOf(raw json.RawMessage) byte {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	if len(trimmed) == 0 {
		return 0
	}
	return trimmed[0]
}

// given reports whether a member is there and not null.
func (f fields) given(name string) bool { return len(f.has[name]) > 0 && kindOf(f.has[name]) != 'n' }

// text reads a string that must be there.
func (f fields) text(name string) (string, *apiError) {
	if _, ok := f.has[name]; !ok {
		return "", invalid("%s: Field required", at(f.path, name))
	}
	return f.optionalText(name)
}

func (f fields) optionalText(name string) (string, *apiError) {
	var s string
	if f.given(name) && json.Unmarshal(f.has[name], &s) != nil {
		return "", invalid("%s: Input should be a valid string", at(f.path, name))
	}
	return s, nil
}

func (f fields) number(name string) (int, *apiError) {
	var n int
	if f.given(name) && json.Unmarshal(f.has[name], &n) != nil {
		return 0, invalid("%s: Input should be a valid integer", at(f.path, name))
	}
	return n, nil
}

func (f fields) boolean(name string) (bool, *apiError) {
	var b bool
	if f.given(name) && json.Unmarshal(f.has[name], &b) != nil {
		return false, invalid("%s: Input should be a valid boolean", at(f.path, name))
	}
	return b, nil
}

func (f fields) list(name string) ([]json.RawMessage, *apiError) {
	var items []json.RawMessage
	if f.given(name) && json.Unmarshal(f.has[name], &items) != nil {
		return nil, invalid("%s: Input should be a valid list", at(f.path, name))
	}
	return items, nil
}
