package terminal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/internal/chat"
	v1 "sessiond/rpc/v1"
)

func streamed(v *chat.View, from int, text string) {
	v.Apply(chat.Streamed{Delta: v1.Delta{ItemID: "a1/0", Kind: v1.DeltaText, From: int64(from), To: int64(from + 1), Text: text}})
}

func added(t *rapid.T, v *chat.View, text string) {
	data, err := json.Marshal(map[string]any{"message": map[string]any{
		"id": "a1", "role": "assistant", "content": []any{map[string]any{"type": "text", "text": text}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	v.Apply(chat.Logged{Entry: v1.Entry{Seq: 1, Type: v1.EventMessageAdded, Data: data}})
}

// TestRowsTellTheText: whenever rows are taken, and however often the width changes, they
// tell the whole text once, and fit.
func TestRowsTellTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"one ", "two", "\n", "\n\n", "今天天气很好。", " ", "  ", "antidisestablishmentarianism", "\tx"}), 0, 30).Draw(t, "pieces")
		resized := rapid.Bool().Draw(t, "is resized")
		v, p, width := chat.NewView(time.UTC), &printer{}, 20
		var got []string
		take := func() {
			for _, row := range p.take(v, width) {
				if chat.Width(row) > width {
					t.Fatalf("%q is wider than %d", row, width)
				}
				got = append(got, row)
			}
		}
		for i, piece := range pieces {
			streamed(v, i, piece)
			if resized && rapid.Bool().Draw(t, "resize") {
				width = rapid.IntRange(4, 40).Draw(t, "width")
			}
			if rapid.Bool().Draw(t, "take") {
				take()
				growing := strings.Join(p.growing(v, width), "")
				if !strings.HasSuffix(squeezed(v.Open()), squeezed(growing)) {
					t.Fatalf("%q is growing, of %q", growing, v.Open())
				}
			}
		}
		whole := strings.Join(pieces, "")
		added(t, v, whole)
		take()
		if diff := cmp.Diff(squeezed(whole), squeezed(strings.Join(got, ""))); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
		if !resized { // they are broken as if the text had come at once
			var want []string
			for text := range strings.SplitSeq(strings.TrimSuffix(whole, "\n"), "\n") {
				want = append(want, p.rowsOf(chat.Line{Spans: []chat.Span{{Text: text}}}, 0, width)...)
			}
			if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
				t.Fatalf("-want +got\n%s", diff)
			}
		}
	})
}

// squeezed is text without what wrapping may leave out.
func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\n' {
			return -1
		}
		return r
	}, text)
}

// TestGrowingIsShort: of a line that grows, no more than what may yet change is kept back.
func TestGrowingIsShort(t *testing.T) {
	v, p := chat.NewView(time.UTC), &printer{}
	printed := 0
	for i := range 100 {
		streamed(v, i, fmt.Sprintf("word %d ", i))
		printed += len(p.take(v, 20))
		if n := len(p.growing(v, 20)); n > unsettledRows {
			t.Fatalf("%d rows are kept back", n)
		}
	}
	if printed < 20 {
		t.Errorf("only %d rows were printed", printed)
	}
}

func TestRows(t *testing.T) {
	plain := func(text string) chat.Line { return chat.Line{Spans: []chat.Span{{Text: text}}} }
	twoSpans := func(cut bool, indent int) chat.Line {
		return chat.Line{Cut: cut, Indent: indent, Spans: []chat.Span{{Style: chat.Accent, Text: "one two "}, {Style: chat.Dim, Text: "three four"}}}
	}
	const accent, dim, end = "\x1b[36m", "\x1b[2m", "\x1b[m"
	for _, tt := range []struct {
		name    string
		line    chat.Line
		colours bool
		width   int
		want    []string
	}{
		{"an empty line", chat.Line{}, true, 10, []string{""}},
		{"a tab", plain("a\tb"), true, 10, []string{"a    b"}},
		{"wrapped", twoSpans(false, 0), true, 11, []string{accent + "one two" + end, dim + "three four" + end}},
		{"across spans", twoSpans(false, 0), true, 14, []string{accent + "one two " + end + dim + "three" + end, dim + "four" + end}},
		{"indented", twoSpans(false, 4), true, 10, []string{accent + "one two" + end, "    " + dim + "three" + end, "    " + dim + "four" + end}},
		{"cut", twoSpans(true, 0), true, 12, []string{accent + "one two " + end + dim + "thr…" + end}},
		{"cut in the first span", twoSpans(true, 0), true, 5, []string{accent + "one …" + end}},
		{"without colours", twoSpans(false, 0), false, 20, []string{"one two " + dim + "three four" + end}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, palette{tt.colours}.rowsOf(tt.line, 0, tt.width)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
