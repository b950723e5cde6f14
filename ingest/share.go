package ingest

import "math"

// share decides how many tokens of each item are shown: all that it wants, if it and
// everything together fit, and else no more than an equal share.
func (o Options) share(items []item) ([]int, error) {
	wanted, least := make([]int, len(items)), make([]int, len(items))
	for i, it := range items {
		wanted[i], least[i] = it.cost(o)
		if _, own := it.(words); own || o.MaxFileTokens <= 0 || wanted[i] <= o.MaxFileTokens {
			continue
		}
		if least[i] > o.MaxFileTokens {
			return nil, it.at().overTokens(least[i], o.MaxFileTokens)
		}
		wanted[i] = o.MaxFileTokens
	}
	room := math.MaxInt
	if o.MaxTokens > 0 {
		room = o.MaxTokens
	}
	if n := sum(least); n > room {
		return nil, o.overAll(items, n)
	}
	return shares(wanted, least, room), nil
}

// overAll is the error for content that can't be shown in MaxTokens, with what it takes
// at the least.
func (o Options) overAll(items []item, least int) error {
	at, own := place{path: "content", file: -1}, 0
	for _, it := range items {
		if w, ok := it.(words); ok {
			own += w.tokens
		}
	}
	if own <= o.MaxTokens {
		at.path = "attachments" // the message would fit without them
	}
	return at.overTokens(least, o.MaxTokens)
}

// shares returns for each of the items what it wants, but no more than the largest equal
// share by which all fit into room; none gets less than its least. All of the least must
// fit.
func shares(wanted, least []int, room int) []int {
	limits := make([]int, len(wanted))
	upTo := func(share int) (total int) {
		for i := range limits {
			limits[i] = min(wanted[i], max(share, least[i]))
			total += limits[i]
		}
		return total
	}
	low, high := 0, 0 // low fits
	for _, n := range wanted {
		high = max(high, n)
	}
	if upTo(high) <= room {
		return limits
	}
	for low+1 < high {
		if mid := (low + high) / 2; upTo(mid) <= room {
			low = mid
		} else {
			high = mid
		}
	}
	upTo(low)
	return limits
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}
