package cost

import (
	"time"

	"sessiond/llm"
	"sessiond/message"
)

// Terms are those of a provider's prompt cache.
type Terms struct {
	MinTokens int64         // the shortest beginning of a request that is kept
	Short     time.Duration // how long it is kept if nobody reads it
	Long      time.Duration // how long Call.LongTokens of it are kept; not less than Short
}

// MarkedTerms are the terms of a cache that keeps what [llm.CacheMark] says, for a model
// with that [llm.Capabilities.CacheMinTokens].
func MarkedTerms(minTokens int64) Terms {
	return Terms{MinTokens: minTokens, Short: llm.CacheShort, Long: llm.CacheLong}
}

// Call is one call of a conversation as its prompt cache sees it.
type Call struct {
	At    time.Time // when it was sent: lifetimes count from then
	Usage message.Usage

	// LongTokens is the size of the beginning that was asked to be kept for long.
	LongTokens int64

	// Changed: since the call before, something that was sent has been changed on purpose,
	// by a compaction, a clearing, an undo, other tools or words of the system, or an image
	// more, which changes all messages (rule 5.8). SameTokens is the size of what stands
	// before the change, as far as a mark keeps it.
	Changed    bool
	SameTokens int64
}

// Hits is how well the calls of a conversation have used the prompt cache. The zero value
// is that of no calls.
type Hits struct {
	InputTokens int64 `json:"input_tokens"` // sent by all calls
	ReadTokens  int64 `json:"read_tokens"`  // of them, read from the cache
	IdealTokens int64 `json:"ideal_tokens"` // of them, that could have been read

	// The call before the next one.
	LastAt         time.Time `json:"last_at,omitzero"`
	LastTokens     int64     `json:"last_tokens"`
	LastLongTokens int64     `json:"last_long_tokens"`
}

// Add returns the hits with one more call, the next one in time that was answered.
func (h Hits) Add(c Call, t Terms) Hits {
	input := InputTokens(c.Usage)
	h.InputTokens += input
	h.ReadTokens += c.Usage.CacheRead
	// More than the last request can be found: an undo goes back to what was sent earlier.
	h.IdealTokens += max(min(h.kept(c, t), input), c.Usage.CacheRead)
	h.LastAt, h.LastTokens, h.LastLongTokens = c.At, input, min(c.LongTokens, input)
	return h
}

// kept is how much of the last request an ideal next one could still read.
func (h Hits) kept(c Call, t Terms) int64 {
	if h.LastAt.IsZero() {
		return 0
	}
	kept := h.LastTokens
	switch idle := c.At.Sub(h.LastAt); {
	case idle >= t.Long:
		return 0
	case idle >= t.Short:
		kept = h.LastLongTokens
	}
	if c.Changed {
		kept = min(kept, c.SameTokens)
	}
	if kept < t.MinTokens {
		return 0
	}
	return kept
}

// Rate is the share of the input that was read from the cache, 0 to 1.
func (h Hits) Rate() float64 { return share(h.ReadTokens, h.InputTokens) }

// IdealRate is the share that could have been read: had each request begun with all of the
// one before it, but for what was changed on purpose or had become too old.
func (h Hits) IdealRate() float64 { return share(h.IdealTokens, h.InputTokens) }

// tolerance is how far the rate may be under the ideal one before something is wrong. Real
// requests miss a little: the bytes between a mark and the end, a try that failed.
const tolerance = 0.05

// Low reports whether the rate is more than 0.05 under the ideal one. Then requests began
// otherwise than those before them although nothing was changed on purpose, see
// [FirstDifference], or the provider did not keep what it was asked to. Of calls that ask
// for no cache it says nothing.
func (h Hits) Low() bool { return h.under(tolerance) }

func (h Hits) under(share float64) bool {
	return float64(h.IdealTokens-h.ReadTokens) > share*float64(h.InputTokens)
}
