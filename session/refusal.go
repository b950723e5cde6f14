package session

import (
	"context"

	"go.uber.org/zap"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/message"
	"sessiond/prompt"
)

// learnFrom takes what the provider counted of a request that it answered. It returns an
// error if the provider must have cut the request to answer it: a refusal in disguise.
func (a *actor) learnFrom(t *turnRun, r *round, resp *llm.Response) error {
	size := r.size
	model := t.settings.Model
	measured := inputTokens(resp.Usage)
	if countImages(r.request.Messages) < countImages(a.history.state.View().Messages) {
		measured = 0 // pictures that are left out were counted, so the two can't be compared
	}
	ratio, cut := a.ratio(model).Measure(size.raw, measured)
	if cut {
		return &llm.Error{
			Class: llm.ClassOverflow, LimitTokens: int64(measured),
			Message: "the provider left out a part of the request without saying so",
		}
	}
	a.countHits(t, r, resp.Usage)
	a.setRatio(model, ratio)
	tokens := size.tokens
	if measured > 0 {
		tokens = measured
	}
	cs := &a.st.Context
	cs.Growth = cs.Growth.Round(tokens, size.shape, a.m.planner.Config().EWMAAlpha, size.threshold)
	cs.Ladder = cs.Ladder.Succeeded(size.judged, size.landing)
	if measured > 0 {
		cs.MeasuredShape = size.shape
	}
	thinking := t.settings.thinking(a.m.opts.Thinking)
	cs.LastCall = &lastCall{
		At: a.now(), Model: model, Tokens: measured, Thinking: thinking != "" && thinking != llm.ThinkingOff,
	}
	return nil
}

// inputTokens is what a request had, as the provider counted it.
func inputTokens(u message.Usage) int {
	return int(u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h)
}

// refused takes a provider's word that a request was too large: what the model can take
// is learned, and the round is repeated with a smaller request.
func (a *actor) refused(t *turnRun, size requestSize, err error) bool {
	me, ok := llm.AsError(err)
	if !ok || me.Class != llm.ClassOverflow {
		return false
	}
	t.detail.Refusal = me.Message
	model := t.settings.Model
	window := compaction.LearnedWindow(int(me.LimitTokens), size.tokens)
	a.log.Info("the provider refused a request as too large", zap.String("turn_id", string(t.row.ID)),
		zap.Int("tokens", size.tokens), zap.Int("learned_window", window), zap.Error(err))
	if known := a.m.models.info(model).window; known == 0 || window < known {
		t.detail.Learned = window
	}
	a.climb(t)
	a.then(func(ctx context.Context) { a.nextRound(ctx, t) })
	return true
}

// leastBody is the bound of a request's bytes below which pictures are not tried any more.
const leastBody = 1_000_000

// bodyBytes is what a request may have in bytes; 0 if nobody has said.
func (a *actor) bodyBytes(model string) int {
	told := a.m.models.info(model).bodyBytes
	if a.st.BodyBytes > 0 && (told == 0 || a.st.BodyBytes < told) {
		return a.st.BodyBytes
	}
	return told
}

// lighten repeats a round whose request had too many bytes. Nothing is learned of the
// model from that: it is a service's or a proxy's bound, and it is pictures that reach it.
// So the session shows fewer of them from here on, half as many bytes each time, and none
// of those up to now if that is not enough. A request without pictures is made smaller as
// one with too many tokens is.
func (a *actor) lighten(t *turnRun, req *llm.Request, err error) bool {
	me, ok := llm.AsError(err)
	if !ok || me.Class != llm.ClassSize {
		return false
	}
	size, images := prompt.Bytes(req), countImages(req.Messages)
	a.log.Warn("the provider refused a request for its bytes", zap.String("turn_id", string(t.row.ID)),
		zap.Int("bytes", size), zap.Int("images", images), zap.Error(err), cause(err))
	switch {
	case images == 0:
		t.detail.Refusal = me.Message
		a.climb(t)
	case size/2 < leastBody:
		a.hideShown(a.history.state.View().Messages)
	default:
		a.st.BodyBytes = size / 2
		a.dropThinking() // it came after pictures that go
	}
	a.stageTurn()
	a.then(func(ctx context.Context) { a.nextRound(ctx, t) })
	return true
}

// learn keeps the window that a refusal showed, for all sessions, before anything is
// decided by it. Until then the turn holds it, next to the level that the refusal raised:
// a restart finds both or neither, and decides as the session would have.
func (a *actor) learn(ctx context.Context, t *turnRun) {
	model, window := t.settings.Model, t.detail.Learned
	a.spawn(func() {
		if known := a.m.models.info(model).window; known == 0 || window < known {
			if err := a.m.learnLimit(context.WithoutCancel(ctx), model, window); err != nil {
				a.log.Warn("what a model can take was learned and can't be stored", zap.String("model", model), zap.Error(err))
			}
		}
		a.post(ctx, limitLearned{t})
	})
}

// limitLearned goes on with a turn whose request was refused.
type limitLearned struct{ turn *turnRun }

func (c limitLearned) apply(ctx context.Context, a *actor) {
	c.turn.detail.Learned = 0 // on disk with what comes next of the turn; learning it again does no harm
	a.nextRound(ctx, c.turn)
}
