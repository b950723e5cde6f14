package chat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestHeadAndTail(t *testing.T) {
	for _, tt := range []struct {
		text       string
		width      int
		head, tail string
	}{
		{"", 3, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "ab…", "…cd"},
		{"abcd", 1, "…", "…"},
		{"abcd", 0, "", "…"},
		{"你好世界", 8, "你好世界", "你好世界"},
		{"你好世界", 7, "你好世…", "…好世界"},
		{"你好世界", 6, "你好…", "…世界"},
		{"a\tb", 6, "a\tb", "a\tb"},
		{"a\tb", 5, "a…", "…b"},
		{"cafe\u0301s", 5, "cafe\u0301s", "cafe\u0301s"},
		{"cafe\u0301s!", 5, "cafe\u0301…", "…fe\u0301s!"},
		{"👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 3, "👩‍👩‍👧‍👦…", "…👩‍👩‍👧‍👦"},
	} {
		if got := Head(tt.text, tt.width); got != tt.head {
			t.Errorf("head of %q in %d columns: %q, want %q", tt.text, tt.width, got, tt.head)
		}
		if got := tail(tt.text, tt.width); tt.width > 0 && got != tt.tail {
			t.Errorf("tail of %q in %d columns: %q, want %q", tt.text, tt.width, got, tt.tail)
		}
	}
}

func rowsIn(text string, ends []int) (rows []string) {
	start := 0
	for _, end := range ends {
		rows = append(rows, text[start:end])
		start = end
	}
	return rows
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		name, text    string
		width, indent int
		want          []string
	}{
		{"nothing", "", 10, 0, []string{""}},
		{"one row", "one two", 10, 0, []string{"one two"}},
		{"between words", "one two three", 8, 0, []string{"one two ", "three"}},
		{"spaces stand out", "one two     three", 7, 0, []string{"one two     ", "three"}},
		{"a long word", "a verylongword here", 6, 0, []string{"a ", "verylo", "ngword ", "here"}},
		{"Chinese, not before a full stop", "今天天气很好。明天", 12, 0, []string{"今天天气很", "好。明天"}},
		{"both", "hello 今天天气很好", 11, 0, []string{"hello 今天", "天气很好"}},
		{"a wide character does not fit", "abc今", 4, 0, []string{"abc", "今"}},
		{"indent", "one two three four", 10, 4, []string{"one two ", "three ", "four"}},
		{"a long word, indented", "abcdefghijklmnop", 8, 4, []string{"abcdefgh", "ijkl", "mnop"}},
		{"tabs", "\ta\tb", 6, 0, []string{"\t", "a\tb"}},
		{"no room", "ab", 0, 0, []string{"ab"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, rowsIn(tt.text, Wrap(tt.text, tt.width, tt.indent))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// words that rules of line breaking care about.
func drawText(t *rapid.T, label string) string {
	words := rapid.SampledFrom([]string{
		"a", "word", "antidisestablishmentarianism", " ", "  ", "\t", "今天", "。", "「", "」", "!", "$", "(", "1", "2.5", "%", "-", "/", "“", "”",
		"e\u0301", "\u200d", "👩", "🇩🇪", "\u00a0", "\u200b", "https://example.org/a?b=c", "…", "กขค", "한국", "\ufe0f", "\"", "—",
	})
	return strings.Join(rapid.SliceOfN(words, 0, 30).Draw(t, label), "")
}

// TestWrapFits: nothing is lost, and no row is too wide but for the spaces at its end.
func TestWrapFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t, "text")
		width, indent := rapid.IntRange(4, 30).Draw(t, "width"), rapid.IntRange(0, 10).Draw(t, "indent")
		rows := rowsIn(text, Wrap(text, width, indent))
		if joined := strings.Join(rows, ""); joined != text {
			t.Fatalf("%q became %q", text, joined)
		}
		for i, row := range rows {
			most := width
			if i > 0 {
				most = max(width-indent, TabWidth)
			}
			if Width(strings.TrimRight(row, " ")) > most {
				t.Fatalf("row %d is too wide for %d: %q", i, most, row)
			}
		}
	})
}

// TestWrapSettles: more text changes none but the last two rows.
func TestWrapSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, more := drawText(t, "text"), drawText(t, "more")
		width := rapid.IntRange(4, 30).Draw(t, "width")
		before, after := Wrap(text, width, 0), Wrap(text+more, width, 0)
		settled := max(0, len(before)-2)
		if diff := cmp.Diff(before[:settled], after[:min(settled, len(after))]); diff != "" {
			t.Fatalf("%q and then %q\n%s", text, more, diff)
		}
	})
}

// TestHeadFits: what is cut fits, and is a beginning.
func TestHeadFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, width := drawText(t, "text"), rapid.IntRange(1, 30).Draw(t, "width")
		head, end := Head(text, width), tail(text, width)
		if Width(head) > width || !strings.HasPrefix(text, strings.TrimSuffix(head, ellipsis)) && head != text {
			t.Errorf("head of %q in %d: %q", text, width, head)
		}
		if Width(end) > width || !strings.HasSuffix(text, strings.TrimPrefix(end, ellipsis)) && end != text {
			t.Errorf("tail of %q in %d: %q", text, width, end)
		}
	})
}

func TestHarmless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := harmless(rapid.String().Draw(t, "text"))
		for _, r := range text {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q is left", r)
			}
		}
	})
}

func TestComplete(t *testing.T) {
	for text, want := range map[string]string{
		"":         "",
		"he":       "he",
		"/":        "/",
		"/he":      "/help ",
		"/co":      "/co",
		"/com":     "/compact ",
		"/s":       "/s",
		"/nothing": "/nothing",
		"/help me": "/help me",
	} {
		if got := Complete(text); got != want {
			t.Errorf("%q is completed to %q, want %q", text, got, want)
		}
	}
}

func TestAmounts(t *testing.T) {
	for n, want := range map[int64][2]string{
		0: {"0", "0"}, 999: {"999", "999"}, 1000: {"1.0k", "1.0k"}, 9949: {"9.9k", "9.9k"}, 9950: {"9.9k", "10k"}, 12_400: {"12.4k", "12k"},
		999_499: {"999.5k", "999k"}, 999_949: {"999.9k", "999.9k"}, 999_950: {"1.0M", "1.0M"}, 1_234_567: {"1.2M", "1.2M"},
	} {
		if got := [2]string{tokens(n), short(n)}; got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for usd, want := range map[float64]string{0: "$0.00", 0.00312: "$0.0031", 0.00001: "< $0.0001", 0.05: "$0.05", 0.1: "$0.10", 12.345: "$12.35"} {
		if got := money(usd); got != want {
			t.Errorf("%v: %q, want %q", usd, got, want)
		}
	}
	for width, want := range map[int64]string{0: "░░░░", 1: "▏░░░", 13: "█░░░", 50: "██░░", 100: "████", 150: "████", -5: "░░░░"} {
		if got := bar(width, 100, 4); got != want {
			t.Errorf("%d %%: %q, want %q", width, got, want)
		}
	}
}
