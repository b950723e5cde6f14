package tokens

import (
	"encoding/binary"
	"math/bits"
)

// MaxTokenBytes is the length of the longest token of every encoding here. A text has
// at least len(text)/MaxTokenBytes tokens, and at most len(text).
const MaxTokenBytes = 128

const (
	rankBits = 18 // of a slot; the rest of it tells most other tokens apart at once
	rankMask = 1<<rankBits - 1
	noRank   = 1<<32 - 1 // higher than every rank

	countBytes = 4 // of the number of tokens, before all else
)

// vocabulary maps bytes to ranks. It is a hash table with open addressing, less than
// half full, over the tokens where they lie in the binary: three flat things without
// pointers. It is not changed after it was made.
type vocabulary struct {
	tokens string   // all of them, by rank, without anything between
	starts []uint32 // of a token in tokens, by rank, and at last their length
	slots  []uint32 // rank + 1, and above it bits of the hash; 0 is a free slot
	last   uint64   // slot; their number is a power of two
	seams
}

// newVocabulary reads what the command generate wrote.
func newVocabulary(data string) *vocabulary {
	count := binary.LittleEndian.Uint32([]byte(data[:countBytes]))
	lengths, tokens := data[countBytes:countBytes+count], data[countBytes+count:]
	size := 1
	for size < 2*len(lengths) {
		size *= 2
	}
	v := &vocabulary{
		tokens: tokens,
		starts: make([]uint32, len(lengths)+1),
		slots:  make([]uint32, size),
		last:   uint64(size) - 1,
		seams:  newSeams(),
	}
	for rank := range count {
		v.starts[rank+1] = v.starts[rank] + uint32(lengths[rank])
		v.insert(rank)
		v.add(v.token(rank))
	}
	return v
}

func (v *vocabulary) insert(rank uint32) {
	slot, tag := v.place(v.token(rank))
	for v.slots[slot] != 0 {
		slot = (slot + 1) & v.last
	}
	v.slots[slot] = tag | (rank + 1)
}

// place returns the slot to look into first, and the upper bits of what it holds.
func (v *vocabulary) place(s string) (slot uint64, tag uint32) {
	hash := hash(s)
	return hash & v.last, uint32(hash>>32) &^ rankMask
}

// hash mixes the bytes of s. It needs no secret: what is in the table is known, and
// nobody who only looks things up can make it slow.
func hash(s string) uint64 {
	h := uint64(len(s))
	for ; len(s) > 8; s = s[8:] {
		h = mix(h ^ load64(s))
	}
	switch {
	case len(s) == 8:
		return mix(h ^ load64(s))
	case len(s) >= 4:
		return mix(h ^ load32(s) ^ load32(s[len(s)-4:])<<32)
	case len(s) > 0:
		return mix(h ^ uint64(s[0])<<8 ^ uint64(s[len(s)/2])<<16 ^ uint64(s[len(s)-1])<<24)
	}
	return mix(h)
}

// mix lets each bit of x bear on all.
func mix(x uint64) uint64 {
	const salt, odd = 0xa0761d6478bd642f, 0x9e3779b97f4a7c15
	high, low := bits.Mul64(x^salt, odd)
	return high ^ low
}

func load64(s string) uint64 {
	_ = s[7] // one check, one load
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load32(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

func (v *vocabulary) token(rank uint32) string {
	return v.tokens[v.starts[rank]:v.starts[rank+1]]
}

func (v *vocabulary) isToken(s string) bool {
	return len(s) <= MaxTokenBytes && v.rank(s) != noRank
}

// rank returns the rank of the token that s is, or noRank.
func (v *vocabulary) rank(s string) uint32 {
	slot, tag := v.place(s)
	for {
		found := v.slots[slot]
		if found == 0 {
			return noRank
		}
		if rank := found&rankMask - 1; found&^rankMask == tag && v.token(rank) == s {
			return rank
		}
		slot = (slot + 1) & v.last
	}
}
