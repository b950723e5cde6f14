package session

import (
	"context"
	"errors"
	"fmt"

	"sessiond/store"
)

// recentKeys remembers the keys an actor has just recorded. A call looks its key up
// in the database before it goes to the actor; this covers what was recorded between
// the two. It need only be larger than the number of calls that can be between them.
type recentKeys struct {
	records []store.KeyRecord
	next    int
}

const recentKeysKept = 256

func (r *recentKeys) add(rec store.KeyRecord) {
	if len(r.records) < recentKeysKept {
		r.records = append(r.records, rec)
		return
	}
	r.records[r.next] = rec
	r.next = (r.next + 1) % recentKeysKept
}

func (r *recentKeys) find(i Idempotency) (store.KeyRecord, bool) {
	for _, rec := range r.records {
		if rec.Key == i.Key && rec.Method == i.Method {
			return rec, true
		}
	}
	return store.KeyRecord{}, false
}

func (i Idempotency) scope(ref store.Ref) store.KeyScope {
	if i.ofOwner {
		ref.ID = ""
	}
	return store.KeyScope{Owner: ref.Owner, Method: i.Method, SessionID: ref.ID, Key: i.Key}
}

// remember records a result under its key, in the batch of its effect.
func (a *actor) remember(i Idempotency, result []byte) {
	rec := store.KeyRecord{KeyScope: i.scope(a.ref), Fingerprint: i.Fingerprint, Result: result}
	if i.ofOwner { // there is no session to be deleted with
		rec.ExpiresAt = a.now().Add(a.m.opts.CreateKeyTTL)
	}
	a.keys.add(rec)
	b := a.batch()
	b.dirty = true
	b.keys = append(b.keys, rec)
}

// lookUp finds the remembered outcome of a call.
func lookUp[T any](ctx context.Context, m *Manager, ref store.Ref, i Idempotency) (Replay[T], bool, error) {
	if !i.set() {
		return Replay[T]{}, false, nil
	}
	rec, err := m.store.Key(ctx, i.scope(ref), m.opts.Now())
	if errors.Is(err, store.ErrNotFound) {
		return Replay[T]{}, false, nil
	}
	if err != nil {
		return Replay[T]{}, false, fmt.Errorf("look up idempotency key: %w", err)
	}
	v, err := replayOf[T](rec.Fingerprint, rec.Result, i)
	return v, true, err
}
