package tokens

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// Windows can be put together only if a token is what its bytes are encoded to.
func TestTokensAreMergedToThemselves(t *testing.T) {
	for name, v := range vocabularies() {
		var m merger
		for rank := range uint32(len(v.starts) - 1) {
			token := v.token(rank)
			if n := len(v.merge(m.parts(), token)) - 1; n != 1 {
				t.Errorf("%s: %q is merged to %d tokens", name, v.token(rank), n)
			}
		}
	}
}

// checkWindows compares what encodePart makes of piece with what one merge of all makes.
func checkWindows(t *testing.T, v *vocabulary, piece string) {
	t.Helper()
	whole := newParts(len(piece))
	total := len(v.merge(whole, piece)) - 1
	var m merger
	for limit := total + 1; limit > 0; limit -= 1 + total/8 {
		count, end := v.encodePart(&m, piece, limit)
		if count != min(limit, total) || (count == total) != (end == len(piece)) {
			t.Fatalf("%q: up to %d tokens: %d, the end at %d; there are %d", piece, limit, count, end, total)
		}
		if n := len(v.merge(whole, piece[:end])) - 1; n != count {
			t.Fatalf("%q: the first %d bytes have %d tokens, not %d", piece, end, n, count)
		}
	}
}

func TestWindowsChangeNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, v := range vocabularies() {
		for _, alphabet := range []string{"a", "ab", "etaoinshr", "abcdefghijklmnopqrstuvwxyz", "=-", "ACGT", "\xe4\xbd\xa0\xe5\xa5\xbd"} {
			for _, n := range []int{window - 1, window, window + 1, 2 * window, 3000} {
				piece := make([]byte, n)
				for i := range piece {
					piece[i] = alphabet[random.IntN(len(alphabet))]
				}
				checkWindows(t, v, string(piece))
			}
		}
	}
}

// In this vocabulary the last of many bytes decides how the first ones are merged,
// because each pair is of a lesser rank than the one before it.
func TestWindowsGrow(t *testing.T) {
	const chain = 240
	var pairs []string
	for b := chain - 1; b > 0; b-- {
		pairs = append(pairs, string([]byte{byte(b - 1), byte(b)}))
	}
	v := newTestVocabulary(pairs...)
	var all []byte
	for b := range chain {
		all = append(all, byte(b))
	}
	grown := false
	for before := 0; before < window; before += 3 {
		piece := strings.Repeat("\xff", before) + string(all) + strings.Repeat("\xff", window)
		checkWindows(t, v, piece)
		var m merger
		_, _, ok := v.encodeLong(m.parts(), piece, math.MaxInt)
		grown = grown || !ok
	}
	if !grown {
		t.Error("one window was enough for all; nothing is shown by that")
	}
}
