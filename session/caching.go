package session

import (
	"sessiond/cost"
	"sessiond/message"
	"sessiond/prompt"
)

// cacheState is what the marks of the next request depend on, and how well the prompt
// cache has served so far.
type cacheState struct {
	Mark prompt.LastMark `json:"mark,omitzero"`
	cost.Watch
	// Sent, Shape and Generation are those of the newest call: where they change the cache
	// can't hit.
	Sent       cost.Sketch `json:"sent,omitzero"`
	Shape      string      `json:"shape,omitempty"`
	Generation int64       `json:"generation,omitempty"`
}

// CacheInfo is what a session's model calls cost, and what the prompt cache did about it.
type CacheInfo struct {
	HitRate      float64 `json:"hit_rate"`       // share of the input of all calls that was read from the cache, 0 to 1
	ChatHitRate  float64 `json:"chat_hit_rate"`  // the same of chats alone: without summaries, memory and calls that failed
	IdealHitRate float64 `json:"ideal_hit_rate"` // share of the chats' input that could have been
	UncachedUSD  float64 `json:"uncached_usd"`   // what all calls cost where nothing is cached
	SavedUSD     float64 `json:"saved_usd"`      // negative: writing cost more than reading saved
}

func (s *state) cacheInfo() CacheInfo {
	bill := cost.Bill{Usage: s.Usage, UncachedUSD: s.UncachedUSD}
	hits := s.Context.Cache.Hits
	return CacheInfo{
		HitRate: bill.HitRate(), ChatHitRate: hits.Rate(), IdealHitRate: hits.IdealRate(),
		UncachedUSD: bill.UncachedUSD, SavedUSD: bill.SavedUSD(),
	}
}

// charge counts what a call used for the session. uncached is what it had cost without a
// cache.
func (a *actor) charge(model string, u message.Usage) (uncached float64) {
	a.st.Usage = a.st.Usage.Add(u)
	uncached = u.CostUSD
	if rates, known := a.m.opts.Prices.Rates(model, u); known {
		uncached = cost.Of(u, rates).UncachedUSD
	}
	a.st.UncachedUSD += uncached
	a.m.metrics.billed(cost.Bill{Usage: u, UncachedUSD: uncached})
	return uncached
}

// caching says how the next request with some settings is marked for the provider's
// cache.
func (a *actor) caching(s *Settings) prompt.Caching {
	c := prompt.Caching{Off: !a.m.opts.CacheBreakpoints, Summary: -1}
	if !c.Off {
		c.PreambleTokens, c.SummaryTokens = a.longLived(s)
		c.MinTokens = int64(a.m.models.info(s.Model).cacheMin)
		if c.SummaryTokens > 0 {
			c.Summary = 0
		}
	}
	return c
}

// longLived is the size of what stays the same until the next compaction: what stands
// before the conversation, and the summary message.
func (a *actor) longLived(s *Settings) (preamble, summary int64) {
	h, ratio := a.headOf(s), a.ratio(s.Model).Ratio
	preamble = int64(float64(h.systemCost+h.toolsCost) * ratio)
	if r := a.history.state.Record(); r != nil {
		raw := r.TextTokens
		for _, at := range r.Attachments {
			raw += at.Tokens
		}
		summary = int64(float64(raw) * ratio)
	}
	return preamble, summary
}
