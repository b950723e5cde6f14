package compaction

// Action is what has to be done before the next model call.
type Action string

// The actions.
const (
	// ActionSend: the request may be sent as it is.
	ActionSend Action = "send"
	// ActionClear: store the clearing, fold it, and ask again.
	ActionClear Action = "clear"
	// ActionCompact: carry out the plan.
	ActionCompact Action = "compact"
	// ActionClimb: the request is over L′ and nothing helps at this level; treat it as
	// refused, see [Ladder.Refused], and ask again with trigger overflow.
	ActionClimb Action = "climb"
	// ActionOverflow: the turn fails with context_overflow, naming the parts.
	ActionOverflow Action = "overflow"
)

// Step is the answer to what has to be done next.
type Step struct {
	Action   Action
	Clearing *Clearing // with ActionClear
	Plan     *Plan     // with ActionCompact
	// Reason says why a compaction was called for and is not made, if so.
	Reason  Reason
	Context Context
	Budget  Budget
	// Breaker is the situation's as the growth of the context leaves it, to be kept.
	Breaker Breaker
}

// Next decides, before every model call, what has to be done first. It is asked again
// after each thing that was done, until it says send or overflow. With trigger
// overflow, the request as it stands was refused, and sit.Ladder was raised for that
// already; once the ladder's level was tried, ask with trigger auto before sending.
//
// It never plans anything that leaves the request as it is, and it ends: each answer
// other than send and overflow makes the request smaller or raises the ladder.
func (p *Planner) Next(s *State, sit *Situation) Step {
	c, b := p.Gauge(s, sit)
	tokens := c.Tokens()
	st := Step{Context: c, Budget: b, Breaker: sit.Breaker.Grown(tokens, b)}
	refused := sit.Trigger == TriggerOverflow
	switch {
	case b.OverheadTooLarge():
		st.Action, st.Reason = ActionOverflow, ReasonOverhead
		return st
	case refused && sit.Ladder.Spent:
		return p.lastResort(s, sit, st)
	case !refused && !st.due():
		return st.sendOrClimb(false)
	}
	if clearing := p.pressure(s, sit, b); clearing != nil {
		st.Action, st.Clearing = ActionClear, clearing
		return st
	}
	plan, reason := p.plan(s, sit)
	if plan == nil || st.Breaker.inVain(tokens, plan.Level) {
		st.Reason = reason
		return st.sendOrClimb(refused)
	}
	plan.Writer = st.writer(plan, sit)
	if plan.Writer == WriterNone {
		return st.sendOrClimb(false)
	}
	st.Action, st.Plan = ActionCompact, plan
	return st
}

// due reports whether automatic compaction has something to do: the context reached the
// threshold, and it would not end where it is, unless it is over high.
func (st *Step) due() bool {
	switch tokens := st.Context.Tokens(); {
	case tokens < st.Budget.Threshold:
		return false
	case tokens > st.Budget.High:
		return true
	}
	return st.Context.Judged() > st.Budget.Landing && st.Breaker.Undone == 0
}

// sendOrClimb sends what fits. What was refused and can't be made smaller does not.
func (st Step) sendOrClimb(refused bool) Step {
	st.Action = ActionSend
	if refused || st.Context.Tokens() > st.Budget.Input {
		st.Action = ActionClimb
	}
	return st
}

// pressure returns level 1's clearing if it is enough: judged is within the landing,
// and after a refusal the whole request fits.
func (p *Planner) pressure(s *State, sit *Situation, b Budget) *Clearing {
	clearing := p.onPaper(s, sit, max(LevelLight, sit.Ladder.Level))
	if clearing == nil || clearing.TokensAfter >= clearing.TokensBefore {
		return nil
	}
	after := s.with(clearing).Context(sit.Overhead, sit.ratio())
	fits := after.Tokens() <= b.Input || sit.Trigger != TriggerOverflow
	if after.Judged() > b.Landing || !fits {
		return nil
	}
	return clearing
}

// writer decides who writes a plan's summary, or that nobody does now: a model that may
// not be asked leaves the conversation as it is, unless the next request would be over
// edge or was refused; then a digest has to do.
func (st *Step) writer(pl *Plan, sit *Situation) Writer {
	tokens := st.Context.Tokens()
	switch {
	case pl.choose(sit.Memory) == WriterMemory:
		return WriterMemory
	case st.Breaker.mayCall(sit, tokens, pl.Level, st.Budget):
		return WriterModel
	}
	return pl.Fallback(st.Budget)
}

// lastResort cuts what is never cut otherwise, or gives up.
func (p *Planner) lastResort(s *State, sit *Situation, st Step) Step {
	if cut := p.recut(s, sit, st.Context, st.Budget); cut != nil && cut.TokensAfter < cut.TokensBefore {
		st.Action, st.Clearing = ActionClear, cut
		return st
	}
	st.Action = ActionOverflow
	return st
}

// Fallback is the writer after a summariser failed on a plan: a digest if the next
// request would be over edge or the provider refused it, else none: nothing is thrown
// away while there is room.
func (pl *Plan) Fallback(b Budget) Writer {
	if pl.Trigger == TriggerOverflow || pl.Before > b.Edge {
		return WriterDigest
	}
	return WriterNone
}
