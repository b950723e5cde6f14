package compaction

import (
	"slices"
	"strings"

	"sessiond/message"
)

// Memory is what is known of a session beside its log: entries that were written while
// it went on.
type Memory struct {
	Entries []MemoryEntry // newest first
	// WatermarkSeq is the last message, in conversation order, that was read for the
	// entries which an extraction wrote.
	WatermarkSeq int64
	// LostSeq is the last message, in conversation order, that an entry was learned from
	// which an extraction wrote and which is gone, or says something else now: up to it
	// the entries can't stand for the log. 0: none.
	LostSeq int64
}

// MemoryEntry is an entry of a session's memory.
type MemoryEntry struct {
	ID       string
	Category MemoryCategory
	Title    string
	Content  string
	// Extracted: an extraction wrote it, from what was said. Only such entries stand for
	// messages; what a client or the model wrote down tells of whatever they wanted.
	Extracted bool
	// NewestSeq is the last entry of the log that it was learned from.
	NewestSeq int64
}

// MemoryCategory says what an entry is about.
type MemoryCategory string

// The categories of a session's memory.
const (
	MemoryDecision MemoryCategory = "decision"
	MemoryContext  MemoryCategory = "context"
	MemoryProgress MemoryCategory = "progress"
	MemoryIssue    MemoryCategory = "issue"
	MemoryLearning MemoryCategory = "learning"
)

// section is where a summary tells of entries of a category.
func (c MemoryCategory) section() int {
	switch c {
	case MemoryContext:
		return sectionRequest
	case MemoryIssue:
		return sectionErrors
	case MemoryProgress:
		return sectionCurrent
	case MemoryDecision:
		return sectionProblems
	case MemoryLearning:
	}
	return sectionConcepts
}

// SummaryTells reports whether the summary in force was written from an entry of the
// memory, so that the view tells of it without an attachment.
func (s *State) SummaryTells(id string) bool {
	r := s.Record()
	return r != nil && slices.Contains(r.MemoryIDs, id)
}

// memoryShare is how much of a summary's cap, in percent, entries and headings may take;
// the rest is for what they do not cover and for the earlier notes.
const memoryShare = 75

// memoryTag wraps each entry in a summary.
const memoryTag = "memory"

// note writes an entry as a summary shows it.
func (e *MemoryEntry) note() string {
	return message.Wrap(memoryTag, foreign(strings.TrimSpace(e.Content)), message.Attr{Name: "title", Value: oneLine(e.Title, maxArgumentRunes)})
}

// noteIn adds an entry to the sections of a summary.
func (e *MemoryEntry) noteIn(sections []Section) { noteIn(sections, e.Category.section(), e.note()) }

func noteIn(sections []Section, n int, text string) {
	if i := slices.IndexFunc(sections, func(s Section) bool { return s.N == n }); i >= 0 && text != "" {
		sections[i].Noted = strings.TrimPrefix(sections[i].Noted+"\n"+text, "\n")
	}
}

// told returns the unit after the last one that a model wrote notes of, with the seq of
// its last message. These notes are carried along as they are, so the memory has to tell
// only of what follows.
func (pl *Plan) told() (unit int, seq int64) {
	for _, r := range slices.Backward(pl.s.records) {
		if r.Writer == WriterModel {
			return pl.s.conv.unitAfter(r.ThroughSeq), r.ThroughSeq
		}
	}
	return 0, 0
}

// entries parts a memory in those entries that a summary written from it can't do
// without, which are all that stand for messages no model has written notes of, and the
// others.
func (pl *Plan) entries(m Memory) (needed, others []MemoryEntry) {
	_, seq := pl.told()
	for _, e := range m.Entries {
		if e.Extracted && (seq == 0 || !pl.s.HasLeft(e.NewestSeq, seq)) {
			needed = append(needed, e)
		} else {
			others = append(others, e)
		}
	}
	return needed, others
}

// fits reports whether a summary has room for entries, and beside them for what a digest
// has to tell.
func (pl *Plan) fits(m Memory, entries []MemoryEntry) bool {
	sections := emptySections()
	for i := range entries {
		entries[i].noteIn(sections)
	}
	if pl.p.counter.Count(joinSections(sections)) > SummaryShare(pl.Budget, pl.ratio) {
		return false
	}
	limit := rawTokens(pl.Budget.SummaryCap, pl.ratio)
	noteIn(sections, sectionCurrent, pl.p.untold(pl, m, limit))
	return pl.p.counter.Count(joinSections(sections)) <= limit
}

