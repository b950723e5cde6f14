package tokens_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// slackBytes is by how much a cut may miss the longest: a token and a cluster, most of
// which are far shorter.
const slackBytes = 128 + 64

// cut is one of two sides' view of the same rules.
type cut struct {
	name string
	do   func(s subject, text string, n int) string
	// isEnd reports whether part is at this end of text.
	isEnd func(text, part string) bool
	// rest returns what was cut off.
	rest func(text, part string) string
	// more returns the end of text that is by n bytes longer than part.
	more func(text, part string, n int) string
}

var cuts = []cut{
	{
		name:  "head",
		do:    func(s subject, text string, n int) string { return s.Head(text, n) },
		isEnd: strings.HasPrefix,
		rest:  func(text, part string) string { return text[len(part):] },
		more:  func(text, part string, n int) string { return text[:len(part)+n] },
	},
	{
		name:  "tail",
		do:    func(s subject, text string, n int) string { return s.Tail(text, n) },
		isEnd: strings.HasSuffix,
		rest:  func(text, part string) string { return text[:len(text)-len(part)] },
		more:  func(text, part string, n int) string { return text[len(text)-len(part)-n:] },
	},
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// check cuts text and applies all rules but those about what is seen as one.
func (c cut) check(t failer, s subject, text string, n int) string {
	t.Helper()
	part := c.do(s, text, n)
	rest := c.rest(text, part)
	switch count := s.Count(part); {
	case !c.isEnd(text, part):
		t.Fatalf("%s %s of %q to %d: %q is not an end of it", s.Name(), c.name, text, n, part)
	case count > max(n, 0):
		t.Fatalf("%s %s of %q to %d: %q has %d tokens", s.Name(), c.name, text, n, part, count)
	case utf8.ValidString(text) != (utf8.ValidString(part) && utf8.ValidString(rest)):
		t.Fatalf("%s %s of %q to %d: %q cuts a character", s.Name(), c.name, text, n, part)
	}
	if n > 0 && len(rest) > slackBytes {
		if more := c.more(text, part, slackBytes); s.Count(more) <= n {
			t.Fatalf("%s %s of %q to %d: %q is shorter than it has to be by %d bytes", s.Name(), c.name, text, n, part, slackBytes)
		}
	}
	if s.Count(text) <= n && part != text {
		t.Fatalf("%s %s of %q to %d: %q, though all of it fits", s.Name(), c.name, text, n, part)
	}
	return part
}

func TestCut(t *testing.T) {
	for _, s := range eachSubject(t) {
		for _, c := range cuts {
			t.Run(s.Name()+" "+c.name, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					text := anyText().Draw(t, "text")
					for range 10 {
						n := rapid.OneOf(rapid.IntRange(-1, 10), rapid.IntRange(0, s.Count(text)+2)).Draw(t, "n")
						c.check(t, s, text, n)
					}
				})
			})
		}
	}
}

func TestCutInvalidText(t *testing.T) {
	for _, s := range eachSubject(t) {
		for _, c := range cuts {
			rapid.Check(t, func(t *rapid.T) {
				text := invalidText().Draw(t, "text")
				c.check(t, s, text, rapid.IntRange(0, s.Count(text)+1).Draw(t, "n"))
			})
		}
	}
}

func TestCutConversations(t *testing.T) {
	const step = 37
	all := texts(t)
	for _, s := range eachSubject(t) {
		for i := 0; i < len(all); i += step {
			for _, c := range cuts {
				for _, n := range []int{1, 17, 400, 6000} {
					c.check(t, s, all[i], n)
				}
			}
		}
	}
}

// Where a cut falls between what is seen as one, and text is of ordinary tokens, not a
// token is given away.
func TestCutIsFull(t *testing.T) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog.\nfunc main() {\n\treturn 12345\n}\n世界和平，你好。", 10)
	for _, s := range eachSubject(t) {
		for _, c := range cuts {
			for n := range s.Count(text) {
				if part := c.check(t, s, text, n); s.Count(part) < n-1 {
					t.Errorf("%s %s to %d has only %d tokens", s.Name(), c.name, n, s.Count(part))
				}
			}
		}
	}
}

