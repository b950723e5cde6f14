package rpc

import (
	"bytes"
	"context"
	"slices"
	"sync"
)

// call is one request that runs.
type call struct {
	req    Request
	id     []byte             // raw; nil: a notification
	cancel context.CancelFunc // by $/cancelRequest, and at the end of the connection
	batch  *batch             // nil: it answers alone
	slot   int                // its place in the batch
}

// inflight holds what runs on one connection. A call passes three points: admit;
// release, which frees its id and its place and queues its reply in one step;
// settle, when what waited for the reply has run too. Between the last two the
// peer may already use the id again, but the connection is not idle yet.
type inflight struct {
	mu        sync.Mutex
	running   []*call
	unsettled int
	stopped   bool
	onIdle    func()        // for the next settle that leaves nothing
	idle      chan struct{} // made by stop, closed when everything is settled
}

// admit takes a call in. It returns false when the connection is ending, and an
// error if the call must be refused.
func (f *inflight) admit(c *call, limit int) (bool, *Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return false, nil
	}
	if c.id != nil && f.find(c.id) != nil {
		return false, idInUse(c.id)
	}
	if len(f.running) >= limit {
		return false, tooManyInFlight()
	}
	f.running = append(f.running, c)
	f.unsettled++
	return true, nil
}

// release frees the ids and places of calls and queues their reply. The ids are
// free before the peer can see the reply; the places are not free before it is
// queued, so that running calls and queued replies together have a bound.
func (f *inflight) release(queue func(), calls ...*call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range calls {
		i := slices.Index(f.running, c)
		last := len(f.running) - 1
		f.running[i] = f.running[last]
		f.running[last] = nil
		f.running = f.running[:last]
	}
	queue()
}

// settle ends n released calls.
func (f *inflight) settle(n int) {
	f.mu.Lock()
	f.unsettled -= n
	var then func()
	if f.unsettled == 0 {
		then, f.onIdle = f.onIdle, nil
		if f.idle != nil {
			close(f.idle)
		}
	}
	f.mu.Unlock()
	if then != nil {
		then()
	}
}

// cancel ends the context of the call with this id, if it is live.
func (f *inflight) cancel(id []byte) {
	f.mu.Lock()
	c := f.find(id)
	f.mu.Unlock()
	if c != nil {
		c.cancel()
	}
}

// whenIdle runs then as soon as nothing is unsettled, now if that is so already.
func (f *inflight) whenIdle(then func()) {
	f.mu.Lock()
	now := f.unsettled == 0
	if !now {
		f.onIdle = then
	}
	f.mu.Unlock()
	if now {
		then()
	}
}

// stop refuses further calls and ends the contexts of those that run. The channel
// is closed when all of them are settled.
func (f *inflight) stop() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return f.idle
	}
	f.stopped = true
	f.idle = make(chan struct{})
	if f.unsettled == 0 {
		close(f.idle)
	}
	for _, c := range f.running {
		c.cancel()
	}
	return f.idle
}

// find is called with the lock held.
func (f *inflight) find(id []byte) *call {
	for _, c := range f.running {
		if c.id != nil && bytes.Equal(c.id, id) {
			return c
		}
	}
	return nil
}
