package session

import (
	"fmt"
	"sync"
)

// runningTurns counts the running turns of each owner, over all sessions.
type runningTurns struct {
	mu     sync.Mutex
	owners map[string]int
}

func (r *runningTurns) add(owner string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners == nil {
		r.owners = make(map[string]int)
	}
	if r.owners[owner] += n; r.owners[owner] == 0 {
		delete(r.owners, owner)
	}
}

func (r *runningTurns) of(owner string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owners[owner]
}

// quotaReached refuses another running turn of an owner who has as many as allowed.
// Two sessions that ask at the same moment may both get in; a turn that was accepted
// is never held up by the limit.
func (a *actor) quotaReached() error {
	limit := a.m.opts.MaxRunningTurns
	if limit == 0 || a.ref.Owner == a.m.opts.UnlimitedOwner || a.m.running.of(a.ref.Owner) < limit {
		return nil
	}
	return &Error{
		Kind: KindQuotaExceeded, Message: fmt.Sprintf("%d turns are running already in the owner's sessions", limit),
		Data: map[string]any{"quota": "running_turns"},
	}
}

// setTurn makes t the running turn, or none, and keeps count.
func (a *actor) setTurn(t *turnRun) {
	if a.turn != nil {
		a.m.running.add(a.ref.Owner, -1)
	}
	if t != nil {
		a.m.running.add(a.ref.Owner, 1)
	}
	a.turn = t
}
