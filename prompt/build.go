package prompt

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"sessiond/llm"
	"sessiond/message"
)

// Repair says what was wrong with a request, and so was changed.
type Repair struct {
	Rule  string // the number of the providers' rule, like 1.10
	Where string // in the request as it was given, like messages[3].content[1]
	Count int    // how often, at that place
}

// Build returns req as every provider accepts it, and what had to be changed for that,
// in the order it was found. Cache marks move with the blocks they stand on.
func Build(req llm.Request) (*llm.Request, []Repair) { return build(req, nil) }

func build(req llm.Request, memo *Memo) (*llm.Request, []Repair) {
	b := &builder{memo: memo}
	if req.System != "" && blank(req.System) {
		b.repaired("1.8", "system")
		req.System = ""
	}
	b.readMessages(req.Messages)
	b.pairCalls()
	b.closeEnds(req.Resume)
	b.limitImages(&req)
	tools := b.checkTools(req.Tools)
	if len(b.repairs) == 0 {
		return &req, nil
	}
	req.Tools = tools
	req.CacheMarks = b.moveMarks(req.CacheMarks)
	req.Messages = b.messages()
	return &req, b.repairs
}

// Check returns what [Build] would repair, nothing for a valid request.
func Check(req *llm.Request) []Repair {
	_, repairs := Build(*req)
	return repairs
}

// builder holds a request in the making.
type builder struct {
	memo    *Memo // may be nil
	drafts  []*draft
	repairs []Repair
}

// draft is a message in the making.
type draft struct {
	given   *message.Message // nil if it is made here
	role    message.Role
	content []block
	changed bool
}

// block is a block and where it was given.
type block struct {
	message.Block
	at place
}

// place is the position of a block in the request as it was given; made is that of a
// block made here.
type place struct{ message, block int }

func made() place { return place{-1, -1} }

func (p place) String() string { return fmt.Sprintf("messages[%d].content[%d]", p.message, p.block) }

func messageAt(i int) string { return fmt.Sprintf("messages[%d]", i) }

// repaired counts one repair.
func (b *builder) repaired(rule, where string) {
	for i := range b.repairs {
		if r := &b.repairs[i]; r.Rule == rule && r.Where == where {
			r.Count++
			return
		}
	}
	b.repairs = append(b.repairs, Repair{Rule: rule, Where: where, Count: 1})
}

// The words of messages that are made here.
const (
	emptyMessage = "(empty message)"
	noOutput     = "(no output)"
	noResult     = "No result: the call was not completed."
	earlier      = "(earlier messages are not shown)"
	goOn         = "(continue)"
)

// closeEnds lets a conversation begin with the user, and end with the user unless an
// answer is to be resumed (rules 1.4, 1.6, 1.9, 1.28).
func (b *builder) closeEnds(resume bool) {
	say := func(text string) *draft {
		return &draft{role: message.RoleUser, changed: true, content: []block{{message.Text{Text: text}, made()}}}
	}
	if len(b.drafts) == 0 {
		b.repaired("1.4", "messages")
		b.drafts = append(b.drafts, say(emptyMessage))
		return
	}
	if first := b.drafts[0]; first.role == message.RoleAssistant {
		b.repaired("1.6", messageAt(first.content[0].at.message))
		b.drafts = slices.Insert(b.drafts, 0, say(earlier))
	}
	if !resume && b.drafts[len(b.drafts)-1].role == message.RoleAssistant {
		b.repaired("1.9", "messages")
		b.drafts = append(b.drafts, say(goOn))
	}
}

// messages returns the drafts as messages; those that did not change are the given ones.
func (b *builder) messages() []message.Message {
	out := make([]message.Message, len(b.drafts))
	for i, d := range b.drafts {
		if d.given != nil {
			out[i] = *d.given
		}
		if !d.changed {
			continue
		}
		out[i].Role = d.role
		out[i].Content = make([]message.Block, len(d.content))
		for k := range d.content {
			out[i].Content[k] = d.content[k].Block
		}
	}
	return out
}

// moveMarks lets cache marks follow their blocks. A mark whose block is gone moves back
// to the block before it; marks that meet are one.
func (b *builder) moveMarks(marks []llm.CacheMark) []llm.CacheMark {
	now := make(map[place]place)
	for i, d := range b.drafts {
		for k := range d.content {
			now[d.content[k].at] = place{i, k}
		}
	}
	var out []llm.CacheMark
	last := place{llm.CachePreamble, 0}
	for _, m := range marks {
		if m.Message != llm.CachePreamble {
			at, ok := nearest(now, place{m.Message, m.Block})
			if !ok || at.message < last.message || at.message == last.message && at.block <= last.block {
				continue
			}
			last = at
			m.Message, m.Block = at.message, at.block
		}
		out = append(out, m)
	}
	return out
}

// nearest returns where a given block is now, or the last one before it that is left.
func nearest(now map[place]place, at place) (place, bool) {
	best, found := place{}, false
	var bestGiven place
	for given, is := range now {
		if given.message < 0 || given.message > at.message || given.message == at.message && given.block > at.block {
			continue
		}
		if !found || given.message > bestGiven.message || given.message == bestGiven.message && given.block > bestGiven.block {
			best, bestGiven, found = is, given, true
		}
	}
	return best, found
}

// blank reports whether text has nothing but white space, in the widest sense that a
// provider may have of it.
func blank(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }) == ""
}
