package session

import (
	"context"
	"sync"

	"sessiond/store"
)

// keyLocks makes calls under the same key of an owner wait for each other. Keys of a
// session need none: its actor takes one command at a time.
type keyLocks struct {
	mu   sync.Mutex
	held map[store.KeyScope]chan struct{} // closed when it is given back
}

// lock waits for a key, and returns how it is given back.
func (l *keyLocks) lock(ctx context.Context, scope store.KeyScope) (unlock func(), err error) {
	for {
		held, ok := l.take(scope)
		if ok {
			return func() { l.free(scope) }, nil
		}
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *keyLocks) take(scope store.KeyScope) (held chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held := l.held[scope]; held != nil {
		return held, false
	}
	if l.held == nil {
		l.held = make(map[store.KeyScope]chan struct{})
	}
	l.held[scope] = make(chan struct{})
	return nil, true
}

func (l *keyLocks) free(scope store.KeyScope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held[scope])
	delete(l.held, scope)
}

// ownerCall answers a call whose key is of the owner, not of a session, from its
// remembered outcome or with f, which records the outcome with its effect. The params of
// such a call do not say which session it is about, and what does may be gone when the
// call comes again. f ends even if the caller does not wait for it: until then no second
// call may begin.
func ownerCall[T any](ctx context.Context, m *Manager, owner string, i Idempotency, f func(ctx context.Context) (Replay[T], error)) (Replay[T], error) {
	if !i.set() {
		return f(ctx)
	}
	of := store.Ref{Owner: owner}
	unlock, err := m.ownerKeys.lock(ctx, i.scope(of))
	if err != nil {
		return Replay[T]{}, err
	}
	defer unlock()
	if known, found, err := lookUp[T](ctx, m, of, i); found || err != nil {
		return known, err
	}
	return f(context.WithoutCancel(ctx))
}

// ownerKey is the record of a key of the owner's, nil if the call has none.
func (m *Manager) ownerKey(owner string, i Idempotency, result any) *store.KeyRecord {
	if !i.set() {
		return nil
	}
	return &store.KeyRecord{
		KeyScope: i.scope(store.Ref{Owner: owner}), Fingerprint: i.Fingerprint, Result: encode(result),
		ExpiresAt: m.now().Add(m.opts.CreateKeyTTL),
	}
}
