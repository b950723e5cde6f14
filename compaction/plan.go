package compaction

import "sessiond/message"

// Plan is a compaction that was decided and not yet made: what leaves the view, what
// stays, and who writes the summary. It stays valid while the conversation grows; once
// the state has another generation, [Planner.Apply] refuses it. It must not be changed.
type Plan struct {
	Generation int64 // of the state it was made for
	Trigger    Trigger
	Level      Level
	Writer     Writer
	// Lands: what stays, with the summary at its cap, is within the landing.
	Lands  bool
	Budget Budget // as the level reduces the attachments
	// Before and After are the size of the request now and, at most, afterwards, in the
	// provider's tokens.
	Before, After int
	// FromSeq and ThroughSeq are the first and last message that leave, BoundarySeq is
	// the first that stays (0: none), PinnedSeq the user message that is pinned (0: none).
	FromSeq, ThroughSeq, BoundarySeq, PinnedSeq int64

	p        *Planner
	s        *State // as it was
	ratio    float64
	from, to int // units that leave: [from, to)
	cleared  []message.ToolUseID
	files    []file
	rule     levelRule
	pinLimit int // raw tokens of the pinned request
	total    int // raw tokens afterwards, open round on top and pinned request aside
}

// Leaves is the number of messages that leave the view.
func (pl *Plan) Leaves() int {
	return pl.s.conv.firstItem(pl.to) - pl.s.conv.firstItem(pl.from)
}

// layout is one level tried on paper.
type layout struct {
	plan   Plan
	viable bool // something leaves, and the request fits
}

// plan tries the levels from the lowest on and takes the first at or above the stored
// one that lands. One that would free less than a tenth of the context is not worth a
// call: with room above the threshold it waits for more to leave, without it a higher
// level is tried. Where none lands, level 3 is taken as far as it goes if it frees that
// tenth, or makes the request fit.
func (p *Planner) plan(s *State, sit *Situation) (*Plan, Reason) {
	files := s.files(sit.Tools)
	c, b := p.Gauge(s, sit)
	before := c.Tokens()
	pressing := before > b.High || sit.Trigger == TriggerOverflow
	most := -1 // what the lowest level that lands leaves; none above it may leave more
	var last layout
	for level := LevelNormal; level <= LevelAggressive; level++ {
		last = p.layOut(s, sit, level, files, most)
		last.plan.Before = before
		if !last.plan.Lands {
			continue
		}
		most = last.plan.total
		switch {
		case level < sit.Ladder.Level:
		case progress(before, last.plan.After, b.Input):
			return &last.plan, ""
		case !pressing:
			return nil, ReasonNotSmaller
		}
	}
	switch {
	case last.viable && progress(before, last.plan.After, b.Input):
		return &last.plan, ""
	case last.plan.Budget.Share <= p.frame():
		return nil, ReasonOverhead
	}
	return nil, ReasonNothingToCompact
}

// progress reports whether a compaction is worth making: it frees a tenth of the context,
// or makes a request fit that does not.
func progress(before, after, input int) bool {
	return after*10 <= before*9 || before > input && after <= input
}

// account is what a request has to hold after a compaction whatever stays, in raw tokens.
type account struct {
	budget   Budget
	fixed    int // overhead, summary and ledger at their caps, frame
	pinLimit int // over this the newest user message is cut when it is pinned
	pinned   int // what it then costs
	input    int // L′
}

func (p *Planner) account(s *State, sit *Situation, overhead int) account {
	ratio := sit.ratio()
	b := p.Budget(sit.Limits, calibrated(overhead, ratio))
	a := account{
		budget: b, input: rawTokens(b.Input, ratio), pinLimit: rawTokens(b.PinnedMax, ratio),
		fixed: overhead + rawTokens(b.SummaryCap, ratio) + rawTokens(b.LedgerCap, ratio) + p.frame(),
	}
	a.pinned = p.pinnedAt(s, a.pinLimit)
	return a
}

// pinnedAt is what the newest user message costs when it is pinned within a limit.
func (p *Planner) pinnedAt(s *State, limit int) int {
	n := len(s.conv.users)
	if n == 0 {
		return 0
	}
	_, tokens := p.pin(&s.conv.items[s.conv.users[n-1]], limit)
	return tokens
}

// layOut tries a level. most bounds the total if it is not negative.
func (p *Planner) layOut(s *State, sit *Situation, level Level, files *files, most int) layout {
	rule := p.cfg.rule(level)
	pp := p.paper(s, sit, rule)
	ratio := sit.ratio()
	acc := p.account(s, sit, pp.overhead)
	b := acc.budget
	room := rawTokens(b.Landing, ratio) - acc.fixed
	if most >= 0 {
		room = min(room, most-acc.fixed)
	}
	have, onTop := pp.openTokens(), 0
	if have > room { // on top: the model has to see it once, whatever it takes
		have, onTop = 0, have
	}
	pinned := acc.pinned
	if level == LevelAggressive {
		pinned = min(pinned, minResultTokens)
	}
	room = min(room-have, acc.input-acc.fixed-pinned-have-onTop)
	boundary, retained, chosen, recovered := p.share(pp, files, rule, max(room, 0), have)
	out := layout{plan: Plan{
		Generation: s.generation, Trigger: sit.Trigger, Level: level, Writer: WriterModel, Budget: b,
		p: p, s: s.snapshot(), ratio: ratio, from: pp.from, to: boundary, files: chosen, rule: rule,
		total: acc.fixed + have + retained + recovered,
	}}
	pl := &out.plan
	pl.finish(s, pp.cleared)
	whole := pl.total + onTop
	if pl.PinnedSeq != 0 {
		pl.pinLimit = acc.pinLimit
		if level == LevelAggressive { // then it has to shrink, if all does not fit
			pl.pinLimit = min(pl.pinLimit, max(acc.input-whole, minResultTokens))
		}
		whole += p.pinnedAt(s, pl.pinLimit)
	}
	pl.After = calibrated(whole, ratio)
	out.viable = boundary > pp.from && whole <= acc.input
	minimum := min(rule.retention.MinTokens, b.Share*rule.sharePercent/100)
	pl.Lands = out.viable && calibrated(pl.total, ratio) <= b.Landing && calibrated(have+retained, ratio) >= minimum && (most < 0 || pl.total <= most)
	return out
}

