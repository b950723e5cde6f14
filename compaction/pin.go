package compaction

import (
	"sessiond/message"
)

// pin decides how the newest user message is shown once it has left the view: whole, or
// within limit raw tokens by head and tail. It returns the cuts and what the message
// then costs.
func (p *Planner) pin(it *Item, limit int) (cuts []PinnedCut, tokens int) {
	tokens = messageTokens
	for _, bm := range it.Measure.Blocks {
		tokens += bm.Tokens
	}
	if tokens <= limit {
		return nil, tokens
	}
	left := limit - messageTokens
	images := 0
	sizes := make([]int, len(it.Message.Content))
	for i, b := range it.Message.Content {
		n := it.Measure.Blocks[i].Tokens
		if _, ok := b.(message.Image); !ok {
			sizes[i] = n
			continue
		}
		if images+n > left/2 {
			cuts = append(cuts, PinnedCut{Block: i})
			continue
		}
		images += n
	}
	tokens = messageTokens + images
	limits := equalShares(sizes, left-images, 0)
	for i, b := range it.Message.Content {
		t, ok := b.(message.Text)
		if !ok {
			continue
		}
		if limits[i] >= sizes[i] {
			tokens += sizes[i]
			continue
		}
		cut := p.cut(t.Text, sizes[i], limits[i], 60, 40)
		if cut.Tokens > limits[i] {
			cuts = append(cuts, PinnedCut{Block: i})
			continue
		}
		tokens += cut.Tokens
		cuts = append(cuts, PinnedCut{Block: i, Cut: &cut})
	}
	return cuts, tokens
}

// pinnedCuts returns the cuts in force for a record's pinned request.
func (s *State) pinnedCuts(r *Record) []PinnedCut {
	if s.shape.Pinned != nil {
		return s.shape.Pinned
	}
	return r.PinnedCuts
}

// pinnedItem returns the pinned request of a record, if it has one.
func (s *State) pinnedItem(r *Record) (*Item, bool) {
	if r == nil || r.PinnedSeq == 0 {
		return nil, false
	}
	i, ok := s.conv.bySeq[r.PinnedSeq]
	if !ok {
		return nil, false
	}
	return &s.conv.items[i], true
}

// pinnedMessage returns the pinned request as it is shown, its injections left out.
func (s *State) pinnedMessage(r *Record) (message.Message, bool) {
	it, ok := s.pinnedItem(r)
	if !ok {
		return message.Message{}, false
	}
	m := *it.Message
	m.Content = nil
	cuts := s.pinnedCuts(r)
	for i, b := range it.Message.Content {
		cut, found := pinnedCut(cuts, i)
		switch {
		case found && cut == nil:
			continue
		case found:
			if t, isText := b.(message.Text); isText {
				b = message.Text{Text: cut.render(t.Text)}
			}
		}
		if t, isText := b.(message.Text); isText && blank(t.Text) {
			continue
		}
		m.Content = append(m.Content, b)
	}
	if len(m.Content) == 0 {
		m.Content = []message.Block{message.Text{Text: emptyMessage}}
	}
	return m, true
}

func pinnedCut(cuts []PinnedCut, block int) (*Cut, bool) {
	for _, c := range cuts {
		if c.Block == block {
			return c.Cut, true
		}
	}
	return nil, false
}

// pinnedTokens is what the pinned request costs as it is shown.
func (s *State) pinnedTokens(r *Record) int {
	it, ok := s.pinnedItem(r)
	if !ok {
		return 0
	}
	n := messageTokens
	cuts := s.pinnedCuts(r)
	for i, bm := range it.Measure.Blocks {
		cut, found := pinnedCut(cuts, i)
		switch {
		case !found:
			n += bm.Tokens
		case cut != nil:
			n += cut.Tokens
		}
	}
	return n
}
