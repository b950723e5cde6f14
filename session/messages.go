package session

import (
	"context"
	"fmt"
	"slices"

	"sessiond/message"
	"sessiond/store"
)

// MessageQuery selects a page of a session's messages. At most one of the bounds is
// set; both are seqs of messages and compare in conversation order.
type MessageQuery struct {
	BeforeSeq int64 // the newest Limit before it
	AfterSeq  int64 // the oldest Limit after it
	Ascending bool  // from the start, or after AfterSeq; else backwards from the end
	Limit     int
}

// Messages returns a page in conversation order, oldest first, and whether there are
// more beyond it in the direction of the page. A queued message stands where its turn
// was started, at the end while it waits, and nowhere once it was dropped.
// Errors: not_found.
func (m *Manager) Messages(ctx context.Context, ref store.Ref, q MessageQuery) ([]*message.Message, bool, error) {
	if _, err := m.Get(ctx, ref); err != nil {
		return nil, false, err
	}
	waiting, err := m.waitingMessages(ctx, ref)
	if err != nil {
		return nil, false, err
	}
	entries, cut, err := m.messageEntries(ctx, ref, q, waiting)
	if err != nil {
		return nil, false, err
	}
	more := cut || len(entries) > q.Limit
	filler := newFiller(m.store, ref, nil)
	var msgs []*message.Message
	room := PageBytes
	for i := range entries {
		if len(msgs) == q.Limit {
			break
		}
		msg, err := filler.message(ctx, &entries[i])
		if err != nil {
			return nil, false, err
		}
		room -= len(message.Append(nil, msg, message.Form{OmitOverBytes: OmitOverBytes}))
		if room < 0 && len(msgs) > 0 {
			more = true
			break
		}
		msgs = append(msgs, msg)
	}
	if !q.Ascending {
		slices.Reverse(msgs)
	}
	return msgs, more, nil
}

// messageEntries returns at least Limit + 1 entries in the direction of the query, or all
// there are, or, cut, as many as may be read at once.
func (m *Manager) messageEntries(ctx context.Context, ref store.Ref, q MessageQuery, waiting []store.Entry) (entries []store.Entry, cut bool, err error) {
	bound := q.BeforeSeq
	if q.Ascending {
		bound = q.AfterSeq
	}
	place, queuedAt, err := m.place(ctx, ref, bound, waiting)
	if err != nil {
		return nil, false, err
	}
	var scanned []store.Entry
	if queuedAt < 0 || !q.Ascending {
		scan := store.EntryQuery{
			Ref: ref, Descending: !q.Ascending, Limit: q.Limit + 1,
			Kinds: []string{string(EntryMessageAdded), string(EntryTurnStarted)},
		}
		if q.Ascending {
			scan.AfterSeq = place
		} else {
			scan.BeforeSeq = place
		}
		if scanned, cut, err = m.scanMessages(ctx, scan); err != nil {
			return nil, false, err
		}
	}
	switch {
	case q.Ascending && cut:
		return scanned, true, nil
	case q.Ascending:
		return append(scanned, without(waiting[queuedAt+1:], scanned)...), false, nil
	case bound != 0:
		waiting = waiting[:max(queuedAt, 0)]
	}
	last := without(waiting, scanned) // the end comes first
	slices.Reverse(last)
	return append(last, scanned...), cut, nil
}

// without returns the waiting entries that are not among the scanned ones: their turn may
// have started between the two reads.
func without(waiting, scanned []store.Entry) []store.Entry {
	var rest []store.Entry
	for _, e := range waiting {
		if !slices.ContainsFunc(scanned, func(s store.Entry) bool { return s.Seq == e.Seq }) {
			rest = append(rest, e)
		}
	}
	return rest
}

// scanMessages collects scan.Limit message entries, or as many as there are; it is cut
// off when their bodies are more than may be read at once.
func (m *Manager) scanMessages(ctx context.Context, scan store.EntryQuery) (found []store.Entry, cut bool, err error) {
	scan.MaxBytes = maxReadBytes
	for read := 0; len(found) < scan.Limit; {
		entries, err := m.store.Entries(ctx, scan)
		if err != nil {
			return nil, false, fmt.Errorf("list messages: %w", err)
		}
		if len(entries) == 0 {
			break
		}
		for i := range entries {
			e, err := m.messageAt(ctx, scan.Ref, &entries[i])
			if err != nil {
				return nil, false, err
			}
			if e != nil {
				found = append(found, *e)
				read += len(e.Body)
			}
		}
		if read > maxReadBytes {
			return found, true, nil
		}
		if last := entries[len(entries)-1].Seq; scan.Descending {
			scan.BeforeSeq = last
		} else {
			scan.AfterSeq = last
		}
	}
	return found, false, nil
}

// messageAt returns the message that stands at an entry: its own, or the queued one
// whose turn it starts.
func (m *Manager) messageAt(ctx context.Context, ref store.Ref, e *store.Entry) (*store.Entry, error) {
	if EntryKind(e.Kind) == EntryMessageAdded {
		return e, nil
	}
	body, err := decodeBody[turnStartedBody](e)
	if err != nil || !body.Queued {
		return nil, err
	}
	q, err := m.store.MessageEntry(ctx, ref, body.MessageID)
	if err != nil {
		return nil, fmt.Errorf("message of turn %s: %w", e.TurnID, err)
	}
	return q, nil
}

// waitingMessages returns the entries of the queued messages in their order.
func (m *Manager) waitingMessages(ctx context.Context, ref store.Ref) ([]store.Entry, error) {
	turns, err := m.store.OpenTurns(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("list queued messages: %w", err)
	}
	var waiting []store.Entry
	for _, t := range turns {
		if t.Status != store.TurnQueued {
			continue
		}
		e, err := m.store.MessageEntry(ctx, ref, t.MessageID)
		if err != nil {
			return nil, fmt.Errorf("queued message %s: %w", t.MessageID, err)
		}
		waiting = append(waiting, *e)
	}
	return waiting, nil
}

// place finds where a message's seq stands in conversation order: the seq to scan
// from, and its index among the waiting ones or -1.
func (m *Manager) place(ctx context.Context, ref store.Ref, seq int64, waiting []store.Entry) (place int64, queuedAt int, err error) {
	if seq == 0 {
		return 0, -1, nil
	}
	for i, e := range waiting {
		if e.Seq == seq {
			return 0, i, nil
		}
	}
	at, err := m.store.Entries(ctx, store.EntryQuery{Ref: ref, AfterSeq: seq - 1, Limit: 1})
	if err != nil {
		return 0, 0, fmt.Errorf("find message %d: %w", seq, err)
	}
	if len(at) == 1 && at[0].Seq == seq && EntryKind(at[0].Kind) == EntryMessageQueued {
		t, err := m.store.Turn(ctx, ref, at[0].TurnID)
		if err != nil {
			return 0, 0, fmt.Errorf("turn of message %d: %w", seq, err)
		}
		if t.StartedSeq > 0 {
			return t.StartedSeq, -1, nil
		}
	}
	return seq, -1, nil
}
