package session

import (
	"go.uber.org/zap"

	"sessiond/cost"
	"sessiond/llm"
	"sessiond/message"
)

// countHits notes how a chat call was served by the cache, and warns if a session's calls
// are served worse than they could be.
func (a *actor) countHits(t *turnRun, r *round, u message.Usage) {
	c := &a.st.Context.Cache
	preamble, summary := a.longLived(t.settings)
	call := cost.Call{At: r.since, Usage: u, LongTokens: preamble + summary}
	sent := cost.SketchOf(r.request)
	change, same := c.change(sent, r.size.shape, a.st.Context.Generation, preamble, summary)
	call.Changed, call.SameTokens = change != cost.Unchanged, same
	differs := a.differs(r.request, sent)
	c.Mark, c.Sent, c.Shape, c.Generation = r.mark, sent, r.size.shape, a.st.Context.Generation
	a.lastSent = r.request
	terms := cost.MarkedTerms(a.cacheMinimum(t.settings.Model))
	if all := a.st.Usage; !a.m.opts.CacheBreakpoints || all.CacheRead+all.CacheWrite5m+all.CacheWrite1h == 0 {
		c.Hits = c.Hits.Add(call, terms) // the provider has no cache, or does not tell
		return
	}
	var warn bool
	if c.Watch, warn = c.Add(call, change, differs, terms); warn {
		a.warnOfCache(t)
	}
}

// change says what was changed on purpose since the newest call, and how much of what was
// sent then stands before that, as far as a mark keeps it.
func (c *cacheState) change(sent cost.Sketch, shape string, generation, preamble, summary int64) (change cost.Change, same int64) {
	if c.Sent == (cost.Sketch{}) {
		return cost.Unchanged, 0 // the first call
	}
	part, differs := c.Sent.Differs(sent)
	switch {
	case differs && part.Kind == cost.PartImages:
		return cost.NewShape, preamble
	case differs && part.Kind == cost.PartSettings:
		return cost.NewHead, preamble
	case differs:
		return cost.NewHead, 0
	case c.Generation != generation:
		return cost.NewShape, preamble
	case c.Shape != shape: // a clearing leaves the summary as it is
		return cost.NewShape, preamble + summary
	}
	return cost.Unchanged, 0
}

// differs is the first part of a request that is not as it was in the one before. Of that
// one only a sketch is known once the session was loaded anew.
func (a *actor) differs(req *llm.Request, sent cost.Sketch) cost.Part {
	before := a.st.Context.Cache.Sent
	if a.lastSent != nil {
		part, _ := cost.FirstDifference(a.lastSent, req)
		return part
	}
	part, differs := before.Differs(sent)
	if !differs && before != (cost.Sketch{}) {
		part.Kind = cost.PartUnknown
	}
	return part
}

// cacheMinimum is the shortest prefix that is kept for a model.
func (a *actor) cacheMinimum(model string) int64 {
	if n := a.m.models.info(model).cacheMin; n > 0 {
		return int64(n)
	}
	return defaultCacheMinimum
}

// defaultCacheMinimum is the shortest prefix that most providers keep.
const defaultCacheMinimum = 1_024

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

func (a *actor) warnOfCache(t *turnRun) {
	w := &a.st.Context.Cache.Watch
	part := w.Worst().String()
	a.log.Warn("the prompt cache is hit less than it could be", zap.String("turn_id", string(t.row.ID)),
		zap.Float64("hit_rate", w.Hits.Rate()), zap.Float64("ideal_hit_rate", w.Hits.IdealRate()), zap.String("first_difference", part))
	a.append(EntryContextWarning, t.row.ID, "", encode(cacheWarningBody{
		Kind: warningCache, HitRate: w.Hits.Rate(), IdealHitRate: w.Hits.IdealRate(), FirstDifference: part,
		Message: "the prompt cache is hit less than it could be: requests differ in " + part,
	}), nil)
}
