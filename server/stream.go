package server

import (
	"context"
	"fmt"

	"sessiond/message"
	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

func sessionSubscribe(ctx context.Context, c *connection, in call[v1.SubscribeParams]) (any, error) {
	sub := &subscription{
		c: c, id: in.ref.ID, deltas: in.params.Deltas,
		progress: in.params.Events == v1.EventsProgress || c.principal.scope < v1.ScopeChat, hides: c.hides(),
	}
	where := session.Where{After: in.params.AfterSeq, LogID: in.params.LogID}
	if sub.progress {
		where.After = nil // it gets no entries and so has none to catch up on
	}
	// A call that can't succeed leaves the subscription there is alone.
	if err := c.server.sessions.CheckWhere(ctx, in.ref, where); err != nil {
		return nil, err
	}
	if err := c.makeRoom(ctx, in, sub); err != nil {
		return nil, err
	}
	got, err := c.server.sessions.Subscribe(ctx, in.ref, where, sub)
	if err != nil || got.More {
		c.forget(in.ref.ID, sub)
	}
	if err != nil {
		return nil, err
	}
	out := v1.SubscribeResult{
		Session: c.wireSession(got.View), HeadSeq: got.HeadSeq, LogID: got.View.LogID, More: got.More,
		PendingToolCalls: c.wirePending(got.View.PendingCalls),
	}
	if !sub.progress {
		out.Entries = entries(sub.toldOf(got.Events))
		out.OpenItems = wireItems(got.Items)
	}
	if got.More {
		return out, nil
	}
	if !c.holds(in.ref.ID, sub) { // another call has replaced or ended it meanwhile
		return out, c.leave(ctx, in.ref, sub)
	}
	return rpc.Deferred{Result: out, Queued: sub.goLive}, nil
}

// makeRoom takes the place of a subscription, ending an older one to the same session.
func (c *connection) makeRoom(ctx context.Context, in call[v1.SubscribeParams], sub *subscription) error {
	c.mu.Lock()
	old := c.subs[sub.id]
	if limit := c.server.opts.Limits.Subscriptions; old == nil && int64(len(c.subs)) >= limit {
		c.mu.Unlock()
		return kindError(v1.KindSubscriptionLimit, fmt.Sprintf("the connection has %d subscriptions already", limit), 0)
	}
	if c.subs == nil {
		c.subs = make(map[message.SessionID]*subscription)
	}
	c.subs[sub.id] = sub
	c.mu.Unlock()
	if old == nil {
		return nil
	}
	err := c.leave(ctx, in.ref, old)
	if err != nil {
		c.forget(sub.id, sub)
	}
	return err
}

func (c *connection) holds(id message.SessionID, sub *subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subs[id] == sub
}

func (c *connection) forget(id message.SessionID, sub *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subs[id] == sub {
		delete(c.subs, id)
	}
}

func sessionUnsubscribe(ctx context.Context, c *connection, in call[v1.UnsubscribeParams]) (any, error) {
	if _, err := c.server.sessions.Get(ctx, in.ref); err != nil {
		return nil, err
	}
	c.mu.Lock()
	sub := c.subs[in.ref.ID]
	delete(c.subs, in.ref.ID)
	c.mu.Unlock()
	if sub != nil {
		if err := c.leave(ctx, in.ref, sub); err != nil {
			return nil, err
		}
	}
	return v1.UnsubscribeResult{}, nil
}

func sessionLog(ctx context.Context, c *connection, in call[v1.LogParams]) (any, error) {
	page, err := c.server.sessions.Log(ctx, in.ref, in.params.AfterSeq, int(in.params.Limit))
	if err != nil {
		return nil, err
	}
	return v1.LogResult{Entries: entries(page.Events), HeadSeq: page.HeadSeq, LogID: page.LogID, More: page.More}, nil
}

func wireItems(items []session.OpenItem) []v1.OpenItem {
	out := make([]v1.OpenItem, len(items))
	for i, item := range items {
		out[i] = v1.OpenItem{
			ItemID: itemID(item.MessageID, item.Block), TurnID: string(item.TurnID),
			Kind: v1.DeltaKind(item.Kind), Next: item.Next, Text: item.Text,
		}
	}
	return out
}
