package compaction

import (
	"slices"

	"sessiond/message"
)

// Shape is what was decided, once and for good, about how messages are shown. It changes
// only by a stored entry. A Shape is a value: no method changes its receiver's lists.
type Shape struct {
	// Cleared are the tool results that a placeholder stands for, oldest first.
	Cleared []Cleared `json:"cleared,omitempty"`
	// Cuts are decisions that came after a result was stored and replace its own.
	Cuts []ResultCut `json:"cuts,omitempty"`
	// Pinned replaces the cuts of the record's pinned request, once it had to shrink.
	Pinned []PinnedCut `json:"pinned,omitempty"`
	// ThinkingFrom is the first seq whose thinking is shown.
	ThinkingFrom int64 `json:"thinking_from,omitempty"`
}

// Cleared is a cleared tool result.
type Cleared struct {
	ID message.ToolUseID `json:"id"`
	// HeadSeq is the newest message's seq at that moment, and TurnID its turn: what the
	// model fetches again after that, in that turn, stays.
	HeadSeq int64          `json:"head_seq"`
	TurnID  message.TurnID `json:"turn_id"`
}

// ResultCut is how a tool result is shown.
type ResultCut struct {
	ID  message.ToolUseID `json:"id"`
	Cut Cut               `json:"cut"`
}

// PinnedCut is how a block of the pinned request is shown. Without a cut the block is
// left out.
type PinnedCut struct {
	Block int  `json:"block"`
	Cut   *Cut `json:"cut,omitempty"`
}

// with returns the shape after a clearing.
func (s Shape) with(c *Clearing) Shape {
	s.Cleared = slices.Concat(s.Cleared, c.Cleared)
	s.Cuts = mergeCuts(s.Cuts, c.Cuts)
	if c.Pinned != nil {
		s.Pinned = c.Pinned
	}
	s.ThinkingFrom = max(s.ThinkingFrom, c.ThinkingFrom)
	return s
}

// mergeCuts returns the cuts with newer ones in the place of those they replace.
func mergeCuts(old, newer []ResultCut) []ResultCut {
	if len(newer) == 0 {
		return old
	}
	var out []ResultCut
	for _, c := range old {
		if !slices.ContainsFunc(newer, func(n ResultCut) bool { return n.ID == c.ID }) {
			out = append(out, c)
		}
	}
	return append(out, newer...)
}

// from returns the part of the shape that still decides anything once the units before
// one have left: what is shown of later ones, and what was cleared in the newest turn.
func (s Shape) from(c *Conversation, boundary int, turn message.TurnID) Shape {
	item := c.firstItem(boundary)
	stays := func(id message.ToolUseID) bool { at, ok := c.calls[id]; return ok && at >= item }
	var kept Shape
	for _, cl := range s.Cleared {
		if stays(cl.ID) || cl.TurnID == turn {
			kept.Cleared = append(kept.Cleared, cl)
		}
	}
	for _, cut := range s.Cuts {
		if stays(cut.ID) {
			kept.Cuts = append(kept.Cuts, cut)
		}
	}
	kept.ThinkingFrom = s.ThinkingFrom
	return kept
}

// lens is a shape prepared for looking at messages through it.
type lens struct {
	cleared      map[message.ToolUseID]bool
	cuts         map[message.ToolUseID]Cut
	thinkingFrom int64
}

func (s Shape) lens() lens {
	l := lens{thinkingFrom: s.ThinkingFrom}
	if len(s.Cleared) > 0 {
		l.cleared = make(map[message.ToolUseID]bool, len(s.Cleared))
		for _, c := range s.Cleared {
			l.cleared[c.ID] = true
		}
	}
	if len(s.Cuts) > 0 {
		l.cuts = make(map[message.ToolUseID]Cut, len(s.Cuts))
		for _, c := range s.Cuts {
			l.cuts[c.ID] = c.Cut
		}
	}
	return l
}

// tokens is what a message costs as it is shown, injections aside.
func (l lens) tokens(it *Item) int {
	n := messageTokens
	for i, b := range it.Message.Content {
		n += l.blockTokens(b, &it.Measure.Blocks[i], it.Message.Seq)
	}
	return n
}

func (l lens) blockTokens(b message.Block, bm *BlockMeasure, seq int64) int {
	switch b := b.(type) {
	case message.Thinking:
		if seq < l.thinkingFrom {
			return 0
		}
	case message.ToolResult:
		if l.cleared[b.ToolUseID] {
			return bm.Cleared
		}
		if cut, ok := l.cuts[b.ToolUseID]; ok {
			return cut.Tokens
		}
		return bm.shown()
	case message.Text, message.Image, message.ToolUse:
	}
	return bm.Tokens
}

// unitTokens is what a unit costs as it is shown, injections aside.
func (l lens) unitTokens(c *Conversation, u unit) int {
	n := 0
	for i := u.first; i < u.end; i++ {
		n += l.tokens(&c.items[i])
	}
	return n
}