// share divides room between recovered files and retained units: files may have a
// quarter of the share, units the rest, and what one leaves the other may take.
func (p *Planner) share(pp *paper, f *files, rule levelRule, room, have int) (boundary, retained int, chosen []file, recovered int) {
	quarter := min((room+have)/4, rule.recovery.MaxTokens, room)
	boundary, _ = pp.retain(rule.retention, room-quarter, have)
	_, recovered = p.chooseFiles(f, boundary, rule.recovery, quarter)
	boundary, retained = pp.retain(rule.retention, room-recovered, have)
	chosen, recovered = p.chooseFiles(f, boundary, rule.recovery, room-retained)
	return boundary, retained, chosen, recovered
}

// finish fills in what follows from the boundary.
func (pl *Plan) finish(s *State, cleared []message.ToolUseID) {
	c := s.conv
	at := c.firstItem(pl.to)
	if first := c.firstItem(pl.from); first < at {
		pl.FromSeq = c.items[first].Message.Seq
		pl.ThroughSeq = c.items[at-1].Message.Seq
	}
	if at < len(c.items) {
		pl.BoundarySeq = c.items[at].Message.Seq
	}
	if n := len(c.users); n > 0 && c.users[n-1] < at {
		pl.PinnedSeq = c.items[c.users[n-1]].Message.Seq
	}
	for _, id := range cleared {
		if c.calls[id] >= at {
			pl.cleared = append(pl.cleared, id)
		}
	}
}

// PlanManual returns the plan of a compaction that was asked for: the newest turn stays
// if it is at most a third of the view's messages, else the last unit. Nothing leaves, or
// nothing but what is then pinned: nil and the reason.
func (p *Planner) PlanManual(s *State, sit *Situation) (*Plan, Reason) {
	rule := p.cfg.rule(sit.Ladder.Level)
	pp := p.paper(s, sit, rule)
	ratio := sit.ratio()
	c := s.conv
	last := max(len(c.units)-1, pp.from)
	boundary := max(c.turnStart(), pp.from)
	if inView, newest := len(c.items)-c.firstItem(pp.from), len(c.items)-c.firstItem(boundary); newest*3 > inView {
		boundary = last
	}
	if boundary <= pp.from {
		return nil, ReasonNothingToCompact
	}
	acc := p.account(s, sit, pp.overhead)
	kept := 0
	for u := boundary; u < len(c.units); u++ {
		kept += pp.size(u)
	}
	room := min(rawTokens(acc.budget.Share, ratio)/4, acc.input-acc.fixed-acc.pinned-kept)
	chosen, recovered := p.chooseFiles(s.files(sit.Tools), boundary, rule.recovery, max(room, 0))
	pl := &Plan{
		Generation: s.generation, Trigger: TriggerManual, Level: sit.Ladder.Level, Writer: WriterModel, Budget: acc.budget,
		p: p, s: s.snapshot(), ratio: ratio, from: pp.from, to: boundary, files: chosen, rule: rule,
		total: acc.fixed + kept + recovered,
	}
	pl.finish(s, pp.cleared)
	if pl.FromSeq == pl.ThroughSeq && pl.PinnedSeq == pl.FromSeq { // it would be shown all the same
		return nil, ReasonNothingToCompact
	}
	whole := pl.total
	if pl.PinnedSeq != 0 {
		pl.pinLimit = acc.pinLimit
		whole += acc.pinned
	}
	pl.Before = s.Context(sit.Overhead, ratio).Tokens()
	pl.After = calibrated(whole, ratio)
	pl.Lands = pl.After <= acc.budget.Landing
	return pl, ""
}

// choose decides who writes the summary of an automatic compaction. The session's memory
// does, which costs no model call, if nothing is lost by it: it has something to tell of
// what no model wrote notes of, all of that fits, and it covers all but two units or half
// the share, which a digest can tell of. Else the model writes.
func (pl *Plan) choose(m Memory) Writer {
	if pl.Trigger == TriggerManual {
		return WriterModel
	}
	needed, _ := pl.entries(m)
	uncovered, tokens := pl.uncovered(m)
	start, _ := pl.told()
	switch {
	case len(needed) == 0 || len(uncovered) == pl.to-start:
	case len(uncovered) > 2 && calibrated(tokens, pl.ratio) > pl.Budget.Share/2:
	case pl.fits(m, needed):
		return WriterMemory
	}
	return WriterModel
}

// uncovered returns the units before the new boundary that no model wrote notes of and no
// entry of the memory stands for, with their tokens.
func (pl *Plan) uncovered(m Memory) (units []unit, tokens int) {
	c := pl.s.conv
	start, _ := pl.told()
	lost, read := c.unitAfter(m.LostSeq), c.unitAfter(m.WatermarkSeq)
	l := pl.s.shape.lens()
	for u := start; u < pl.to; u++ {
		if u < lost || u >= read {
			units = append(units, c.units[u])
			tokens += l.unitTokens(c, c.units[u])
		}
	}
	return units, tokens
}
