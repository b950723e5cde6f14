package compaction

import (
	_ "embed" // the prompts
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sessiond/message"
)

// The words the model is told that keeps a session's memory.
var (
	//go:embed prompts/extract.txt
	promptExtract string
	//go:embed prompts/extractsystem.txt
	promptExtractSystem string
)

// The bounds of a session's memory as a model keeps it.
const (
	// MaxMemoryEntries is how many entries there may be.
	MaxMemoryEntries = 20
	// maxMemoryTokens is what they may take together, with the headroom's share if that is
	// less.
	maxMemoryTokens = 12_000
	maxTitleRunes   = 120
	maxEntryTokens  = 1_000
)

// MemoryTokens is what a session's memory may take together in raw tokens: 12,000, or 0.4
// of the headroom if that is less.
func MemoryTokens(b Budget, ratio float64) int {
	return min(maxMemoryTokens, rawTokens(b.Headroom*4/10, ratio))
}

// ExtractAhead is how many rounds before a compaction the memory is brought up to date.
const ExtractAhead = 2

// ExtractionDue reports whether a compaction is near: at most two rounds away, or the
// context is half way from the landing to the threshold. Where the memory was brought up
// to date since the last compaction, at a size of the context, that has to have grown by
// 0.4 of the headroom; last is negative where it was not.
func ExtractionDue(roundsUntil, tokens, last int, b Budget) bool {
	if roundsUntil > ExtractAhead && tokens < b.Landing+(b.Threshold-b.Landing)/2 {
		return false
	}
	return last < 0 || tokens >= last+b.Headroom*4/10
}

// ExtractOptions is what an extraction depends on besides the conversation.
type ExtractOptions struct {
	Entries         []MemoryEntry // the memory as it is
	WatermarkSeq    int64         // the last message that was read for them; 0: none
	WindowTokens    int           // the model's, in the provider's tokens; 0 if unknown
	MaxOutputTokens int           // the most an answer may hold; 0 if unknown
	// Recalls are tools whose results tell what is remembered elsewhere, such as what the
	// owner has to remember in all sessions, or was said before. They are not learned from.
	Recalls []string
}

// Extraction is one bringing up to date of a session's memory. It no longer looks at the
// conversation, so that it can be used outside its owner's goroutine.
type Extraction struct {
	Request SummaryRequest
	// ThroughSeq is the last message that the memory covers once the operations are made.
	ThroughSeq int64

	p     *Planner
	known map[string]bool
	seqs  map[int64]bool
}

// MemoryOp is one change of a session's memory.
type MemoryOp struct {
	Op       MemoryOpKind   `json:"op"`
	ID       string         `json:"id,omitempty"` // of the entry that changes
	Category MemoryCategory `json:"category,omitempty"`
	Title    string         `json:"title,omitempty"`
	Content  string         `json:"content,omitempty"`
	Seqs     []int64        `json:"seqs,omitempty"` // of the messages it was learned from
}

// MemoryOpKind says what becomes of an entry.
type MemoryOpKind string

// The operations. What an update leaves empty stays.
const (
	MemoryAdd    MemoryOpKind = "add"
	MemoryUpdate MemoryOpKind = "update"
	MemoryDelete MemoryOpKind = "delete"
)

// StartExtraction prepares an extraction from what the memory does not cover yet: the
// units after the watermark that the model has answered. It returns nil if there are none.
func (p *Planner) StartExtraction(s *State, sit *Situation, o ExtractOptions) *Extraction {
	c := s.conv
	from := c.unitAfter(o.WatermarkSeq)
	to := len(c.units)
	if open := c.openRound(); open >= 0 {
		to = open
	}
	if c.firstItem(from) >= c.firstItem(to) {
		return nil
	}
	x := &Extraction{p: p, known: make(map[string]bool), seqs: make(map[int64]bool)}
	t := &transcript{}
	for i := c.firstItem(from); i < c.firstItem(to); i++ {
		first := len(t.pieces)
		p.flatten(t, c, i)
		t.leaveOut(p, c, i, first, o.Recalls)
		x.seqs[c.items[i].Message.Seq] = true
		x.ThroughSeq = c.items[i].Message.Seq
	}
	t.shortenTools(extractToolTokens)
	ratio := sit.ratio()
	_, b := p.Gauge(s, sit)
	window := o.WindowTokens
	if window <= 0 {
		window = b.Input + b.Output
	}
	output := memoryOutput
	if o.MaxOutputTokens > 0 {
		output = min(output, o.MaxOutputTokens)
	}
	output = max(min(output, window/4), 1)
	task := fill(promptExtract, "entries", strconv.Itoa(MaxMemoryEntries), "words", strconv.Itoa(max(SummaryShare(b, ratio)*6/10, 50))) + "\n\n"
	room := rawTokens(window-output, ratio) - p.counter.Count(promptExtractSystem) - p.counter.Count(task) - 4*messageTokens
	memory := message.Wrap("memory", x.show(o.Entries, min(2*MemoryTokens(b, ratio), room/2))) + "\n\n"
	task += memory
	room -= p.counter.Count(memory)
	x.Request = SummaryRequest{
		System: strings.TrimSpace(promptExtractSystem), MaxOutputTokens: output,
		Prompt: task + message.Wrap("transcript", t.render(p, max(room, minTranscriptTokens))),
	}
	return x
}

// recalledText stands for a result that is left out.
const recalledText = "(left out: it tells what is remembered already, or was said before)"

