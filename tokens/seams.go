package tokens

import "unicode/utf8"

// seams knows places in text that no token crosses. What is before and behind such a
// place is encoded on its own, so long words of scripts with many characters come in
// parts that are quickly done, and that often are tokens. Only places before bytes
// beyond ASCII are looked at; before others seams are few.
type seams struct {
	// The bytes before and behind places in tokens, if one of them is the first or the
	// last of its token.
	edges bitset
	// Hashes of the two bytes before and the two behind other places in tokens.
	inside bitset
}

const (
	edgesBits  = 16
	insideBits = 18
)

func newSeams() seams {
	return seams{edges: newBitset(1 << edgesBits), inside: newBitset(1 << insideBits)}
}

// add notes that all places in token are crossed by it.
func (s *seams) add(token string) {
	for i := 1; i < len(token); i++ {
		switch {
		case token[i] < utf8.RuneSelf:
		case i == 1 || i == len(token)-1:
			s.edges.add(bytesAround(token, i))
		default:
			s.inside.add(moreBytesAround(token, i))
		}
	}
}

// nextSeam returns the first place behind i that no token crosses, or the end of piece.
func (s *seams) nextSeam(piece string, i int) int {
	for i++; i < len(piece); i++ {
		if piece[i] >= utf8.RuneSelf && !s.edges.has(bytesAround(piece, i)) &&
			(i == 1 || i == len(piece)-1 || !s.inside.has(moreBytesAround(piece, i))) {
			return i
		}
	}
	return len(piece)
}

func bytesAround(s string, i int) uint64 { return uint64(s[i-1])<<8 | uint64(s[i]) }

func moreBytesAround(s string, i int) uint64 {
	return mix(load32(s[i-2:])) >> (64 - insideBits)
}

// bitset is a set of numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, n/64) }

func (b bitset) add(n uint64)      { b[n/64] |= 1 << (n % 64) }
func (b bitset) has(n uint64) bool { return b[n/64]&(1<<(n%64)) != 0 }
