package compaction

import (
	"strconv"
	"strings"

	"sessiond/message"
)

// Draft is what a writer wrote for a plan.
type Draft struct {
	Writer   Writer
	Sections []Section
	Body     string // the sections as text
	// MemoryIDs are the memory entries it was written from.
	MemoryIDs []string
	// Instructed: an instruction of the user's own decided its form.
	Instructed bool
}

// CallOptions is what a summary call depends on besides its plan.
type CallOptions struct {
	Instruction     string // the user's own, or empty
	WindowTokens    int    // the summariser's, in the provider's tokens; 0 if unknown
	MaxOutputTokens int    // the most an answer may hold; 0 if unknown
	// Chat describes the last chat request, if it was made by the same model and could
	// be repeated with an instruction at its end; nil otherwise.
	Chat *ChatRequest
}

// ChatRequest says what repeating the last chat request would cost.
type ChatRequest struct {
	Thinking     bool
	CachedTokens int     // what of it a cache is expected to hold, in the provider's tokens
	CachePrice   float64 // of a cached token, for one of full price
}

// SummaryRequest is what a summariser is asked. Thinking is off where the model allows
// it, and there are no tools to run.
type SummaryRequest struct {
	// Chat: Prompt goes as a user message at the end of the last chat request and the
	// results that came since, everything else the same. Otherwise the request is System
	// and Prompt alone.
	Chat            bool
	System          string
	Prompt          string
	MaxOutputTokens int
}

// maxSummaryRequests bounds the requests of one summary call.
const maxSummaryRequests = 3

// Call is a summary call in progress. It is a value: [Call.Take] returns what it becomes
// and changes nothing. It no longer looks at the conversation, so that it can be used
// outside its owner's goroutine.
type Call struct {
	p           *Planner
	transcript  *transcript
	instruction string
	language    string
	kept        string // where the part that stays begins, in words
	chat        bool
	capTokens   int // raw, of the summary
	limit       int // raw, of the transcript
	output      int
	ratio       float64

	requests int
	tooLong  string // accepted notes over the cap; set while shorter ones are asked for
	tried    bool   // flattened or made smaller after an answer that was no summary
}

// StartCall prepares the summary call of a plan.
func (p *Planner) StartCall(pl *Plan, o CallOptions) Call {
	c := Call{
		p: p, transcript: p.transcript(pl), instruction: o.Instruction, ratio: pl.ratio,
		language: pl.s.conv.language(pl.s.conv.firstItem(pl.to)), kept: pl.keptFrom(),
		capTokens: rawTokens(pl.Budget.SummaryCap, pl.ratio),
	}
	window := o.WindowTokens
	if window <= 0 {
		window = pl.Budget.Input + pl.Budget.Output
	}
	c.output = 2*pl.Budget.SummaryCap + outputSlackTokens
	if o.MaxOutputTokens > 0 {
		c.output = min(c.output, o.MaxOutputTokens)
	}
	c.output = max(min(c.output, window/4), 1)
	prompt := p.counter.Count(promptSystem) + p.counter.Count(c.prompt(" ")) + messageTokens
	c.limit = max(rawTokens(window-c.output, pl.ratio)-prompt, minTranscriptTokens)
	c.chat = c.repeats(pl, o.Chat, window, prompt)
	return c
}

const (
	// outputSlackTokens lets a summariser end its sentence.
	outputSlackTokens = 512
	// minTranscriptTokens is the least that is sent, however small the window.
	minTranscriptTokens = 256
)

// repeats decides whether the last chat request is repeated: it must be without
// thinking, fit, show all that leaves, and not cost more than the flat text.
func (c *Call) repeats(pl *Plan, chat *ChatRequest, window, prompt int) bool {
	if chat == nil || chat.Thinking || pl.hidesResults() {
		return false
	}
	whole := pl.Before + calibrated(prompt, pl.ratio)
	if whole+c.output > window {
		return false
	}
	cached := min(max(chat.CachedTokens, 0), whole)
	flat := calibrated(min(c.transcript.tokens(), c.limit)+prompt, pl.ratio)
	return float64(whole-cached)+float64(cached)*chat.CachePrice <= float64(flat)
}

