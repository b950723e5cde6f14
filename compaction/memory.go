package compaction

import (
	"strings"
)

// Memory is what is known of a session beside its log: entries that were written while
// it went on.
type Memory struct {
	Entries []MemoryEntry // newest first
	// WatermarkSeq is the last message, in conversation order, that the entries cover.
	WatermarkSeq int64
}

// MemoryEntry is an entry of a session's memory.
type MemoryEntry struct {
	ID       string
	Category MemoryCategory
	Title    string
	Content  string
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

// memoryShare is how much of a summary's cap, in percent, entries may take; the rest is
// for what they do not cover and for the earlier notes.
const memoryShare = 75

// MemoryDraft writes a summary from the session's memory: its entries by category,
// newest first as far as their share of the cap goes, a digest of what they do not cover
// yet, the todo list, and what the record before said of all that.
func (p *Planner) MemoryDraft(pl *Plan, m Memory, todos []Todo) *Draft {
	limit := rawTokens(pl.Budget.SummaryCap, pl.ratio)
	out := &Draft{Writer: WriterMemory}
	noted := make(map[int][]string)
	left := limit * memoryShare / 100
	for _, e := range m.Entries {
		text := "### " + oneLine(e.Title, maxArgumentRunes) + "\n" + strings.TrimSpace(e.Content)
		if len(out.MemoryIDs) == 0 {
			text = p.shorten(text, left)
		}
		n := p.counter.Count(text) + 1
		if text == "" || n > left {
			break
		}
		left -= n
		noted[e.Category.section()] = append(noted[e.Category.section()], text)
		out.MemoryIDs = append(out.MemoryIDs, e.ID)
	}
	out.Body = p.trim(joinSections(p.aroundMemory(pl, noted, m.WatermarkSeq, todos)), limit)
	return out
}

// aroundMemory returns the sections of a summary that is made of entries by section, with
// what they do not tell.
func (p *Planner) aroundMemory(pl *Plan, noted map[int][]string, watermark int64, todos []Todo) []section {
	units, _ := pl.uncovered(watermark)
	since := digestOf(pl.s.conv, units)
	whole := digestOf(pl.s.conv, pl.s.conv.units[pl.from:pl.to])
	var old []section
	if r := pl.s.Record(); r != nil {
		old = parseSections(r.Body)
	}
	more := map[int]string{
		sectionRequest:  whole.request(sectionText(old, sectionRequest)),
		sectionConcepts: sectionText(old, sectionConcepts),
		sectionFiles:    joinLines(sectionText(old, sectionFiles), whole.files),
		sectionErrors:   joinLines(sectionText(old, sectionErrors), since.errors),
		sectionProblems: joinLines(sectionText(old, 0), []string{sectionText(old, sectionProblems)}),
		sectionPending:  todoText(todos, sectionText(old, sectionPending)),
		sectionCurrent:  p.shorten(joinLines("", since.answers), rawTokens(pl.Budget.SummaryCap, pl.ratio)/4), // what was current before is not now
	}
	var sections []section
	for n := sectionRequest; n < sectionNext; n++ {
		text := strings.TrimSpace(strings.Join(append(noted[n], more[n]), "\n\n"))
		switch {
		case n == sectionUser:
			continue
		case text == "":
			text = "None."
		}
		sections = append(sections, section{n, text})
	}
	return sections
}
