package session

import (
	"sync"
	"time"

	"sessiond/message"
)

// Subscriber is told what happens in a session. Its methods are called by the
// session's goroutine, in order, and must not block; what a slow one can't take it
// drops or ends by itself. They may run before Manager.Subscribe has returned.
type Subscriber interface {
	// Event tells of a stored entry. Consecutive events have consecutive seqs.
	Event(e *Event)
	// Delta tells a piece of an answer that is being written; losing one is harmless.
	Delta(d *Delta)
	// Activity tells what the session is busy with; losing one is harmless.
	Activity(a *Activity)
	// Progress tells how full the context is, at most every 250 ms; the last change is
	// never left out.
	Progress(p *Progress)
	// Gone says that nothing more will come: the session was deleted, or was given up
	// after a failure of the database and must be subscribed to again.
	Gone(deleted bool)
}

// Delta is a merged piece of a block. From and To count pieces of the item.
type Delta struct {
	SessionID message.SessionID
	TurnID    message.TurnID
	MessageID message.ID
	Block     int
	Kind      string
	From, To  int64
	Text      string

	encoded encodeOnce
}

// OpenItem is a block being written, as far as it was told.
type OpenItem struct {
	TurnID    message.TurnID
	MessageID message.ID
	Block     int
	Kind      string
	Next      int64 // From of the next delta
	Text      string
}

// Activity is what a session is busy with.
type Activity struct {
	SessionID message.SessionID
	Name      ActivityName
	Since     time.Time
	Attempt   int           // retrying: the number of the coming try, from 2
	RetryIn   time.Duration // retrying: how long until then
	Layer     int           // compacting: 0 asked for, 2 automatic, 3 after a refusal

	encoded encodeOnce
}

// ActivityName names an activity.
type ActivityName string

// The activities.
const (
	ActivityNone        ActivityName = "none"
	ActivityWaitingTool ActivityName = "waiting_tool"
	ActivityRetrying    ActivityName = "retrying"   // waits to repeat a failed model call
	ActivityCompacting  ActivityName = "compacting" // a summary is being written
)

// encodeOnce keeps the encoded form of something that goes to many subscribers.
type encodeOnce struct {
	once sync.Once
	raw  []byte
}

func (o *encodeOnce) get(enc func() []byte) []byte {
	o.once.Do(func() { o.raw = enc() })
	return o.raw
}

// Encoded returns enc(), calling it only the first time, whichever subscriber asks.
func (e *Event) Encoded(enc func(*Event) []byte) []byte {
	return e.encoded.get(func() []byte { return enc(e) })
}

// Encoded returns enc(), calling it only the first time, whichever subscriber asks.
func (d *Delta) Encoded(enc func(*Delta) []byte) []byte {
	return d.encoded.get(func() []byte { return enc(d) })
}

// Encoded returns enc(), calling it only the first time, whichever subscriber asks.
func (a *Activity) Encoded(enc func(*Activity) []byte) []byte {
	return a.encoded.get(func() []byte { return enc(a) })
}
