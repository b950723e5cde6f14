package compaction

import (
	"sessiond/message"
)

// Ladder is how far a session had to climb because a provider refused its requests. It
// is kept on the session's row and written before the model is called.
type Ladder struct {
	Level Level `json:"level"`
	// Spent: a request was refused although level 3 was applied; what is left is to cut
	// the open round and the pinned request themselves.
	Spent bool `json:"spent,omitempty"`
}

// Refused returns the ladder after a provider refused a request as too large, or it was
// counted over L′ and not sent.
func (l Ladder) Refused() Ladder {
	if l.Level < LevelAggressive {
		l.Level++
		return l
	}
	l.Spent = true
	return l
}

// Succeeded returns the ladder after a chat call that succeeded with judged tokens
// against a landing. Nothing else brings the level down.
func (l Ladder) Succeeded(judged, landing int) Ladder {
	if judged <= landing {
		return Ladder{}
	}
	return l
}

// NewTurn returns the ladder at the start of a turn: the level stays, what failed at its
// end may be tried again.
func (l Ladder) NewTurn() Ladder { return Ladder{Level: l.Level} }

// LearnedWindow returns the window to believe after a refusal: the one the error named,
// or 0.8 of what was sent, but never less than a sensible model has.
func LearnedWindow(named, sent int) int {
	if named <= 0 {
		named = sent * 8 / 10
	}
	return max(named, MinWindowTokens)
}

// recut is the last resort: it cuts the pinned request and then the results of the open
// round, from their whole texts, to what fits, the results to no less than 500 tokens
// each. It returns nil if that changes nothing.
func (p *Planner) recut(s *State, sit *Situation, c Context, b Budget) *Clearing {
	ratio := sit.ratio()
	target := min(rawTokens(b.Input, ratio), c.Raw()*8/10)
	if c.Tokens() > b.Input {
		target = rawTokens(b.Input, ratio)
	}
	over := c.Raw() - target
	out := &Clearing{Reason: ClearOverflow, ThinkingFrom: s.conv.maxSeq + 1, TokensBefore: c.Tokens()}
	if it, ok := s.pinnedItem(s.Record()); ok && c.Pinned > minResultTokens && over > 0 {
		cuts, tokens := p.pin(it, max(c.Pinned-over, minResultTokens))
		if tokens < c.Pinned {
			out.Pinned = cuts
			over -= c.Pinned - tokens
		}
	}
	if over > 0 {
		out.Cuts = p.recutOpen(s, sit, over)
	}
	if out.Pinned == nil && len(out.Cuts) == 0 {
		return nil
	}
	out.TokensAfter = s.with(out).Context(sit.Overhead, ratio).Tokens()
	return out
}

// recutOpen takes over tokens from the results of the open round.
func (p *Planner) recutOpen(s *State, sit *Situation, over int) []ResultCut {
	u := s.conv.openRound()
	if u < s.boundary() || u < 0 {
		return nil
	}
	un := s.conv.units[u]
	if un.end-un.first < 2 {
		return nil
	}
	it := &s.conv.items[un.end-1]
	l := s.shape.lens()
	sizes := make([]int, len(it.Message.Content))
	total := 0
	for i, b := range it.Message.Content {
		if _, ok := b.(message.ToolResult); ok {
			sizes[i] = l.blockTokens(b, &it.Measure.Blocks[i], it.Message.Seq)
			total += sizes[i]
		}
	}
	var cuts []ResultCut
	for i, limit := range equalShares(sizes, total-over, minResultTokens+callTokens) {
		r, ok := it.Message.Content[i].(message.ToolResult)
		if !ok || limit >= sizes[i] {
			continue
		}
		cut := p.cutResult(r, it.Measure.Blocks[i].Tokens-callTokens, limit-callTokens, p.cfg.ToolResult.wholly(), sit.Images)
		if cut.Tokens < sizes[i] {
			cuts = append(cuts, ResultCut{ID: r.ToolUseID, Cut: cut})
		}
	}
	return cuts
}

// RoundRoom is how many raw tokens the results of the open round may have together, for
// [Planner.MeasureRound]: what is left of L′ beside the overhead, the summary, the
// ledger, the pinned request as it may have to be cut, and the calls themselves. It is
// asked when the calls are appended and their results are not.
func (p *Planner) RoundRoom(s *State, sit *Situation) int {
	c := s.Context(sit.Overhead, sit.ratio())
	acc := p.account(s, sit, c.Overhead)
	room := acc.input - acc.fixed - acc.pinned - messageTokens
	if u := s.conv.openRound(); u >= 0 {
		l := s.shape.lens()
		l.thinkingFrom = s.conv.maxSeq + 1 // thinking would be dropped before anything else
		room -= l.tokens(&s.conv.items[s.conv.units[u].first])
	}
	return max(room, 0)
}
