package rpc

import (
	"slices"
	"sync/atomic"
)

// batch collects the replies of one batch. Every part that runs writes its own
// entry before it calls end; whoever ends last reads them all.
type batch struct {
	entries []entry
	waiting atomic.Int32 // parts that run, and the dispatcher while it hands them out
}

// entry is one message's part of a batch.
type entry struct {
	call  *call  // nil: it never ran, or is a notification
	reply []byte // nil: none
	then  func() // of a Deferred; may be nil
}

func newBatch(n int) *batch {
	b := &batch{entries: make([]entry, n)}
	b.waiting.Store(1)
	return b
}

// begin notes a call that is about to run.
func (b *batch) begin(c *call) {
	b.entries[c.slot].call = c
	b.waiting.Add(1)
}

// end reports whether nothing is waited for any more.
func (b *batch) end() bool { return b.waiting.Add(-1) == 0 }

// ran reports whether a call of the batch was admitted. It may be called when the
// batch has been dispatched.
func (b *batch) ran() bool {
	return slices.ContainsFunc(b.entries, func(e entry) bool { return e.call != nil })
}

// finishBatch queues the replies as one frame, in the order of the requests, and
// runs the callbacks in the same order. A batch without a reply is not answered.
// It waits for room like finish.
func (c *Conn) finishBatch(b *batch) (write bool) {
	var calls []*call
	var callbacks []func()
	for _, e := range b.entries {
		if e.call != nil {
			calls = append(calls, e.call)
		}
		if e.then != nil {
			callbacks = append(callbacks, e.then)
		}
	}
	var then func()
	if len(callbacks) > 0 {
		then = func() {
			for _, callback := range callbacks {
				c.guard(callback) // each by itself: a panic costs one
			}
		}
	}
	return c.finish(b.join(), then, calls...)
}

// join returns nil when there is no reply.
func (b *batch) join() []byte {
	size := 1
	for _, e := range b.entries {
		size += len(e.reply) + 1
	}
	frame := make([]byte, 0, size)
	for _, e := range b.entries {
		if e.reply == nil {
			continue
		}
		if len(frame) == 0 {
			frame = append(frame, '[')
		} else {
			frame = append(frame, ',')
		}
		frame = append(frame, e.reply...)
	}
	if len(frame) == 0 {
		return nil
	}
	return append(frame, ']')
}
