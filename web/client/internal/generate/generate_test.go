package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFilesAreFresh(t *testing.T) {
	made, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range made {
		got, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what the registry says; run go generate ./web (-want +got):\n%s", name, diff)
		}
	}
}

func TestTypes(t *testing.T) {
	text := schema{Type: "string"}
	tests := []struct {
		name string
		in   schema
		want string
	}{
		{"reference", schema{Ref: "#/components/schemas/Usage"}, "Usage"},
		{"integer", schema{Type: "integer"}, "number"},
		{"any", schema{}, "unknown"},
		{"enumeration", schema{Type: "string", Enum: []string{"a", "b"}}, "'a' | 'b'"},
		{"constant", schema{Type: "string", Const: "a"}, "'a'"},
		{"list of a choice", schema{Type: "array", Items: &schema{OneOf: []schema{text, {Type: "boolean"}}}}, "Array<string | boolean>"},
		{"raw object", schema{Type: "object"}, "JSONObject"},
		{"open object", schema{Type: "object", Properties: map[string]schema{"a": text, "b": text}, Required: []string{"b"}}, "{ b: string; a?: string; [member: string]: unknown; }"},
		{"closed object", schema{Type: "object", Properties: map[string]schema{"a": text}, Additional: new(false)}, "{ a?: string; }"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := typeOf(&tt.in); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := paramsName("v1.session.undo_compact"); got != "SessionUndoCompactParams" {
		t.Errorf("params are called %s", got)
	}
}
