package compaction

import (
	"sessiond/message"
)

// Measure is what is counted and decided about a message when it is stored, so that
// opening a session counts nothing. It is kept with the message's entry as JSON.
type Measure struct {
	Encoding string         `json:"encoding"`
	Blocks   []BlockMeasure `json:"blocks"` // as many as the message has
}

// BlockMeasure is the measure of one block, in raw tokens.
type BlockMeasure struct {
	// Tokens is what the whole block costs, whatever is shown of it.
	Tokens int `json:"tokens"`
	// Cut is set on a tool result that is over its budget.
	Cut *Cut `json:"cut,omitempty"`
	// Cleared is what a tool result costs once a placeholder stands for it.
	Cleared int `json:"cleared,omitempty"`
}

// Total is what the whole message costs, whatever is shown of it.
func (m Measure) Total() int {
	n := messageTokens
	for _, b := range m.Blocks {
		n += b.Tokens
	}
	return n
}

// WithoutThinking returns the measure of the message once its thinking blocks are taken
// out of it, as a fork does.
func (m Measure) WithoutThinking(content []message.Block) Measure {
	out := Measure{Encoding: m.Encoding, Blocks: make([]BlockMeasure, 0, len(m.Blocks))}
	for i, b := range content {
		if _, ok := b.(message.Thinking); !ok && i < len(m.Blocks) {
			out.Blocks = append(out.Blocks, m.Blocks[i])
		}
	}
	return out
}

// What a message and a block cost besides their text. Providers differ; the calibrated
// ratio makes up for it.
const (
	messageTokens = 4
	callTokens    = 8 // the ids and names that tie a call and its result together
)

// ImageTokens counts a picture by the formula of the provider.
type ImageTokens func(message.Image) int

// Measure counts a message. For the message that holds the results of a tool round,
// calls are the tool_use blocks it answers; they are nil for every other. The budget of
// a single result is applied; see [Planner.MeasureRound] for the round as a whole.
func (p *Planner) Measure(m *message.Message, calls []message.ToolUse, images ImageTokens) Measure {
	out := Measure{Encoding: p.encoding, Blocks: make([]BlockMeasure, len(m.Content))}
	for i, b := range m.Content {
		if r, ok := b.(message.ToolResult); ok {
			out.Blocks[i] = p.measureResult(r, calls, images)
			continue
		}
		out.Blocks[i] = BlockMeasure{Tokens: p.countBlock(b, images)}
	}
	return out
}

func (p *Planner) countBlock(b message.Block, images ImageTokens) int {
	switch b := b.(type) {
	case message.Text:
		return p.counter.Count(b.Text)
	case message.Image:
		return images(b)
	case message.Thinking:
		if b.Text == "" { // only its signature came; what is behind it is as long, if anything
			return p.counter.Count(string(b.Raw))
		}
		return p.counter.Count(b.Text)
	case message.ToolUse:
		return callTokens + p.counter.Count(b.Name) + p.counter.Count(string(b.Input))
	case message.ToolResult:
		n := callTokens + p.counter.Count(message.JoinText(b.Content))
		for _, inner := range b.Content {
			if img, ok := inner.(message.Image); ok {
				n += images(img)
			}
		}
		return n
	}
	return 0
}

func (p *Planner) measureResult(r message.ToolResult, calls []message.ToolUse, images ImageTokens) BlockMeasure {
	bm := BlockMeasure{Tokens: p.countBlock(r, images)}
	bm.Cleared = callTokens + p.counter.Count(placeholder(callOf(calls, r.ToolUseID), bm.Tokens-callTokens))
	if budget := p.cfg.ToolResult.MaxTokens; bm.Tokens-callTokens > budget {
		c := p.cutResult(r, bm.Tokens-callTokens, budget, p.cfg.ToolResult, images)
		bm.Cut = &c
	}
	return bm
}

func callOf(calls []message.ToolUse, id message.ToolUseID) message.ToolUse {
	for _, c := range calls {
		if c.ID == id {
			return c
		}
	}
	return message.ToolUse{ID: id}
}

// cutResult decides what is shown of a result of total tokens within a budget: as many
// of its images as fit into half of it, from the first, and the head and tail of its
// text by their percentages of what is left.
func (p *Planner) cutResult(r message.ToolResult, total, budget int, percent ToolResultConfig, images ImageTokens) Cut {
	all, shown, kept, full := 0, 0, 0, false
	for _, b := range r.Content {
		img, ok := b.(message.Image)
		if !ok {
			continue
		}
		n := images(img)
		all += n
		if full = full || shown+n > budget/2; !full {
			shown += n
			kept++
		}
	}
	text := message.JoinText(r.Content)
	textTotal := total - all
	left := budget - shown
	c := Cut{Head: len(text), Missing: all - shown, Tokens: textTotal}
	if textTotal > left || c.Missing > 0 {
		if textTotal > left {
			c = p.cut(text, textTotal, left, percent.HeadPercent, percent.TailPercent)
			c.Missing += all - shown
		}
		c.Tokens = p.counter.Count(c.render(text))
	}
	c.Images = kept
	c.Tokens += callTokens + shown
	return c
}

// wholly returns percentages in the same proportion that use a budget up: what is scarce
// is shown to the last token.
func (c ToolResultConfig) wholly() ToolResultConfig {
	c.HeadPercent = c.HeadPercent * 100 / (c.HeadPercent + c.TailPercent)
	c.TailPercent = 100 - c.HeadPercent
	return c
}

// minResultTokens is the least a result is cut to; less says nothing any more.
const minResultTokens = 500

// MeasureRound counts the message that holds all results of a tool round and, if they
// do not fit into room raw tokens together, gives each an equal share of it: small ones
// stay whole, none gets less than 500 tokens. It is called once, when the round is
// complete; see [Planner.RoundRoom].
func (p *Planner) MeasureRound(m *message.Message, calls []message.ToolUse, room int, images ImageTokens) Measure {
	out := p.Measure(m, calls, images)
	sizes := make([]int, len(out.Blocks))
	for i, bm := range out.Blocks {
		sizes[i] = bm.shown()
	}
	limits := equalShares(sizes, room, minResultTokens+callTokens)
	for i, b := range m.Content {
		r, ok := b.(message.ToolResult)
		if !ok || limits[i] >= sizes[i] {
			continue
		}
		bm := &out.Blocks[i]
		c := p.cutResult(r, bm.Tokens-callTokens, limits[i]-callTokens, p.cfg.ToolResult.wholly(), images)
		bm.Cut = &c
	}
	return out
}

// shown is what a block costs as the measure shows it.
func (bm *BlockMeasure) shown() int {
	if bm.Cut != nil {
		return bm.Cut.Tokens
	}
	return bm.Tokens
}

// equalShares returns how much of room each size gets: small ones all they need, the
// others the same, none less than floor unless it is smaller itself.
func equalShares(sizes []int, room, floor int) []int {
	limits := make([]int, len(sizes))
	total := 0
	for i, n := range sizes {
		limits[i] = n
		total += n
	}
	if total <= room {
		return limits
	}
	// The share rises as small ones leave the others what they don't need.
	share, left, n := 0, max(room, 0), len(sizes)
	taken := make([]bool, len(sizes))
	for n > 0 {
		share = left / n
		again := false
		for i, size := range sizes {
			if !taken[i] && size <= share {
				taken[i], again = true, true
				left -= size
				n--
			}
		}
		if !again {
			break
		}
	}
	share = max(share, floor)
	for i, size := range sizes {
		limits[i] = min(size, share)
	}
	return limits
}
