package store

import (
	"context"
	"time"
)

// Limits remembers the windows of models that had to be learned from a provider's
// errors. They belong to no session: what one session ran into, all know.
type Limits interface {
	// LearnedLimits returns all of them, by provider and model.
	LearnedLimits(ctx context.Context) ([]LearnedLimit, error)
	// LearnLimit stores l in place of what was known of its model.
	LearnLimit(ctx context.Context, l LearnedLimit) error
}

// LearnedLimit is the most that a model's request may hold.
type LearnedLimit struct {
	Provider     string
	Model        string
	WindowTokens int64
	LearnedAt    time.Time
}
