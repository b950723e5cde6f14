package prompt

import (
	"slices"
	"time"

	"sessiond/llm"
	"sessiond/message"
)

// Caching says how a request is to be marked for a provider whose cache is told where to
// keep ([llm.CacheMark]). Tokens are the provider's, as near as they are known.
type Caching struct {
	Off bool // no marks at all

	// Once: the request is not gone on with, like one for a summary. It reads what the last
	// request wrote, and does not pay for writing what nobody will read.
	Once bool

	// PreambleTokens is the size of the tools and the system prompt.
	PreambleTokens int64

	// Summary is the index of the summary message in the request, and SummaryTokens its
	// size; without a summary they are -1 and 0.
	Summary       int
	SummaryTokens int64

	// MinTokens is [llm.Capabilities.CacheMinTokens]. Where it is unknown nothing counts as
	// too short: a mark that a provider finds too early costs nothing.
	MinTokens int64
}

// LastMark says where the newest message of a request was marked: all that the marks of
// the next request depend on besides the request itself. It is to be kept with the
// conversation from the moment that the provider began to answer, which is when it wrote
// its cache; a request that failed leaves the one before in force. The zero value stands
// for no request.
type LastMark struct {
	Message message.ID `json:"message,omitempty"` // that has the mark; "" also if it has no id
	Blocks  int        `json:"blocks"`            // of the request's messages, up to the marked one
}

// A mark finds what earlier requests wrote at most 20 blocks before it (rule 5.5). When
// more than anchorAfter were added, the place where the last request wrote is marked too.
const anchorAfter = 15

// Mark returns a request that [Build] made with marks for the provider's cache in place of
// those it had, and what is to be kept for the next one:
//
//   - the tools and the system prompt, for an hour;
//   - the end of the summary message, for an hour;
//   - the last block of the newest message, for five minutes;
//   - the end of the last request, for five minutes, if so much was added since that the
//     newest mark would not find it.
//
// The marks are valid for every request (rules 5.2 to 5.4): at most four, each on a block
// that can carry one, in order of place, lifetimes never rising. They do not depend on
// time, so a request that is made again after a restart is marked as it was. req is not
// changed; the result shares its memory.
func Mark(req *llm.Request, c Caching, last LastMark) (*llm.Request, LastMark) {
	out := *req
	out.CacheMarks = nil
	if c.Off {
		return &out, LastMark{}
	}
	m := &markList{reached: made()}
	if preamble := len(req.Tools) > 0 || req.System != ""; preamble && c.PreambleTokens >= c.MinTokens {
		m.marks = append(m.marks, llm.CacheMark{Message: llm.CachePreamble, TTL: llm.CacheLong})
	}
	if at, ok := c.summaryEnd(req.Messages); ok {
		m.add(at, llm.CacheLong)
	}
	anchor, anchored := last.find(req.Messages)
	if c.Once {
		if anchored {
			m.add(anchor, llm.CacheShort)
		}
		out.CacheMarks = m.marks
		return &out, last
	}
	now := LastMark{}
	if end, ok := lastMarkable(req.Messages); ok {
		now = LastMark{Message: req.Messages[end.message].ID, Blocks: blocksThrough(req.Messages, end)}
		if anchored && now.Blocks-last.Blocks > anchorAfter {
			m.add(anchor, llm.CacheShort)
		}
		m.add(end, llm.CacheShort)
	}
	out.CacheMarks = m.marks
	return &out, now
}

// markList collects marks in order of place.
type markList struct {
	marks   []llm.CacheMark
	reached place // of the last one in the messages; before every block if there is none
}

// add marks a block, unless the marks have reached it already.
func (m *markList) add(at place, ttl time.Duration) {
	if !m.reached.before(at) {
		return
	}
	m.reached = at
	m.marks = append(m.marks, llm.CacheMark{Message: at.message, Block: at.block, TTL: ttl})
}

// summaryEnd returns the last block of the summary message, if there is one and the
// request up to its end is long enough to be kept.
func (c Caching) summaryEnd(msgs []message.Message) (place, bool) {
	if c.Summary < 0 || c.Summary >= len(msgs) || c.SummaryTokens <= 0 || c.PreambleTokens+c.SummaryTokens < c.MinTokens {
		return place{}, false
	}
	block := markableIn(msgs[c.Summary].Content)
	return place{c.Summary, block}, block >= 0
}

// find returns the block that the last request's end was marked on, if this request still
// has it there. That is not so after a compaction; a change that leaves the count as it
// was is not seen, and only costs a mark that finds nothing.
func (l LastMark) find(msgs []message.Message) (place, bool) {
	n := l.Blocks
	if n <= 0 {
		return place{}, false
	}
	for i := range msgs {
		content := msgs[i].Content
		if n > len(content) {
			n -= len(content)
			continue
		}
		return place{i, n - 1}, msgs[i].ID == l.Message && markable(content[n-1])
	}
	return place{}, false
}

// lastMarkable returns the last block that can carry a mark.
func lastMarkable(msgs []message.Message) (place, bool) {
	for i := range slices.Backward(msgs) {
		if block := markableIn(msgs[i].Content); block >= 0 {
			return place{i, block}, true
		}
	}
	return place{}, false
}

// markableIn returns the index of the last block that can carry a mark, or -1.
func markableIn(content []message.Block) int {
	for k, b := range slices.Backward(content) {
		if markable(b) {
			return k
		}
	}
	return -1
}

// markable reports whether a block can carry a mark (rule 5.4).
func markable(b message.Block) bool {
	switch b := b.(type) {
	case message.Text:
		return !blank(b.Text)
	case message.Image, message.ToolUse, message.ToolResult:
		return true
	case message.Thinking:
	}
	return false
}

// blocksThrough counts the blocks of messages up to one, that one included.
func blocksThrough(msgs []message.Message, at place) int {
	n := at.block + 1
	for i := range msgs[:at.message] {
		n += len(msgs[i].Content)
	}
	return n
}

func (p place) before(q place) bool {
	return p.message < q.message || p.message == q.message && p.block < q.block
}
