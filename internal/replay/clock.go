package replay

import (
	"sync/atomic"
	"time"

	"sessiond/message"
)

// Clock is the time of a replay that keeps to the time of its recordings: it stands still
// but where a recording says that time went by. It is safe for concurrent use.
type Clock struct {
	start time.Time
	gone  atomic.Int64
}

// NewClock returns a clock that stands at a time.
func NewClock(start time.Time) *Clock { return &Clock{start: start} }

// Now is the time on the server and at the provider.
func (c *Clock) Now() time.Time { return c.start.Add(time.Duration(c.gone.Load())) }

// Advance lets time go by.
func (c *Clock) Advance(d time.Duration) { c.gone.Add(int64(d)) }

// roundTime is how long a round is taken to have lasted of which a recording does not tell.
const roundTime = 20 * time.Second

// pause is how long a message came after the one before it. Where the recording does not
// tell, answers take the time of a round and everything else none.
func (c *Conversation) pause(at int) time.Duration {
	if at <= 0 || at >= len(c.Messages) {
		return 0
	}
	m, before := &c.Messages[at], &c.Messages[at-1]
	switch {
	case !m.At.IsZero() && !before.At.IsZero():
		return max(m.At.Sub(before.At), 0)
	case m.Role == message.RoleAssistant:
		return roundTime
	}
	return 0
}
