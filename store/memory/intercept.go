package memory

import (
	"context"

	"sessiond/store"
)

// Interceptor stands between a caller of Create or Commit and the store, for tests
// of what happens when the database misbehaves. It returns what the caller gets:
//
//   - an error without calling apply: the commit failed and nothing was stored;
//   - an error after apply returned nil: the commit is stored but its answer was lost;
//   - apply's own result, at once or after waiting: an ordinary or a slow database.
//
// It is called on the caller's goroutine, without a lock held, also concurrently. It
// must not change c, must not call apply twice, and should mind ctx when it waits.
type Interceptor func(ctx context.Context, c *store.Commit, apply func() error) error

// Intercept sends the commits that begin from now on through f; nil ends that.
func (s *Store) Intercept(f Interceptor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}
