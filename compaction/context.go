package compaction

import "sessiond/message"

// Overhead is what every request holds beside the view, in raw tokens.
type Overhead struct {
	System int
	Tools  int
	// Attachments are the current versions, in the order in which they are shown.
	Attachments []Attachment
}

// Context is what the next request would hold if it were sent now, in raw tokens and,
// where a name says so, in the provider's.
type Context struct {
	// Overhead is F: system prompt, tool schemas and the current attachments.
	Overhead int
	Summary  int // the summary message, its attachments aside
	Pinned   int
	Messages int // the units from the boundary on, as they are shown, thinking included
	Thinking int // what of Messages is thinking
	Outdated int // attachments in the view that newer versions have replaced
	Open     int // what of Messages is the open round

	openThinking int // what of Open is thinking
	ratio        float64
}

// Raw is the size of the request in raw tokens.
func (c Context) Raw() int { return c.Overhead + c.Summary + c.Pinned + c.Messages + c.Outdated }

// Tokens is the size of the request in the provider's tokens: the one number for
// trigger, cut, before and after, and gauge.
func (c Context) Tokens() int { return calibrated(c.Raw(), c.ratio) }

// OverheadTokens is F in the provider's tokens.
func (c Context) OverheadTokens() int { return calibrated(c.Overhead, c.ratio) }

// Judged is what a compaction is judged by: the request without its open round and
// pinned request, in the provider's tokens.
func (c Context) Judged() int { return calibrated(c.Raw()-c.Open-c.Pinned, c.ratio) }

// Context measures the next request. It counts nothing: it adds up what is stored.
func (s *State) Context(o Overhead, ratio float64) Context {
	c := Context{ratio: ratio, Overhead: o.System + o.Tools}
	boundary := s.boundary()
	if r := s.Record(); r != nil {
		c.Summary = r.TextTokens
		c.Pinned = s.pinnedTokens(r)
		for _, a := range r.Attachments {
			c.Outdated += a.Tokens
		}
	}
	s.eachInjection(boundary, func(_ int, in *Injection) { c.Outdated += in.Tokens })
	shown := s.shown(boundary)
	for i := range o.Attachments {
		n, inView := s.attachedTokens(shown, &o.Attachments[i])
		c.Overhead += n
		if inView {
			c.Outdated -= n
		}
	}
	l := s.shape.lens()
	open := s.conv.openRound()
	for u := boundary; u < len(s.conv.units); u++ {
		n := l.unitTokens(s.conv, s.conv.units[u])
		c.Messages += n
		if u == open {
			c.Open = n
		}
	}
	c.Thinking = s.thinking(boundary)
	if open >= boundary {
		c.openThinking = s.thinking(open)
	}
	return c
}

// thinking counts the thinking that the units from one on show.
func (s *State) thinking(boundary int) int {
	n := 0
	for i := s.conv.firstItem(boundary); i < len(s.conv.items); i++ {
		it := &s.conv.items[i]
		if it.Message.Seq < s.shape.ThinkingFrom {
			continue
		}
		for k, b := range it.Message.Content {
			if _, ok := b.(message.Thinking); ok {
				n += it.Measure.Blocks[k].Tokens
			}
		}
	}
	return n
}
