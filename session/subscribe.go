package session

import (
	"context"
	"errors"

	"sessiond/store"
)

// Where is the point a client wants to hear from.
type Where struct {
	After *int64 // seq of the last event it has; nil: from now on
	LogID string // of the log that seq belongs to; empty: not checked
}

// Subscribed is the answer to a subscription.
type Subscribed struct {
	View    *View
	HeadSeq int64
	// Events are those after Where.After. If More is set they are a page and the
	// subscriber was not added: ask again from the last one.
	Events []*Event
	More   bool
	Items  []OpenItem
}

// The size of a page of events.
const (
	PageEvents = 500
	PageBytes  = 512 << 10
)

// catchUpTries is how often Subscribe reads on when the log grew while it read;
// then it answers with a page and the client asks again.
const catchUpTries = 3

// Subscribe returns the events after a point and adds sub, so that with the events
// sub is told afterwards there is neither gap nor repeat. On an error sub is not added.
// Errors: not_found, log_reset, overloaded, shutting_down.
func (m *Manager) Subscribe(ctx context.Context, ref store.Ref, w Where, sub Subscriber) (*Subscribed, error) {
	return withActor(ctx, m, ref, func(a *actor) (*Subscribed, error) {
		view := a.view.Load()
		if err := w.check(view); err != nil {
			return nil, err
		}
		after := view.HeadSeq
		if w.After != nil {
			after = *w.After
		}
		page := &Subscribed{}
		room := PageBytes
		for range catchUpTries {
			if w.After != nil {
				more, err := m.readPage(ctx, a, after, &room, page)
				if err != nil {
					return nil, err
				}
				if n := len(page.Events); n > 0 {
					after = page.Events[n-1].Seq
				}
				if more {
					break
				}
			}
			got, err := a.join(ctx, sub, after, w.After == nil)
			if err != nil {
				return nil, err
			}
			if got != nil {
				got.Events = page.Events
				return got, nil
			}
		}
		page.View, page.More = a.view.Load(), true
		page.HeadSeq = page.View.HeadSeq
		return page, nil
	})
}

// join adds a subscriber, or answers nil if the log has grown beyond what it knows.
func (a *actor) join(ctx context.Context, sub Subscriber, after int64, now bool) (*Subscribed, error) {
	p := newPromise[*Subscribed]()
	got, err := ask(ctx, a, subscribeCommand{sub, after, now, ctx.Done(), p}, p)
	if err != nil && ctx.Err() != nil { // it may have been added in the meantime; later it can't be
		err = errors.Join(err, a.leave(context.WithoutCancel(ctx), sub))
	}
	return got, err
}

// CheckWhere reports whether a client can be told what follows a point: not_found and
// log_reset are what Subscribe would answer.
func (m *Manager) CheckWhere(ctx context.Context, ref store.Ref, w Where) error {
	v, err := m.Get(ctx, ref)
	if err != nil {
		return err
	}
	return w.check(v)
}

func (w Where) check(v *View) error {
	if w.LogID != "" && w.LogID != v.LogID || w.After != nil && *w.After > v.HeadSeq {
		return &Error{
			Kind: KindLogReset, Message: "this is not the log the client knows; start again from 0",
			Data: map[string]any{"head_seq": v.HeadSeq, "log_id": v.LogID},
		}
	}
	return nil
}

// readPage appends the events after a seq to the page as far as the page has room.
func (m *Manager) readPage(ctx context.Context, a *actor, after int64, room *int, page *Subscribed) (more bool, err error) {
	head := a.view.Load().HeadSeq
	events, more, used, err := m.readEvents(ctx, a.ref, span{after, head, PageEvents - len(page.Events), *room})
	if err != nil {
		return false, err
	}
	page.Events = append(page.Events, events...)
	*room -= used
	return more || *room <= 0 || len(page.Events) >= PageEvents, nil
}

// subscribeCommand adds sub if it knows everything up to the published head; else it
// answers nil and the caller reads on.
type subscribeCommand struct {
	sub   Subscriber
	after int64
	now   bool            // from now on, whatever the head is
	gone  <-chan struct{} // closed when the caller no longer waits
	reply promise[*Subscribed]
}

func (c subscribeCommand) apply(_ context.Context, a *actor) {
	select {
	case <-c.gone:
		return
	default:
	}
	if !c.now && c.after != a.published {
		c.reply.ok(nil)
		return
	}
	if a.subs == nil {
		a.subs = make(map[Subscriber]struct{})
	}
	a.subs[c.sub] = struct{}{}
	s := &Subscribed{View: a.view.Load(), HeadSeq: a.published}
	if a.turn != nil && a.turn.round != nil {
		s.Items = append(s.Items, a.turn.round.items...)
	}
	c.reply.ok(s)
}

// Unsubscribe removes a subscriber; once it has returned nothing more is told to it.
// A session that is not loaded has none.
func (m *Manager) Unsubscribe(ctx context.Context, ref store.Ref, sub Subscriber) error {
	a := m.loadedActor(ref)
	if a == nil {
		return nil
	}
	defer m.put(a)
	return a.leave(ctx, sub)
}

// leave removes a subscriber and returns when nothing more is told to it.
func (a *actor) leave(ctx context.Context, sub Subscriber) error {
	p := newPromise[struct{}]()
	select {
	case a.posts <- unsubscribeCommand{sub, p}: // not the mailbox: going away is never refused
	case <-a.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-p:
	case <-a.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

type unsubscribeCommand struct {
	sub   Subscriber
	reply promise[struct{}]
}

func (c unsubscribeCommand) apply(_ context.Context, a *actor) {
	delete(a.subs, c.sub)
	a.touch()
	c.reply.ok(struct{}{})
}
