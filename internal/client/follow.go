package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "sessiond/rpc/v1"
)

// Follower is a place in a session's log. It is used with one connection after the
// other and never skips or repeats an entry. Not safe for concurrent use.
type Follower struct {
	SessionID string
	LogID     string // set by the first subscription
	LastSeq   int64
	// OnEntry is called for every entry in order.
	OnEntry func(e v1.Entry) error
	// OnDelta is called for deltas, which may be missing; nil: not asked for.
	OnDelta func(d v1.Delta)
	// OnActivity is called for activities, which may be missing; nil: ignored.
	OnActivity func(a v1.Activity)
}

// Subscribe catches up on a connection and goes live on it.
func (f *Follower) Subscribe(ctx context.Context, c *Conn) (*v1.SubscribeResult, error) {
	for {
		params := map[string]any{"session_id": f.SessionID, "after_seq": f.LastSeq, "deltas": f.OnDelta != nil}
		if f.LogID != "" {
			params["log_id"] = f.LogID
		}
		var page v1.SubscribeResult
		if err := c.Call(ctx, v1.MethodSessionSubscribe, params, &page); err != nil {
			return nil, err
		}
		f.LogID = page.LogID
		for _, raw := range page.Entries {
			var e v1.Entry
			if err := json.Unmarshal(raw, &e); err != nil {
				return nil, err
			}
			if err := f.take(e); err != nil {
				return nil, err
			}
		}
		if !page.More {
			return &page, nil
		}
	}
}

// Handle takes a notification; those of other sessions and kinds are ignored.
func (f *Follower) Handle(n Notification) error {
	switch n.Method {
	case v1.NotifyEvent:
		var e v1.Event
		if err := json.Unmarshal(n.Params, &e); err != nil {
			return err
		}
		if e.SessionID == f.SessionID {
			return f.take(v1.Entry{Seq: e.Seq, At: e.At, Type: e.Type, TurnID: e.TurnID, Data: e.Data})
		}
	case v1.NotifyDelta:
		var d v1.Delta
		if err := json.Unmarshal(n.Params, &d); err != nil {
			return err
		}
		if f.OnDelta != nil && d.SessionID == f.SessionID {
			f.OnDelta(d)
		}
	case v1.NotifyActivity:
		var a v1.Activity
		if err := json.Unmarshal(n.Params, &a); err != nil {
			return err
		}
		if f.OnActivity != nil && a.SessionID == f.SessionID {
			f.OnActivity(a)
		}
	}
	return nil
}

// Run handles a connection's notifications until it ends, ctx ends, or done says so.
func (f *Follower) Run(ctx context.Context, c *Conn, done func() bool) error {
	for !done() {
		select {
		case n, ok := <-c.Notifications():
			if !ok {
				return fmt.Errorf("follow session %s: %w", f.SessionID, c.Err())
			}
			if err := f.Handle(n); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// ErrOrder says that a server broke the order of a log; a new connection does not help.
var ErrOrder = errors.New("the log is out of order")

// take refuses what a correct server never sends: a gap, or an entry again.
func (f *Follower) take(e v1.Entry) error {
	if e.Seq != f.LastSeq+1 {
		return fmt.Errorf("session %s: entry %d came after entry %d: %w", f.SessionID, e.Seq, f.LastSeq, ErrOrder)
	}
	f.LastSeq = e.Seq
	if f.OnEntry == nil {
		return nil
	}
	return f.OnEntry(e)
}
