package server

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// ownerLimiter bounds how many calls an owner makes. One who was quiet may use a
// minute's allowance at once.
type ownerLimiter struct {
	perMinute int64 // 0: no limit
	now       func() time.Time

	mu     sync.Mutex
	owners map[string]*rate.Limiter
	swept  time.Time
}

func newOwnerLimiter(perMinute int64, now func() time.Time) *ownerLimiter {
	return &ownerLimiter{perMinute: perMinute, now: now, owners: make(map[string]*rate.Limiter), swept: now()}
}

// take reports how long an owner has to wait; 0: the call may go ahead. The owner of a
// server without authentication is not limited.
func (l *ownerLimiter) take(owner string) time.Duration {
	if l.perMinute <= 0 || owner == LocalOwner {
		return 0
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	lim := l.owners[owner]
	if lim == nil {
		lim = rate.NewLimiter(rate.Limit(float64(l.perMinute)/time.Minute.Seconds()), int(l.perMinute))
		l.owners[owner] = lim
	}
	r := lim.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// sweep forgets the owners whose allowance is whole again, once a minute.
func (l *ownerLimiter) sweep(now time.Time) {
	if now.Sub(l.swept) < time.Minute {
		return
	}
	l.swept = now
	for owner, lim := range l.owners {
		if lim.TokensAt(now) >= float64(l.perMinute) {
			delete(l.owners, owner)
		}
	}
}
