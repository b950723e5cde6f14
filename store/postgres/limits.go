package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"sessiond/store"
)

const (
	limits   = `SELECT provider, model, window_tokens, learned_at FROM learned_limits ORDER BY provider, model`
	putLimit = `INSERT INTO learned_limits (provider, model, window_tokens, learned_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (provider, model) DO UPDATE SET
			window_tokens = EXCLUDED.window_tokens, learned_at = EXCLUDED.learned_at`
)

// LearnedLimits implements [store.Limits].
func (s *Store) LearnedLimits(ctx context.Context) ([]store.LearnedLimit, error) {
	return list(ctx, s, "learned limits", scanLimit, limits)
}

// LearnLimit implements [store.Limits].
func (s *Store) LearnLimit(ctx context.Context, l store.LearnedLimit) error {
	_, err := s.read.Exec(ctx, putLimit, l.Provider, l.Model, l.WindowTokens, l.LearnedAt)
	return s.fail("learn limit of "+l.Model, err)
}

func scanLimit(row pgx.CollectableRow) (l store.LearnedLimit, err error) {
	err = row.Scan(&l.Provider, &l.Model, &l.WindowTokens, &l.LearnedAt)
	l.LearnedAt = l.LearnedAt.UTC()
	return l, err
}
