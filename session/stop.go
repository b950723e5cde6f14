package session

import (
	"context"

	"sessiond/message"
	"sessiond/store"
)

// StopResult tells whether something was stopped.
type StopResult struct {
	Stopped bool `json:"stopped"`
}

// Stop ends the running turn, or else the compactions that were asked for, or, if turn
// is given, that turn: a queued one is dropped. What was shown of the answer stays as the answer; open tool calls get an
// error result. The queue goes on unless clearQueue drops it. Nothing to stop is no
// error. Errors: not_found, idempotency_conflict, overloaded, shutting_down.
func (m *Manager) Stop(ctx context.Context, ref store.Ref, turn message.TurnID, clearQueue bool, i Idempotency) (Replay[StopResult], error) {
	return keyedCall(ctx, m, ref, i, func(p promise[Replay[StopResult]]) command {
		return stopCommand{keyed{i}, turn, clearQueue, p}
	})
}

type stopCommand struct {
	keyed
	turn       message.TurnID
	clearQueue bool
	reply      promise[Replay[StopResult]]
}

func (c stopCommand) apply(ctx context.Context, a *actor) {
	if replayed(a, c.keyed, c.reply) {
		return
	}
	stopped := a.dropQueued(c.turn) // before the queue is cleared: it may be the one asked for
	if c.clearQueue {
		a.dropQueue()
	}
	if a.turn != nil && (c.turn == "" || c.turn == a.turn.row.ID) {
		a.endTurn(store.TurnStopped, nil)
		stopped = true
	} else if a.turn == nil && c.turn == "" && (a.compacting != nil || len(a.asked) > 0) {
		a.dropAsked()
		a.abortCompaction()
		a.goOn(ctx)
		stopped = true
	}
	finish(a, c.keyed, c.reply, StopResult{Stopped: stopped})
}

// dropQueued drops a turn from the queue and reports whether it was there.
func (a *actor) dropQueued(turn message.TurnID) bool {
	for i, q := range a.queue {
		if q.row.ID == turn {
			a.queue = append(append([]queuedTurn(nil), a.queue[:i]...), a.queue[i+1:]...)
			a.drop(q)
			return true
		}
	}
	return false
}

func (a *actor) dropQueue() {
	for _, q := range a.queue {
		a.drop(q)
	}
	a.queue = nil
}

func (a *actor) drop(q queuedTurn) {
	a.append(EntryMessageDropped, q.row.ID, "", encode(droppedBody{MessageID: q.item.Message.ID}), nil)
	q.row.Status = store.TurnDropped
	q.row.CompletedAt = a.now()
	a.stage(q.row)
}
