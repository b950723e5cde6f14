package fold

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"ASCII", "Hello, WORLD_42!", "hello, world_42!"},
		{"Cyrillic", "Привет", "привет"},
		{"both small sigmas", "ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ σίσυφοσ"},
		{"long s and the sign for kelvin", "ſK", "sk"},
		{"dotted and dotless i", "İıIi", "iiii"},
		{"sharp s", "ẞß", "ßß"},
		{"letters without case", "压缩 記憶 שלום", "压缩 記憶 שלום"},
		{"NUL", "a\x00b", "a b"},
		{"no UTF-8", "a\xffb\xe5\x8e", "a\ufffdb\ufffd\ufffd"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, Text(tc.text)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestEveryRune folds all there are: once is enough, and all cases become the same.
func TestEveryRune(t *testing.T) {
	for r := rune(1); r <= unicode.MaxRune; r++ {
		want := foldRune(r)
		for _, other := range []rune{want, unicode.ToUpper(r), unicode.ToLower(r), unicode.ToTitle(r)} {
			if got := foldRune(other); got != want {
				t.Errorf("%q folds to %q, but its other form %q to %q", r, want, other, got)
			}
		}
	}
}

func TestWords(t *testing.T) {
	cases := []struct {
		query string
		want  []string
	}{
		{"", nil},
		{" \t\u3000\x00\n", nil},
		{"One", []string{"one"}},
		{"two ONE\u3000Two one", []string{"one", "two"}},
		{"压缩 策略", []string{"压缩", "策略"}},
	}
	for _, tc := range cases {
		got := Words(tc.query)
		if len(got) != len(tc.want) || len(got) > 0 && cmp.Diff(tc.want, got) != "" {
			t.Errorf("words of %q are %q, want %q", tc.query, got, tc.want)
		}
	}
}

func TestFind(t *testing.T) {
	cases := []struct {
		name, text, query, want string
	}{
		{"first of several", "a cat, a CAT", "cat", "cat"},
		{"in other case", "Der Große HUND", "hund", "HUND"},
		{"the longest word", "go and Compact it", "go compact", "Compact"},
		{"letters of other lengths", "İstanbul", "istanbul", "İstanbul"},
		{"after a false start", "aab", "ab", "ab"},
		{"behind bytes that are no UTF-8", "\xff\xfeword", "word", "word"},
		{"two characters", "上下文压缩策略", "压缩", "压缩"},
		{"absent", "text", "texts", ""},
		{"no word", "text", " ", ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			start, end := Find(tc.text, Words(tc.query))
			if got := tc.text[start:end]; got != tc.want {
				t.Errorf("found %q at %d, want %q", got, start, tc.want)
			}
		})
	}
}

// TestFindAgrees holds Find, which walks the text as it is, against the folded text
// that databases search.
func TestFindAgrees(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("aAbBσςΣİiK\x00 压")), 0, 12, -1)
	rapid.Check(t, func(rt *rapid.T) {
		text := letters.Draw(rt, "text") + string(rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(rt, "bytes"))
		words := Words(letters.Draw(rt, "query"))
		if len(words) == 0 {
			return
		}
		start, end := Find(text, words)
		longest := ""
		for _, w := range words {
			if len(w) > len(longest) {
				longest = w
			}
		}
		folded := Text(text)
		if !utf8.ValidString(folded) || Text(folded) != folded {
			rt.Fatalf("folded text %q", folded)
		}
		if found := end > start; found != strings.Contains(folded, longest) {
			rt.Fatalf("%q in %q: found at %d to %d", longest, text, start, end)
		}
		if end > start && Text(text[start:end]) != longest {
			rt.Fatalf("%q in %q: found %q", longest, text, text[start:end])
		}
		if Contains(folded, words) && end == start {
			rt.Fatalf("%q in %q: contained, but not found", words, text)
		}
	})
}

func TestCut(t *testing.T) {
	cases := []struct {
		text string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc"},
		{"压缩", 3, "压"},
		{"压缩", 5, "压"},
		{"压缩", 2, ""},
		{"\xbf\xbf\xbf", 2, ""},
	}
	for _, tc := range cases {
		if got := Cut(tc.text, tc.n); got != tc.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tc.text, tc.n, got, tc.want)
		}
	}
}
