package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDataIsFresh(t *testing.T) {
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		want, err := vocabulary(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", "..", "data", name+".bin"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("the file of %s is not what the loader has: run go generate ./tokens", name)
		}
	}
}

func TestUnknownVocabulary(t *testing.T) {
	if _, err := vocabulary("x"); err == nil {
		t.Error("no error")
	}
}

func TestFlatten(t *testing.T) {
	got, err := flatten(map[string]int{"ab": 1, "a": 0})
	if want := []byte("\x02\x00\x00\x00\x01\x02aab"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestFlattenRefuses(t *testing.T) {
	tests := map[string]map[string]int{
		"a gap":        {"a": 0, "b": 2},
		"a rank twice": {"a": 0, "b": 0},
		"less than 0":  {"a": -1},
		"an empty one": {"": 0},
		"a long one":   {strings.Repeat("a", 256): 0},
	}
	for name, ranks := range tests {
		if data, err := flatten(ranks); err == nil {
			t.Errorf("%s: got %q", name, data)
		}
	}
}
