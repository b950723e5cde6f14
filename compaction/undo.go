package compaction

import (
	"errors"
	"fmt"
)

// OverflowError refuses an undo whose view would be too large to go on with.
type OverflowError struct {
	Tokens int
	Limit  int
}

func (e *OverflowError) Error() string {
	return fmt.Sprintf("the earlier view has %d tokens, more than the %d it may have", e.Tokens, e.Limit)
}

// ErrTurnRuns refuses an undo while a turn runs.
var ErrTurnRuns = errors.New("a turn runs")

// PlanUndo returns the undoing of the newest compaction: boundary and shape as they were
// just before it, thinking dropped. There is nothing to undo: nil and no error. Errors:
// ErrTurnRuns, [*OverflowError].
func (p *Planner) PlanUndo(s *State, sit *Situation) (*Undone, error) {
	r := s.Record()
	if r == nil {
		return nil, nil //nolint:nilnil // nothing to undo is no error and no undoing
	}
	if sit.Turn != "" {
		return nil, ErrTurnRuns
	}
	u := &Undone{Generation: s.generation + 1, Undoes: r.Generation, ThinkingFrom: s.conv.maxSeq + 1}
	u.TokensBefore = s.Context(sit.Overhead, sit.ratio()).Tokens()
	before := s.snapshot()
	if err := before.Undo(u); err != nil {
		return nil, err
	}
	c, b := p.Gauge(before, sit)
	if u.TokensAfter = c.Tokens(); u.TokensAfter > b.Edge {
		return nil, &OverflowError{Tokens: u.TokensAfter, Limit: b.Edge}
	}
	return u, nil
}
