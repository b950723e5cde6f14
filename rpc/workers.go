package rpc

import "sync/atomic"

// maxSpareWorkers bounds the goroutines that an endpoint keeps for later.
const maxSpareWorkers = 16

// workers runs requests, each in a goroutine of its own, and keeps a few
// goroutines whose stacks have grown already: a new one spends more time on
// growing its stack than a small call takes (measured: a quarter of its CPU).
type workers struct {
	jobs  chan func()
	done  chan struct{}
	spare atomic.Int32
}

func newWorkers() *workers {
	return &workers{jobs: make(chan func()), done: make(chan struct{})}
}

// run starts a job and does not wait.
func (w *workers) run(job func()) {
	select {
	case w.jobs <- job:
	default:
		go w.work(job)
	}
}

// work ends when enough others are spare, or by stop.
func (w *workers) work(job func()) {
	for {
		job()
		if w.spare.Add(1) > maxSpareWorkers {
			w.spare.Add(-1)
			return
		}
		select {
		case job = <-w.jobs:
			w.spare.Add(-1)
		case <-w.done:
			return
		}
	}
}

// stop ends the spare goroutines now and the busy ones after their job. Jobs may
// still be run afterwards.
func (w *workers) stop() { close(w.done) }
