package compaction

import (
	"time"

	"sessiond/message"
)

// Situation is everything besides the log that a decision depends on, as it is now. The
// caller gathers it; nothing here is read from a clock or a database.
type Situation struct {
	Now      time.Time
	Limits   Limits
	Overhead Overhead
	Ratio    float64 // the provider's tokens for one raw token; see [Calibration]
	Tools    Tools
	Images   ImageTokens
	// Turn is the running turn, empty while idle.
	Turn message.TurnID
	// Trigger is auto, or overflow right after a refusal.
	Trigger Trigger
	Ladder  Ladder
	Breaker Breaker
	Memory  Memory
	Todos   []Todo
}

// Todo is an item of the session's list, for a digest.
type Todo struct {
	Content string
	Status  string
}

// ratio is the calibration in use, 1 if there is none.
func (sit *Situation) ratio() float64 {
	if sit.Ratio <= 0 {
		return 1
	}
	return sit.Ratio
}

// Gauge returns the size of the next request and the budget that follows from it.
func (p *Planner) Gauge(s *State, sit *Situation) (Context, Budget) {
	c := s.Context(sit.Overhead, sit.ratio())
	return c, p.Budget(sit.Limits, c.OverheadTokens())
}
