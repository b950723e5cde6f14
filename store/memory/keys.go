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

// checkKeys refuses to record a key again before it has expired.
func (s *Store) checkKeys(keys []store.KeyRecord, now time.Time) error {
	for i := range keys {
		old, ok := s.keys[keys[i].KeyScope]
		if ok && !expired(old.ExpiresAt, now) {
			return fmt.Errorf("key of %s: %w", keys[i].Method, store.ErrKeyExists)
		}
	}
	return nil
}

func (s *Store) putKeys(keys []store.KeyRecord) {
	for _, k := range keys {
		s.keys[k.KeyScope] = cloneKey(k)
	}
}

// expired reports whether a key with that expiry has ended at now; zero never does.
func expired(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

func cloneKey(k store.KeyRecord) store.KeyRecord {
	k.Result, k.ExpiresAt = bytesKept(k.Result), kept(k.ExpiresAt)
	return k
}
