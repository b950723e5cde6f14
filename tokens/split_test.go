package tokens

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These are for reading; that every text is split as it should is shown by its count.
func TestSplit(t *testing.T) {
	tests := []struct {
		name, text    string
		o200k, cl100k []string // nil is the same
	}{
		{name: "words take what is before them", text: "Hello, (world) we'll", o200k: []string{"Hello", ",", " (", "world", ")", " we'll"}, cl100k: []string{"Hello", ",", " (", "world", ")", " we", "'ll"}},
		{name: "case begins a word", text: "camelCase XMLHttp", o200k: []string{"camel", "Case", " XMLHttp"}, cl100k: []string{"camelCase", " XMLHttp"}},
		{name: "letters without case go with both", text: "aB日cD日E", o200k: []string{"a", "B日c", "D日", "E"}, cl100k: []string{"aB日cD日E"}},
		{name: "marks", text: "e\u0301!\u0301!\u0301 !\u0301", o200k: []string{"e\u0301", "!\u0301", "!\u0301", " !\u0301"}, cl100k: []string{"e", "\u0301!\u0301!\u0301", " !\u0301"}},
		{name: "numbers by three", text: " 12345", o200k: []string{" ", "123", "45"}},
		{name: "spaces leave one to the word", text: "a   b", o200k: []string{"a", "  ", " b"}},
		{name: "spaces leave one to a number", text: "a   1", o200k: []string{"a", "  ", " ", "1"}},
		{name: "line breaks take what is before them", text: "a \n \n b", o200k: []string{"a", " \n \n", " b"}},
		{name: "symbols take line breaks", text: "});\n\n/x", o200k: []string{"});\n\n/", "x"}, cl100k: []string{"});\n\n", "/x"}},
		{name: "an odd space before a symbol", text: "\u00a0! \u00a0a", o200k: []string{"\u00a0", "!", " ", "\u00a0a"}},
	}
	for _, test := range tests {
		if test.cl100k == nil {
			test.cl100k = test.o200k
		}
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.o200k, pieces(endO200k, test.text)); diff != "" {
				t.Errorf("o200k_base (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.cl100k, pieces(endCL100k, test.text)); diff != "" {
				t.Errorf("cl100k_base (-want +got):\n%s", diff)
			}
		})
	}
}

func pieces(pieceEnd func(*classes, string, int) int, text string) []string {
	c := newClasses()
	var all []string
	for i := 0; i < len(text); {
		end := pieceEnd(c, text, i)
		all = append(all, text[i:end])
		i = end
	}
	return all
}
