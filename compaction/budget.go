package compaction

import "fmt"

// Limits is what bounds the requests of one session besides the configuration. All
// numbers are the provider's tokens; 0 means none.
type Limits struct {
	ContextTokens   int // the session's own context_tokens_limit
	BufferTokens    int // the session's own auto_compact_buffer_tokens
	WindowTokens    int // of the model: told, configured or learned
	MaxOutputTokens int // as configured
}

// CheckLimits refuses a session's settings that can't work, with a [*KeyError].
func (c *Config) CheckLimits(l Limits) error {
	limit := c.limit(l)
	switch {
	case l.ContextTokens != 0 && l.ContextTokens < MinLimitTokens:
		return &KeyError{"context_tokens_limit", fmt.Sprintf("must be at least %d", MinLimitTokens)}
	case l.BufferTokens < 0:
		return &KeyError{"auto_compact_buffer_tokens", "must not be negative"}
	case l.BufferTokens >= limit:
		return &KeyError{"auto_compact_buffer_tokens", fmt.Sprintf("must be less than context_tokens_limit (%d)", limit)}
	}
	return nil
}

func (c *Config) limit(l Limits) int {
	if l.ContextTokens > 0 {
		return l.ContextTokens
	}
	return c.ContextTokensLimit
}

// Budget is what follows from limits and overhead for one request: numbers of the
// provider's (calibrated) tokens. With an overhead beyond the input limit the headroom
// is 0 and so is everything that is made of it.
type Budget struct {
	Limit      int `json:"context_tokens_limit"` // L
	Input      int `json:"input_limit"`          // L′: what a request may hold
	Output     int `json:"max_output_tokens"`
	Buffer     int `json:"buffer_tokens"`
	Overhead   int `json:"overhead"`  // F: what no compaction can shrink
	Threshold  int `json:"threshold"` // T: where automatic compaction begins
	Headroom   int `json:"headroom"`  // H
	Landing    int `json:"landing"`   // where a compaction must end
	High       int `json:"high"`
	Edge       int `json:"edge"`
	SummaryCap int `json:"summary_cap"`
	LedgerCap  int `json:"ledger_cap"`
	Share      int `json:"share"`         // what retained units and recovered files have together
	PinnedMax  int `json:"pinned_tokens"` // a pinned request over this is cut
}

// Budget computes the budget for an overhead (F) in the provider's tokens.
func (p *Planner) Budget(l Limits, overhead int) Budget {
	b := Budget{Limit: p.cfg.limit(l), Output: l.MaxOutputTokens, Overhead: max(overhead, 0)}
	b.Input = b.Limit
	if l.WindowTokens > 0 {
		b.Output = min(max(l.MaxOutputTokens, 0), l.WindowTokens/4)
		b.Input = max(min(b.Limit, l.WindowTokens-b.Output), 1)
	}
	b.Buffer = p.cfg.buffer(l, b)
	free := max(b.Input-b.Overhead, 0)
	b.Threshold = max(b.Input-b.Buffer, b.Overhead+free/4)
	b.Headroom = max(b.Threshold-b.Overhead, 0)
	b.Landing = b.Overhead + int(p.cfg.LandingRatio*float64(b.Headroom))
	above := max(b.Input-b.Threshold, 0)
	b.High = b.Threshold + above*6/10
	b.Edge = b.Threshold + above*8/10
	inLanding := b.Landing - b.Overhead
	b.SummaryCap = part(p.cfg.SummaryMaxTokens, b.Headroom*15/100, 8_000, inLanding/2)
	b.LedgerCap = part(p.cfg.SummaryUserLedger, b.Headroom*10/100, 20_000, inLanding/3)
	b.Share = max(b.Landing-b.Overhead-b.SummaryCap-b.LedgerCap, 0)
	b.PinnedMax = free / 4
	return b
}

// part returns a share of the headroom: what was set, but never so much that nothing is
// left for the rest, or else the default.
func part(set, byRule, atMost, room int) int {
	if set > 0 {
		return min(set, room)
	}
	return min(byRule, atMost)
}

// buffer returns the buffer in force. A number that was set belongs to the limit it was
// set for; where another limit binds, the rule decides.
func (c *Config) buffer(l Limits, b Budget) int {
	byRule := min(maxBufferTokens, b.Input*bufferPerMille/1000)
	switch {
	case b.Input < b.Limit:
		return byRule
	case l.BufferTokens > 0:
		return min(l.BufferTokens, b.Input-1)
	case c.AutoCompactBufferTokens > 0 && b.Limit >= c.ContextTokensLimit:
		return c.AutoCompactBufferTokens
	}
	return byRule
}

// minFreeTokens is what has to be left beside the overhead for a turn to be worth
// starting.
const minFreeTokens = 1_000

// OverheadTooLarge reports that the fixed parts alone leave no room for a conversation:
// the turn fails before any call.
func (b Budget) OverheadTooLarge() bool { return b.Overhead > b.Input-minFreeTokens }

// OverheadHigh reports that the fixed parts take more than half of the threshold, which
// is worth one warning per new overhead.
func (b Budget) OverheadHigh() bool { return b.Overhead > b.Threshold/2 }
