package tokens

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// Pieces put together from tokens, and from parts of them, have seams in all kinds of
// places. What is between them is encoded as all of it at once.
func TestSeamsChangeNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for name, v := range vocabularies() {
		seams := 0
		for range 20_000 {
			var b strings.Builder
			for range 1 + random.IntN(6) {
				token := v.token(random.Uint32N(uint32(len(v.starts) - 1)))
				b.WriteString(token[random.IntN(len(token)):])
			}
			piece := b.String()
			if len(piece) > window {
				continue
			}
			for i := v.nextSeam(piece, 0); i < len(piece); i = v.nextSeam(piece, i) {
				seams++
			}
			var m merger
			want := len(v.merge(m.parts(), piece)) - 1
			if got, end := v.encode(&m, piece, math.MaxInt); got != want || end != len(piece) {
				t.Fatalf("%s: %q has %d tokens up to %d, want %d", name, piece, got, end, want)
			}
		}
		if seams < 1000 {
			t.Errorf("%s: only %d seams; little is shown by that", name, seams)
		}
	}
}

// No token has a seam within.
func TestTokensHaveNoSeams(t *testing.T) {
	for name, v := range vocabularies() {
		for rank := range uint32(len(v.starts) - 1) {
			token := v.token(rank)
			for _, around := range [][2]string{{"", ""}, {"\xe4\xbd\xa0", "\xe5\xa5\xbd"}, {"x", "x"}} {
				whole := around[0] + token + around[1]
				end := len(around[0]) + len(token)
				if i := v.nextSeam(whole, len(around[0])); i < end {
					t.Errorf("%s: %q has a seam at %d", name, whole, i)
				}
			}
		}
	}
}

func TestSeamsAreFound(t *testing.T) {
	const text = "世界和平是人们的愿望"
	for name, v := range vocabularies() {
		longest := 0
		for i := 0; i < len(text); {
			next := v.nextSeam(text, i)
			longest = max(longest, next-i)
			i = next
		}
		if longest > 12 {
			t.Errorf("%s: %d bytes without a seam", name, longest)
		}
	}
}
