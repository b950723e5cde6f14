package compaction

import "sessiond/message"

// Microcompact returns the clearing that is due because the conversation rested: the
// last assistant message is older than the configured time, so the provider's cache is
// cold anyway and old results of cleanable tools may go. It returns nil if there is
// nothing to clear.
func (p *Planner) Microcompact(s *State, sit *Situation) *Clearing {
	last := s.conv.lastAnswer
	if last.IsZero() || sit.Now.Sub(last) <= p.cfg.Microcompact.Idle {
		return nil
	}
	ids := s.clearable(s.boundary(), p.cfg.Microcompact.Keep, func(r *resultAt) bool { return sit.Tools.cleanable(r.call.Name) })
	return p.clearing(s, sit, ClearIdle, ids)
}

// onPaper returns the clearing of a level, or nil if it clears nothing.
func (p *Planner) onPaper(s *State, sit *Situation, level Level) *Clearing {
	return p.clearing(s, sit, ClearPressure, s.clearableAt(p.cfg.rule(level), sit.Tools))
}

func (p *Planner) clearing(s *State, sit *Situation, why ClearReason, ids []message.ToolUseID) *Clearing {
	if len(ids) == 0 {
		return nil
	}
	c := &Clearing{Reason: why, Cleared: s.cleared(ids), ThinkingFrom: s.conv.maxSeq + 1}
	c.TokensBefore = s.Context(sit.Overhead, sit.ratio()).Tokens()
	c.TokensAfter = s.with(c).Context(sit.Overhead, sit.ratio()).Tokens()
	return c
}

// cleared says that results are cleared now.
func (s *State) cleared(ids []message.ToolUseID) []Cleared {
	turn := s.newestTurn()
	out := make([]Cleared, len(ids))
	for i, id := range ids {
		out[i] = Cleared{ID: id, HeadSeq: s.conv.maxSeq, TurnID: turn}
	}
	return out
}

func (s *State) newestTurn() message.TurnID {
	if n := len(s.conv.items); n > 0 {
		return s.conv.items[n-1].Message.TurnID
	}
	return ""
}

// resultAt is a tool result of a round that the model has answered.
type resultAt struct {
	id      message.ToolUseID
	call    message.ToolUse
	seq     int64 // of the message that made the call
	turn    message.TurnID
	shown   int // tokens
	cleared int // tokens once it is cleared
}

// clearableAt returns what a level clears.
func (s *State) clearableAt(rule levelRule, tools Tools) []message.ToolUseID {
	if !rule.clears {
		return nil
	}
	again := s.fetchedAgain()
	return s.clearable(s.boundary(), rule.keepResults, func(r *resultAt) bool {
		return tools.clearable(r.call.Name) && !again(r)
	})
}

// clearable returns the results that a policy may clear, oldest first: those in the
// view of rounds that the model has answered, but for the newest few, those that are
// cleared already, and those that a placeholder would not make smaller.
func (s *State) clearable(boundary, keep int, policy func(*resultAt) bool) []message.ToolUseID {
	var ids []message.ToolUseID
	l := s.shape.lens()
	kept, answered := 0, false
	for u := len(s.conv.units) - 1; u >= boundary; u-- {
		if answered = answered || s.conv.answered(u); !answered || !s.conv.units[u].round {
			continue
		}
		for _, r := range s.resultsOf(l, s.conv.units[u]) {
			switch {
			case l.cleared[r.id] || !policy(&r):
			case kept < keep:
				kept++
			case r.cleared < r.shown:
				ids = append(ids, r.id)
			}
		}
	}
	for i, k := 0, len(ids)-1; i < k; i, k = i+1, k-1 {
		ids[i], ids[k] = ids[k], ids[i]
	}
	return ids
}

// resultsOf returns the results of a round, newest first.
func (s *State) resultsOf(l lens, u unit) []resultAt {
	var out []resultAt
	first := s.conv.items[u.first].Message
	for i := u.first + 1; i < u.end; i++ {
		it := &s.conv.items[i]
		for k := len(it.Message.Content) - 1; k >= 0; k-- {
			r, ok := it.Message.Content[k].(message.ToolResult)
			if !ok {
				continue
			}
			bm := &it.Measure.Blocks[k]
			out = append(out, resultAt{
				id: r.ToolUseID, call: s.conv.call(r.ToolUseID), seq: first.Seq, turn: first.TurnID,
				shown: l.blockTokens(r, bm, it.Message.Seq), cleared: bm.Cleared,
			})
		}
	}
	return out
}

// fetchedAgain returns a test for results that the model asked for a second time, with
// the same tool and the same bytes, in the newest turn after the first was cleared in
// it. Clearing those again would make it fetch for ever.
func (s *State) fetchedAgain() func(*resultAt) bool {
	turn := s.newestTurn()
	since := make(map[string]int64)
	for _, c := range s.shape.Cleared {
		if c.TurnID != turn {
			continue
		}
		key := fetchKey(s.conv.call(c.ID))
		if at, ok := since[key]; !ok || c.HeadSeq < at {
			since[key] = c.HeadSeq
		}
	}
	return func(r *resultAt) bool {
		at, ok := since[fetchKey(r.call)]
		return ok && r.turn == turn && r.seq > at
	}
}

func fetchKey(call message.ToolUse) string { return call.Name + "\x00" + string(call.Input) }
