package compaction

import (
	"fmt"
	"slices"
	"strings"

	"sessiond/message"
)

// pieceKind says what a piece of a transcript is, in the order in which pieces give way
// when the whole is too long.
type pieceKind int

const (
	pieceResult pieceKind = iota
	pieceThinking
	piecePrevious // the notes that the new ones replace
	pieceSaid
	pieceCall // the input of a tool
)

// piece is a part of a transcript that can be shortened by itself.
type piece struct {
	kind   pieceKind
	open   string // what stands before the text, a new message's heading included
	text   string
	whole  int // tokens of the text
	tokens int // of the text as it will be shown
}

// transcript is a stretch of the log as text, in pieces.
type transcript struct {
	pieces []piece
	frame  int // tokens of all openings
}

// transcript flattens what a plan takes out of the view, from the log, whatever is
// cleared in the view, together with the notes it replaces.
func (p *Planner) transcript(pl *Plan) *transcript {
	t := &transcript{}
	if r := pl.s.Record(); r != nil && r.Body != "" {
		n := p.counter.Count(r.Body)
		t.add(p, piece{kind: piecePrevious, open: earlierNotes + "\n", text: r.Body, whole: n, tokens: n})
	}
	c := pl.s.conv
	for i := c.firstItem(pl.from); i < c.firstItem(pl.to); i++ {
		p.flatten(t, c, i)
	}
	return t
}

// What pieces of a transcript begin with, after the heading of a message that is the
// first's: these are the server's, and in no piece does a line begin with them.
const (
	headOpening     = "[#"
	earlierNotes    = "[earlier notes]"
	thinkingOpening = "(thinking) "
	callOpening     = "(calls "
	resultOpening   = "(result of "
	errorOpening    = "(error) "
)

// spoken returns a text as it may stand in a transcript: none of its lines can be taken
// for the beginning of a message or of one of its parts.
func spoken(text string) string {
	return quoteLines(text, func(line string) bool {
		line = strings.ToLower(strings.TrimSpace(line))
		for _, opening := range []string{headOpening, earlierNotes, thinkingOpening, callOpening, resultOpening, errorOpening} {
			if strings.HasPrefix(line, strings.TrimSpace(opening)) {
				return true
			}
		}
		return false
	})
}

// add adds a piece. Where lines had to be marked it is counted anew.
func (t *transcript) add(p *Planner, x piece) {
	if text := spoken(x.text); text != x.text {
		n := p.counter.Count(text)
		x.text, x.tokens = text, x.tokens+max(n-x.whole, 0)
		x.whole = n
	}
	t.frame += p.counter.Count(x.open) + 1
	t.pieces = append(t.pieces, x)
}

// flatten adds a message. A result is shown within the budget of a tool result, which
// is all the model has ever seen of it.
func (p *Planner) flatten(t *transcript, c *Conversation, item int) {
	it := &c.items[item]
	head := fmt.Sprintf(headOpening+"%d %s]\n", it.Message.Seq, it.Message.Role)
	for i, b := range it.Message.Content {
		tokens := it.Measure.Blocks[i].Tokens
		x := piece{kind: pieceSaid, open: head, tokens: tokens}
		switch b := b.(type) {
		case message.Text:
			x.text = b.Text
		case message.Image:
			x.text, x.tokens = "(an image, "+b.MimeType+")", 8
		case message.Thinking:
			if blank(b.Text) {
				continue
			}
			x.kind, x.text = pieceThinking, b.Text
			x.open += thinkingOpening
		case message.ToolUse:
			x.kind = pieceCall
			x.open += callOpening + oneLine(b.Name, maxArgumentRunes) + ") "
			x.text = string(b.Input)
		case message.ToolResult:
			x.kind = pieceResult
			x.open += resultOpening + oneLine(c.call(b.ToolUseID).Name, maxArgumentRunes) + ") "
			if b.IsError {
				x.open += errorOpening
			}
			x.text = message.JoinText(b.Content)
		}
		if x.whole = x.tokens; x.kind == pieceResult {
			x.tokens = min(x.tokens, p.cfg.ToolResult.MaxTokens)
		}
		t.add(p, x)
		head = ""
	}
}

// tokens is the size of the transcript as it stands.
func (t *transcript) tokens() int {
	n := t.frame
	for _, x := range t.pieces {
		n += x.tokens
	}
	return n
}

// The least of a piece that is left while others can still give way.
const (
	minTranscriptResult   = 200
	minTranscriptPrevious = 500
)

// fit shortens pieces until the transcript has at most limit tokens: results first, then
// thinking, then the earlier notes, then everything.
func (t *transcript) fit(limit int) {
	for _, kind := range []pieceKind{pieceResult, pieceThinking, piecePrevious} {
		floor := 0
		switch kind {
		case pieceResult:
			floor = minTranscriptResult
		case piecePrevious:
			floor = minTranscriptPrevious
		case pieceThinking, pieceSaid, pieceCall:
		}
		t.shrink(limit, floor, func(x *piece) bool { return x.kind == kind })
	}
	t.shrink(limit, 0, func(*piece) bool { return true })
}

// shrink gives the pieces that are chosen equal shares of what the others leave.
func (t *transcript) shrink(limit, floor int, chosen func(*piece) bool) {
	total := t.tokens()
	if total <= limit {
		return
	}
	var sizes, at []int
	rest := total
	for i := range t.pieces {
		if chosen(&t.pieces[i]) {
			sizes, at = append(sizes, t.pieces[i].tokens), append(at, i)
			rest -= t.pieces[i].tokens
		}
	}
	for k, n := range equalShares(sizes, limit-rest, floor) {
		t.pieces[at[k]].tokens = n
	}
}

// render writes the transcript within limit tokens. The last resort, when even the
// openings are too long, is to leave out the middle.
func (t *transcript) render(p *Planner, limit int) string {
	t = &transcript{pieces: slices.Clone(t.pieces), frame: t.frame}
	t.fit(limit)
	var b strings.Builder
	for _, x := range t.pieces {
		b.WriteString(x.open)
		text := p.shortenOf(x.text, x.whole, x.tokens)
		if len(text) < len(x.text) { // what was in the middle of a line may begin one now
			text = spoken(text)
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	return p.shorten(b.String(), limit)
}
