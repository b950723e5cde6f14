package message_test

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
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
		{"with white space of any kind", "file", "<\f/file>,<\u00a0/file>,</\v\u2003file>,</fi\u2028le>", nil, "<file>\n&lt;\f/file>,&lt;\u00a0/file>,&lt;/\v\u2003file>,&lt;/fi\u2028le>\n</file>"},
		{"with what can't be seen", "file", "<\u200b/file>,</fi\u200ble>,</\ufefffile>,<\x00/f\u00adile>,</f\ufe0file>,</f\u3164ile>", nil, "<file>\n&lt;\u200b/file>,&lt;/fi\u200ble>,&lt;/\ufefffile>,&lt;\x00/f\u00adile>,&lt;/f\ufe0file>,&lt;/f\u3164ile>\n</file>"},
		{"with other brackets", "file", "\uff1c/file\uff1e,\u2039/file\u203a,\u3008/file\u3009,\u27e8/file\u27e9,\ufe64/file", nil, "<file>\n&#xFF1C;/file\uff1e,&#x2039;/file\u203a,&#x3008;/file\u3009,&#x27E8;/file\u27e9,&#xFE64;/file\n</file>"},
		{"with other slashes", "file", "<\uff0ffile>,<\u2215file>,<\u2044file>", nil, "<file>\n&lt;\uff0ffile>,&lt;\u2215file>,&lt;\u2044file>\n</file>"},
		{"with other letters", "file", "</\uff46\uff49\uff4c\uff45>,</\ufb01le>", nil, "<file>\n&lt;/\uff46\uff49\uff4c\uff45>,&lt;/\ufb01le>\n</file>"},
		{"with a long s", "session_memory", "\u2039/\u017fession_memory>,</SE\u017fSION\uff3fmemory", nil, "<session_memory>\n&#x2039;/\u017fession_memory>,&lt;/SE\u017fSION\uff3fmemory\n</session_memory>"},
		{"brackets, slashes and spaces of their own", "file", "a < b / file, \u3008\u66f8\u3009/file \u2039a\u203a </ f ul> \u00ab/file\u00bb </\u200b", nil, "<file>\na < b / file, \u3008\u66f8\u3009/file \u2039a\u203a </ f ul> \u00ab/file\u00bb </\u200b\n</file>"},
		{"bytes that are not UTF-8", "file", "\xff</file\xff", nil, "<file>\n\xff&lt;/file\xff\n</file>"},

		{"a value that would end its tag", "file", "x", file(`"><b>&`), "<file name=\"&quot;&gt;&lt;b&gt;&amp;\">\nx\n</file>"},
		{"a value that closes its wrapper", "file", "x", file("\uff1c/file\uff1e"), "<file name=\"&#xFF1C;/file\uff1e\">\nx\n</file>"},
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
// attributes, and its text can be read back. What holds no closing tag keeps its bytes.
func TestWrapHolds(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"<", "/", "file", "FILE", ">", " ", "\n", "\"", "&lt;", "a", "\u202e", "\x00", "é", "</file>",
		"\uff1c", "\u2039", "\u3008", "\uff0f", "\u2215", "fi", "le", "\ufb01", "\uff46ile", "\u200b", "\ufeff", "\u00a0", "\u2028", "\f", "\u3164",
	})
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
		if strings.Contains(plain(open+body), "</file") {
			t.Fatalf("%q can be taken to end early", got)
		}
		if !strings.Contains(plain(text), "</file") && strings.TrimSuffix(body, "\n") != strings.TrimSuffix(text, "\n") {
			t.Fatalf("%q is not shown as it is: %q", text, body)
		}
		unescape := strings.NewReplacer("&lt;", "<", "&#xFF1C;", "\uff1c", "&#x2039;", "\u2039", "&#x3008;", "\u3008")
		if strings.TrimSuffix(unescape.Replace(body), "\n") != strings.TrimSuffix(unescape.Replace(text), "\n") {
			t.Fatalf("%q does not hold %q", got, text)
		}
	})
}

// plain is a text as one who reads quickly sees it.
func plain(text string) string {
	text = strings.NewReplacer("\u2039", "<", "\u3008", "<", "\u2215", "/", "\u3164", "").Replace(text)
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(text))
}

func BenchmarkWrap(b *testing.B) {
	for name, text := range map[string]string{
		"prose":   strings.Repeat("a line of text, as long as lines are\n", 1<<15),
		"hostile": strings.Repeat("<  /fil", 1<<17),
		"foreign": strings.Repeat("\uff1c\u200b/\ufb01l報告 ", 1<<15),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				message.Wrap("file", text)
			}
		})
	}
}
