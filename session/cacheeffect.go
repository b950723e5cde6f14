package session

import (
	"sessiond/compaction"
	"sessiond/cost"
	"sessiond/message"
)

// compactionEffect is what a compaction that was just committed does to the cost of the
// input until the next one is due, in US dollars, see [cost.Shrink], less what its summary
// call cost. It is nil if the model's price is not known.
func (a *actor) compactionEffect(c *Compaction, model string) *float64 {
	preamble, summary := a.longLived(a.current())
	effect := a.effect(model, cost.Shrink{
		Before: int64(c.TokensBefore), After: int64(c.TokensAfter), Same: preamble, LongAfter: preamble + summary,
	})
	if effect != nil && c.CostUSD != nil {
		*effect -= *c.CostUSD
	}
	return effect
}

// clearingEffect is the same of a clearing. It leaves the summary message as it is.
func (a *actor) clearingEffect(c *compaction.Clearing, model string) *float64 {
	preamble, summary := a.longLived(a.current())
	return a.effect(model, cost.Shrink{
		Before: int64(c.TokensBefore), After: int64(c.TokensAfter), Same: preamble + summary, LongAfter: preamble + summary,
	})
}

// effect takes the next call to be made now. How many calls come until the next compaction
// is due is reckoned by how fast the context grew so far, at most 999.
func (a *actor) effect(model string, s cost.Shrink) *float64 {
	without, known := a.m.opts.Prices.Rates(model, message.Usage{Input: s.Before})
	with, _ := a.m.opts.Prices.Rates(model, message.Usage{Input: s.After})
	if !known {
		return nil
	}
	used, hits := a.st.Usage, a.st.Context.Cache.Hits
	if !a.m.opts.CacheBreakpoints {
		used.CacheWrite5m, used.CacheWrite1h = 0, 0 // nothing is asked to be written
	}
	s.Kept, s.LongBefore = hits.Kept(a.m.opts.Now(), cost.MarkedTerms(a.cacheMinimum(model))), hits.LastLongTokens
	s.Calls = int64(a.st.Context.Growth.Progress(int(s.After), a.threshold()).RoundsUntil)
	effect := s.EffectUSD(cost.InForce(without, used), cost.InForce(with, used))
	return &effect
}

func (a *actor) threshold() int {
	_, b := a.m.planner.Gauge(a.history.state, a.situation(a.current()))
	return b.Threshold
}

// clearedBody is the body of context.cleared.
type clearedBody struct {
	*compaction.Clearing
	// CacheEffectUSD is what it does to the cost of the input until the next compaction; nil
	// if the model's price is unknown.
	CacheEffectUSD *float64 `json:"cache_effect_usd,omitempty"`
}
