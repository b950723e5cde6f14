package cost

import (
	"time"

	"sessiond/llm"
	"sessiond/message"
)

// Shrink is a change that makes the requests of a conversation smaller: a compaction, or
// the clearing of results. Sizes are those of the next request, in the provider's tokens.
type Shrink struct {
	Before int64 // without the change
	After  int64 // with it

	// Kept is what the cache holds of the request without the change when that is sent, and
	// Same how much of it stands before the change, as far as a mark keeps it.
	Kept int64
	Same int64

	// LongBefore and LongAfter are the sizes of the beginning that is kept for long.
	LongBefore int64
	LongAfter  int64

	// Calls is how many calls of the conversation are looked at, the next one included; less
	// than one counts as one.
	Calls int64
}

// EffectUSD is what the change does to the cost of the input of the next s.Calls calls, in
// US dollars: what they cost without it less what they cost with it, so it is negative
// where the change costs more than it saves. It looks no further than these calls, takes
// them to follow each other while the cache is warm, and leaves out what they add, which is
// the same on both sides. The rates are those of requests of either size, which differ
// where long ones are dearer.
//
// The first call reads what the cache still holds, which behind the change is nothing, and
// writes the rest, for long up to the end of the beginning that is kept for long. Each
// further call reads all that the first one had. So where the cache is cold all had been
// written anyway, and only the difference counts.
func (s Shrink) EffectUSD(without, with llm.Rates) float64 {
	further := float64(max(s.Calls, 1) - 1)
	kept := min(s.Kept, s.Before)
	before := firstCall(s.Before, kept, s.LongBefore, without) + further*float64(s.Before)*without.CacheRead
	after := firstCall(s.After, min(kept, s.Same), s.LongAfter, with) + further*float64(s.After)*with.CacheRead
	return perToken * (before - after)
}

// perToken turns a price of a million tokens into that of one.
const perToken = 1e-6

// firstCall is the price of a million times the input of a call that reads so much of it.
func firstCall(size, read, long int64, r llm.Rates) float64 {
	read = min(read, size)
	forLong := max(min(long, size)-read, 0)
	return float64(read)*r.CacheRead + float64(forLong)*r.CacheWrite1h + float64(size-read-forLong)*r.CacheWrite5m
}

// InForce returns the rates as they have shown themselves to apply to the input of calls
// that used u: where nothing was written to a cache, writing costs what input costs, and
// where nothing was read either there is no cache, and all of it does.
func InForce(r llm.Rates, u message.Usage) llm.Rates {
	if u.CacheWrite5m+u.CacheWrite1h == 0 {
		r.CacheWrite5m, r.CacheWrite1h = r.Input, r.Input
		if u.CacheRead == 0 {
			r.CacheRead = r.Input
		}
	}
	return r
}

// Kept is how much of the last request a call at a time can still read.
func (h Hits) Kept(at time.Time, t Terms) int64 { return h.kept(Call{At: at}, t) }
