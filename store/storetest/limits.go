package storetest

import (
	"slices"
	"strings"
	"sync"

	"sessiond/store"
)

var limitRules = []rule{
	{"are none at first", func(b *bench) {
		b.diff("limits", []store.LearnedLimit(nil), b.limits())
	}},
	{"come by provider and model", func(b *bench) {
		want := []store.LearnedLimit{
			b.limit("a", "z", 5_000),
			b.limit("b", "M", 8_192),
			b.limit("b", "m", 200_000),
			b.limit("b", "モデル", 1<<40),
		}
		for _, i := range []int{2, 0, 3, 1} {
			b.learn(want[i])
		}
		b.diff("limits", want, b.limits())
	}},
	{"are replaced when they are learned again", func(b *bench) {
		l, other := b.limit("a", "m", 8_192), b.limit("a", "other", 1)
		b.learn(l)
		b.learn(other)
		for i, tokens := range []int64{4_096, 16_384} {
			l.WindowTokens, l.LearnedAt = tokens, at(-i) // the clock may be turned back
			b.learn(l)
			b.diff("limits", []store.LearnedLimit{l, other}, b.limits())
		}
	}},
	{"are learned by many at once", func(b *bench) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := range 10 {
					if err := b.LearnLimit(b.Context(), b.limit("a", "m", int64(1+i*10+n))); err != nil {
						b.Errorf("LearnLimit: %v", err)
					}
				}
			})
		}
		wg.Wait()
		if got := b.limits(); len(got) != 1 || got[0].WindowTokens%10 != 0 {
			b.Errorf("limits are %+v, want the last one that somebody learned", got)
		}
	}},
}

// limit is what could be learned of a model of a provider that only this bench has.
func (b *bench) limit(provider, model string, tokens int64) store.LearnedLimit {
	return store.LearnedLimit{Provider: b.owner + provider, Model: model, WindowTokens: tokens, LearnedAt: at(0)}
}

func (b *bench) learn(l store.LearnedLimit) {
	b.Helper()
	if err := b.LearnLimit(b.Context(), l); err != nil {
		b.Fatalf("LearnLimit: %v", err)
	}
}

// limits returns what was learned of the bench's providers.
func (b *bench) limits() []store.LearnedLimit {
	b.Helper()
	all, err := b.LearnedLimits(b.Context())
	if err != nil {
		b.Fatalf("LearnedLimits: %v", err)
	}
	foreign := func(l store.LearnedLimit) bool { return !strings.HasPrefix(l.Provider, b.owner) }
	if all = slices.DeleteFunc(all, foreign); len(all) == 0 {
		return nil
	}
	return all
}