// leaveOut hides the results of some tools in the pieces of a message, which begin at
// first.
func (t *transcript) leaveOut(p *Planner, c *Conversation, item, first int, tools []string) {
	at := first
	for _, b := range c.items[item].Message.Content {
		r, ok := b.(message.ToolResult)
		if !ok {
			continue
		}
		for t.pieces[at].kind != pieceResult {
			at++
		}
		if slices.Contains(tools, c.call(r.ToolUseID).Name) {
			x := &t.pieces[at]
			x.text, x.whole = recalledText, p.counter.Count(recalledText)
			x.tokens = x.whole
		}
		at++
	}
}

// extractToolTokens is what an extraction is shown of the input and of the result of a
// tool. They are most of a conversation, and what the memory is to keep is what was made
// of them; they themselves stay in the log, and what was written to a file in that. At
// this size an extraction costs half of what a summary does that has nothing to repeat.
const extractToolTokens = 300

// shortenTools shows no input and no result of a tool with more than most tokens.
func (t *transcript) shortenTools(most int) {
	for i := range t.pieces {
		if x := &t.pieces[i]; x.kind == pieceResult || x.kind == pieceCall {
			x.tokens = min(x.tokens, most)
		}
	}
}

// memoryOutput is how much an extraction may write, in the provider's tokens.
const memoryOutput = 4_096

// show writes the memory within limit tokens: entries whole, those first that an
// extraction may change, then by their titles, then by their number. Only what is shown
// whole can be changed.
func (x *Extraction) show(entries []MemoryEntry, limit int) string {
	if len(entries) == 0 {
		return "(empty)"
	}
	own, others := make([]MemoryEntry, 0, len(entries)), []MemoryEntry(nil)
	for _, e := range entries {
		if e.Extracted {
			own = append(own, e)
		} else {
			others = append(others, e)
		}
	}
	var b strings.Builder
	left, hidden := limit-restTokens, 0
	titles := left / 4 // of the limit is theirs
	for _, e := range append(own, others...) {
		op := MemoryOp{ID: e.ID, Category: e.Category, Title: e.Title, Content: e.Content}
		line := entryLine(op)
		n := x.p.counter.Count(line)
		whole := n <= left-titles
		if !whole {
			op.Content = ""
			line = entryLine(op)
			n = x.p.counter.Count(line)
		}
		if n > left {
			hidden++
			continue
		}
		left -= n
		x.known[e.ID] = whole
		b.WriteString(line)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "(%d more)\n", hidden)
	}
	return b.String()
}

// restTokens is set aside for the line that counts the entries which are not shown.
const restTokens = 10

// entryLine is an entry as a line of JSON.
func entryLine(e MemoryOp) string {
	line, err := json.Marshal(e)
	if err != nil { // strings and numbers only
		return ""
	}
	return string(line) + "\n"
}

// errNoOperations: an answer that is not what was asked for. Nothing of it is used.
var errNoOperations = errors.New("the answer holds no list of operations")

// Take reads an answer. What is not usable in it, such as an id that does not exist, is
// left out; an answer that is none is an error.
func (x *Extraction) Take(text string) ([]MemoryOp, error) {
	text = stripScratch(text)
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if start < 0 || end < start {
		return nil, errNoOperations
	}
	var answer struct {
		Operations *[]MemoryOp `json:"operations"`
	}
	if err := json.Unmarshal([]byte(text[start:end+1]), &answer); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoOperations, err)
	}
	if answer.Operations == nil {
		return nil, errNoOperations
	}
	var ops []MemoryOp
	changed := make(map[string]bool)
	for _, op := range *answer.Operations {
		if op, ok := x.usable(op); ok && (op.ID == "" || !changed[op.ID]) {
			changed[op.ID] = true
			ops = append(ops, op)
		}
	}
	return ops, nil
}

// usable returns an operation as it may be made.
func (x *Extraction) usable(op MemoryOp) (MemoryOp, bool) {
	op.Title = oneLine(op.Title, maxTitleRunes)
	op.Content = strings.TrimSpace(x.p.shorten(strings.ToValidUTF8(op.Content, "\uFFFD"), maxEntryTokens))
	op.Seqs = slices.DeleteFunc(slices.Clone(op.Seqs), func(seq int64) bool { return !x.seqs[seq] })
	slices.Sort(op.Seqs)
	op.Seqs = slices.Compact(op.Seqs)
	known := slices.Contains([]MemoryCategory{MemoryDecision, MemoryContext, MemoryProgress, MemoryIssue, MemoryLearning}, op.Category)
	switch op.Op {
	case MemoryAdd:
		op.ID = ""
		return op, known && op.Title != "" && op.Content != ""
	case MemoryUpdate:
		if !known {
			op.Category = ""
		}
		return op, x.known[op.ID] && (op.Title != "" || op.Content != "")
	case MemoryDelete:
		return MemoryOp{Op: MemoryDelete, ID: op.ID}, x.known[op.ID]
	}
	return op, false
}

// LastOf returns that of some messages, by their seqs, which stands last in conversation
// order; 0 if there is none of them.
func (s *State) LastOf(seqs ...int64) int64 {
	last, at := int64(0), -1
	for _, seq := range seqs {
		if i, ok := s.conv.bySeq[seq]; ok && i > at {
			last, at = seq, i
		}
	}
	return last
}

// ClearingLands reports whether clearing alone would bring a conversation at the
// threshold down, so that no summary will be needed.
func (p *Planner) ClearingLands(s *State, sit *Situation) bool {
	_, b := p.Gauge(s, sit)
	return p.pressure(s, sit, b) != nil
}

// MemoryWrites reports whether the memory as it is could write the summary, were the
// conversation compacted now, so that nothing is gained by bringing it up to date first.
func (p *Planner) MemoryWrites(s *State, sit *Situation) bool {
	plan, _ := p.plan(s, sit)
	return plan != nil && plan.choose(sit.Memory) == WriterMemory
}
