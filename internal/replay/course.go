package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sessiond/internal/client"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
)

// CourseOptions is what a replay needs that keeps account of what each request costs.
type CourseOptions struct {
	CompactOptions
	Ledger *Ledger // before the server's models
	Fake   *CacheFake
	Clock  *Clock // the server's and the fake's
	// Extracting reports whether a memory is being brought up to date: the replay waits for
	// that, so that it goes the same way every time.
	Extracting func() (bool, error)
}

// Course is how the requests of a conversation went, in order.
type Course struct {
	*Report
	Requests []Request
}

// Request is one that was answered.
type Request struct {
	Purpose Purpose
	Repeats bool // a summary: it repeats the chat's request, so that it can read its cache
	At      int  // the message that was to be answered
	When    time.Time
	Before  []Event // of a chat: what changed the request since the chat before
	Usage   [modes]message.Usage
}

// Event is something that makes the next request begin otherwise than the one before.
type Event string

// The events.
const (
	EventMicrocompact Event = "microcompact" // old results were cleared after a pause
	EventClearing     Event = "clearing"     // they were cleared to make room
	EventCompaction   Event = "compaction"
)

// Play plays a conversation as [Compact] does, on its own clock.
func (o CourseOptions) Play(ctx context.Context, conn *client.Conn, c *Conversation) (*Course, error) {
	own := *c
	own.Messages = slices.Clone(c.Messages)
	w := &cashier{
		bookkeeper: &bookkeeper{o: o.CompactOptions, report: &Report{Cleared: make(map[v1.ClearReason]int)}},
		o:          o, advanced: -1, events: make(map[int][]Event),
	}
	w.p = newPlayer(conn, &own, w)
	result, err := w.p.run(ctx)
	if err != nil {
		return nil, err
	}
	if result.Resumed {
		return nil, fmt.Errorf("%s: was replayed into this database before", c.ID)
	}
	w.report.Result, w.report.Calls = *result, o.Meter.Of(c.ID)
	requests, err := o.Fake.take(c.ID, o.Ledger.of(c.ID))
	if err != nil {
		return nil, err
	}
	w.place(requests)
	return &Course{Report: w.report, Requests: requests}, nil
}

// cashier is the witness of a replay whose requests are paid for.
type cashier struct {
	*bookkeeper
	o        CourseOptions
	advanced int             // the message up to which the clock was set
	events   map[int][]Event // by the message that was to be answered
}

// rest implements witness: the clock is set with each cue.
func (*cashier) rest(time.Duration) {}

// look also waits until nothing goes on behind the conversation.
func (w *cashier) look(ctx context.Context, idle bool) error {
	for {
		busy, err := w.o.Extracting()
		if err != nil {
			return err
		}
		if !busy {
			return w.bookkeeper.look(ctx, idle)
		}
		params := map[string]any{"session_id": w.p.follow.SessionID}
		if err := w.p.conn.Call(ctx, v1.MethodSessionGet, params, nil); err != nil {
			return err
		}
	}
}

// cue also lets the time go by until the message that is about to be sent.
func (w *cashier) cue(answer []message.Block) {
	if at := w.p.at; at > w.advanced {
		w.advanced = at
		w.o.Clock.Advance(w.p.c.pause(at))
		answers := time.Duration(0)
		if answer != nil {
			answers = w.p.c.pause(at + 1)
		}
		w.o.Ledger.cue(w.p.c.ID, at, answers)
	}
	w.bookkeeper.cue(answer)
}

// entry also notes what changes the next request.
func (w *cashier) entry(e *v1.Entry) error {
	if err := w.bookkeeper.entry(e); err != nil {
		return err
	}
	switch e.Type { //nolint:exhaustive // the others change nothing
	case v1.EventContextCleared:
		var d v1.ContextClearedData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		if d.Reason == v1.ClearIdle {
			w.note(EventMicrocompact)
			return nil
		}
		w.note(EventClearing)
	case v1.EventCompactionCompleted:
		w.note(EventCompaction)
	}
	return nil
}

// note notes an event: in the log it stands between a message and its answer.
func (w *cashier) note(e Event) { w.events[w.p.at-1] = append(w.events[w.p.at-1], e) }

// place tells the chats what happened before them.
func (w *cashier) place(requests []Request) {
	next := 0 // the first message whose events no chat was told of
	for i := range requests {
		r := &requests[i]
		if r.Purpose != PurposeChat {
			continue
		}
		for ; next <= r.At; next++ {
			r.Before = append(r.Before, w.events[next]...)
		}
	}
}

// Chats returns the requests for the model's answers.
func (c *Course) Chats() []Request {
	return slices.DeleteFunc(slices.Clone(c.Requests), func(r Request) bool { return r.Purpose != PurposeChat })
}

// Clearings is how often results were cleared.
func (c *Course) Clearings() int {
	n := 0
	for _, times := range c.Cleared {
		n += times
	}
	return n
}
