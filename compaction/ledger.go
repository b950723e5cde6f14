package compaction

import (
	"fmt"
	"slices"
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
// whether it had to be cut; nothing if there is no room for it. The user's own words come
// first: files that came with them get what these leave, or a note stands for them.
func (p *Planner) ledgerEntry(it *Item, limit int) (text string, cut bool) {
	parts := userParts(it)
	fits := func(files string, words string) bool {
		text = parts.entry(words, files)
		return p.counter.Count("\n"+text) <= limit
	}
	if parts.tokens <= limit && fits(parts.wholeFiles(), parts.words) {
		return text, false
	}
	notes := parts.notes()
	if parts.wordTokens <= limit && fits(notes, parts.words) {
		for room := limit - p.counter.Count("\n"+text); len(parts.files) > 0 && room >= minLedgerTokens; room -= max(room/16, 1) {
			if fits(p.shortFiles(parts.files, room), parts.words) {
				return text, true
			}
		}
		fits(notes, parts.words)
		return text, true
	}
	if len(parts.files) > 1 { // many notes would leave the words no room
		notes = fmt.Sprintf("[%d files]", len(parts.files))
	}
	for room := limit - p.counter.Count("\n"+parts.entry("", notes)); room >= minLedgerTokens; room -= max(room/16, 1) {
		if fits(notes, p.shortenOf(parts.words, max(parts.wordTokens, room+1), room)) {
			return text, true
		}
	}
	return "", false
}

// parts are what a user's message consists of.
type parts struct {
	seq    int64
	words  string     // the user's own
	files  []sentFile // texts that came with them
	images int

	tokens, wordTokens int // of words and files, and of words
}

// sentFile is a file that came with a message as text, in its wrapper.
type sentFile struct {
	open, text string
	tokens     int
}

// The wrapper of a file.
const (
	fileOpening = "<file "
	fileClosing = "</file>"
)

// userParts tells a user's own words from the files that came with them.
func userParts(it *Item) *parts {
	out := &parts{seq: it.Message.Seq}
	var words []string
	for i, b := range it.Message.Content {
		switch b := b.(type) {
		case message.Image:
			out.images++
		case message.Text:
			tokens := it.Measure.Blocks[i].Tokens
			out.tokens += tokens
			if f, ok := unwrapFile(b.Text); ok {
				f.tokens = tokens
				out.files = append(out.files, f)
			} else {
				out.wordTokens += tokens
				words = append(words, b.Text)
			}
		case message.Thinking, message.ToolUse, message.ToolResult:
		}
	}
	out.words = strings.Join(words, "\n")
	return out
}

// unwrapFile takes a file out of its wrapper, if a text is one.
func unwrapFile(text string) (sentFile, bool) {
	open, rest, ok := strings.Cut(text, ">\n")
	inner, closed := strings.CutSuffix(strings.TrimRight(rest, "\n"), fileClosing)
	if !ok || !closed || !strings.HasPrefix(open, fileOpening) {
		return sentFile{}, false
	}
	return sentFile{open: open + ">\n", text: foreign(inner)}, true
}

// wrapped is a file with some of its content.
func (f *sentFile) wrapped(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return f.open + text + fileClosing
}

func (c *parts) wholeFiles() string {
	var lines []string
	for i := range c.files {
		lines = append(lines, c.files[i].wrapped(c.files[i].text))
	}
	return strings.Join(lines, "\n")
}

// notes name the files without showing them.
func (c *parts) notes() string {
	var lines []string
	for i := range c.files {
		lines = append(lines, c.files[i].wrapped(fmt.Sprintf("(%d tokens, use history_search)", c.files[i].tokens)))
	}
	return strings.Join(lines, "\n")
}

// shortFiles writes files by head and tail, with room for their content together.
func (p *Planner) shortFiles(files []sentFile, room int) string {
	sizes := make([]int, len(files))
	for i := range files {
		sizes[i] = files[i].tokens
	}
	var lines []string
	for i, most := range equalShares(sizes, room, 0) {
		f := &files[i]
		lines = append(lines, f.wrapped(p.shortenOf(f.text, f.tokens, most)))
	}
	return strings.Join(lines, "\n")
}

// entry writes a message of the ledger.
func (c *parts) entry(words, files string) string {
	var lines []string
	for _, s := range []string{words, files} {
		if s != "" {
			lines = append(lines, s)
		}
	}
	if c.images > 0 {
		lines = append(lines, fmt.Sprintf("[%d images]", c.images))
	}
	return message.Wrap(ledgerTag, strings.Join(lines, "\n"), seqAttr(c.seq))
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
