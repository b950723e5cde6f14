package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"sessiond/store"
)

// modelName is what a learned limit is known by.
type modelName struct{ provider, model string }

// LearnedLimits implements [store.Limits].
func (s *Store) LearnedLimits(ctx context.Context) ([]store.LearnedLimit, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return slices.SortedFunc(maps.Values(s.limits), func(a, b store.LearnedLimit) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	}), nil
}

// LearnLimit implements [store.Limits].
func (s *Store) LearnLimit(ctx context.Context, l store.LearnedLimit) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	l.LearnedAt = kept(l.LearnedAt)
	s.limits[modelName{l.Provider, l.Model}] = l
	return nil
}
