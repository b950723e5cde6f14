package ingest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessiond/ingest"
	"sessiond/message"
)

func prose(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%d: the quick brown fox jumps over the lazy dog, 敏捷的棕色狐狸\n", i)
	}
	return b.String()
}

func upTo(tokens int) func(*ingest.Options) {
	return func(o *ingest.Options) { o.MaxFileTokens = tokens }
}

// TestCaps: of a long text head and tail are shown, within the cap and close to it; the
// block is whole.
func TestCaps(t *testing.T) {
	long := prose(4000)
	for _, most := range []int{100, 1000, 12_345} {
		b, p := take(t, textFile("a.log", "text/plain", long), upTo(most))
		whole := textOf(t, b)
		if !strings.Contains(whole, long) || p.Tokens != counter.Count(whole) || p.Cut == nil {
			t.Fatalf("%+v of %d bytes", p, len(whole))
		}
		shown := p.Cut.Render(whole)
		if n := counter.Count(shown); n != p.Cut.Tokens || n != p.Shown() || n > most || n < most*9/10 {
			t.Errorf("%d tokens are shown of at most %d; the cut says %d", n, most, p.Cut.Tokens)
		}
		head, tail, ok := strings.Cut(shown, fmt.Sprintf("\n[...truncated...] (%d tokens)\n", p.Cut.Missing))
		if !ok || !strings.HasPrefix(head, "<file name=\"a.log\" type=\"text/plain\">\n0: the quick") || !strings.HasSuffix(tail, "\n</file>") {
			t.Errorf("shown is\n%s", shown)
		}
		if n := p.Cut.Missing + counter.Count(head) + counter.Count(tail); n < p.Tokens-8 || n > p.Tokens+8 {
			t.Errorf("%d tokens in all, want about %d", n, p.Tokens)
		}
	}
	if _, p := take(t, textFile("a.log", "", long), upTo(1_000_000)); p.Cut != nil {
		t.Errorf("it is cut though it fits: %+v", p)
	}
}

// TestCapsThatAreTooSmall: the least that says anything must fit.
func TestCapsThatAreTooSmall(t *testing.T) {
	e := refused(t, textFile("a.log", "", prose(100)), upTo(70))
	if e.Kind != ingest.KindTooLarge || e.MaxTokens != 70 || e.Tokens <= 70 || e.Tokens > 120 || e.Path != "attachments[0]" || e.Bytes != 0 {
		t.Errorf("%+v", e)
	}
	if _, p := take(t, textFile("a.log", "", prose(100)), upTo(e.Tokens)); p.Shown() > e.Tokens {
		t.Errorf("%+v over %d", p, e.Tokens)
	}
}

// TestOverAll: everything together must fit, and the message's own words are not cut.
func TestOverAll(t *testing.T) {
	limit := func(o *ingest.Options) { o.MaxTokens = 1000 }
	words := []message.Block{message.Text{Text: prose(10)}}
	own := counter.Count(prose(10))
	r, err := ingest.Files(words, []ingest.File{textFile("a", "", prose(500)), textFile("b", "", "short"), textFile("c", "", prose(500))}, options(limit))
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Parts; p[0].Tokens != own || p[0].Cut != nil || p[2].Cut != nil || p[1].Cut == nil || p[3].Cut == nil || p[1].Shown()-p[3].Shown() > 20 {
		t.Errorf("%+v", p)
	}
	if n := r.Tokens(); n > 1000 || n < 900 {
		t.Errorf("%d tokens in all", n)
	}
	files := make([]ingest.File, 20)
	for i := range files {
		files[i] = textFile(fmt.Sprint(i), "", prose(500))
	}
	for _, tt := range []struct {
		path  string
		words []message.Block
		files []ingest.File
	}{
		{"attachments", words, files},
		{"content", []message.Block{message.Text{Text: prose(100)}}, nil},
		{"content", []message.Block{message.Text{Text: prose(100)}}, files},
	} {
		_, err := ingest.Files(tt.words, tt.files, options(limit))
		e, ok := errors.AsType[*ingest.Error](err)
		if !ok || e.Kind != ingest.KindTooLarge || e.Path != tt.path || e.File != -1 || e.MaxTokens != 1000 || e.Tokens <= 1000 {
			t.Errorf("%s: %v", tt.path, err)
		}
	}
}

// TestTooManyBytes: what is larger than any file may be isn't even decoded.
func TestTooManyBytes(t *testing.T) {
	big := strings.Repeat("A", 48<<20)
	for _, f := range []ingest.File{{Name: "a", Data: &big}, {Name: "a", Text: &big}} {
		e := refused(t, f)
		if e.Kind != ingest.KindTooLarge || e.Bytes <= e.MaxBytes || e.MaxBytes != 32<<20 || e.Tokens != 0 {
			t.Errorf("%+v", e)
		}
	}
}

// TestShares: whatever comes, the content fits or is refused; what is shown is there.
func TestShares(t *testing.T) {
	line := rapid.SampledFrom([]string{"a line of text\n", "</file>", "報告", "😀😀", "\r\n", "x", "                \n", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat(strings.Join(rapid.SliceOfN(line, 1, 10).Draw(t, "lines"), ""), rapid.IntRange(0, 60).Draw(t, "times"))
	})
	rapid.Check(t, func(t *rapid.T) {
		var files []ingest.File
		for _, s := range rapid.SliceOfN(text, 0, 5).Draw(t, "files") {
			files = append(files, textFile("f.txt", "text/plain", s))
		}
		o := options()
		o.MaxFileTokens, o.MaxTokens = rapid.IntRange(0, 600).Draw(t, "each"), rapid.IntRange(0, 1500).Draw(t, "all")
		r, err := ingest.Files(nil, files, o)
		if e, ok := errors.AsType[*ingest.Error](err); ok {
			if e.Kind != ingest.KindTooLarge || e.Tokens <= e.MaxTokens {
				t.Fatalf("%+v", e)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range r.Parts {
			whole := r.Blocks[i].(message.Text).Text
			if p.Tokens != counter.Count(whole) {
				t.Fatalf("%d tokens, counted %d", counter.Count(whole), p.Tokens)
			}
			if o.MaxFileTokens > 0 && p.Shown() > o.MaxFileTokens {
				t.Fatalf("%d tokens of one, over %d", p.Shown(), o.MaxFileTokens)
			}
			if p.Cut == nil {
				continue
			}
			shown := p.Cut.Render(whole)
			if counter.Count(shown) != p.Cut.Tokens || p.Cut.Missing < 1 || p.Cut.Head+p.Cut.Tail > len(whole) {
				t.Fatalf("%+v of %d bytes", p.Cut, len(whole))
			}
			if strings.Count(shown, "</file") != 1 || !strings.HasSuffix(shown, "\n</file>") {
				t.Fatalf("shown is %q", shown)
			}
		}
		if o.MaxTokens > 0 && r.Tokens() > o.MaxTokens {
			t.Fatalf("%d tokens in all, over %d", r.Tokens(), o.MaxTokens)
		}
	})
}

// TestCutOfAnotherText: a cut that doesn't fit does no harm.
func TestCutOfAnotherText(t *testing.T) {
	for _, c := range []ingest.Cut{{Head: 10, Tail: 10}, {Head: -1, Tail: -1}, {Head: 2, Tail: 9}} {
		if got := c.Render("abc"); !strings.Contains(got, "[...truncated...]") || len(strings.Trim(got, "abc")) == 0 {
			t.Errorf("%+v gives %q", c, got)
		}
	}
}
