package session

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/store"
)

// commitTimeout bounds one commit; a database that takes longer is in trouble.
const commitTimeout = 30 * time.Second

// batch gathers changes that are committed together.
type batch struct {
	dirty    bool // there is something to commit
	entries  []store.Entry
	events   []*Event
	turns    []store.Turn
	keys     []store.KeyRecord
	memories []store.MemoryChange
	after    []func(ctx context.Context, err error) // run in order once it is known whether it is on disk
	view     *View                                  // what the session is once it is
}

func (a *actor) batch() *batch {
	if a.next == nil {
		a.next = &batch{}
	}
	return a.next
}

// now is the time entries carry: UTC, to the microsecond that both databases keep.
func (a *actor) now() time.Time { return a.m.opts.Now().UTC().Truncate(time.Microsecond) }

// onFlush runs f once everything changed so far is on disk, or with the error that
// kept it from getting there.
func (a *actor) onFlush(f func(ctx context.Context, err error)) {
	b := a.batch()
	b.after = append(b.after, f)
}

// then runs f once everything changed so far is on disk; if it never is, f is not run.
func (a *actor) then(f func(ctx context.Context)) {
	a.onFlush(func(ctx context.Context, err error) {
		if err == nil && a.over == goingOn {
			f(ctx)
		}
	})
}

// append adds an entry to the log. data is what clients see of it; nil: the body.
func (a *actor) append(kind EntryKind, turn message.TurnID, msg message.ID, body, data []byte) int64 {
	b := a.batch()
	b.dirty = true
	a.row.HeadSeq++
	at := a.now()
	a.row.UpdatedAt = at
	b.entries = append(b.entries, store.Entry{
		Seq: a.row.HeadSeq, Kind: string(kind), TurnID: turn, MessageID: msg, Body: body, At: at,
	})
	if data == nil {
		data = body
	}
	b.events = append(b.events, &Event{
		SessionID: a.row.ID, Seq: a.row.HeadSeq, At: at, Kind: kind, TurnID: turn, Data: data,
	})
	return a.row.HeadSeq
}

// appendMessage stores a message under the next seq and, unless it is queued, puts it
// at the end of the conversation. stored is the form with references, full the form
// with everything filled in; they are the same but for tool rounds.
func (a *actor) appendMessage(kind EntryKind, stored, full *message.Message, measure compaction.Measure) int64 {
	stored.Seq = a.row.HeadSeq + 1
	full.Seq = stored.Seq
	data := encodeMessageBody(stored, message.Form{})
	body := withMeasure(data, &measure)
	if full != stored || len(data) > OmitOverBytes {
		data = encodeMessageBody(full, message.Form{OmitOverBytes: OmitOverBytes})
	}
	seq := a.append(kind, stored.TurnID, stored.ID, body, data)
	b := a.batch()
	b.entries[len(b.entries)-1].Tokens = int64(measure.Total())
	if kind == EntryMessageAdded {
		a.history.add(compaction.Item{Message: full, Measure: measure})
	}
	return seq
}

// stageTurn puts the running turn's row into the batch.
func (a *actor) stageTurn() {
	t := a.turn
	t.row.Detail = encode(t.detail)
	a.stage(t.row)
}

// stage puts a turn's row into the batch, in the place of an older state of it.
func (a *actor) stage(row store.Turn) {
	b := a.batch()
	b.dirty = true
	for i := range b.turns {
		if b.turns[i].ID == row.ID {
			b.turns[i] = row
			return
		}
	}
	b.turns = append(b.turns, row)
}

// submit commits what has gathered, unless a commit is under way.
func (a *actor) submit(ctx context.Context) {
	if a.inflight != nil || a.next == nil || a.over == failed {
		return
	}
	b := a.next
	a.next, a.inflight = nil, b
	if !b.dirty {
		a.flushes <- nil
		return
	}
	a.row.Status = a.status()
	a.refreshGauge()
	a.row.State = encode(a.st)
	row := a.row
	if a.resave {
		row.Settings = encode(a.settings)
		a.resave = false
	} else {
		row.Settings = nil
	}
	b.view = a.makeView()
	c := &store.Commit{
		Session: row, PrevHead: row.HeadSeq - int64(len(b.entries)),
		Entries: b.entries, Turns: b.turns, Keys: b.keys, Memories: b.memories,
	}
	// The commit outlives a stop of the server: what it answers must be known.
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	a.spawn(func() {
		defer cancel()
		began := a.m.opts.Now()
		err := a.m.store.Commit(cctx, c)
		a.m.metrics.commits.Observe(a.m.opts.Now().Sub(began).Seconds())
		a.flushes <- err
	})
}

func (a *actor) status() store.Status {
	switch {
	case !a.row.ClosedAt.IsZero():
		return store.StatusClosed
	case a.turn == nil && (a.compacting != nil || len(a.asked) > 0):
		return store.StatusCompacting
	case a.turn == nil:
		return store.StatusIdle
	case a.turn.waitingForClient():
		return store.StatusWaitingTool
	default:
		return store.StatusRunning
	}
}

// flushed takes the outcome of the commit under way: on success it publishes what
// became true, in the order view, events, replies.
func (a *actor) flushed(ctx context.Context, err error) {
	b := a.inflight
	a.inflight = nil
	if err != nil {
		a.fail(ctx, b, err)
		return
	}
	if b.view != nil {
		a.view.Store(b.view)
	}
	for _, e := range b.events {
		a.published = e.Seq
		for sub := range a.subs {
			sub.Event(e)
		}
	}
	a.tellActivity(b)
	if b.view != nil {
		a.tellProgress(ctx)
	}
	for _, f := range b.after {
		f(ctx, nil)
	}
}

// tellActivity tells subscribers when the session begins or ends waiting for tools.
func (a *actor) tellActivity(b *batch) {
	if b.view == nil || a.compacting != nil || a.turn != nil && a.turn.retry.timer != nil {
		return // nothing changed, or something goes on that nothing stored tells of
	}
	name := ActivityNone
	if b.view.Status == store.StatusWaitingTool {
		name = ActivityWaitingTool
	}
	if name != a.activity {
		a.tell(&Activity{Name: name, Since: b.view.UpdatedAt})
	}
}

// fail gives the actor up after a commit that did not succeed: what it holds in
// memory may differ from what is stored, and only the database knows.
func (a *actor) fail(ctx context.Context, b *batch, err error) {
	level := zap.ErrorLevel
	if errors.Is(err, store.ErrConflict) {
		level = zap.WarnLevel // another process changed the session, or it was deleted
	}
	a.log.Log(level, "commit failed; the session is reloaded", zap.Error(err), zap.Int64("head_seq", a.published))
	a.end(failed)
	a.doubtful = b.view
	for _, batch := range []*batch{b, a.next} {
		if batch == nil {
			continue
		}
		for _, f := range batch.after {
			f(ctx, err)
		}
	}
	a.next = nil
}
