package message_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"sessiond/message"
)

func TestWrap(t *testing.T) {
	file := func(value string) []message.Attr { return []message.Attr{{Name: "name", Value: value}} }
	tests := []struct {
		name, tag, text string
		attrs           []message.Attr
		want            string
	}{
		{"text", "file", "body", nil, "<file>\nbody\n</file>"},
		{"a newline at its end", "file", "body\n", nil, "<file>\nbody\n</file>"},
		{"nothing", "file", "", nil, "<file>\n\n</file>"},
		{"attributes", "file", "x", []message.Attr{{Name: "name", Value: "a b.txt"}, {Name: "type", Value: "text/plain"}}, "<file name=\"a b.txt\" type=\"text/plain\">\nx\n</file>"},
		{"a closing tag", "file", "x</file>y", nil, "<file>\nx&lt;/file>y\n</file>"},
		{"in another case", "file", "</FiLe>", nil, "<file>\n&lt;/FiLe>\n</file>"},
		{"with white space", "file", "< / file >,</\nfile>,<\t/file>", nil, "<file>\n&lt; / file >,&lt;/\nfile>,&lt;\t/file>\n</file>"},
		{"the start of a longer name", "file", "</filed>", nil, "<file>\n&lt;/filed>\n</file>"},
		{"half a tag at the end", "file", "</fil", nil, "<file>\n</fil\n</file>"},
		{"tags in tags", "file", "<</file</file", nil, "<file>\n<&lt;/file&lt;/file\n</file>"},
		{"other tags", "file", "<a></a><file></b>a<b", nil, "<file>\n<a></a><file></b>a<b\n</file>"},
		{"line endings", "file", "a\r\nb\rc\n", nil, "<file>\na\r\nb\rc\n</file>"},
		{"bytes that are not UTF-8", "file", "\xff</file\xff", nil, "<file>\n\xff&lt;/file\xff\n</file>"},

		{"a value that would end its tag", "file", "x", file(`"><b>&`), "<file name=\"&quot;&gt;&lt;b&gt;&amp;\">\nx\n</file>"},
		{"a value of lines", "file", "x", file("a\r\nb\u2028c\u2029d\x00e\x85f\x1bg"), "<file name=\"a  b c d e\ufffdf g\">\nx\n</file>"},
		{"a value from right to left", "file", "x", file("gpj\u202e.exe\u2066\u200f"), "<file name=\"gpj.exe\">\nx\n</file>"},
		{"a value with what can't be seen", "file", "x", file("a\U000e0041\u200b\ufeff\U000e0101b"), "<file name=\"ab\">\nx\n</file>"},
		{"a value of many scripts", "file", "x", file("報告 دفتر\u200cچه ❤\ufe0f 👩\u200d💻.txt"), "<file name=\"報告 دفتر\u200cچه ❤\ufe0f 👩\u200d💻.txt\">\nx\n</file>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := message.Wrap(tt.tag, tt.text, tt.attrs...); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestWrapHolds: whatever stands in it, a wrapper ends at its end and has one line of
// attributes, and its text can be read back.
func TestWrapHolds(t *testing.T) {
	piece := rapid.SampledFrom([]string{"<", "/", "file", "FILE", ">", " ", "\n", "\"", "&lt;", "a", "\u202e", "\x00", "é", "</file>"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "text"), "")
		value := strings.Join(rapid.SliceOf(piece).Draw(t, "value"), "")
		got := message.Wrap("file", text, message.Attr{Name: "name", Value: value})

		open, body, ok := strings.Cut(got, "\n")
		if !ok || strings.Count(open, `"`) != 2 || strings.Count(open, "<") != 1 || strings.Count(open, ">") != 1 {
			t.Fatalf("the opening tag is %q", open)
		}
		if strings.ContainsFunc(open, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Fatalf("the opening tag has hidden characters: %q", open)
		}
		body, ok = strings.CutSuffix(body, "</file>")
		if !ok {
			t.Fatalf("%q does not end with its tag", got)
		}
		squeezed := strings.ToLower(strings.NewReplacer(" ", "", "\n", "", "\t", "", "\r", "").Replace(body))
		if strings.Contains(squeezed, "</file") {
			t.Fatalf("%q can be taken to end early", got)
		}
		if unescape := strings.NewReplacer("&lt;", "<"); strings.TrimSuffix(unescape.Replace(body), "\n") != strings.TrimSuffix(unescape.Replace(text), "\n") {
			t.Fatalf("%q does not hold %q", got, text)
		}
	})
}

func BenchmarkWrap(b *testing.B) {
	for name, text := range map[string]string{
		"prose":   strings.Repeat("a line of text, as long as lines are\n", 1<<15),
		"hostile": strings.Repeat("<  /fil", 1<<17),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				message.Wrap("file", text)
			}
		})
	}
}
