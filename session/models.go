package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/store"
)

// modelBook knows what the models can take. It is safe for concurrent use.
type modelBook struct {
	describer llm.Describer // nil: the provider says nothing about its models
	windows   map[string]int
	now       func() time.Time
	log       *zap.Logger

	mu      sync.Mutex
	told    map[string]modelInfo
	again   map[string]time.Time // when to ask again about those the provider did not tell of
	learned map[string]int       // windows, from refusals
}

// modelInfo is what is known of a model; zero numbers are unknown.
type modelInfo struct {
	window    int
	maxOutput int
	ratio     float64
	cacheMin  int
	bodyBytes int // of a request
}

// askAgain is how long what is known without the provider has to do after it did not
// answer.
const askAgain = time.Minute

func newModelBook(model llm.Model, o *Options, log *zap.Logger) *modelBook {
	describer, _ := model.(llm.Describer)
	return &modelBook{
		describer: describer, windows: o.Windows, now: o.Now, log: log,
		told: make(map[string]modelInfo), again: make(map[string]time.Time), learned: make(map[string]int),
	}
}

// known reports whether the provider was asked about a model already.
func (b *modelBook) known(model string) bool {
	if b.describer == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.told[model]; !ok {
		return false
	}
	again, failed := b.again[model]
	return !failed || b.now().Before(again)
}

// ask asks the provider about a model; it may take as long as a request.
func (b *modelBook) ask(ctx context.Context, model string) {
	c, err := b.describer.Capabilities(ctx, model)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told[model] = modelInfo{
		window: int(c.WindowTokens), maxOutput: int(c.MaxOutputTokens), ratio: c.TokenRatio, cacheMin: int(c.CacheMinTokens),
		bodyBytes: int(c.MaxBodyBytes),
	}
	delete(b.again, model)
	if err != nil && ctx.Err() == nil {
		b.again[model] = b.now().Add(askAgain)
		b.log.Warn("the provider does not tell what a model can take", zap.String("model", model), zap.Error(err))
	}
}

// info returns what is known of a model. The window is the smallest that anybody named:
// the operator, or else the provider, and a refusal.
func (b *modelBook) info(model string) modelInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	info := b.told[model]
	if w := b.windows[model]; w > 0 {
		info.window = w
	}
	if w := b.learned[model]; w > 0 && (info.window == 0 || w < info.window) {
		info.window = w
	}
	return info
}

func (b *modelBook) learn(model string, window int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.learned[model] = window
}

// learnLimit keeps the window that a refusal showed, for all sessions and for good. An
// error is for the log: in memory it is kept in any case.
func (m *Manager) learnLimit(ctx context.Context, model string, window int) error {
	m.models.learn(model, window)
	return m.store.LearnLimit(ctx, store.LearnedLimit{
		Provider: m.opts.Endpoint, Model: model, WindowTokens: int64(window), LearnedAt: m.now(),
	})
}

// loadLimits reads the windows that earlier refusals of this service showed.
func (m *Manager) loadLimits(ctx context.Context) error {
	limits, err := m.store.LearnedLimits(ctx)
	if err != nil {
		return err
	}
	for _, l := range limits {
		if l.Provider == m.opts.Endpoint {
			m.models.learn(l.Model, int(l.WindowTokens))
		}
	}
	return nil
}

// checkLimits refuses a session's own limits that leave no room for a conversation.
func (m *Manager) checkLimits(s *Settings) error {
	cfg := m.planner.Config()
	err := cfg.CheckLimits(m.limits(s))
	if bad, ok := errors.AsType[*compaction.KeyError](err); ok {
		return errInvalid("settings."+bad.Key, bad.Why)
	}
	return err
}

// limits are the bounds of a session's requests.
func (m *Manager) limits(s *Settings) compaction.Limits {
	info := m.models.info(s.Model)
	l := compaction.Limits{WindowTokens: info.window, MaxOutputTokens: m.opts.MaxOutputTokens}
	if info.maxOutput > 0 {
		l.MaxOutputTokens = min(l.MaxOutputTokens, info.maxOutput)
	}
	if v := s.Limits.ContextTokensLimit; v != nil {
		l.ContextTokens = int(*v)
	}
	if v := s.Limits.AutoCompactBufferTokens; v != nil {
		l.BufferTokens = int(*v)
	}
	return l
}
