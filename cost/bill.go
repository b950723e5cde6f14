package cost

import (
	"sessiond/llm"
	"sessiond/message"
)

// Bill is what calls cost. The zero value is the bill of none; the bills of calls add up.
type Bill struct {
	Usage       message.Usage `json:"usage"`        // by kind, and what it cost
	UncachedUSD float64       `json:"uncached_usd"` // what the same calls cost where nothing is cached
}

// Of returns the bill of one call. Its cost is that of the rates, whatever cost the usage
// names; at the rates of a model whose price is unknown it is 0.
func Of(u message.Usage, r llm.Rates) Bill {
	u.CostUSD = r.Cost(u)
	return Bill{Usage: u, UncachedUSD: r.Cost(message.Usage{Input: InputTokens(u), Output: u.Output})}
}

// Add returns the bill of the calls of both.
func (b Bill) Add(c Bill) Bill {
	return Bill{Usage: b.Usage.Add(c.Usage), UncachedUSD: b.UncachedUSD + c.UncachedUSD}
}

// SavedUSD is what the cache saved. It is negative where more was paid for writing to the
// cache than reading from it saved.
func (b Bill) SavedUSD() float64 { return b.UncachedUSD - b.Usage.CostUSD }

// HitRate is the share of the input that was read from the cache, 0 to 1.
func (b Bill) HitRate() float64 { return share(b.Usage.CacheRead, InputTokens(b.Usage)) }

// InputTokens is the size of what was sent, cached or not.
func InputTokens(u message.Usage) int64 {
	return u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h
}

// share of nothing is 0.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
