package compaction

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sessiond/message"
)

// Item is a stored message of a conversation with its measure. The message's tool
// results hold their content whole. Neither may be changed once it is appended.
type Item struct {
	Message *message.Message
	Measure Measure
}

// Conversation is a log's messages in conversation order, grouped into units. Messages
// that wait for their turn are not in it. It only grows; appending costs what the new
// message costs, whatever came before.
//
// It is not safe for concurrent use while it grows. What a [Plan] or a [View] took from
// it stays valid.
type Conversation struct {
	items  []Item
	uses   [][]call // of each message, its calls
	units  []unit
	bySeq  map[int64]int             // seq of a message → its index
	byID   map[message.ID]int        // id of a message → its index
	calls  map[message.ToolUseID]int // id of a call → index of the message that has it
	users  []int                     // indices of the messages users wrote
	maxSeq int64
	// lastAnswer is when the newest assistant message was made.
	lastAnswer time.Time
}

// unit is what is never split: a tool round, or a single message.
type unit struct {
	first, end int  // items [first, end)
	round      bool // an assistant message with calls; complete once end-first is 2
}

// call is a tool call and the file it names, if its input has one in the usual place.
type call struct {
	message.ToolUse
	path string
}

func callsOf(m *message.Message) []call {
	var calls []call
	for _, b := range m.Content {
		if use, ok := b.(message.ToolUse); ok {
			calls = append(calls, call{use, pathOf(use.Input)})
		}
	}
	return calls
}

func newConversation() *Conversation {
	return &Conversation{
		bySeq: make(map[int64]int), byID: make(map[message.ID]int), calls: make(map[message.ToolUseID]int),
	}
}

// Len is the number of messages.
func (c *Conversation) Len() int { return len(c.items) }

// Message returns the i-th message, in conversation order; it must not be changed.
func (c *Conversation) Message(i int) *message.Message { return c.items[i].Message }

// HasCall reports whether the conversation has a tool call with an id.
func (c *Conversation) HasCall(id message.ToolUseID) bool {
	_, ok := c.calls[id]
	return ok
}

// Result finds the whole result of a tool call.
func (c *Conversation) Result(id message.ToolUseID) (message.ToolResult, bool) {
	i, ok := c.calls[id]
	if !ok || i+1 >= len(c.items) {
		return message.ToolResult{}, false
	}
	for _, b := range c.items[i+1].Message.Content {
		if r, ok := b.(message.ToolResult); ok && r.ToolUseID == id {
			return r, true
		}
	}
	return message.ToolResult{}, false
}

func (c *Conversation) append(it Item) {
	m := it.Message
	i := len(c.items)
	c.items = append(c.items, it)
	c.bySeq[m.Seq] = i
	c.byID[m.ID] = i
	c.maxSeq = max(c.maxSeq, m.Seq)
	uses := callsOf(m)
	c.uses = append(c.uses, uses)
	for _, use := range uses {
		c.calls[use.ID] = i
	}
	if m.Role == message.RoleAssistant {
		c.lastAnswer = m.CreatedAt
	}
	if n := len(c.units); n > 0 && c.units[n-1].round && c.units[n-1].end == i && c.answers(c.units[n-1], m) {
		c.units[n-1].end++
		return
	}
	if userWrote(m) {
		c.users = append(c.users, i)
	}
	c.units = append(c.units, unit{first: i, end: i + 1, round: len(uses) > 0})
}

// answers reports whether m holds the results of a round that has none yet.
func (c *Conversation) answers(u unit, m *message.Message) bool {
	return u.end-u.first == 1 && hasResults(m)
}

func hasResults(m *message.Message) bool {
	return slices.ContainsFunc(m.Content, func(b message.Block) bool {
		_, ok := b.(message.ToolResult)
		return ok
	})
}

// userWrote reports whether a person wrote the message: no tool result is one.
func userWrote(m *message.Message) bool { return m.Role == message.RoleUser && !hasResults(m) }

// unitAfter returns the index of the unit that follows the message with a seq; 0 if
// there is no such message.
func (c *Conversation) unitAfter(seq int64) int {
	i, ok := c.bySeq[seq]
	if !ok {
		return 0
	}
	u := c.unitOf(i)
	return u + 1
}

// unitOf returns the unit that a message belongs to.
func (c *Conversation) unitOf(item int) int {
	i, found := slices.BinarySearchFunc(c.units, item, func(u unit, at int) int { return cmp.Compare(u.first, at) })
	if !found {
		i--
	}
	return i
}

// openRound returns the unit whose results the model has not answered: the last one, if
// it is a tool round; else -1.
func (c *Conversation) openRound() int {
	if n := len(c.units); n > 0 && c.units[n-1].round {
		return n - 1
	}
	return -1
}

// answered reports whether the model has seen a unit's results: an assistant message
// follows. A turn that was stopped can leave a round that it never saw.
func (c *Conversation) answered(u int) bool {
	for n := u + 1; n < len(c.units); n++ {
		if c.items[c.units[n].first].Message.Role == message.RoleAssistant {
			return true
		}
	}
	return false
}

// turnStart returns the first unit of the newest turn.
func (c *Conversation) turnStart() int {
	n := len(c.units)
	if n == 0 {
		return 0
	}
	turn := c.items[c.units[n-1].first].Message.TurnID
	for n > 0 && c.items[c.units[n-1].first].Message.TurnID == turn {
		n--
	}
	return n
}

// texts counts the text messages of a unit: those with a text block that is not blank.
func (c *Conversation) texts(u unit) int {
	n := 0
	for i := u.first; i < u.end; i++ {
		if slices.ContainsFunc(c.items[i].Message.Content, func(b message.Block) bool {
			t, ok := b.(message.Text)
			return ok && strings.TrimSpace(t.Text) != ""
		}) {
			n++
		}
	}
	return n
}

// firstItem returns the index of a unit's first message, or the number of messages for
// the place after the last unit.
func (c *Conversation) firstItem(u int) int {
	if u < len(c.units) {
		return c.units[u].first
	}
	return len(c.items)
}

// call returns a call by its id; one with nothing but the id if there is none.
func (c *Conversation) call(id message.ToolUseID) message.ToolUse {
	if i, ok := c.calls[id]; ok {
		for _, use := range c.uses[i] {
			if use.ID == id {
				return use.ToolUse
			}
		}
	}
	return message.ToolUse{ID: id}
}

// measured is what the block of a message that has a call's id, a call or a result, was
// counted when it was stored.
func (c *Conversation) measured(item int, id message.ToolUseID) int {
	it := &c.items[item]
	for i, b := range it.Message.Content {
		switch b := b.(type) {
		case message.ToolUse:
			if b.ID == id {
				return it.Measure.Blocks[i].Tokens
			}
		case message.ToolResult:
			if b.ToolUseID == id {
				return it.Measure.Blocks[i].Tokens
			}
		case message.Text, message.Image, message.Thinking:
		}
	}
	return 0
}
