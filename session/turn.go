package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/message"
	"sessiond/store"
)

// turnRun is the running turn of a session.
type turnRun struct {
	row      store.Turn
	detail   *turnDetail
	settings *Settings   // what the turn began with
	round    *round      // the model call in progress, or nil
	calls    []*toolCall // of the open tool round in order, or nil
	retry    retrying
	cutShort llm.StopReason // why the newest answer is incomplete; empty if it is not
}

// queuedTurn is a turn that waits for its place.
type queuedTurn struct {
	row  store.Turn
	item compaction.Item // its message
}

func (t *turnRun) waiting() bool { return len(t.calls) > 0 }

// waitingForClient reports whether a call is open that a client has to resolve.
func (t *turnRun) waitingForClient() bool {
	return slices.ContainsFunc(t.calls, func(c *toolCall) bool { return c.res == nil && !c.builtin })
}

// paused reports whether something else than a model call has to come first.
func (t *turnRun) paused() bool { return t.waiting() || t.retry.timer != nil }

func (t *turnRun) stopTimers() {
	t.retry.stop()
	if t.round != nil {
		t.round.stop()
	}
	for _, c := range t.calls {
		c.stopTimer()
	}
}

// openTurn begins the turn of a message. The message is stored already, or earlier in
// the same batch; queued tells whether it waited.
func (a *actor) openTurn(row store.Turn, queued bool) {
	row.Status = store.TurnRunning
	row.StartedAt = a.now()
	row.StartedSeq = a.append(EntryTurnStarted, row.ID, "",
		encode(turnStartedBody{MessageID: row.MessageID, Queued: queued}), nil)
	a.setTurn(&turnRun{row: row, detail: &turnDetail{}, settings: a.settings})
	a.st.Context.Ladder = a.st.Context.Ladder.NewTurn()
	a.st.Context.Breaker = a.st.Context.Breaker.UserMessage()
	a.stageTurn()
	t := a.turn
	a.then(func(ctx context.Context) { a.nextRound(ctx, t) })
}

// openNextTurn takes the oldest message from the queue, if nothing runs.
func (a *actor) openNextTurn() {
	if a.turn != nil || len(a.queue) == 0 {
		return
	}
	q := a.queue[0]
	a.queue = a.queue[1:]
	a.history.add(q.item)
	a.openTurn(q.row, true)
}

// nextRound begins a model call, unless a limit of the turn is reached. It is called
// when everything before it is on disk.
func (a *actor) nextRound(ctx context.Context, t *turnRun) {
	if !a.mayGoOn(t) {
		return // stopped in the meantime
	}
	if e := a.limitReached(t); e != nil {
		a.endTurn(store.TurnFailed, e)
		return
	}
	if t.detail.Learned > 0 {
		a.learn(ctx, t)
		return
	}
	a.withContext(ctx, t.settings.Model, func(ctx context.Context) {
		if a.mayGoOn(t) {
			a.prepare(ctx, t)
		}
	})
}

// mayGoOn reports whether a turn is still the running one and nothing of it is under way.
func (a *actor) mayGoOn(t *turnRun) bool {
	return a.turn == t && t.round == nil && !t.paused() && a.compacting == nil
}

// limitReached says which limit keeps a turn from another round.
func (a *actor) limitReached(t *turnRun) *TurnError {
	opts := &a.m.opts
	rounds := int64(opts.MaxRoundsPerTurn)
	if v := t.settings.Limits.MaxRoundsPerTurn; v != nil {
		rounds = *v
	}
	switch {
	case int64(t.row.Rounds) >= rounds:
		return &TurnError{TurnRoundLimit, fmt.Sprintf("the turn used its %d rounds", rounds)}
	case opts.MaxTokensPerTurn > 0 && t.detail.total().Tokens() >= opts.MaxTokensPerTurn:
		return &TurnError{TurnTokenLimit, fmt.Sprintf("the turn used its %d tokens", opts.MaxTokensPerTurn)}
	case a.timeLeft(t) <= 0:
		return a.timeLimitError()
	}
	return nil
}

// timeLeft is what the turn may still spend; waiting for tools is free.
func (a *actor) timeLeft(t *turnRun) time.Duration {
	return a.m.opts.MaxTurnDuration - time.Duration(t.detail.ActiveMS)*time.Millisecond
}

func (a *actor) timeLimitError() *TurnError {
	return &TurnError{TurnTimeLimit, fmt.Sprintf("the turn ran for %s, tools not counted", a.m.opts.MaxTurnDuration)}
}

// timeLimit ends a turn whose round took what was left of its time.
type timeLimit struct{ round *round }

func (c timeLimit) apply(_ context.Context, a *actor) {
	if a.turn != nil && a.turn.round == c.round {
		a.endTurn(store.TurnFailed, a.timeLimitError())
	}
}

// endTurn ends the running turn: what was shown of a model call that it cuts off is kept, open
// tool calls get an error result so that the conversation stays whole, and the next
// queued message has its turn.
func (a *actor) endTurn(status store.TurnStatus, e *TurnError) {
	t := a.turn
	t.retry.stop()
	a.abortCompaction()
	if t.round != nil {
		a.keepShown(t)
	}
	if t.waiting() {
		a.abandonCalls(t)
	}
	t.row.Status = status
	t.row.CompletedAt = a.now()
	t.detail.Error = e
	t.detail.Settings = nil
	usage := t.detail.total()
	a.append(EntryTurnCompleted, t.row.ID, "",
		encode(turnCompletedBody{Status: status, Stop: t.cutShort, Error: e, Usage: usage, CostUSD: usage.CostUSD}), nil)
	a.stageTurn()
	a.m.metrics.turnEnded(status)
	a.setTurn(nil)
	if len(a.asked) > 0 { // what was asked for comes before what is queued
		a.then(func(ctx context.Context) { a.goOn(ctx) })
		return
	}
	a.openNextTurn()
}

// keepShown cancels the model call and stores the text that subscribers were shown as
// the answer. Unfinished thinking and tool calls are worth nothing without their end.
func (a *actor) keepShown(t *turnRun) {
	r := t.round
	a.closeRound(t, context.Canceled)
	var content []message.Block
	for _, item := range r.items {
		if item.Kind == kindText && item.Text != "" {
			content = append(content, message.Text{Text: item.Text})
		}
	}
	if len(content) == 0 {
		return
	}
	m := &message.Message{
		ID: r.messageID, TurnID: t.row.ID, Role: message.RoleAssistant, Content: content, CreatedAt: a.now(),
	}
	a.appendMessage(EntryMessageAdded, m, m, a.m.measure(m, nil))
}

// closeRound ends the model call in progress and counts it; err is how it ended.
func (a *actor) closeRound(t *turnRun, err error) {
	t.round.stop()
	took := a.m.opts.Now().Sub(t.round.since)
	a.m.metrics.modelCalled(took, err)
	t.detail.ActiveMS += took.Milliseconds()
	t.round = nil
}
