package compaction

import (
	"fmt"
	"slices"
	"strings"
)

// The sections of a summary, by number from 1.
const (
	sectionRequest  = 1
	sectionConcepts = 2
	sectionFiles    = 3
	sectionErrors   = 4
	sectionProblems = 5
	sectionUser     = 6 // composed by the server
	sectionPending  = 7
	sectionCurrent  = 8
	sectionNext     = 9
)

// sectionTitle returns the title of a section.
func sectionTitle(n int) string {
	return [...]string{
		"", "Primary Request and Intent", "Key Technical Concepts", "Files and Code Sections", "Errors and Fixes",
		"Problem Solving", "All User Messages", "Pending Tasks", "Current Work", "Optional Next Step",
	}[n]
}

// Section is a part of a summary. Number 0 is what stands before the first heading. A
// record keeps its sections, so that what the server put together is never taken apart
// again by its looks.
type Section struct {
	N int `json:"n"`
	// Noted is what the session's memory says in it. In the next summary the memory as it
	// is then takes its place.
	Noted string `json:"noted,omitempty"`
	// Text is the rest, without the heading, white space around it trimmed.
	Text string `json:"text,omitempty"`
}

// parseSections splits what a model wrote at its headings. Their numbers have to rise, so
// that a numbered list inside a section is not taken for headings.
func parseSections(body string) []Section {
	sections := []Section{{}}
	var lines []string
	fenced := false
	flush := func() {
		sections[len(sections)-1].Text = strings.TrimSpace(strings.Join(lines, "\n"))
		lines = nil
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		n, rest := 0, ""
		if !fenced {
			n, rest = heading(line)
		}
		if n <= sections[len(sections)-1].N {
			lines = append(lines, line)
			continue
		}
		flush()
		sections = append(sections, Section{N: n})
		if rest != "" {
			lines = append(lines, rest)
		}
	}
	flush()
	if sections[0].Text == "" {
		sections = sections[1:]
	}
	return sections
}

// heading returns the number of the section a line begins, 0 if it begins none, and
// what follows the title on the line. A line is a heading if it has the number and the
// title, or if it is marked as one and has the number: titles may be translated.
func heading(line string) (n int, rest string) {
	text := strings.TrimSpace(line)
	bare := strings.TrimLeft(text, "#* \t")
	marked := strings.HasPrefix(text, "#") || strings.HasPrefix(text, "**")
	if bare == "" || bare[0] < '1' || bare[0] > '9' {
		return 0, ""
	}
	n = int(bare[0] - '0')
	after := strings.TrimLeft(bare[1:], ".):： \t*")
	if len(after) == len(bare[1:]) { // "12" or "3x" is no section's number
		return 0, ""
	}
	if title := sectionTitle(n); len(after) >= len(title) && strings.EqualFold(after[:len(title)], title) {
		return n, strings.TrimSpace(strings.Trim(after[len(title):], "#*:： \t"))
	}
	if marked {
		return n, ""
	}
	return 0, ""
}

// nothing is the text of a section that has none.
const nothing = "None."

// joinSections writes sections with their headings. Only section 6 has messages of the
// ledger.
func joinSections(sections []Section) string {
	var b strings.Builder
	for _, s := range sections {
		text := s.whole()
		if s.N == 0 && text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		if s.N > 0 {
			fmt.Fprintf(&b, "## %d. %s\n", s.N, sectionTitle(s.N))
		}
		if text == "" {
			text = nothing
		}
		if s.N != sectionUser {
			text = withoutTag(text, ledgerTag)
		}
		b.WriteString(text)
	}
	return b.String()
}

// whole is all that stands below the heading.
func (s *Section) whole() string {
	if s.Noted == "" || s.Text == "" {
		return s.Noted + s.Text
	}
	return s.Noted + "\n\n" + s.Text
}

// sectionOf returns a section; an empty one if there is none with the number.
func sectionOf(sections []Section, n int) Section {
	if i := slices.IndexFunc(sections, func(s Section) bool { return s.N == n }); i >= 0 {
		return sections[i]
	}
	return Section{N: n}
}

// toldBefore returns the text of a section that is worth to be told again.
func toldBefore(sections []Section, n int) string {
	if text := sectionOf(sections, n).Text; text != nothing {
		return text
	}
	return ""
}

// inForm reports whether a model wrote the sections that are asked of it: each that a
// summary can't do without has a text.
func inForm(sections []Section) bool {
	for _, n := range []int{sectionRequest, sectionPending, sectionCurrent} {
		if sectionOf(sections, n).Text == "" {
			return false
		}
	}
	return true
}

// withLedger puts the ledger in its place among the sections: as section 6, or at the end
// of notes that have no sections. What a writer put there gives way.
func withLedger(sections []Section, ledger string) []Section {
	sections = withoutLedger(sections)
	at := slices.IndexFunc(sections, func(s Section) bool { return s.N > sectionUser })
	if at < 0 {
		at = len(sections)
	}
	return slices.Insert(sections, at, Section{N: sectionUser, Text: ledger})
}

// withoutLedger returns a copy of sections without section 6.
func withoutLedger(sections []Section) []Section {
	return slices.DeleteFunc(slices.Clone(sections), func(s Section) bool { return s.N == sectionUser })
}

// trim returns sections of at most limit tokens together: they give way one after the
// other, first those that can be looked up again, last the request, the tasks and the
// work at hand, and none goes whole while another has more than its floor. What memory
// notes gives way after all else.
func (p *Planner) trim(sections []Section, limit int) []Section {
	sections = slices.Clone(sections)
	text := func(s *Section) *string { return &s.Text }
	noted := func(s *Section) *string { return &s.Noted }
	for _, floor := range []int{limit / 12, 0} {
		if p.shortenSections(sections, limit, floor, text) {
			return sections
		}
	}
	if p.shortenSections(sections, limit, 0, noted) {
		return sections
	}
	return []Section{{Text: p.shorten(joinSections(sections), limit)}}
}

// shortenSections shortens a part of each section, to no less than floor tokens, until
// all have at most limit tokens together. It reports whether they have.
func (p *Planner) shortenSections(sections []Section, limit, floor int, part func(*Section) *string) bool {
	order := []int{sectionFiles, sectionProblems, sectionErrors, sectionConcepts, sectionNext, 0, sectionRequest, sectionCurrent, sectionPending}
	over := p.counter.Count(joinSections(sections)) - limit
	for _, n := range order {
		i := slices.IndexFunc(sections, func(s Section) bool { return s.N == n })
		if i < 0 || over <= 0 {
			continue
		}
		text := part(&sections[i])
		*text = p.shorten(*text, max(p.counter.Count(*text)-over-1, floor))
		over = p.counter.Count(joinSections(sections)) - limit
	}
	return over <= 0
}
