package session

import (
	"context"
	"sync"

	"sessiond/store"
)

// locks makes those wait for each other who name the same. They are for what belongs to
// an owner: what belongs to a session is its actor's, who takes one command at a time.
type locks[K comparable] struct {
	mu   sync.Mutex
	held map[K]chan struct{} // closed when it is given back
}

// lock waits for a name, and returns how it is given back, which is done once.
func (l *locks[K]) lock(ctx context.Context, name K) (unlock func(), err error) {
	for {
		held, ok := l.take(name)
		if ok {
			return func() { l.free(name) }, nil
		}
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *locks[K]) take(name K) (held chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held := l.held[name]; held != nil {
		return held, false
	}
	if l.held == nil {
		l.held = make(map[K]chan struct{})
	}
	l.held[name] = make(chan struct{})
	return nil, true
}

func (l *locks[K]) free(name K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held[name])
	delete(l.held, name)
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
