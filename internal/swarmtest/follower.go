package swarmtest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gorilla/websocket"

	"sessiond/internal/client"
	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
)

// digest stands for an entry, all its members.
type digest [sha256.Size]byte

func digestOf(e v1.Entry) digest {
	head := fmt.Sprintf("%d\x00%s\x00%s\x00%s\x00", e.Seq, e.At.Format(time.RFC3339Nano), e.Type, e.TurnID)
	return sha256.Sum256(append([]byte(head), e.Data...))
}

// followed is a follower of every session and what it has of their logs. Only its own
// goroutine touches it until that has ended.
type followed struct {
	s      *Swarm
	name   string
	random *rand.Rand
	slow   bool
	logs   map[string]*followedLog

	conn    *client.Conn
	pending []client.Notification // came on conn while a call was made
}

// followedLog is one session's log.
type followedLog struct {
	client.Follower
	digests []digest
	open    []string // calls that were told and have no result yet
}

func newFollowed(s *Swarm, i int) *followed {
	f := &followed{s: s, name: fmt.Sprintf("follower %d", i), random: s.random(i), slow: i%3 == 2, logs: make(map[string]*followedLog)}
	for _, id := range s.sessions {
		l := &followedLog{}
		l.Follower = client.Follower{SessionID: id, OnEntry: l.take}
		if !f.slow {
			l.OnDelta = func(v1.Delta) {}
		}
		f.logs[id] = l
	}
	return f
}

func (l *followedLog) take(e v1.Entry) error {
	l.digests = append(l.digests, digestOf(e))
	switch e.Type { //nolint:exhaustive // the rest is only kept
	case v1.EventToolCalled:
		id, err := callID(e)
		l.open = append(l.open, id)
		return err
	case v1.EventToolResolved:
		id, err := callID(e)
		for i, open := range l.open {
			if open == id {
				l.open = append(l.open[:i:i], l.open[i+1:]...)
				break
			}
		}
		return err
	}
	return nil
}

func callID(e v1.Entry) (string, error) {
	var d struct {
		ToolUseID string `json:"tool_use_id"`
	}
	err := json.Unmarshal(e.Data, &d)
	return d.ToolUseID, err
}

// A slow follower takes about readPause over a notification, and about stallPause over
// one in stallEvery.
const (
	readPause  = 5 * time.Millisecond
	stallPause = 4 * time.Second
	stallEvery = 30
)

// run follows until it has everything there is when the swarm finishes.
func (f *followed) run(ctx context.Context) error {
	for {
		err := f.life(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || !retry(err) {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if e, ok := errors.AsType[*websocket.CloseError](err); ok && e.Code == rpc.CloseSlowConsumer {
			f.s.counts.slow.Add(1)
		}
	}
}

// life is one connection, from its beginning to its end.
func (f *followed) life(ctx context.Context) error {
	d := dialer{f.s.o.Bytes, f.random}
	if f.slow {
		d.bytes = 0
	}
	conn, err := f.s.dial(ctx, d)
	if err != nil {
		return err
	}
	defer conn.Close()
	f.conn, f.pending = conn, nil
	for _, l := range f.logs {
		err := f.during(func() error {
			_, err := l.Subscribe(ctx, conn)
			return err
		})
		if err != nil {
			return err
		}
	}
	for {
		if err := f.answer(ctx); err != nil {
			return err
		}
		if len(f.pending) == 0 && f.caughtUp() {
			return nil
		}
		if err := f.next(ctx); err != nil {
			return err
		}
	}
}

// during makes a call and keeps the notifications that come meanwhile: the reply is
// behind them.
func (f *followed) during(call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	notifications := f.conn.Notifications()
	for {
		select {
		case n, ok := <-notifications:
			if !ok {
				notifications = nil // the call is about to fail
				continue
			}
			f.pending = append(f.pending, n)
		case err := <-done:
			return err
		}
	}
}

// next waits for a notification and handles it.
func (f *followed) next(ctx context.Context) error {
	if len(f.pending) > 0 {
		n := f.pending[0]
		f.pending = f.pending[1:]
		return f.handle(ctx, n)
	}
	select {
	case n, ok := <-f.conn.Notifications():
		if ok {
			return f.handle(ctx, n)
		}
		return f.conn.Err()
	case <-f.wake():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wake returns a channel that is closed when the swarm finishes, so that a follower
// that waits sees whether it has everything. Once it is catching up nothing but the
// connection can give it more.
func (f *followed) wake() <-chan struct{} {
	select {
	case <-f.s.finish:
		return nil
	default:
		return f.s.finish
	}
}

func (f *followed) handle(ctx context.Context, n client.Notification) error {
	if f.slow {
		if err := f.dawdle(ctx); err != nil {
			return err
		}
	}
	for _, l := range f.logs {
		if err := l.Handle(n); err != nil {
			return err
		}
	}
	return nil
}

// dawdle is what makes a follower slow, until the swarm finishes.
func (f *followed) dawdle(ctx context.Context) error {
	d := readPause
	if f.random.IntN(stallEvery) == 0 {
		d = stallPause
	}
	timer := time.NewTimer(time.Duration(f.random.ExpFloat64() * float64(d)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-f.s.finish:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *followed) caughtUp() bool {
	select {
	case <-f.s.finish:
	default:
		return false
	}
	for id, l := range f.logs {
		if l.LastSeq < f.s.heads[id] {
			return false
		}
	}
	return true
}

// answer gives every call that waits a result. Whoever is first wins; a repeat of the
// same result is no error, and one follower in four has another opinion.
func (f *followed) answer(ctx context.Context) error {
	for id, l := range f.logs {
		for len(l.open) > 0 {
			call := l.open[0]
			content := "seen by everybody: " + call
			if f.random.IntN(4) == 0 {
				content = "seen by " + f.name + ": " + call
			}
			var got v1.ToolSubmitResultResult
			in := map[string]any{"session_id": id, "tool_use_id": call, "content": content}
			err := f.during(func() error { return f.conn.Call(ctx, v1.MethodToolSubmitResult, in, &got) })
			switch {
			case client.IsKind(err, v1.KindToolCallResolved), err == nil && got.Replayed:
				f.s.counts.late.Add(1)
			case client.IsKind(err, v1.KindOverloaded):
				return nil // the next entry brings it here again
			case err != nil:
				return err
			case !got.Accepted:
				return errors.Join(fmt.Errorf("result of %s was not accepted", call), errBroken)
			default:
				f.s.counts.results.Add(1)
			}
			l.open = l.open[1:]
		}
	}
	return nil
}
