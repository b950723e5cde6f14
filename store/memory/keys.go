package memory

import (
	"context"
	"fmt"
	"time"

	"sessiond/store"
)

// Key implements [store.Keys].
func (s *Store) Key(ctx context.Context, scope store.KeyScope, now time.Time) (*store.KeyRecord, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	k, ok := s.keys[scope]
	if !ok || expired(k.ExpiresAt, now) {
		return nil, fmt.Errorf("key of %s: %w", scope.Method, store.ErrNotFound)
	}
	k = cloneKey(k)
	return &k, nil
}

// PurgeKeys implements [store.Keys].
func (s *Store) PurgeKeys(ctx context.Context, now time.Time) (int64, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	var n int64
	for scope, k := range s.keys {
		if expired(k.ExpiresAt, now) {
			delete(s.keys, scope)
			n++
		}
	}
	return n, nil
}
