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

// section is a part of a summary. Number 0 is what stands before the first heading.
type section struct {
	n    int
	text string // without the heading, white space around it trimmed
}

// parseSections splits a summary at its headings. Their numbers have to rise, so that a
// numbered list inside a section is not taken for headings.
func parseSections(body string) []section {
	sections := []section{{}}
	var lines []string
	fenced := false
	flush := func() {
		sections[len(sections)-1].text = strings.TrimSpace(strings.Join(lines, "\n"))
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
		if n <= sections[len(sections)-1].n {
			lines = append(lines, line)
			continue
		}
		flush()
		sections = append(sections, section{n: n})
		if rest != "" {
			lines = append(lines, rest)
		}
	}
	flush()
	if sections[0].text == "" {
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

// joinSections writes sections with their headings.
func joinSections(sections []section) string {
	var b strings.Builder
	for _, s := range sections {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		if s.n > 0 {
			fmt.Fprintf(&b, "## %d. %s\n", s.n, sectionTitle(s.n))
		}
		b.WriteString(s.text)
	}
	return b.String()
}

// sectionText returns the text of a section, or "".
func sectionText(sections []section, n int) string {
	if i := slices.IndexFunc(sections, func(s section) bool { return s.n == n }); i >= 0 {
		return sections[i].text
	}
	return ""
}

// withLedger puts the ledger in its place in a summary: as section 6, or at the end of
// one that has no sections. What a writer put there gives way.
func withLedger(body, ledger string) string {
	if ledger == "" {
		ledger = "None."
	}
	var before, after []section
	for _, s := range parseSections(body) {
		switch {
		case s.n == sectionUser:
		case s.n < sectionUser:
			before = append(before, s)
		default:
			after = append(after, s)
		}
	}
	before = append(before, section{n: sectionUser, text: ledger})
	return joinSections(append(before, after...))
}

// withoutLedger returns a summary without section 6.
func withoutLedger(body string) string {
	return joinSections(slices.DeleteFunc(parseSections(body), func(s section) bool { return s.n == sectionUser }))
}

// trim returns a summary of at most limit tokens: sections give way one after the other,
// first those that can be looked up again, last the request, the tasks and the work at
// hand. None goes whole while another has more than its floor.
func (p *Planner) trim(body string, limit int) string {
	if p.counter.Count(body) <= limit {
		return body
	}
	sections := parseSections(body)
	order := []int{sectionFiles, sectionProblems, sectionErrors, sectionConcepts, sectionNext, 0, sectionRequest, sectionCurrent, sectionPending}
	for _, floor := range []int{limit / 12, 0} {
		for _, n := range order {
			i := slices.IndexFunc(sections, func(s section) bool { return s.n == n })
			if i < 0 {
				continue
			}
			over := p.counter.Count(joinSections(sections)) - limit
			if over <= 0 {
				return joinSections(sections)
			}
			have := p.counter.Count(sections[i].text)
			sections[i].text = p.shorten(sections[i].text, max(have-over-1, floor))
		}
		if text := joinSections(sections); p.counter.Count(text) <= limit {
			return text
		}
	}
	return p.shorten(joinSections(sections), limit)
}