func TestCutRuns(t *testing.T) {
	runs := map[string]string{
		"letters": strings.Repeat("a", 6_000), "spaces": strings.Repeat(" ", 6_000), "lines": strings.Repeat("\n", 6_000), "rulers": strings.Repeat("=", 6_000),
		"Chinese": strings.Repeat("中文", 1500), "emoji": strings.Repeat("👨‍👩‍👧‍👦", 300), "flags": strings.Repeat("🇩🇪", 900), "accents": "e" + strings.Repeat("\u0301", 2500), "letters with accents": strings.Repeat("e\u0301", 2500),
	}
	for name, run := range runs {
		for _, s := range eachSubject(t) {
			for _, c := range cuts {
				t.Run(s.Name()+" "+c.name+" "+name, func(t *testing.T) {
					for _, n := range []int{1, 2, 3, 50, 300} {
						c.check(t, s, run, n)
					}
				})
			}
		}
	}
}

// What is seen as one stays together, whatever the budget.
func TestCutKeepsClusters(t *testing.T) {
	clusters := []string{"e\u0301\u0302", "👨🏿‍👩🏿‍👧🏿‍👦🏿", "👍🏽", "🏳️‍🌈", "🇩🇪", "❤️", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "\u1112\u1161\u11ab", "नि", "\r\n", "שָּׁ"}
	for _, s := range eachSubject(t) {
		for _, cluster := range clusters {
			text := "a" + strings.Repeat(cluster, 12) + "b"
			for _, c := range cuts {
				for n := range s.Count(text) {
					part := c.check(t, s, text, n)
					if inside := strings.Trim(part, "ab"); strings.ReplaceAll(inside, cluster, "") != "" {
						t.Errorf("%s %s: %q to %d cuts %q", s.Name(), c.name, text, n, cluster)
					}
				}
			}
		}
	}
}

// Cutting does not look at all of a text: what is far away makes no difference.
func TestCutIsLocal(t *testing.T) {
	for _, s := range eachSubject(t) {
		rapid.Check(t, func(t *rapid.T) {
			near := strings.Repeat(anyText().Draw(t, "near")+".", 300)
			far := strings.Repeat(anyText().Draw(t, "far")+".", 10)
			n := rapid.IntRange(1, len(near)/256).Draw(t, "n")
			if got, want := s.Head(near+far, n), s.Head(near, n); got != want {
				t.Fatalf("%s: head is %q, or without what is far %q", s.Name(), got, want)
			}
			if got, want := s.Tail(far+near, n), s.Tail(near, n); got != want {
				t.Fatalf("%s: tail is %q, or without what is far %q", s.Name(), got, want)
			}
		})
	}
}

// Where the part of a text that is read begins within a word, nothing is cut that fits.
func TestTailOfWhatFits(t *testing.T) {
	for _, s := range eachSubject(t) {
		for words := range 250 {
			text := strings.Repeat(" responsibilities", words)
			if got := s.Tail(text, words); got != text {
				t.Errorf("%s: %d of %d words", s.Name(), strings.Count(got, " "), words)
			}
		}
	}
}

func TestCutOfNothing(t *testing.T) {
	for _, s := range eachSubject(t) {
		for _, c := range cuts {
			for _, n := range []int{-1, 0, 1, 1 << 62} {
				if got := c.do(s, "", n); got != "" {
					t.Errorf("%s: %q", c.name, got)
				}
			}
			if got := c.do(s, "some text", 1<<62); got != "some text" {
				t.Errorf("%s: %q", c.name, got)
			}
		}
	}
}

func TestCutAllocatesNothing(t *testing.T) {
	text := strings.Repeat(strings.Join(kinds, " "), 20)
	far := strings.Repeat("far", 100_000)
	for _, s := range eachSubject(t) {
		for _, c := range cuts {
			if n := testing.AllocsPerRun(10, func() { c.do(s, text, 1000) }); n != 0 {
				t.Errorf("%s: %v allocations", c.name, n)
			}
			// Bad text would have to be copied, but nobody looks there.
			bad := map[string]string{"head": text + far + "\xff", "tail": "\xff" + far + text}[c.name]
			if n := testing.AllocsPerRun(10, func() { c.do(s, bad, 1000) }); n != 0 {
				t.Errorf("%s: %v allocations for what is far", c.name, n)
			}
		}
	}
}

func FuzzCut(f *testing.F) {
	for i, kind := range kinds {
		f.Add(kind+" "+kind, i%5)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		for _, s := range eachSubject(t) {
			for _, c := range cuts {
				c.check(t, s, text, n)
			}
		}
	})
}
