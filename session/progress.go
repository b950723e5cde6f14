package session

import (
	"context"
	"time"

	"sessiond/message"
)

// Progress is how full a session's context is and what it used so far.
type Progress struct {
	SessionID message.SessionID
	Gauge     Gauge
	Usage     message.Usage

	encoded encodeOnce
}

// Encoded returns enc(), calling it only the first time, whichever subscriber asks.
func (p *Progress) Encoded(enc func(*Progress) []byte) []byte {
	return p.encoded.get(func() []byte { return enc(p) })
}

// progressInterval is how often subscribers are told, at most; the last change is always
// told.
const progressInterval = 250 * time.Millisecond

// progressTold is what subscribers were told last.
type progressTold struct {
	gauge Gauge
	usage message.Usage
	at    time.Time
	timer *time.Timer // until the next time they may be told; nil while there is nothing to tell
}

// tellProgress tells subscribers how full the context is as of the last flush, now or as
// soon as the interval allows.
func (a *actor) tellProgress(ctx context.Context) {
	v := a.view.Load()
	told := &a.told
	if told.timer != nil || v.Gauge == told.gauge && v.Usage == told.usage {
		return
	}
	if wait := progressInterval - a.m.opts.Now().Sub(told.at); wait > 0 && !told.at.IsZero() {
		told.timer = time.AfterFunc(wait, func() { a.post(ctx, progressDue{}) })
		return
	}
	told.gauge, told.usage, told.at = v.Gauge, v.Usage, a.m.opts.Now()
	p := &Progress{SessionID: a.row.ID, Gauge: v.Gauge, Usage: v.Usage}
	for sub := range a.subs {
		sub.Progress(p)
	}
}

type progressDue struct{}

func (progressDue) apply(ctx context.Context, a *actor) {
	a.told.timer = nil
	a.tellProgress(ctx)
}

func (t *progressTold) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}
