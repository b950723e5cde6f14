package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sessiond/message"
	"sessiond/store"
)

// Get returns a session as of its last flushed change. It loads the session: whoever
// looks at one tends to look again. Errors: not_found, shutting_down.
func (m *Manager) Get(ctx context.Context, ref store.Ref) (*View, error) {
	return withActor(ctx, m, ref, func(a *actor) (*View, error) { return a.view.Load(), nil })
}

// List returns a page of an owner's sessions, newest activity first.
func (m *Manager) List(ctx context.Context, q store.ListQuery) ([]*View, error) {
	rows, err := m.store.ListSessions(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	views := make([]*View, len(rows))
	for i := range rows {
		if views[i], err = viewOfRow(&rows[i], m.opts.Now()); err != nil {
			return nil, err
		}
		// Only what rows don't hold comes from memory: the page must fit its order.
		if a := m.loadedActor(store.Ref{Owner: rows[i].Owner, ID: rows[i].ID}); a != nil {
			loaded := a.view.Load()
			views[i].Queued, views[i].PendingCalls = loaded.Queued, loaded.PendingCalls
			m.put(a)
		}
	}
	return views, nil
}

// LogPage is a part of a session's log.
type LogPage struct {
	Events  []*Event
	HeadSeq int64
	LogID   string
	More    bool
}

// Log returns the events after a seq: at most limit, at most PageBytes, at least one
// if there is one. Errors: not_found.
func (m *Manager) Log(ctx context.Context, ref store.Ref, after int64, limit int) (*LogPage, error) {
	view, err := m.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	events, more, _, err := m.readEvents(ctx, ref, span{after, view.HeadSeq, limit, PageBytes})
	if err != nil {
		return nil, err
	}
	return &LogPage{Events: events, HeadSeq: view.HeadSeq, LogID: view.LogID, More: more}, nil
}

// span is a part of a log. What the store has beyond a session's head is not told of yet.
type span struct {
	after, head     int64
	limit, maxBytes int
}

// readEvents reads stored entries as clients see them. It reports whether there are
// more and how many bytes their data take. maxBytes bounds what is sent, not what is
// stored: results are filled into messages, large blocks are left out.
func (m *Manager) readEvents(ctx context.Context, ref store.Ref, s span) (events []*Event, more bool, used int, err error) {
	entries, err := m.store.Entries(ctx, store.EntryQuery{
		Ref: ref, AfterSeq: s.after, BeforeSeq: s.head + 1, Limit: s.limit, MaxBytes: maxReadBytes,
	})
	if err != nil {
		return nil, false, 0, fmt.Errorf("read log: %w", err)
	}
	if events, err = m.eventsOf(ctx, ref, entries); err != nil {
		return nil, false, 0, err
	}
	for i, e := range events {
		if i > 0 && used+len(e.Data) > s.maxBytes {
			events = events[:i]
			break
		}
		used += len(e.Data)
	}
	if n := len(events); n > 0 {
		more = events[n-1].Seq < s.head
	}
	return events, more, used, nil
}

// maxReadBytes bounds the bodies that are read at once to make a page.
const maxReadBytes = 4 << 20

// eventsOf turns entries into events: results are filled in, large blocks omitted.
func (m *Manager) eventsOf(ctx context.Context, ref store.Ref, entries []store.Entry) ([]*Event, error) {
	filler := newFiller(m.store, ref, entries)
	events := make([]*Event, len(entries))
	for i := range entries {
		e := &entries[i]
		data, err := filler.data(ctx, e)
		if err != nil {
			return nil, err
		}
		events[i] = &Event{SessionID: ref.ID, Seq: e.Seq, At: e.At, Kind: EntryKind(e.Kind), TurnID: e.TurnID, Data: data}
	}
	return events, nil
}

// filler puts results into the messages that refer to them.
type filler struct {
	log      store.Log
	ref      store.Ref
	resolved map[int64]resolution
	err      error
}

func newFiller(log store.Log, ref store.Ref, entries []store.Entry) *filler {
	f := &filler{log: log, ref: ref, resolved: make(map[int64]resolution)}
	f.note(entries)
	return f
}

func (f *filler) note(entries []store.Entry) {
	for i := range entries {
		if EntryKind(entries[i].Kind) != EntryToolResolved {
			continue
		}
		_, res, err := decodeResolved(&entries[i])
		if err != nil {
			f.err = err
			return
		}
		f.resolved[res.Seq] = res
	}
}

// message decodes the message of an entry, results filled in.
func (f *filler) message(ctx context.Context, e *store.Entry) (*message.Message, error) {
	m, err := decodeMessage(e)
	if err != nil {
		return nil, err
	}
	first := int64(0) // the oldest entry referred to that is not known yet
	for _, b := range m.Content {
		if r, ok := b.(message.ToolResult); ok && r.Ref != 0 {
			if _, known := f.resolved[r.Ref]; !known && (first == 0 || r.Ref < first) {
				first = r.Ref
			}
		}
	}
	if first != 0 {
		entries, err := f.log.Entries(ctx, store.EntryQuery{
			Ref: f.ref, AfterSeq: first - 1, BeforeSeq: e.Seq, Kinds: []string{string(EntryToolResolved)},
		})
		if err != nil {
			return nil, fmt.Errorf("read tool results: %w", err)
		}
		f.note(entries)
	}
	if f.err != nil {
		return nil, f.err
	}
	return fill(m, func(seq int64) (resolution, bool) { r, ok := f.resolved[seq]; return r, ok })
}

// data is what clients see of an entry.
func (f *filler) data(ctx context.Context, e *store.Entry) (json.RawMessage, error) {
	kind := EntryKind(e.Kind)
	switch {
	case kind.storesMessage():
		m, err := f.message(ctx, e)
		if err != nil {
			return nil, err
		}
		return encodeMessageBody(m, message.Form{OmitOverBytes: OmitOverBytes}), nil
	case kind == EntryToolResolved && len(e.Body) > OmitOverBytes:
		id, res, err := decodeResolved(e)
		if err != nil {
			return nil, err
		}
		return encodeToolResolved(id, res.By, res.Content, res.IsError, message.Form{OmitOverBytes: OmitOverBytes}), nil
	}
	if kind == EntryUpdated {
		return updatedData(e)
	}
	if data, ok, err := contextData(e); ok {
		return data, err
	}
	return e.Body, nil
}

// Message returns one message whole. Errors: not_found.
func (m *Manager) Message(ctx context.Context, ref store.Ref, id message.ID) (*message.Message, error) {
	if _, err := m.Get(ctx, ref); err != nil {
		return nil, err
	}
	e, err := m.store.MessageEntry(ctx, ref, id)
	if err != nil {
		return nil, notFoundAs(err, "message")
	}
	return newFiller(m.store, ref, nil).message(ctx, e)
}

// Turn returns one turn. Errors: not_found.
func (m *Manager) Turn(ctx context.Context, ref store.Ref, id message.TurnID) (*Turn, error) {
	if _, err := m.Get(ctx, ref); err != nil {
		return nil, err
	}
	t, err := m.store.Turn(ctx, ref, id)
	if err != nil {
		return nil, notFoundAs(err, "turn")
	}
	return decodeTurn(ref.ID, t)
}

// Turns returns a session's turns, newest first; before is the CreatedSeq to begin
// below, 0 for the newest. Errors: not_found.
func (m *Manager) Turns(ctx context.Context, ref store.Ref, before int64, limit int) ([]*Turn, error) {
	if _, err := m.Get(ctx, ref); err != nil {
		return nil, err
	}
	rows, err := m.store.ListTurns(ctx, ref, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list turns: %w", err)
	}
	turns := make([]*Turn, len(rows))
	for i := range rows {
		if turns[i], err = decodeTurn(ref.ID, &rows[i]); err != nil {
			return nil, err
		}
	}
	return turns, nil
}

func notFoundAs(err error, what string) error {
	if errors.Is(err, store.ErrNotFound) {
		return errNotFound(what)
	}
	return err
}

func isKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}
