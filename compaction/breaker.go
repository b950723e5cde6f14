package compaction

import (
	"time"

	"sessiond/message"
)

// Breaker keeps automatic summaries from being tried again and again where they do not
// help. It is kept on the session's row. Methods return what it becomes.
type Breaker struct {
	// Strikes counts compactions in a row that made no progress.
	Strikes int `json:"strikes,omitempty"`
	// Paused: three strikes. PausedAt is the context then; growth ends the pause.
	Paused   bool `json:"paused,omitempty"`
	PausedAt int  `json:"paused_at,omitempty"`
	// Until and Wait are the cooldown after a summariser failed, and how long the last
	// one was.
	Until time.Time     `json:"until,omitzero"`
	Wait  time.Duration `json:"wait,omitempty"`
	// Turn is the turn of the last automatic summary call, Called the context right
	// after it, Refused the levels at which a refusal has led to one in that turn, as
	// bits.
	Turn    message.TurnID `json:"turn,omitempty"`
	Called  int            `json:"called,omitempty"`
	Refused int            `json:"refused,omitempty"`
	// Undone: the context after an undo; automatic compaction waits for it to grow.
	Undone int `json:"undone,omitempty"`
	// Vain and VainLevel are the context and level of the last compaction that changed
	// nothing; the same again would not either.
	Vain      int   `json:"vain,omitempty"`
	VainLevel Level `json:"vain_level,omitempty"`
}

const (
	maxStrikes  = 3
	minCooldown = 30 * time.Second
	maxCooldown = 10 * time.Minute
)

// UserMessage returns the breaker once a user's message began a turn.
func (k Breaker) UserMessage() Breaker {
	k.Strikes, k.Paused, k.PausedAt = 0, false, 0
	return k
}

// Judged returns the breaker after a compaction ended. called tells whether a model was
// asked, and turn in which turn.
func (k Breaker) Judged(pl *Plan, j Judgement, called bool, turn message.TurnID) Breaker {
	if called && pl.Trigger != TriggerManual {
		if k.Turn != turn {
			k.Refused = 0
		}
		k.Turn, k.Called = turn, j.contextAfter()
		if pl.Trigger == TriggerOverflow {
			k.Refused |= 1 << pl.Level
		}
	}
	k.Vain, k.VainLevel = 0, 0
	if !j.Outcome.Commits() && j.Outcome != OutcomeAborted && pl.Trigger != TriggerManual {
		k.Vain, k.VainLevel = j.Before, pl.Level
	}
	switch j.Outcome {
	case OutcomeApplied:
		if called {
			k.Until, k.Wait = time.Time{}, 0
		}
		k.Strikes, k.Undone = 0, 0
		if pl.Trigger == TriggerManual {
			k.Paused, k.PausedAt = false, 0
		}
	case OutcomeDegraded:
		k.Strikes, k.Undone = 0, 0
	case OutcomeNoProgress:
		if j.Held {
			break
		}
		if k.Strikes++; k.Strikes >= maxStrikes && !k.Paused {
			k.Paused, k.PausedAt = true, j.Before
		}
	case OutcomeNoop, OutcomeFailed, OutcomeAborted:
	}
	return k
}

// contextAfter is the context the session goes on with.
func (j Judgement) contextAfter() int {
	if j.Outcome.Commits() {
		return j.After
	}
	return j.Before
}

// Failed returns the breaker after a summariser failed at a time: a cooldown of 30
// seconds that doubles up to 10 minutes; the provider's own wish wins.
func (k Breaker) Failed(now time.Time, retryAfter time.Duration) Breaker {
	k.Wait = min(max(2*k.Wait, minCooldown), maxCooldown)
	wait := k.Wait
	if retryAfter > 0 {
		wait = retryAfter
	}
	k.Until = now.Add(wait)
	return k
}

// UndidAt returns the breaker after an undo that left a context of some tokens.
func (k Breaker) UndidAt(context int) Breaker {
	k.Undone = max(context, 1)
	return k
}

// Grown returns the breaker once the context is known: growth of a quarter of the
// headroom ends a pause and the wait after an undo, and so does the high mark for the
// latter.
func (k Breaker) Grown(context int, b Budget) Breaker {
	if k.Paused && context >= k.PausedAt+b.Headroom/4 {
		k.Strikes, k.Paused, k.PausedAt = 0, false, 0
	}
	if k.Undone > 0 && (context >= k.Undone+b.Headroom/4 || context > b.High) {
		k.Undone = 0
	}
	return k
}

// inVain reports whether a plan of some level was tried on a context as it is.
func (k Breaker) inVain(context int, level Level) bool {
	return k.Vain > 0 && k.Vain == context && level <= k.VainLevel
}

// mayCall decides whether a model may be asked for an automatic summary now.
func (k Breaker) mayCall(sit *Situation, context int, level Level, b Budget) bool {
	if sit.Now.Before(k.Until) {
		return false
	}
	refused := sit.Trigger == TriggerOverflow
	if k.Paused && !refused && context <= b.Edge {
		return false
	}
	if k.Turn == "" || k.Turn != sit.Turn {
		return true
	}
	if refused {
		return k.Refused&(1<<level) == 0
	}
	return context > b.High || context >= b.Threshold && context >= k.Called+b.Headroom/3
}
