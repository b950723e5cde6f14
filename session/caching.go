package session

import (
	"go.uber.org/zap"

	"sessiond/cost"
	"sessiond/llm"
	"sessiond/message"
	"sessiond/prompt"
)

// cacheState is what the marks of the next request depend on, and how well the prompt
// cache has served so far.
type cacheState struct {
	Mark prompt.LastMark `json:"mark,omitzero"`
	Hits cost.Hits       `json:"hits,omitzero"`
	// Head and Shape are those of the newest call: when they change the cache can't hit.
	Head  string `json:"head,omitempty"`
	Shape string `json:"shape,omitempty"`
	// Warned: the rate of hits is low, and that was told.
	Warned bool `json:"warned,omitempty"`
}

// CacheInfo is what a session's model calls cost, and what the prompt cache did about it.
type CacheInfo struct {
	HitRate      float64 `json:"hit_rate"`       // share of the input that was read from the cache, 0 to 1
	IdealHitRate float64 `json:"ideal_hit_rate"` // share that could have been
	UncachedUSD  float64 `json:"uncached_usd"`   // what the same calls cost where nothing is cached
	SavedUSD     float64 `json:"saved_usd"`      // negative: writing cost more than reading saved
}

func (s *state) cacheInfo() CacheInfo {
	return CacheInfo{
		HitRate: s.Context.Cache.Hits.Rate(), IdealHitRate: s.Context.Cache.Hits.IdealRate(),
		UncachedUSD: s.UncachedUSD, SavedUSD: s.UncachedUSD - s.Usage.CostUSD,
	}
}

// charge counts what a call used for the session. uncached is what it had cost without a
// cache.
func (a *actor) charge(model string, u message.Usage) (uncached float64) {
	a.m.metrics.used(u)
	a.st.Usage = a.st.Usage.Add(u)
	uncached = u.CostUSD
	if rates, known := a.m.opts.Prices.Rates(model, u); known {
		uncached = cost.Of(u, rates).UncachedUSD
	}
	a.st.UncachedUSD += uncached
	a.m.metrics.saved(uncached - u.CostUSD)
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

// countHits notes how a call was served by the cache, and warns if a session's calls are
// served worse than they could be.
func (a *actor) countHits(t *turnRun, r *round, u message.Usage) {
	c := &a.st.Context.Cache
	c.Mark = r.mark
	preamble, summary := a.longLived(t.settings)
	call := cost.Call{At: r.since, Usage: u, LongTokens: preamble + summary}
	differs := a.differs(r.request)
	switch {
	case c.Head != a.st.HeadDigest:
		call.Changed = true
	case c.Shape != r.size.shape, differs.Kind == cost.PartImages, differs.Kind == cost.PartSettings:
		call.Changed, call.SameTokens = true, preamble
	}
	c.Head, c.Shape = a.st.HeadDigest, r.size.shape
	minimum := int64(a.m.models.info(t.settings.Model).cacheMin)
	if minimum == 0 {
		minimum = defaultCacheMinimum
	}
	c.Hits = c.Hits.Add(call, cost.MarkedTerms(minimum))
	a.lastSent = r.request
	if !a.m.opts.CacheBreakpoints || u.CacheRead+u.CacheWrite5m+u.CacheWrite1h == 0 && c.Hits.ReadTokens == 0 {
		return // the provider has no cache, or does not tell
	}
	if low := c.Hits.Low(); low == c.Warned {
		return
	}
	if c.Warned = !c.Warned; c.Warned {
		part := "nothing that was sent"
		if differs.Kind != "" {
			part = differs.String()
		}
		a.log.Warn("the prompt cache is hit less than it could be", zap.String("turn_id", string(t.row.ID)),
			zap.Float64("hit_rate", c.Hits.Rate()), zap.Float64("ideal_hit_rate", c.Hits.IdealRate()), zap.String("first_difference", part))
		a.append(EntryContextWarning, t.row.ID, "", encode(cacheWarningBody{
			Kind: warningCache, HitRate: c.Hits.Rate(), IdealHitRate: c.Hits.IdealRate(), FirstDifference: part,
			Message: "the prompt cache is hit less than it could be: requests differ in " + part,
		}), nil)
	}
}

// differs is the first part of a request that is not as it was in the one before, as far
// as that is still known; its kind is empty if there is none.
func (a *actor) differs(req *llm.Request) cost.Part {
	if a.lastSent == nil {
		return cost.Part{}
	}
	part, differs := cost.FirstDifference(a.lastSent, req)
	if !differs {
		return cost.Part{}
	}
	return part
}

// defaultCacheMinimum is the shortest prefix that most providers keep.
const defaultCacheMinimum = 1_024

// cacheEffect is what a compaction does to the cost of the input until the next one is
// due, in US dollars: what the following rounds no longer read, less what the first of
// them has to write anew, and less the summary call.
func (a *actor) cacheEffect(c *Compaction, model string) *float64 {
	rates, known := a.m.opts.Prices.Rates(model, message.Usage{Input: int64(c.TokensBefore)})
	if !known {
		return nil
	}
	p := a.st.Context.Growth.Progress(c.TokensAfter, a.threshold())
	rounds := float64(max(p.RoundsUntil, 1))
	preamble, _ := a.longLived(a.current())
	saved := rounds * float64(c.TokensBefore-c.TokensAfter) * rates.CacheRead
	rewritten := float64(max(int64(c.TokensAfter)-preamble, 0)) * (rates.CacheWrite5m - rates.CacheRead)
	effect := (saved - rewritten) * perToken
	if c.CostUSD != nil {
		effect -= *c.CostUSD
	}
	return &effect
}

// perToken turns a price of a million tokens into that of one.
const perToken = 1e-6

func (a *actor) threshold() int {
	_, b := a.m.planner.Gauge(a.history.state, a.situation(a.current()))
	return b.Threshold
}

// warningCache is the kind of a warning that the prompt cache is hit less than it could
// be.
const warningCache = "cache"

type cacheWarningBody struct {
	Kind            string  `json:"kind"`
	Message         string  `json:"message"`
	HitRate         float64 `json:"hit_rate"`
	IdealHitRate    float64 `json:"ideal_hit_rate"`
	FirstDifference string  `json:"first_difference"`
}
