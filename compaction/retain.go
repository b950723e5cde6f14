package compaction

import (
	"slices"

	"sessiond/message"
)

// paper is the conversation as a level would show it: sizes of units without thinking,
// with the level's clearing, and with everything that was injected into them.
type paper struct {
	s        *State
	from     int // boundary now
	open     int // the open round, or the number of units
	cleared  []message.ToolUseID
	sizes    []int // of the units from `from` on
	overhead int   // raw, as the level reduces the attachments
}

// paper lays out a level.
func (p *Planner) paper(s *State, sit *Situation, rule levelRule) *paper {
	pp := &paper{s: s, from: s.boundary(), open: s.conv.openRound()}
	if pp.open < pp.from {
		pp.open = len(s.conv.units)
	}
	pp.cleared = s.clearableAt(rule, sit.Tools)
	shape := s.shape
	shape.Cleared = append(slices.Clip(shape.Cleared), s.cleared(pp.cleared)...)
	shape.ThinkingFrom = s.conv.maxSeq + 1
	l := shape.lens()
	for u := pp.from; u < len(s.conv.units); u++ {
		pp.sizes = append(pp.sizes, l.unitTokens(s.conv, s.conv.units[u]))
	}
	s.eachInjection(pp.from, func(item int, in *Injection) {
		pp.sizes[s.conv.unitOf(item)-pp.from] += in.Tokens
	})
	pp.overhead = sit.Overhead.System + sit.Overhead.Tools
	for i := range sit.Overhead.Attachments {
		pp.overhead += p.reducedTokens(&sit.Overhead.Attachments[i], rule.attachments)
	}
	return pp
}

func (pp *paper) size(u int) int { return pp.sizes[u-pp.from] }

// openTokens is the size of the open round, 0 if there is none.
func (pp *paper) openTokens() int {
	if pp.open < len(pp.s.conv.units) {
		return pp.size(pp.open)
	}
	return 0
}

// retain goes back from the open round, or the end, over whole units until the wishes
// are met or room is used up. have is what counts as kept already. It returns the first
// unit kept and the tokens of what it added.
func (pp *paper) retain(wish Retention, room, have int) (boundary, tokens int) {
	boundary = pp.open
	texts := 0
	if have > 0 {
		texts = pp.s.conv.texts(pp.s.conv.units[pp.open])
	}
	for u := pp.open - 1; u >= pp.from; u-- {
		if sum := have + tokens; sum >= wish.MinTokens && texts >= wish.MinTexts || sum >= wish.MaxTokens {
			break
		}
		n := pp.size(u)
		if tokens+n > room {
			break
		}
		tokens += n
		texts += pp.s.conv.texts(pp.s.conv.units[u])
		boundary = u
	}
	return boundary, tokens
}
