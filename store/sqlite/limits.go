package sqlite

import (
	"context"
	"fmt"

	"sessiond/store"
)

// LearnedLimits implements [store.Limits].
func (s *Store) LearnedLimits(ctx context.Context) ([]store.LearnedLimit, error) {
	return list(ctx, s, ask[store.LearnedLimit]{what: "learned limits", st: s.queries.limits, scan: scanLimit})
}

// LearnLimit implements [store.Limits].
func (s *Store) LearnLimit(ctx context.Context, l store.LearnedLimit) error {
	err := s.committer.Do(ctx, change{0, func(ctx context.Context, w *writer) error {
		_, err := w.putLimit.ExecContext(ctx, l.Provider, l.Model, l.WindowTokens, micros(l.LearnedAt))
		return err
	}})
	if err != nil {
		return fmt.Errorf("learn limit of %s: %w", l.Model, err)
	}
	return nil
}

func scanLimit(r row, l *store.LearnedLimit) error {
	var at int64
	if err := r.Scan(&l.Provider, &l.Model, &l.WindowTokens, &at); err != nil {
		return err
	}
	l.LearnedAt = moment(at)
	return nil
}
