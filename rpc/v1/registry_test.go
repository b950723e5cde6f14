package v1

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMethodTable states the table's columns by hand: name, scope, and whether the
// method writes and is about a session.
func TestMethodTable(t *testing.T) {
	type row struct {
		Name            string
		Scope           Scope
		Writes, Session bool
	}
	want := []row{
		{"v1.server.info", ScopeNone, false, false},
		{"v1.session.create", ScopeFull, true, false},
		{"v1.session.get", ScopeRead, false, true},
		{"v1.session.list", ScopeFull, false, false},
		{"v1.session.update", ScopeFull, true, true},
		{"v1.session.close", ScopeFull, true, true},
		{"v1.session.open", ScopeFull, true, true},
		{"v1.session.delete", ScopeFull, true, true},
		{"v1.session.fork", ScopeFull, true, true},
		{"v1.session.compact", ScopeChat, true, true},
		{"v1.session.undo_compact", ScopeFull, true, true},
		{"v1.session.context", ScopeRead, false, true},
		{"v1.session.subscribe", ScopeRead, false, true},
		{"v1.session.unsubscribe", ScopeRead, false, true},
		{"v1.session.log", ScopeFull, false, true},
		{"v1.message.send", ScopeChat, true, true},
		{"v1.message.list", ScopeFull, false, true},
		{"v1.message.get", ScopeChat, false, true},
		{"v1.turn.stop", ScopeChat, true, true},
		{"v1.turn.get", ScopeChat, false, true},
		{"v1.turn.list", ScopeFull, false, true},
		{"v1.tool.submit_result", ScopeChat, true, true},
		{"v1.tool.claim", ScopeChat, true, true},
		{"v1.memory.list", ScopeFull, false, false},
		{"v1.memory.create", ScopeFull, true, false},
		{"v1.memory.update", ScopeFull, true, false},
		{"v1.memory.delete", ScopeFull, true, false},
		{"rpc.discover", ScopeNone, false, false},
	}
	r := newTestRegistry(t)
	got := make([]row, 0, len(want))
	for _, m := range r.Methods() {
		got = append(got, row{m.Name, m.Scope, m.Writes, m.SessionParam})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMethodsAreConsistent(t *testing.T) {
	r := newTestRegistry(t)
	for _, m := range r.Methods() {
		t.Run(m.Name, func(t *testing.T) {
			if found, ok := r.Lookup(m.Name); !ok || found.Name != m.Name || found.Params != m.Params {
				t.Errorf("Lookup finds %+v, %v", found, ok)
			}
			params := r.params[m.Params]
			if _, ok := params.index["key"]; ok != m.Writes {
				t.Errorf("takes a key: %v, writes: %v", ok, m.Writes)
			}
			i, takes := params.index["session_id"]
			if needs := takes && !params.members[i].optional; needs != m.SessionParam {
				t.Errorf("needs a session_id: %v, about a session: %v", needs, m.SessionParam)
			}
			if result := r.schemas[m.Result]; m.Writes {
				if _, ok := result.index["replayed"]; !ok {
					t.Error("the result can't say that it was replayed")
				}
			}
			for _, e := range []struct {
				kind   Kind
				wanted bool
			}{
				{KindIdempotencyConflict, m.Writes},
				{KindForbidden, m.Scope > ScopeNone},
				{KindNotFound, m.SessionParam || strings.HasPrefix(m.Name, "v1.memory.")},
			} {
				if slices.Contains(m.Errors, e.kind) != e.wanted {
					t.Errorf("names %s: %v, want %v", e.kind, !e.wanted, e.wanted)
				}
			}
			seen := make(map[Kind]bool)
			for _, kind := range m.Errors {
				if _, ok := kind.Info(); !ok || seen[kind] {
					t.Errorf("error %s is unknown or named twice", kind)
				}
				seen[kind] = true
			}
			if !strings.HasSuffix(m.Summary, ".") {
				t.Errorf("summary %q is no sentence", m.Summary)
			}
		})
	}
	if _, ok := r.Lookup("v1.session.erase"); ok {
		t.Error("found a method that is not in the table")
	}
}

// TestEverythingIsNamedAndDescribed looks at every member of every type.
func TestEverythingIsNamedAndDescribed(t *testing.T) {
	r := newTestRegistry(t)
	word := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for typ, s := range r.schemas {
		for _, m := range s.members {
			if !word.MatchString(m.name) {
				t.Errorf("%s.%s is not in snake_case", typ, m.name)
			}
			if !strings.HasSuffix(m.doc, ".") {
				t.Errorf("%s.%s: %q is no sentence", typ, m.name, m.doc)
			}
		}
	}
}

func TestScopes(t *testing.T) {
	scopes := []Scope{ScopeNone, ScopeRead, ScopeChat, ScopeFull}
	for i, has := range scopes {
		for j, needed := range scopes {
			if has.Allows(needed) != (i >= j) {
				t.Errorf("%v allows %v: %v", has, needed, has.Allows(needed))
			}
		}
	}
	names := []string{ScopeNone.String(), ScopeRead.String(), ScopeChat.String(), ScopeFull.String(), Scope(9).String()}
	if diff := cmp.Diff([]string{"none", "read", "chat", "full", "unknown"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestLimitsRuleTheParams(t *testing.T) {
	limits := DefaultLimits()
	limits.TitleBytes, limits.Tools, limits.ToolResultBytes, limits.CallsPerMinute = 3, 1, 4, 0
	r, err := NewRegistry(limits)
	if err != nil {
		t.Fatal(err)
	}
	if r.Limits() != limits {
		t.Errorf("got limits %+v", r.Limits())
	}
	_, err = Decode[SessionCreateParams](r, json.RawMessage(`{"title":"abcd"}`))
	wantPath(t, err, "title")
	tool := `{"name":"a","description":"","input_schema":{"type":"object"}}`
	_, err = Decode[SessionCreateParams](r, json.RawMessage(`{"tools":[`+tool+`,`+strings.Replace(tool, "a", "b", 1)+`]}`))
	if err == nil {
		t.Error("two tools are taken where one is the limit")
	}
	_, err = Decode[ToolSubmitResultParams](r, json.RawMessage(`{"session_id":"0197f0d0-0000-7000-8000-000000000001","tool_use_id":"c","content":"abcde"}`))
	wantPath(t, err, "content")

	for _, bad := range []func(*Limits){
		func(l *Limits) { l.TitleBytes = 0 },
		func(l *Limits) { l.FrameBytes = -1 },
		func(l *Limits) { l.CallsPerMinute = -1 },
	} {
		limits := DefaultLimits()
		bad(&limits)
		if _, err := NewRegistry(limits); err == nil {
			t.Errorf("%+v is taken", limits)
		}
	}
}

// TestBadTagsAreRefused: a slip in a tag is found when the registry is made.
func TestBadTagsAreRefused(t *testing.T) {
	type item struct {
		Name string `json:"name"`
	}
	for name, v := range map[string]any{
		"unknown rule": struct {
			A string `json:"a" v:"maximum=3"`
		}{},
		"neither a number nor a limit": struct {
			A string `json:"a" v:"max=title"`
		}{},
		"for integers": struct {
			A string `json:"a" v:"min=1"`
		}{},
		"no json name": struct{ A string }{},
		"two of one name": struct {
			OfSession
			ID string `json:"session_id"`
		}{},
		"no place": struct {
			A map[string]string `json:"a"`
		}{},
		"has no member": struct {
			A []item `json:"a" v:"unique=id"`
		}{},
		"can't have rules": struct {
			A item `json:"a" v:"max=3"`
		}{},
		"can't have a default": struct {
			A []item `json:"a" v:"default=x"`
		}{},
		"ParseInt": struct {
			A int64 `json:"a" v:"default=x"`
		}{},
		"ParseBool": struct {
			A bool `json:"a" v:"default=x"`
		}{},
	} {
		c := compiler{structs: make(map[reflect.Type]*schema)}
		if _, err := c.compile(reflect.TypeOf(v)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want an error with %q, got %v", name, err)
		}
	}
	c := compiler{structs: make(map[reflect.Type]*schema)}
	s, err := c.compile(reflect.TypeFor[[]Usage]())
	if err != nil {
		t.Fatal(err)
	}
	if err := decodable(s); err == nil || !strings.Contains(err.Error(), "cost_usd") {
		t.Errorf("a float in params: got error %v", err)
	}
}
