package rpc

import (
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Class says what happens to a frame when the outbox fills.
type Class int

// The classes of frames.
const (
	// Durable frames are never left out: one that finds the outbox full ends the
	// connection with CloseSlowConsumer. Replies are durable.
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
// When it is full put says so and the connection is closed; nobody waits here,
// except the reader, which may wait for the channel of crowded.
type outbox struct {
	maxFrames, maxBytes int
	done                chan struct{} // closed when the last write is over

	mu       sync.Mutex
	frames   [][]byte
	head     int // of the first frame not taken yet
	bytes    int // of the frames from head on
	ping     bool
	pong     bool
	echo     []byte // of the pong
	writing  bool
	closing  bool      // a close has been decided: no new frames
	last     []byte    // the close frame's payload; nil: none, or written already
	deadline time.Time // when closing: for everything still written
	room     chan struct{}
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
	o.maxFrames, o.maxBytes = opts.OutboxMessages, opts.OutboxBytes
	o.done = make(chan struct{})
}

// put appends a frame. When write is true the caller has become the writer.
func (o *outbox) put(frame []byte, class Class) (v verdict, write bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return dropped, false
	}
	if n := len(o.frames) - o.head; n > 0 {
		full := n >= o.maxFrames || o.bytes+len(frame) > o.maxBytes
		switch class {
		case Droppable:
			if full || o.halfFull() {
				return dropped, false
			}
		case Durable:
			if full {
				return overflow, false
			}
		}
	}
	o.frames = append(o.frames, frame)
	o.bytes += len(frame)
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

// crowded returns nil while there is room, else a channel that is closed as soon
// as there is.
func (o *outbox) crowded() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing || !o.halfFull() {
		return nil
	}
	if o.room == nil {
		o.room = make(chan struct{})
	}
	return o.room
}

// The methods below are called with the lock held.

func (o *outbox) halfFull() bool {
	return len(o.frames)-o.head >= o.maxFrames/2 || o.bytes >= o.maxBytes/2
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
	o.frames[o.head] = nil
	o.head++
	o.bytes -= len(frame)
	if o.head == len(o.frames) {
		o.head = 0
		o.frames = o.frames[:0]
		if cap(o.frames) > 8 { // an idle connection keeps no queue
			o.frames = nil
		}
	}
	if !o.halfFull() {
		o.wakeReader()
	}
	return frame
}

func (o *outbox) drop() {
	o.frames, o.head, o.bytes = nil, 0, 0
}

func (o *outbox) stop() {
	o.closing = true
	o.ping, o.pong = false, false
	o.wakeReader()
}

func (o *outbox) wakeReader() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}