// untold is what the assistant said that nobody else tells of.
func (p *Planner) untold(pl *Plan, m Memory, limit int) string {
	units, _ := pl.uncovered(m)
	return p.answers(digestOf(pl.s.conv, units).answers, limit*(100-memoryShare)/100)
}

// SummaryShare is what of a session's memory a summary has room for, in raw tokens.
func SummaryShare(b Budget, ratio float64) int {
	return rawTokens(b.SummaryCap, ratio) * memoryShare / 100
}

// MemoryDraft writes a summary from the session's memory: the entries it can't do
// without, by category; a digest of what they do not cover yet; the todo list; what the
// records before said of their own; and other entries, newest first, as far as there is
// room. What a summary before was told by the memory is left to the memory.
func (p *Planner) MemoryDraft(pl *Plan, m Memory, todos []Todo) *Draft {
	limit := rawTokens(pl.Budget.SummaryCap, pl.ratio)
	out := &Draft{Writer: WriterMemory, Sections: p.aroundMemory(pl, m, todos)}
	needed, others := pl.entries(m)
	untold := p.untold(pl, m, limit)
	left := SummaryShare(pl.Budget, pl.ratio) - p.counter.Count(joinSections(emptySections()))
	add := func(entries []MemoryEntry) {
		for i := range entries {
			n := p.counter.Count(entries[i].note()) + 1
			if n > left {
				return
			}
			left -= n
			entries[i].noteIn(out.Sections)
			out.MemoryIDs = append(out.MemoryIDs, entries[i].ID)
		}
	}
	if pl.fits(m, needed) {
		left = limit // counted one by one they may seem to be too many
	}
	add(needed)
	left = SummaryShare(pl.Budget, pl.ratio) - p.counter.Count(joinSections(notedOnly(out.Sections)))
	left = min(left, limit-p.counter.Count(joinSections(out.Sections))-p.counter.Count(untold)-1)
	add(others)
	noteIn(out.Sections, sectionCurrent, untold)
	return p.draft(out, limit)
}

// notedOnly returns sections without what stands in them beside the memory.
func notedOnly(sections []Section) []Section {
	out := slices.Clone(sections)
	for i := range out {
		out[i].Text = ""
	}
	return out
}

// emptySections are the sections that the server fills in: all but the ledger, and the
// next step, of which nobody knows without a model.
func emptySections() []Section {
	var out []Section
	for n := sectionRequest; n < sectionNext; n++ {
		if n != sectionUser {
			out = append(out, Section{N: n})
		}
	}
	return out
}

// aroundMemory returns what a summary tells beside the entries of a memory.
func (p *Planner) aroundMemory(pl *Plan, m Memory, todos []Todo) []Section {
	limit := rawTokens(pl.Budget.SummaryCap, pl.ratio)
	units, _ := pl.uncovered(m)
	since := digestOf(pl.s.conv, units)
	leaves := digestOf(pl.s.conv, pl.s.conv.units[pl.from:pl.to])
	current := ""                // what was current before is not now
	if len(since.answers) == 0 { // what was going on is told in any case
		current = p.answers(leaves.last(maxDigestAnswers), limit/4)
	}
	old := pl.s.Record().sections()
	text := map[int]string{
		sectionRequest:  p.request(leaves, toldBefore(old, sectionRequest), limit),
		sectionConcepts: toldBefore(old, sectionConcepts),
		sectionFiles:    joinFiles(toldBefore(old, sectionFiles), leaves.files),
		sectionErrors:   joinLines(toldBefore(old, sectionErrors), since.errors),
		sectionProblems: joinLines(toldBefore(old, 0), []string{toldBefore(old, sectionProblems)}),
		sectionPending:  todoText(todos, toldBefore(old, sectionPending)),
		sectionCurrent:  current,
	}
	out := emptySections()
	for i := range out {
		out[i].Text = strings.TrimSpace(text[out[i].N])
	}
	return out
}
