package rpc

import (
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Class says what happens to a frame of [Conn.Send] when the outbox fills.
type Class int

// The classes of frames.
const (
	// Durable frames are never left out: one that finds the outbox full ends the
	// connection with CloseSlowConsumer.
	Durable Class = iota
	// Droppable frames are dropped while the outbox is half full.
	Droppable
)

// outbox is what waits to be written to one connection: frames in order, at most
// one ping and one pong (a newer one replaces it), and the close frame. It also
// decides who writes: the role of the writer is taken with the call that finds
// it free and given back by next, which is how all writing stays in one goroutine
// at a time while an idle connection has none.
//
// The frames stand in one queue but have two budgets of the same size, so that
// neither kind can take the other's room. What is sent never waits: when its budget
// is full put says so and the connection is closed. A reply takes its place before
// it is queued; if there is none it waits in line, first come, first served. There
// are never more in line than calls in flight.
type outbox struct {
	done chan struct{} // closed when the last write is over

	mu       sync.Mutex
	sent     budget // of put
	replies  budget // of the replies queued and the places given
	line     []waiter
	frames   []queuedFrame
	head     int // of the first frame not taken yet
	ping     bool
	pong     bool
	echo     []byte // of the pong
	writing  bool
	closing  bool      // a close has been decided: no new frames
	last     []byte    // the close frame's payload; nil: none, or written already
	deadline time.Time // when closing: for everything still written
	room     chan struct{}
}

// budget is how much there may be of one kind of frame, and how much there is.
type budget struct {
	maxFrames, maxBytes int
	frames, bytes       int
}

// fits lets a frame of any size into an empty budget.
func (b *budget) fits(size int) bool {
	return b.frames == 0 || b.frames < b.maxFrames && b.bytes+size <= b.maxBytes
}

func (b *budget) halfFull() bool {
	return b.frames >= b.maxFrames/2 || b.bytes >= b.maxBytes/2
}

func (b *budget) add(size int) {
	b.frames++
	b.bytes += size
}

func (b *budget) remove(size int) {
	b.frames--
	b.bytes -= size
}

type queuedFrame struct {
	payload []byte
	budget  *budget
}

// waiter is a reply without a place. The first in line stays there from being
// given its place until it is queued, so that those behind it stay behind it.
type waiter struct {
	size  int
	ready chan struct{} // closed with its place or the end of the connection; nil: it has been
}

// writeItem is one WebSocket message to write.
type writeItem struct {
	kind     int // websocket.TextMessage, PingMessage, PongMessage or CloseMessage
	payload  []byte
	deadline time.Time // zero: the usual one
}

type verdict int

const (
	queued   verdict = iota
	dropped          // droppable, or the connection is closing
	overflow         // durable and full
)

func (o *outbox) init(opts *Options) {
	o.sent = budget{maxFrames: opts.OutboxMessages, maxBytes: opts.OutboxBytes}
	o.replies = o.sent
	o.done = make(chan struct{})
}

// put appends a frame. When write is true the caller has become the writer.
func (o *outbox) put(frame []byte, class Class) (v verdict, write bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return dropped, false
	}
	full := !o.sent.fits(len(frame))
	switch class {
	case Droppable:
		if full || o.head < len(o.frames) && o.halfFull() {
			return dropped, false
		}
	case Durable:
		if full {
			return overflow, false
		}
	}
	o.sent.add(len(frame))
	o.frames = append(o.frames, queuedFrame{frame, &o.sent})
	return queued, o.claim()
}

// reserve takes a place for a reply of size bytes. If there is none it returns a
// channel that is closed with the place, or when the connection ends. Whoever
// reserves must wait for the channel and then call putReply, without delay: those
// behind it wait for that.
func (o *outbox) reserve(size int) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closing:
		return nil // putReply will say so
	case len(o.line) == 0 && o.replies.fits(size):
		o.replies.add(size)
		return nil
	}
	w := waiter{size: size, ready: make(chan struct{})}
	o.line = append(o.line, w)
	return w.ready
}

