package compaction

import "slices"

// Judgement is how a compaction turned out, measured.
type Judgement struct {
	Outcome Outcome
	Reason  Reason
	// Before and After are the whole context, Judged is it without open round and pinned
	// request afterwards; in the provider's tokens.
	Before, After, Judged int
	// Held: without open round and pinned request the context was below the threshold
	// already, so that no compaction could have helped.
	Held bool
}

// Apply turns a plan and what was written for it into a record, and judges it. The
// record is to be stored and committed if the outcome says so ([Outcome.Commits]); it
// is complete in any case. State and plan are not changed.
//
// A state of another generation than the plan's is superseded: the record is nil.
func (p *Planner) Apply(s *State, sit *Situation, pl *Plan, d *Draft) (*Record, Judgement) {
	before, b := p.Gauge(s, sit)
	j := Judgement{Before: before.Tokens(), After: before.Tokens(), Judged: before.Judged()}
	j.Held = j.Judged < b.Threshold
	if s.generation != pl.Generation {
		j.Outcome, j.Reason = OutcomeAborted, ReasonSuperseded
		return nil, j
	}
	r := p.record(s, sit, pl, d)
	after, landed := p.Gauge(s.after(r), sit)
	j.After, j.Judged = after.Tokens(), after.Judged()
	switch {
	case !progress(j.Before, j.After, landed.Input):
		j.Outcome = OutcomeNoProgress
		if pl.Trigger == TriggerManual {
			j.Outcome, j.Reason = OutcomeNoop, ReasonNotSmaller
		}
	case d.Writer == WriterDigest:
		j.Outcome = OutcomeDegraded
	default:
		j.Outcome = OutcomeApplied
	}
	if j.Outcome.Commits() && j.Judged > landed.Landing {
		j.Reason = ReasonOverLanding
	}
	r.Outcome, r.Reason = j.Outcome, j.Reason
	r.TokensBefore, r.TokensAfter = j.Before, j.After
	return r, j
}

// record makes the record of a plan.
func (p *Planner) record(s *State, sit *Situation, pl *Plan, d *Draft) *Record {
	c := s.conv
	at := c.firstItem(pl.to)
	r := &Record{
		Generation: s.generation + 1, Trigger: pl.Trigger, Writer: d.Writer, Level: pl.Level,
		ThroughSeq: pl.ThroughSeq, BoundarySeq: pl.BoundarySeq, PinnedSeq: pl.PinnedSeq,
		Body: d.Body, Sections: d.Sections, MemoryIDs: d.MemoryIDs, InstructionUsed: d.Instructed, Encoding: p.encoding,
		Before: s.shape,
	}
	r.Ledger = p.ledger(c, at, pl.PinnedSeq, rawTokens(pl.Budget.LedgerCap, pl.ratio))
	files, shown := p.renderFiles(pl.files)
	r.Files = shown
	r.Text = summaryText(r) + files
	r.TextTokens = messageTokens + p.counter.Count(r.Text)
	r.Attachments = p.attach(s, sit, pl, d)
	if i, ok := c.bySeq[pl.PinnedSeq]; ok && pl.PinnedSeq != 0 {
		r.PinnedCuts, r.PinnedTokens = p.pin(&c.items[i], pl.pinLimit)
	}
	turn := s.newestTurn()
	r.Shape = s.shape.with(&Clearing{Cleared: s.cleared(pl.cleared), ThinkingFrom: c.maxSeq + 1})
	r.Shape = r.Shape.from(c, pl.to, turn)
	return r
}

// attach returns the attachments that the summary message shows: the current versions of
// what the units which stay do not show themselves, as the level reduces them. What these
// show in an older version is left to the next message: in the summary message the
// current one would stand before the older, and what stays verbatim stays as it was sent.
// So is a list that no request has shown yet: a call that stays may have made an older one.
// Memory that the summary was written from is held back: it would be there twice.
func (p *Planner) attach(s *State, sit *Situation, pl *Plan, d *Draft) []Attachment {
	now, stay := s.shown(s.boundary()), s.kept(pl.to)
	first := s.conv.firstItem(pl.to)
	var out []Attachment
	for _, a := range sit.Overhead.Attachments {
		if _, ok := stay[a.id()]; ok || a.Kind == AttachTodoList && !s.shows(now, &a) {
			continue
		}
		if at, ok := s.conv.bySeq[a.MadeBySeq]; ok && a.MadeBySeq != 0 && at >= first {
			continue
		}
		if a.Kind == AttachSessionMemory && slices.Contains(d.MemoryIDs, a.Key) {
			a.Text, a.Tokens = "", 0
		}
		out = append(out, p.reduce(a, pl.rule.attachments))
	}
	return out
}

// Fail is the judgement of a plan whose summary could not be had: nothing changes.
func (p *Planner) Fail(s *State, sit *Situation, class string) Judgement {
	c, b := p.Gauge(s, sit)
	return Judgement{
		Outcome: OutcomeFailed, Reason: SummariserReason(class),
		Before: c.Tokens(), After: c.Tokens(), Judged: c.Judged(), Held: c.Judged() < b.Threshold,
	}
}

// Write returns the draft of a writer that needs no model.
func (p *Planner) Write(pl *Plan, sit *Situation, w Writer) *Draft {
	if w == WriterMemory {
		return p.MemoryDraft(pl, sit.Memory, sit.Todos)
	}
	return p.Digest(pl, sit.Todos)
}
