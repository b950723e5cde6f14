package v1

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const goldenOpenRPC = "testdata/openrpc.json"

func TestOpenRPCGolden(t *testing.T) {
	doc, err := newTestRegistry(t).OpenRPC("0.0.0-test")
	if err != nil {
		t.Fatal(err)
	}
	again, err := newTestRegistry(t).OpenRPC("0.0.0-test")
	if err != nil || !bytes.Equal(doc, again) {
		t.Errorf("two documents differ, or %v", err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, doc, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	if *update {
		if err := os.WriteFile(goldenOpenRPC, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenOpenRPC)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the description changed; if that is meant, run with -update (-golden +now):\n%s", diff)
	}
}

func TestOpenRPCRefsResolve(t *testing.T) {
	doc, err := newTestRegistry(t).OpenRPC("0")
	if err != nil {
		t.Fatal(err)
	}
	root := parse(t, string(doc))
	used := make(map[string]bool)
	var follow func(v any)
	follow = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				used[ref] = true
			}
			for _, item := range v {
				follow(item)
			}
		case []any:
			for _, item := range v {
				follow(item)
			}
		}
	}
	follow(root)
	if len(used) < 50 {
		t.Errorf("only %d references found", len(used))
	}
	for ref := range used {
		target := root
		for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			object, _ := target.(map[string]any)
			target = object[name]
		}
		if target == nil {
			t.Errorf("%s leads nowhere", ref)
		}
	}
}

// TestOpenRPCTellsWhatTheRegistryHas: every method with its params, every kind of
// error, every notification.
func TestOpenRPCTellsWhatTheRegistryHas(t *testing.T) {
	r := newTestRegistry(t)
	raw, err := r.OpenRPC("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var doc openRPCDocument
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenRPC != "1.3.2" || doc.Info.Version != "1.2.3" {
		t.Errorf("got versions %q and %q", doc.OpenRPC, doc.Info.Version)
	}
	methods := r.Methods()
	if len(doc.Methods) != len(methods) {
		t.Fatalf("got %d methods, want %d", len(doc.Methods), len(methods))
	}
	for i, m := range methods {
		got := doc.Methods[i]
		if got.Name != m.Name || got.ParamStructure != "by-name" || got.Scope != m.Scope.String() || got.Writes != m.Writes {
			t.Errorf("%s is described as %+v", m.Name, got)
		}
		for _, p := range r.params[m.Params].members {
			j := slices.IndexFunc(got.Params, func(c openRPCContent) bool { return c.Name == p.name })
			if j < 0 || got.Params[j].Required == p.optional {
				t.Errorf("%s: %s is missing, or wrongly required", m.Name, p.name)
			}
		}
		if want := len(m.Errors) + 3; len(got.Errors) != want {
			t.Errorf("%s: got %d errors, want %d", m.Name, len(got.Errors), want)
		}
	}
	for _, k := range Kinds() {
		if got := doc.Components.Errors[string(k.Kind)]; got.Code != k.Code || got.Message != k.Message {
			t.Errorf("%s is described as %+v", k.Kind, got)
		}
	}
	for i, n := range Notifications() {
		if got := doc.Notifications[i]; got.Name != n.Name || got.Lossy != n.Lossy || got.Params.Ref == "" {
			t.Errorf("%s is described as %+v", n.Name, got)
		}
	}
	for _, e := range Events() {
		if !slices.ContainsFunc(doc.Components.Schemas["Event"].OneOf, func(s *jsonSchema) bool {
			return s.Properties["type"].Const == string(e.Type) && strings.HasSuffix(s.Properties["data"].Ref, "/"+e.Data.Name())
		}) {
			t.Errorf("event %s is not described", e.Type)
		}
	}
}

// TestOpenRPCBounds: what clients send is closed and bounded, what they receive is
// open and not.
func TestOpenRPCBounds(t *testing.T) {
	raw, err := newTestRegistry(t).OpenRPC("0")
	if err != nil {
		t.Fatal(err)
	}
	var doc openRPCDocument
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	in, out := doc.Components.Schemas["AgentInput"], doc.Components.Schemas["Agent"]
	if in.Additional == nil || *in.Additional || *in.Properties["name"].MaxLength != 256 || *in.Properties["system_prompt"].MaxBytes != 256<<10 {
		t.Errorf("AgentInput is open or unbounded: %+v", in)
	}
	if out.Additional != nil || out.Properties["name"].MaxLength != nil {
		t.Errorf("Agent is closed or bounded: %+v", out)
	}
	if diff := cmp.Diff([]string{"name", "system_prompt"}, out.Required); diff != "" {
		t.Error(diff)
	}
}
