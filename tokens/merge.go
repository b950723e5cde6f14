package tokens

// window is the number of bytes that are merged at once, unless that turns out to be
// too few. Finding the next pair looks at all of them, so they must not be many.
const window = 4 * MaxTokenBytes

// merger is the space that merging takes.
type merger struct {
	starts [window + 1]int
	ranks  [window]uint32
}

func (m *merger) parts() parts { return parts{m.starts[:], m.ranks[:]} }

// parts is what the bytes at work are in. They lie between starts; and ranks holds for
// each the rank of the token that it makes together with the next part, or noRank.
type parts struct {
	starts []int
	ranks  []uint32
}

func newParts(n int) parts { return parts{make([]int, n+1), make([]uint32, n)} }

// encode returns the number of tokens of piece and its end, or if they are more than
// limit, limit and the end of a prefix that has as many, which nearly always is where
// the first tokens of piece end. A piece isn't empty and limit is at least 1.
func (v *vocabulary) encode(m *merger, piece string, limit int) (count, end int) {
	if v.isToken(piece) {
		return 1, len(piece)
	}
	for end < len(piece) && count < limit {
		part := piece[end:v.nextSeam(piece, end)]
		tokens, length := 1, len(part)
		if len(part) == len(piece) || !v.isToken(part) {
			tokens, length = v.encodePart(m, part, limit-count)
		}
		count += tokens
		end += length
	}
	return count, end
}

// encodePart is encode without looking for seams.
func (v *vocabulary) encodePart(m *merger, piece string, limit int) (count, end int) {
	if len(piece) <= window {
		starts := v.merge(m.parts(), piece)
		count = min(len(starts)-1, limit)
		return count, starts[count]
	}
	for p := m.parts(); ; p = newParts(2 * len(p.ranks)) {
		if count, end, ok := v.encodeLong(p, piece, limit); ok {
			return count, end
		}
	}
}

// encodeLong encodes a piece window by window. It relies on this: tokens in a row are
// what their bytes are encoded to if each two neighbours are what the bytes of the two
// are encoded to. For if merging all ever joined bytes of different tokens, the first
// time it did it would have done with the two alone.
//
// So a window may begin where a token of the window before ended, if its first token is
// the one that was seen to follow there. That holds unless bytes bear on how others
// are merged that are far in front of them, which is why the last quarter of a window
// is left to the next one. Where it doesn't hold the answer is not ok, and the windows
// have to be larger; no text is known that takes it.
func (v *vocabulary) encodeLong(p parts, piece string, limit int) (count, end int, ok bool) {
	next := 0 // length of the token that was seen to follow
	for {
		bytes := piece[end:min(end+len(p.ranks), len(piece))]
		starts := v.merge(p, bytes)
		if next > 0 && starts[1] != next {
			return 0, 0, false
		}
		keep := len(starts) - 1
		for end+len(bytes) < len(piece) && starts[keep] > len(bytes)*3/4 {
			keep--
		}
		if left := limit - count; keep > left {
			return limit, end + starts[left], true
		}
		count += keep
		end += starts[keep]
		if end == len(piece) {
			return count, end, true
		}
		next = starts[keep+1] - starts[keep]
	}
}

// merge encodes piece, for which p must have room, and returns where its tokens begin,
// and its end. It joins the two neighbours that make the token of the least rank, the
// first such, as long as there are any.
func (v *vocabulary) merge(p parts, piece string) (starts []int) {
	p = parts{p.starts[:len(piece)+1], p.ranks[:len(piece)]}
	for i := range p.starts {
		p.starts[i] = i
	}
	for i := range p.ranks {
		v.rankPair(p, piece, i)
	}
	for {
		least, at := uint32(noRank), 0
		for i, rank := range p.ranks {
			if rank < least {
				least, at = rank, i
			}
		}
		if least == noRank {
			return p.starts
		}
		p.starts = append(p.starts[:at+1], p.starts[at+2:]...)
		p.ranks = append(p.ranks[:at+1], p.ranks[at+2:]...)
		v.rankPair(p, piece, at)
		if at > 0 {
			v.rankPair(p, piece, at-1)
		}
	}
}

// rankPair notes what the part at makes together with the next one.
func (v *vocabulary) rankPair(p parts, piece string, at int) {
	p.ranks[at] = noRank
	if at+2 < len(p.starts) {
		p.ranks[at] = v.rank(piece[p.starts[at]:p.starts[at+2]])
	}
}