// hidesResults reports whether the view shows less than the log of what leaves.
func (pl *Plan) hidesResults() bool {
	c := pl.s.conv
	leaves := func(at int, ok bool) bool { return ok && at >= c.firstItem(pl.from) && at < c.firstItem(pl.to) }
	for _, cl := range pl.s.shape.Cleared {
		at, ok := c.calls[cl.ID]
		if leaves(at, ok) {
			return true
		}
	}
	return false
}

// keptFrom says in words where the part that stays begins.
func (pl *Plan) keptFrom() string {
	c := pl.s.conv
	at := c.firstItem(pl.to)
	if at >= len(c.items) {
		return ""
	}
	m := c.items[at].Message
	if text := oneLine(m.PlainText(), maxArgumentRunes); text != "" {
		return "the one of the " + string(m.Role) + " that begins with " + strconv.Quote(text)
	}
	if calls := c.uses[at]; len(calls) > 0 {
		return strings.TrimSpace("the assistant's call of " + calls[0].Name + " " + mainArgument(calls[0].Input))
	}
	return "the last one of the " + string(message.RoleUser)
}

// Request returns what to ask next.
func (c Call) Request() SummaryRequest {
	r := SummaryRequest{MaxOutputTokens: c.output, System: strings.TrimSpace(promptSystem)}
	switch {
	case c.tooLong != "":
		words := fill(promptShorter, "words", strconv.Itoa(c.words()))
		r.Prompt = words + "\n\n" + message.Wrap("notes", c.tooLong) + "\n\n" + c.prompt("")
	case c.chat:
		r.Chat, r.System = true, ""
		kept := ""
		if c.kept != "" {
			kept = fill(promptKept, "kept", c.kept) + " "
		}
		r.Prompt = fill(promptAppended, "kept", kept) + "\n\n" + c.prompt("")
	default:
		r.Prompt = c.prompt(c.transcript.render(c.p, c.limit))
	}
	return r
}

// prompt is the task, after a transcript if there is one.
func (c Call) prompt(transcript string) string {
	t := task(c.instruction, c.language, c.words())
	if transcript == "" {
		return t
	}
	return strings.TrimSpace(promptTranscript) + "\n\n" + message.Wrap("transcript", transcript) + "\n\n" + t
}

// words is how long the notes may be; most models keep to words better than to tokens.
func (c Call) words() int { return max(c.capTokens*6/10, 50) }

// Take takes the reply to the last request. Exactly one of the results is set, or none:
// then the call goes on with another request.
func (c Call) Take(r Reply) (next Call, draft *Draft, failure string) {
	c.requests++
	body, class := accept(r, c.instruction != "")
	if class == "" {
		return c.accepted(body)
	}
	if c.tooLong != "" { // the long notes are still good
		return c, c.draft(c.tooLong), ""
	}
	if c.requests >= maxSummaryRequests {
		return c, nil, class
	}
	switch {
	case class == ClassOverflow && c.chat:
		c.chat = false
	case class == ClassOverflow:
		c.limit = max(min(c.limit, c.transcript.tokens())/2, minTranscriptTokens)
	case class == ClassToolCall && c.chat:
		c.chat = false
	case class == ClassCutOff && !c.tried:
		c.chat, c.tried = false, true
		c.limit = max(min(c.limit, c.transcript.tokens())/2, minTranscriptTokens)
	default:
		return c, nil, class
	}
	return c, nil, ""
}

func (c Call) accepted(body string) (Call, *Draft, string) {
	if c.p.counter.Count(body) <= c.capTokens {
		return c, c.draft(body), ""
	}
	if c.tooLong == "" && c.requests < maxSummaryRequests {
		c.tooLong = body
		return c, nil, ""
	}
	return c, c.draft(body), ""
}

// draft takes accepted notes apart, and trims them if they are over the cap. Notes in a
// form of the user's own stay in one piece.
func (c Call) draft(body string) *Draft {
	sections := parseSections(body)
	if c.instruction != "" && !inForm(sections) {
		sections = []Section{{Text: body}}
	}
	return c.p.draft(&Draft{Writer: WriterModel, Sections: withoutLedger(sections), Instructed: c.instruction != ""}, c.capTokens)
}

// draft completes a draft from its sections, trimmed to limit tokens.
func (p *Planner) draft(d *Draft, limit int) *Draft {
	d.Body = joinSections(d.Sections)
	if p.counter.Count(d.Body) > limit {
		d.Sections = p.trim(d.Sections, limit)
		d.Body = joinSections(d.Sections)
	}
	return d
}
