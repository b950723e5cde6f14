package chat

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

// How much is asked for at once.
const (
	pastMessages   = 20
	listedSessions = 20
)

// work does what it is asked to, in order.
func (l *Link) work(ctx context.Context) {
	for {
		select {
		case a := <-l.actions:
			if id := l.open(); isDetached(a) {
				l.running.Go(func() { l.report(ctx, a, l.doFor(ctx, id, a)) })
			} else {
				l.report(ctx, a, l.do(ctx, a))
			}
		case <-ctx.Done():
			return
		}
	}
}

// isDetached reports whether an action stands out of the order: Compact takes as long as a
// model does, and Stop is for who is impatient.
func isDetached(a Action) bool {
	switch a.(type) {
	case Compact, Stop:
		return true
	case Send, Undo, ShowContext, ListSessions, ListMemories, Open, New, Fork:
	}
	return false
}

// outcome is the event that ends an action, or why there is none.
type outcome struct {
	event Event
	err   error
}

func (l *Link) report(ctx context.Context, a Action, o outcome) {
	if o.err != nil {
		o.event = Failed{a, o.err}
	}
	l.emit(ctx, o.event)
}

// do does an action of the worker.
func (l *Link) do(ctx context.Context, a Action) outcome {
	switch a := a.(type) {
	case Send:
		return l.send(ctx, a)
	case Open:
		return outcome{Done{}, l.openSession(ctx, a.SessionID, false)}
	case New:
		l.setOpen("")
		l.emit(ctx, Opened{})
		return outcome{Done{}, l.switchTo(ctx, nil)}
	case Fork:
		var r v1.SessionResult
		if err := l.call(ctx, v1.MethodSessionFork, of(l.open()), &r); err != nil {
			return outcome{err: err}
		}
		return outcome{Done{}, l.openSession(ctx, r.Session.ID, true)}
	case ListSessions:
		return l.listSessions(ctx)
	case ListMemories:
		return l.listMemories(ctx)
	case Undo, ShowContext, Compact, Stop:
	}
	return l.doFor(ctx, l.open(), a)
}

// doFor does an action on a session that is open; any goroutine may.
func (l *Link) doFor(ctx context.Context, sessionID string, a Action) outcome {
	switch a := a.(type) {
	case Compact:
		params := of(sessionID)
		if a.Instruction != "" {
			params["custom_instruction"] = a.Instruction
		}
		var r v1.CompactionResult
		err := l.call(ctx, v1.MethodSessionCompact, params, &r)
		return outcome{Compacted{r, false}, err}
	case Undo:
		var r v1.CompactionResult
		err := l.call(ctx, v1.MethodSessionUndoCompact, of(sessionID), &r)
		return outcome{Compacted{r, true}, err}
	case Stop:
		params := of(sessionID)
		params["clear_queue"] = a.ClearQueue
		var r v1.TurnStopResult
		err := l.call(ctx, v1.MethodTurnStop, params, &r)
		return outcome{Stopped{r.Stopped}, err}
	case ShowContext:
		var c v1.SessionContextResult
		if err := l.call(ctx, v1.MethodSessionContext, map[string]any{"session_id": sessionID}, &c); err != nil {
			return outcome{err: err}
		}
		var s v1.SessionGetResult
		err := l.call(ctx, v1.MethodSessionGet, map[string]any{"session_id": sessionID}, &s)
		return outcome{ContextTold{c, s.Session}, err}
	case Send, Open, New, Fork, ListSessions, ListMemories:
	}
	return outcome{event: Done{}}
}

// of are the params of a call that writes to a session.
func of(sessionID string) map[string]any {
	return map[string]any{"session_id": sessionID, "key": rand.Text()}
}

// send sends a message, in a new session if none is open.
func (l *Link) send(ctx context.Context, a Send) outcome {
	if l.open() == "" {
		if err := l.create(ctx); err != nil {
			return outcome{err: err}
		}
	}
	id := l.open()
	params := of(id)
	params["content"] = a.Text
	var r v1.MessageSendResult
	err := l.call(ctx, v1.MethodMessageSend, params, &r)
	return outcome{Sent{a.N, id, r}, err}
}

func (l *Link) create(ctx context.Context) error {
	params := map[string]any{"key": rand.Text()}
	if l.opts.Model != "" {
		params["model"] = l.opts.Model
	}
	var r v1.SessionResult
	if err := l.call(ctx, v1.MethodSessionCreate, params, &r); err != nil {
		return err
	}
	return l.show(ctx, Opened{Session: r.Session})
}

// openSession shows the newest messages of a session and follows it.
func (l *Link) openSession(ctx context.Context, id string, copied bool) error {
	params := map[string]any{"session_id": id}
	var s v1.SessionGetResult
	if err := l.call(ctx, v1.MethodSessionGet, params, &s); err != nil {
		return err
	}
	var c v1.SessionContextResult
	if err := l.call(ctx, v1.MethodSessionContext, params, &c); err != nil {
		return err
	}
	var page v1.MessageListResult
	params = map[string]any{"session_id": id, "limit": pastMessages, "before_seq": s.Session.HeadSeq + 1}
	if err := l.call(ctx, v1.MethodMessageList, params, &page); err != nil {
		return err
	}
	opened := Opened{Session: s.Session, Earlier: page.More, Boundary: c.BoundarySeq, Copied: copied}
	for _, raw := range page.Messages {
		var m Message
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		opened.Messages = append(opened.Messages, m)
	}
	return l.show(ctx, opened)
}

// show tells of a session that is open now and follows it from its head on.
func (l *Link) show(ctx context.Context, o Opened) error {
	l.setOpen(o.Session.ID)
	l.emit(ctx, o)
	return l.switchTo(ctx, &client.Follower{SessionID: o.Session.ID, LogID: o.Session.LogID, LastSeq: o.Session.HeadSeq})
}

// switchTo waits until another session is followed, so that what a message does is told
// after that.
func (l *Link) switchTo(ctx context.Context, place *client.Follower) error {
	s := switching{place, make(chan struct{})}
	select {
	case l.follow <- s:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Link) listSessions(ctx context.Context) outcome {
	var info v1.ServerInfoResult // for its clock
	if err := l.call(ctx, v1.MethodServerInfo, nil, &info); err != nil {
		return outcome{err: err}
	}
	var page v1.SessionListResult
	err := l.call(ctx, v1.MethodSessionList, map[string]any{"limit": listedSessions}, &page)
	return outcome{SessionsTold{page.Sessions, page.NextCursor != "", info.Now}, err}
}

// listMemories lists those of the session, if one is open, and those of its owner.
func (l *Link) listMemories(ctx context.Context) outcome {
	var told MemoriesTold
	scopes := []map[string]any{{"scope": v1.MemoryOfUser}}
	if id := l.open(); id != "" {
		scopes = append(scopes, map[string]any{"scope": v1.MemoryOfSession, "session_id": id})
	}
	for _, params := range scopes {
		var page v1.MemoryListResult
		if err := l.call(ctx, v1.MethodMemoryList, params, &page); err != nil {
			return outcome{err: err}
		}
		told.Memories = append(told.Memories, page.Memories...)
		told.More = told.More || page.NextCursor != ""
	}
	return outcome{event: told}
}
