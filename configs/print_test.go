package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestSampleGivesEveryDefault(t *testing.T) {
	c, err := load("sessiond.yaml", []byte(Sample()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain(Default()), plain(c)); diff != "" {
		t.Errorf("defaults (-code +sample):\n%s", diff)
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(Sample()), &document); err != nil {
		t.Fatal(err)
	}
	defaults := Default()
	explained := map[string]bool{}
	walkKeys(document.Content[0], "", func(path string, key *yaml.Node) {
		explained[path] = key.HeadComment != ""
	})
	for _, leaf := range leavesOf(rootOf(&defaults), "") {
		if !explained[leaf.path] {
			t.Errorf("%s is missing in sessiond.yaml or has no comment above it", leaf.path)
		}
	}
}

func walkKeys(group *yaml.Node, path string, visit func(path string, key *yaml.Node)) {
	for i := 0; i < len(group.Content); i += 2 {
		below := join(path, group.Content[i].Value)
		visit(below, group.Content[i])
		if value := group.Content[i+1]; value.Kind == yaml.MappingNode {
			walkKeys(value, below, visit)
		}
	}
}

func TestProductionSampleLoads(t *testing.T) {
	c, err := Load("production.yaml", []string{"DATABASE_PASSWORD=swordfish"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(c.DatabaseURL), ":swordfish@") || len(c.Auth.Tokens) != 2 {
		t.Errorf("got %q and %d tokens", string(c.DatabaseURL), len(c.Auth.Tokens))
	}
	if _, err := Load("production.yaml", nil); err == nil || !strings.Contains(err.Error(), "DATABASE_PASSWORD") {
		t.Errorf("without the password: %v", err)
	}
}

func TestWriteYAMLCanBeReadAgain(t *testing.T) {
	var out bytes.Buffer
	want := Default()
	want.LLM.Models = []Model{{Name: "a"}, {Name: "1.10", WindowTokens: 8192, MaxOutputTokens: 9}}
	if err := want.WriteYAML(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "- a\n") {
		t.Errorf("a plain model is not written as its name:\n%s", out.String())
	}
	c, err := load("printed.yaml", out.Bytes(), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if diff := cmp.Diff(plain(want), plain(c)); diff != "" {
		t.Errorf("settings (-written +read):\n%s", diff)
	}
}

func TestNothingShowsSecrets(t *testing.T) {
	c := Default()
	c.DatabaseURL = "postgres://alice:swordfish@db:5432/sessiond?sslmode=require"
	c.Auth.Tokens = []Token{{Owner: "alice", SHA256: digestA}}
	var printed bytes.Buffer
	if err := c.WriteYAML(&printed); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{
		"yaml": printed.String(),
		"json": string(asJSON),
		"%v":   fmt.Sprintf("%v", c),
		"%+v":  fmt.Sprintf("%+v", c),
		"%#v":  fmt.Sprintf("%#v", c),
		"%s":   fmt.Sprintf("%s %s", c.DatabaseURL, c.Auth.Tokens[0].SHA256),
	}
	for how, text := range shown {
		if strings.Contains(text, "swordfish") || strings.Contains(text, digestA) {
			t.Errorf("%s shows a secret: %s", how, text)
		}
		if !strings.Contains(text, "alice:********@db:5432") {
			t.Errorf("%s hides more than the secret: %s", how, text)
		}
	}
}

func TestDatabaseURLRedacted(t *testing.T) {
	tests := map[DatabaseURL]string{
		"sqlite:./data/a.db":                         "sqlite:./data/a.db",
		"postgres://h/d":                             "postgres://h/d",
		"postgres://u@h/d":                           "postgres://u@h/d",
		"postgres://u:p%40ss@h/d":                    "postgres://u:********@h/d",
		"postgresql://h/d?password=p&user=u":         "postgresql://h/d?password=********&user=u",
		"postgres://h/d?sslkey=k&sslpassword=secret": "postgres://h/d?sslkey=k&sslpassword=********",
		"postgres://u:p%zz@h/d":                      "********",
		"postgres://u:p@h/d?password=%zz":            "********",
		"host=h password=p":                          "********",
		"":                                           "********",
	}
	for address, want := range tests {
		if got := address.Redacted(); got != want {
			t.Errorf("%q: got %q, want %q", string(address), got, want)
		}
	}
}

// TestEveryNumberHasALeastValue, but for those that a [Check] judges.
func TestEveryNumberHasALeastValue(t *testing.T) {
	c := Default()
	for _, leaf := range leavesOf(rootOf(&c), "") {
		if strings.HasPrefix(leaf.path, "context.") && leaf.path != "context.summary.timeout" {
			continue
		}
		if _, ok := leaf.field.Tag.Lookup("min"); leaf.value.CanInt() != ok {
			t.Errorf("%s: is a number: %t; has a tag min: %t", leaf.path, leaf.value.CanInt(), ok)
		}
	}
}

func TestEnvironmentNamesAreUnique(t *testing.T) {
	c := Default()
	paths := map[string]string{envToken: "the token"}
	for _, leaf := range leavesOf(rootOf(&c), "") {
		name := envName(leaf.path)
		if other, ok := paths[name]; ok {
			t.Errorf("%s names both %s and %s", name, other, leaf.path)
		}
		if strings.HasPrefix(name, envTestPrefix) {
			t.Errorf("%s looks like a variable of the tests", name)
		}
		paths[name] = leaf.path
	}
}

// FuzzLoad looks for a file that makes the loader panic, or that is accepted and
// then printed as something it does not accept again.
func FuzzLoad(f *testing.F) {
	production, err := os.ReadFile("production.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(Sample())
	f.Add(string(production))
	f.Add("llm: {models: [a, {name: b, windowTokens: 5}, {windowTokens: -1}]}\n")
	f.Add("a: &a [*a]\nllm: *a\n? [x]\n: y\n<<: {listen: x}\n")
	f.Fuzz(func(t *testing.T, file string) {
		c, err := load("s.yaml", []byte(file), nil)
		if err != nil {
			return
		}
		c.Auth.Tokens = nil                // printed hidden, which is no digest
		c.DatabaseURL = "sqlite:./data.db" // may be printed hidden too
		c.Listen = "127.0.0.1:1"           // may need one of the tokens
		var out bytes.Buffer
		if err := c.WriteYAML(&out); err != nil {
			t.Fatal(err)
		}
		// A printed ${ is a value, not a reference.
		again, err := load("printed.yaml", bytes.ReplaceAll(out.Bytes(), []byte("${"), []byte("$${")), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		again.Auth.Tokens = nil
		if diff := cmp.Diff(plain(c), plain(again)); diff != "" {
			t.Errorf("settings (-written +read):\n%s", diff)
		}
	})
}