// putReply appends a reply whose place has been reserved, with or without waiting
// in line; only the end of the connection can be in its way. When write is true
// the caller has become the writer.
func (o *outbox) putReply(frame []byte, waited bool) (v verdict, write bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return dropped, false
	}
	o.frames = append(o.frames, queuedFrame{frame, &o.replies})
	if waited {
		o.line = slices.Delete(o.line, 0, 1)
		o.makeUse()
	}
	return queued, o.claim()
}

// putPing makes a ping due.
func (o *outbox) putPing() (write bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return false
	}
	o.ping = true
	return o.claim()
}

// putPong makes a pong due.
func (o *outbox) putPong(echo []byte) (write bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return false
	}
	o.pong, o.echo = true, echo
	return o.claim()
}

// shut ends the queue with a close frame, to be written until deadline, behind
// what is queued if flush is true. Only the first call does anything.
func (o *outbox) shut(payload []byte, flush bool, deadline time.Time) (first, write bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return false, false
	}
	o.stop()
	if !flush {
		o.drop()
	}
	o.last, o.deadline = payload, deadline
	return true, o.claim()
}

// abort ends the queue with nothing more to be written.
func (o *outbox) abort() (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first = !o.closing
	o.stop()
	o.drop()
	o.last = nil
	if o.claim() { // nobody writes: give the role back at once, which closes done
		o.release()
	}
	return first
}

// next returns what to write, or gives the role of the writer back.
func (o *outbox) next() (writeItem, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	item := writeItem{deadline: o.deadline}
	switch {
	case o.pong:
		item.kind, item.payload = websocket.PongMessage, o.echo
		o.pong, o.echo = false, nil
	case o.ping:
		item.kind = websocket.PingMessage
		o.ping = false
	case o.head < len(o.frames):
		item.kind, item.payload = websocket.TextMessage, o.pop()
	case o.last != nil:
		item.kind, item.payload = websocket.CloseMessage, o.last
		o.last = nil
	default:
		o.release()
		return item, false
	}
	return item, true
}

// isClosing reports whether an end has been decided.
func (o *outbox) isClosing() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closing
}

// unlessClosing runs f while no end can be decided.
func (o *outbox) unlessClosing(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closing {
		f()
	}
}

// crowded returns nil while there is room, also for replies, else a channel that
// is closed as soon as there is.
func (o *outbox) crowded() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing || !o.halfFull() && len(o.line) == 0 {
		return nil
	}
	if o.room == nil {
		o.room = make(chan struct{})
	}
	return o.room
}

// The methods below are called with the lock held.

func (o *outbox) halfFull() bool {
	return o.sent.halfFull() || o.replies.halfFull()
}

func (o *outbox) claim() bool {
	if o.writing {
		return false
	}
	o.writing = true
	return true
}

func (o *outbox) release() {
	o.writing = false
	if !o.closing {
		return
	}
	select {
	case <-o.done:
	default:
		close(o.done)
	}
}

func (o *outbox) pop() []byte {
	frame := o.frames[o.head]
	o.frames[o.head] = queuedFrame{}
	o.head++
	frame.budget.remove(len(frame.payload))
	if o.head == len(o.frames) {
		o.head = 0
		o.frames = o.frames[:0]
		if cap(o.frames) > 8 { // an idle connection keeps no queue
			o.frames = nil
		}
	}
	o.makeUse()
	return frame.payload
}

// makeUse gives room that has become free to who waits for it.
func (o *outbox) makeUse() {
	if len(o.line) > 0 {
		if w := &o.line[0]; w.ready != nil && o.replies.fits(w.size) {
			o.replies.add(w.size)
			close(w.ready)
			w.ready = nil
		}
		return
	}
	if !o.halfFull() {
		o.wakeReader()
	}
}

func (o *outbox) drop() {
	o.frames, o.head = nil, 0
}

func (o *outbox) stop() {
	o.closing = true
	o.ping, o.pong = false, false
	for _, w := range o.line {
		if w.ready != nil {
			close(w.ready)
		}
	}
	o.line = nil
	o.wakeReader()
}

func (o *outbox) wakeReader() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}
