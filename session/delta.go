package session

import (
	"sync"
	"time"

	"sessiond/llm"
)

// deltaMerger merges the pieces of an answer, so that a fast model does not make a
// message of every token. The first piece goes out at once; what comes within the
// interval after it goes out together at its end, one piece a block.
//
// add is called by one goroutine; publish runs in that goroutine or in a timer's, one
// at a time and in order. After close nothing is published any more.
type deltaMerger struct {
	interval time.Duration
	publish  func([]llm.Delta)

	mu      sync.Mutex
	pending []llm.Delta
	timer   *time.Timer // runs while an interval is open
	open    bool
	closed  bool
}

func newDeltaMerger(interval time.Duration, publish func([]llm.Delta)) *deltaMerger {
	return &deltaMerger{interval: interval, publish: publish}
}

func (m *deltaMerger) add(d llm.Delta) {
	if d.Text == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.pending); n > 0 && m.pending[n-1].Block == d.Block && m.pending[n-1].Kind == d.Kind {
		m.pending[n-1].Text += d.Text
	} else {
		m.pending = append(m.pending, d)
	}
	if !m.open {
		m.flush()
	}
}

// flush publishes what is pending and opens an interval. With mu held.
func (m *deltaMerger) flush() {
	m.open = len(m.pending) > 0 && !m.closed
	if !m.open {
		return
	}
	pieces := m.pending
	m.pending = nil
	m.publish(pieces)
	if m.timer == nil {
		m.timer = time.AfterFunc(m.interval, m.tick)
	} else {
		m.timer.Reset(m.interval)
	}
}

func (m *deltaMerger) tick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flush()
}

// close publishes what is left.
func (m *deltaMerger) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Stop()
	}
	if len(m.pending) > 0 {
		m.publish(m.pending)
		m.pending = nil
	}
	m.closed = true
}
