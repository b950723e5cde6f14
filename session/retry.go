package session

import (
	"context"
	"time"

	"go.uber.org/zap"

	"sessiond/llm"
)

// retrying is the state of a turn whose model call failed for a reason that passes.
type retrying struct {
	attempt int           // of the round, from 1; 0 when none has failed
	waited  time.Duration // of the whole turn
	timer   *time.Timer   // until the next attempt; nil unless one is waited for
}

func (r *retrying) stop() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// The pauses between attempts double from the first one up to Options.RetryMaxDelay.
const firstRetryDelay = time.Second

// retry waits and then repeats the round, if the failure may pass and the turn's
// budget allows for the wait. Text that was shown of the failed attempt counts for
// nothing: the next attempt has a new message.
func (a *actor) retry(ctx context.Context, t *turnRun, err error) bool {
	me, ok := llm.AsError(err)
	if !ok || !me.Class.Retryable() {
		return false
	}
	delay, ok := a.retryDelay(t, me.RetryAfter)
	if !ok {
		return false
	}
	r := &t.retry
	r.attempt++
	r.waited += delay
	t.detail.ActiveMS += delay.Milliseconds() // of the turn's time, which only tools do not use up
	r.timer = time.AfterFunc(delay, func() { a.post(ctx, retryDue{t}) })
	a.log.Info("model call failed, trying again", zap.String("turn_id", string(t.row.ID)),
		zap.Int("attempt", r.attempt), zap.Duration("delay", delay), zap.Error(err), cause(err))
	a.tell(&Activity{Name: ActivityRetrying, Since: a.now(), Attempt: r.attempt + 1, RetryIn: delay})
	return true
}

// retryDelay is how long to wait before the next attempt: what the provider asks for,
// else a pause that doubles, half of it random so that many sessions do not come back
// at the same moment. It is false if that is more than may be waited.
func (a *actor) retryDelay(t *turnRun, retryAfter time.Duration) (time.Duration, bool) {
	opts := &a.m.opts
	delay := min(firstRetryDelay<<min(t.retry.attempt, 10), opts.RetryMaxDelay)
	delay = delay/2 + time.Duration(opts.Jitter()*float64(delay/2))
	if retryAfter > 0 {
		if retryAfter > opts.RetryMaxDelay {
			return 0, false
		}
		delay = retryAfter + time.Duration(opts.Jitter()*float64(retryAfter)/10)
	}
	return delay, t.retry.waited+delay <= opts.RetryBudget && delay < a.timeLeft(t)
}

// retryDue repeats the round of a turn.
type retryDue struct{ turn *turnRun }

func (c retryDue) apply(ctx context.Context, a *actor) {
	if a.turn != c.turn || c.turn.retry.timer == nil {
		return // stopped in the meantime
	}
	c.turn.retry.timer = nil
	a.tell(&Activity{Name: ActivityNone, Since: a.now()})
	a.nextRound(ctx, c.turn)
}

// tell tells subscribers what the session is busy with now.
func (a *actor) tell(activity *Activity) {
	activity.SessionID = a.row.ID
	a.activity = activity.Name
	for sub := range a.subs {
		sub.Activity(activity)
	}
}
