// Package batch gathers the changes of many callers into few transactions.
//
// # Job
//
// A flush to disk takes about as long for one change as for thirty. So while a
// worker flushes, the changes that arrive gather, and the next flush takes them all.
// A lone caller waits for nobody: an idle worker takes its change at once.
//
// # Invariants
//
//   - A caller is answered after the flush of its own change, never before.
//   - A change that fails does not harm those it shares a transaction with: if the
//     transaction had to be undone for it, its halves are flushed again, and so on
//     until the change is alone.
//   - A change is handed to a worker or not done at all; nothing waits in between, so
//     [Committer.Close] loses none.
//
// # Concurrency and failure
//
// Each worker is one goroutine, started by [New] and ended by Close. Changes of one
// caller, made one after the other, are flushed in that order; across callers there
// is no order. A caller whose context ends returns early while its change goes on.
package batch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sessiond/store"
)

// Flush makes changes durable in one transaction. With a nil err, outcomes[i] is that
// of items[i], and those whose outcome is an error left nothing behind. An err is the
// outcome of all; if it is an [UndoneError], nothing at all was stored.
type Flush[T any] func(items []T) (outcomes []error, err error)

// UndoneError says that a transaction was rolled back for certain.
type UndoneError struct{ Err error }

// Error implements error.
func (e *UndoneError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UndoneError) Unwrap() error { return e.Err }

// Limits bound one transaction.
type Limits[T any] struct {
	Items int         // at most so many changes
	Bytes int         // no further change once they weigh so much
	Size  func(T) int // what a change weighs, in bytes
}

// Committer hands changes to its workers.
type Committer[T any] struct {
	limits  Limits[T]
	queue   chan request[T] // unbuffered: whoever sends is waiting to be taken
	waiting atomic.Int64    // about how many are
	closing chan struct{}
	close   sync.Once
	workers sync.WaitGroup
}

// request is one change and where its outcome goes.
type request[T any] struct {
	item T
	done chan<- error // has room for the outcome
}

// New starts a worker for each flush; a worker calls only its own, one at a time.
func New[T any](limits Limits[T], flushes ...Flush[T]) *Committer[T] {
	c := &Committer[T]{
		limits:  limits,
		queue:   make(chan request[T]),
		closing: make(chan struct{}),
	}
	for _, flush := range flushes {
		c.workers.Go(func() { c.work(flush) })
	}
	return c
}

// Do makes one change and returns its outcome once it is on disk. If ctx ends first,
// the outcome is unknown. After Close it is store.ErrClosed and nothing was done.
func (c *Committer[T]) Do(ctx context.Context, item T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	c.waiting.Add(1)
	select {
	case c.queue <- request[T]{item, done}: // its worker counts it out
	case <-c.closing:
		c.waiting.Add(-1)
		return store.ErrClosed
	case <-ctx.Done():
		c.waiting.Add(-1)
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close waits for the changes that a worker has taken and ends the workers.
func (c *Committer[T]) Close() {
	c.close.Do(func() { close(c.closing) })
	c.workers.Wait()
}

func (c *Committer[T]) work(flush Flush[T]) {
	var comp company
	for {
		select {
		case <-c.closing:
			return
		case first := <-c.queue:
			c.waiting.Add(-1)
			requests := c.gather(first, comp)
			start := time.Now() //nolint:forbidigo // measures, decides nothing that is told to anyone
			outcomes := c.flush(flush, requests)
			end := time.Now() //nolint:forbidigo // likewise
			comp = company{
				size:  len(requests) + int(c.waiting.Load()),
				until: end.Add(end.Sub(start) / patience),
			}
			for i := range requests {
				requests[i].done <- outcomes[i]
			}
		}
	}
}

// company is what a worker expects at its next flush: those who came during the one
// before, and those it has just answered, who often have their next change ready in a
// moment. Without them flushes would take turns, each with half of the callers. A lone
// caller is its own company and never waits.
type company struct {
	size  int
	until time.Time // when it is no longer waited for
}

// patience is the part of a flush that a worker waits for its company at the most.
const patience = 8

// gather takes what is waiting beside first, up to the limits, and waits a little if
// there should be more.
func (c *Committer[T]) gather(first request[T], comp company) []request[T] {
	taken := []request[T]{first}
	bytes := c.limits.Size(first.item)
	var late <-chan time.Time // nil until something is waited for
	for len(taken) < c.limits.Items && bytes < c.limits.Bytes {
		var next request[T]
		select {
		case next = <-c.queue:
		default:
			if len(taken) >= comp.size {
				return taken
			}
			if late == nil {
				timer := time.NewTimer(time.Until(comp.until)) //nolint:forbidigo // see above
				defer timer.Stop()
				late = timer.C
			}
			select {
			case next = <-c.queue:
			case <-late:
				return taken
			case <-c.closing:
				return taken
			}
		}
		c.waiting.Add(-1)
		taken = append(taken, next)
		bytes += c.limits.Size(next.item)
	}
	return taken
}

// flush returns the outcomes of requests once they are on disk.
func (c *Committer[T]) flush(flush Flush[T], requests []request[T]) []error {
	items := make([]T, len(requests))
	for i := range requests {
		items[i] = requests[i].item
	}
	outcomes, err := flush(items)
	if err == nil {
		return outcomes
	}
	var undone *UndoneError
	if half := len(requests) / 2; half > 0 && errors.As(err, &undone) {
		return append(c.flush(flush, requests[:half]), c.flush(flush, requests[half:])...)
	}
	return slices.Repeat([]error{err}, len(requests))
}
