package session

import (
	"context"
	"encoding/json"
	"fmt"
)

// Replay is the outcome of a call that takes an idempotency key. Replayed says that
// the value is the remembered one of an earlier equal call.
type Replay[T any] struct {
	Value    T
	Replayed bool
}

// promise carries the outcome of a command to its caller, once.
type promise[T any] chan outcome[T]

type outcome[T any] struct {
	value T
	err   error
}

func newPromise[T any]() promise[T] { return make(promise[T], 1) }

func (p promise[T]) ok(v T)         { p <- outcome[T]{value: v} }
func (p promise[T]) fail(err error) { p <- outcome[T]{err: err} }

// okOnFlush answers with v once everything changed so far is on disk.
func okOnFlush[T any](a *actor, p promise[T], v T) {
	a.onFlush(func(_ context.Context, err error) {
		if err != nil {
			p.fail(fmt.Errorf("store the change: %w", err))
			return
		}
		p.ok(v)
	})
}

// ask puts a command into the actor's mailbox and waits for its promise. When ctx
// ends first the command may still take effect.
func ask[T any](ctx context.Context, a *actor, c command, p promise[T]) (T, error) {
	var zero T
	select {
	case a.mailbox <- c:
	default:
		return zero, &Error{Kind: KindOverloaded, Message: "the session has too many calls waiting"}
	}
	select {
	case o := <-p:
		return o.value, o.err
	case <-ctx.Done():
		return zero, ctx.Err()
	case <-a.done:
	}
	select {
	case o := <-p:
		return o.value, o.err
	default:
		return zero, a.endError()
	}
}

// endError says why an actor that has ended did not answer.
func (a *actor) endError() error {
	switch a.over {
	case deleted:
		return errNotFound("session")
	case parked:
		return errShuttingDown()
	case failed, unloaded, goingOn:
	}
	return &Error{Kind: KindOverloaded, Message: "the session was reloaded after a failure; call again"}
}

// keyed is the part of a command that may be remembered under an idempotency key.
type keyed struct {
	idem Idempotency
}

// Idempotency says how a call that changes something is remembered. The zero value
// is not remembered.
type Idempotency struct {
	Method      string
	Key         string
	Fingerprint [32]byte

	ofOwner bool // the key is of the owner, whatever session the call is about
}

func (i Idempotency) set() bool { return i.Key != "" }

// finish answers a command whose effect is in the batch, and remembers the answer.
func finish[T any](a *actor, k keyed, p promise[Replay[T]], v T) {
	if k.idem.set() {
		a.remember(k.idem, encode(v))
	}
	okOnFlush(a, p, Replay[T]{Value: v})
}

// replayed answers a command whose key is known to this actor.
func replayed[T any](a *actor, k keyed, p promise[Replay[T]]) bool {
	if !k.idem.set() {
		return false
	}
	rec, ok := a.keys.find(k.idem)
	if !ok {
		return false
	}
	v, err := replayOf[T](rec.Fingerprint, rec.Result, k.idem)
	if err != nil {
		p.fail(err)
		return true
	}
	okOnFlush(a, p, v) // the first call may not be on disk yet
	return true
}

func replayOf[T any](fingerprint [32]byte, result []byte, i Idempotency) (Replay[T], error) {
	r := Replay[T]{Replayed: true}
	if fingerprint != i.Fingerprint {
		return r, errKeyUsed(i)
	}
	if err := json.Unmarshal(result, &r.Value); err != nil {
		return r, fmt.Errorf("remembered result of %s: %w", i.Method, err)
	}
	return r, nil
}

func errKeyUsed(i Idempotency) error {
	return &Error{
		Kind: KindIdempotencyConflict, Message: fmt.Sprintf("the key was used for another call of %s", i.Method),
	}
}
