package compaction

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sessiond/message"
)

// Ledger is section 6 of a summary: the user's own words, copied from the log and never
// written by a model.
type Ledger struct {
	Text     string `json:"text"`
	Verbatim int    `json:"verbatim"` // messages in it as they are
	Cut      int    `json:"cut"`      // messages in it by head and tail
	Counted  int    `json:"counted"`  // messages it only counts
}

// ledgerTag wraps each message of a ledger.
const ledgerTag = "user_message"

const (
	// ledgerRestTokens is set aside for the line that counts the rest.
	ledgerRestTokens = 40
	// minLedgerTokens is the least of a message that is worth showing.
	minLedgerTokens = 40
)

// ledger composes the ledger of the messages users wrote before an item, the pinned one
// excepted, within limit raw tokens: the first one and the newest three come first, then
// newest first, none over a third of the limit. They stand in conversation order.
func (p *Planner) ledger(c *Conversation, before int, pinnedSeq int64, limit int) Ledger {
	var users []int
	for _, i := range c.users {
		if i < before && c.items[i].Message.Seq != pinnedSeq {
			users = append(users, i)
		}
	}
	if len(users) == 0 {
		return Ledger{}
	}
	var out Ledger
	shown := make(map[int]string)
	third, left := limit/3, limit-ledgerRestTokens
	for _, i := range ledgerOrder(users) {
		text, cut := p.ledgerEntry(&c.items[i], min(third, left))
		if text == "" {
			break
		}
		left -= p.counter.Count("\n" + text)
		shown[i] = text
		if cut {
			out.Cut++
		} else {
			out.Verbatim++
		}
	}
	out.Counted = len(users) - len(shown)
	out.Text = ledgerText(c, users, shown)
	return out
}

// ledgerOrder returns the messages by the right they have to a place: the first one,
// which says what all is about, then newest first, so that the newest three come next.
func ledgerOrder(users []int) []int {
	order := make([]int, 0, len(users))
	order = append(order, users[0])
	for _, i := range slices.Backward(users[1:]) {
		order = append(order, i)
	}
	return order
}

// ledgerEntry returns a message as the ledger shows it in at most limit tokens, and
// whether it had to be cut; nothing if there is no room for it.
func (p *Planner) ledgerEntry(it *Item, limit int) (text string, cut bool) {
	words, images := userText(it.Message)
	tokens := 0
	for i, b := range it.Message.Content {
		if _, ok := b.(message.Text); ok {
			tokens += it.Measure.Blocks[i].Tokens
		}
	}
	whole := func(words string) string {
		if images > 0 {
			words = strings.TrimPrefix(fmt.Sprintf("%s\n[%d images]", words, images), "\n")
		}
		return message.Wrap(ledgerTag, words, message.Attr{Name: "seq", Value: strconv.FormatInt(it.Message.Seq, 10)})
	}
	if tokens <= limit {
		if text = whole(words); p.counter.Count("\n"+text) <= limit {
			return text, false
		}
	}
	for room := limit - p.counter.Count("\n"+whole("")); room >= minLedgerTokens; room -= max(room/16, 1) {
		if text = whole(p.shortenOf(words, max(tokens, room+1), room)); p.counter.Count("\n"+text) <= limit {
			return text, true
		}
	}
	return "", false
}

// userText returns the words of a user's message and how many images came with them.
func userText(m *message.Message) (words string, images int) {
	for _, b := range m.Content {
		if _, ok := b.(message.Image); ok {
			images++
		}
	}
	return m.PlainText(), images
}

// ledgerText writes the shown messages in conversation order and counts the rest.
func ledgerText(c *Conversation, users []int, shown map[int]string) string {
	var b strings.Builder
	var from, to int64
	rest := 0
	for _, i := range users {
		if text, ok := shown[i]; ok {
			b.WriteString(text + "\n")
			continue
		}
		seq := c.items[i].Message.Seq
		if rest == 0 {
			from, to = seq, seq
		}
		from, to = min(from, seq), max(to, seq)
		rest++
	}
	if rest > 0 {
		fmt.Fprintf(&b, "%d more, #%d–#%d, use history_search\n", rest, from, to)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
