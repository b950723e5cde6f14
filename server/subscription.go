package server

import (
	"strconv"
	"sync"

	"sessiond/message"
	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

// subscription passes what a session tells to a connection. Until the reply to the
// subscribe call is in the outbox it holds everything back.
type subscription struct {
	c        *connection
	id       message.SessionID
	deltas   bool
	progress bool // no deltas, and of the entries only how the context changed
	hides    bool // no texts that the client may not see

	mu    sync.Mutex
	live  bool
	ended bool
	held  []heldFrame
}

type heldFrame struct {
	frame []byte
	class rpc.Class
}

// maxHeld bounds what is held back; a reply that takes longer than this many events to
// be queued belongs to a connection that is as good as dead.
const maxHeld = 256

// goLive sends what was held back and everything from now on.
func (s *subscription) goLive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		s.c.conn.Send(h.frame, h.class)
	}
	s.live, s.held = true, nil
}

// end makes the subscription silent, whatever its session still tells it.
func (s *subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.held = true, nil
}

func (s *subscription) send(frame []byte, class rpc.Class) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
	case s.live:
		s.c.conn.Send(frame, class)
	case len(s.held) >= maxHeld:
		s.c.conn.Close(rpc.CloseSlowConsumer, "the subscription could not be started in time")
	default:
		s.held = append(s.held, heldFrame{frame, class})
	}
}

// Event implements session.Subscriber.
func (s *subscription) Event(e *session.Event) {
	if told := s.told(e); told != nil {
		s.send(told.Encoded(eventFrame), rpc.Durable)
	}
}

// Delta implements session.Subscriber.
func (s *subscription) Delta(d *session.Delta) {
	if s.deltas && !s.progress {
		s.send(d.Encoded(deltaFrame), rpc.Droppable)
	}
}

// Activity implements session.Subscriber.
func (s *subscription) Activity(a *session.Activity) {
	s.send(a.Encoded(activityFrame), rpc.Droppable)
}

// Gone implements session.Subscriber. A client of a session that was given up connects
// again and resumes; the last event it has says from where.
func (s *subscription) Gone(deleted bool) {
	s.c.mu.Lock()
	if s.c.subs[s.id] == s {
		delete(s.c.subs, s.id)
	}
	s.c.mu.Unlock()
	if !deleted {
		s.c.conn.Close(rpc.CloseRestart, "the session was reloaded; subscribe again")
	}
}

// The frames are written by hand: each is made once, whoever gets it, and carries the
// stored data byte for byte.

func eventFrame(e *session.Event) []byte {
	dst := frameHead(v1.NotifyEvent, e.SessionID, len(e.Data))
	dst = append(dst, ',')
	dst = appendEntry(dst, e)
	return append(dst, "}}"...)
}

func frameHead(method string, id message.SessionID, size int) []byte {
	dst := append(make([]byte, 0, size+256), `{"jsonrpc":"2.0","method":"`...)
	dst = append(dst, method...)
	dst = append(dst, `","params":{"session_id":"`...)
	dst = append(dst, id...)
	return append(dst, '"')
}

// appendEntry writes the members of an entry.
func appendEntry(dst []byte, e *session.Event) []byte {
	dst = append(dst, `"seq":`...)
	dst = strconv.AppendInt(dst, e.Seq, 10)
	dst = append(dst, `,"at":`...)
	dst = message.AppendTime(dst, e.At)
	dst = append(dst, `,"type":"`...)
	dst = append(dst, e.Kind...)
	dst = append(dst, '"')
	if e.TurnID != "" {
		dst = append(dst, `,"turn_id":"`...)
		dst = append(dst, e.TurnID...)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"data":`...)
	return append(dst, e.Data...)
}

func entries(events []*session.Event) []rawJSON {
	out := make([]rawJSON, len(events))
	for i, e := range events {
		dst := append(make([]byte, 0, len(e.Data)+128), '{')
		out[i] = append(appendEntry(dst, e), '}')
	}
	return out
}

func deltaFrame(d *session.Delta) []byte {
	dst := frameHead(v1.NotifyDelta, d.SessionID, len(d.Text))
	dst = append(dst, `,"turn_id":"`...)
	dst = append(dst, d.TurnID...)
	dst = append(dst, `","item_id":"`...)
	dst = append(dst, itemID(d.MessageID, d.Block)...)
	dst = append(dst, `","kind":"`...)
	dst = append(dst, d.Kind...)
	dst = append(dst, `","from":`...)
	dst = strconv.AppendInt(dst, d.From, 10)
	dst = append(dst, `,"to":`...)
	dst = strconv.AppendInt(dst, d.To, 10)
	dst = append(dst, `,"text":`...)
	dst = message.AppendString(dst, d.Text)
	return append(dst, "}}"...)
}

func itemID(id message.ID, block int) string { return string(id) + "/" + strconv.Itoa(block) }

func activityFrame(a *session.Activity) []byte {
	dst := frameHead(v1.NotifyActivity, a.SessionID, 0)
	dst = append(dst, `,"activity":"`...)
	dst = append(dst, a.Name...)
	dst = append(dst, `","since":`...)
	dst = message.AppendTime(dst, a.Since)
	if a.Name == session.ActivityCompacting {
		dst = append(dst, `,"layer":`...)
		dst = strconv.AppendInt(dst, int64(a.Layer), 10)
	}
	if a.Attempt > 0 {
		dst = append(dst, `,"attempt":`...)
		dst = strconv.AppendInt(dst, int64(a.Attempt), 10)
		dst = append(dst, `,"retry_in_ms":`...)
		dst = strconv.AppendInt(dst, a.RetryIn.Milliseconds(), 10)
	}
	return append(dst, "}}"...)
}
