package tokens_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"sessiond/tokens"
)

func TestNew(t *testing.T) {
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		encoding, err := tokens.New(name)
		if err != nil || encoding.Name() != name {
			t.Errorf("New(%q) = %v, %v", name, encoding, err)
		}
	}
	for _, name := range []string{"", "p50k_base", "O200K_BASE"} {
		if _, err := tokens.New(name); err == nil || !strings.Contains(err.Error(), "o200k_base and cl100k_base") {
			t.Errorf("New(%q) does not say what there is: %v", name, err)
		}
	}
}

// The numbers are those of OpenAI's own tokenizer.
func TestCountKnown(t *testing.T) {
	tests := []struct {
		text          string
		o200k, cl100k int
	}{
		{"", 0, 0},
		{"hello world", 2, 2},
		{"tiktoken is great!", 6, 6},
		{"antidisestablishmentarianism", 6, 6},
		{"2 + 2 = 4", 7, 7},
		{"お誕生日おめでとう", 8, 9},
		{"<|endoftext|>", 7, 7},
	}
	for _, test := range tests {
		for i, s := range eachSubject(t) {
			want := []int{test.o200k, test.cl100k}[i]
			if got := s.Count(test.text); got != want {
				t.Errorf("%s: %q has %d tokens, want %d", s.Name(), test.text, got, want)
			}
		}
	}
}

func TestCountEqualsOriginal(t *testing.T) {
	for _, s := range eachSubject(t) {
		t.Run(s.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				for range 20 { // so that there are thousands
					text := anyText().Draw(t, "text")
					if got, want := s.Count(text), s.want(text); got != want {
						t.Fatalf("%q has %d tokens, want %d", text, got, want)
					}
				}
			})
		})
	}
}

// Each kind of text is put before, between and behind each other.
func TestCountEqualsOriginalOnPairs(t *testing.T) {
	for _, s := range eachSubject(t) {
		for _, a := range kinds {
			for _, b := range kinds {
				if text := a + b + a; s.Count(text) != s.want(text) {
					t.Errorf("%s: %q has %d tokens, want %d", s.Name(), text, s.Count(text), s.want(text))
				}
			}
		}
	}
}

func TestCountEqualsOriginalOnConversations(t *testing.T) {
	const step, most = 23, 6000 // the original is slow
	all := texts(t)
	for _, s := range eachSubject(t) {
		for i := 0; i < len(all); i += step {
			text := s.Head(all[i], most)
			if got, want := s.Count(text), s.want(text); got != want {
				t.Errorf("%s: text %d has %d tokens, want %d", s.Name(), i, got, want)
			}
		}
	}
}

// What can't be broken is merged in windows; the original, all at once.
func TestCountEqualsOriginalOnLongRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	of := func(alphabet string, n int) string {
		letters := []rune(alphabet)
		var b strings.Builder
		for range n {
			b.WriteRune(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	runs := []string{
		strings.Repeat("a", 5003), strings.Repeat("ab", 1501), strings.Repeat(" ", 4001), strings.Repeat("\n", 2001),
		strings.Repeat("=", 3001), strings.Repeat("-", 3003), strings.Repeat("\u0301", 700), strings.Repeat("🙂", 500),
		strings.Repeat("中", 900), strings.Repeat("你好世界", 300), strings.Repeat("AB", 800), strings.Repeat("don't", 300),
		of("abcdefghijklmnopqrstuvwxyz", 4000), of("ACGT", 4000), of("etaoin", 3000), of("!#$%&()*+,-.", 3000),
		of("的一是不了人我在有他这为之大来以个中上们", 1000), of("абвгдежзик", 1500), of("αβγδεζηθ", 1500), of("가나다라마바사", 1000),
		of(" \t", 3000), of("\u00a0\u2003 ", 1000), of("aé\u0301", 2000),
	}
	for _, s := range eachSubject(t) {
		for i, run := range runs {
			if got, want := s.Count(run), s.want(run); got != want {
				t.Errorf("%s: run %d has %d tokens, want %d", s.Name(), i, got, want)
			}
		}
	}
}

func TestCountEqualsOriginalOnInvalidText(t *testing.T) {
	for _, s := range eachSubject(t) {
		rapid.Check(t, func(t *rapid.T) {
			for range 10 {
				text := invalidText().Draw(t, "text")
				if got, want := s.Count(text), s.want(text); got != want {
					t.Fatalf("%s: %q has %d tokens, want %d", s.Name(), text, got, want)
				}
			}
		})
	}
}

// invalidText mixes text with bytes that are none, and with halves of characters.
func invalidText() *rapid.Generator[string] {
	bytes := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) })
	half := rapid.Map(rapid.SampledFrom(kinds), func(s string) string { return s[:(len(s)+1)/2] })
	part := rapid.OneOf(bytes, half, rapid.SampledFrom(kinds), rapid.Just("\x80\x80\x80\x80"))
	return rapid.Map(rapid.SliceOfN(part, 1, 12), func(parts []string) string { return strings.Join(parts, "") })
}

func TestCountStaysInBounds(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, s subject, text string) {
		n := s.Count(text)
		if n > len(text) || n*tokens.MaxTokenBytes < len(text) {
			t.Errorf("%s: %d bytes have %d tokens", s.Name(), len(text), n)
		}
	}
	all := texts(t)
	for _, s := range eachSubject(t) {
		rapid.Check(t, func(t *rapid.T) { check(t, s, anyText().Draw(t, "text")) })
		for i := 0; i < len(all); i += 11 {
			check(t, s, all[i])
		}
		if text := strings.Repeat(" ", 128*1000); s.Count(text) > 1100 {
			t.Errorf("%s: the bound is far from what spaces have: %d", s.Name(), s.Count(text))
		}
	}
}

func TestCountAllocatesNothing(t *testing.T) {
	tests := map[string]string{
		"kinds": strings.Join(kinds, " "),
		"run":   strings.Repeat("a", 20_000) + strings.Repeat("中", 5000),
	}
	for _, s := range eachSubject(t) {
		for name, text := range tests {
			if n := testing.AllocsPerRun(10, func() { s.Count(text) }); n != 0 {
				t.Errorf("%s, %s: %v allocations", s.Name(), name, n)
			}
		}
	}
}

// The first use builds the tables, also if it is many at once.
func TestFirstUseByMany(t *testing.T) {
	encoding, err := tokens.New("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if n := encoding.Count("hello world"); n != 2 {
				t.Errorf("got %d tokens", n)
			}
		})
	}
	all.Wait()
}

func FuzzCount(f *testing.F) {
	for _, kind := range kinds {
		f.Add(kind)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			t.Skip("the original would take too long")
		}
		for _, s := range eachSubject(t) {
			if got, want := s.Count(text), s.want(text); got != want {
				t.Errorf("%s: %q has %d tokens, want %d", s.Name(), text, got, want)
			}
		}
	})
}
