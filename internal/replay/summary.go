package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// summaryTask are words of the instruction that every summary is asked for with.
const summaryTask = "Section 6, the user's own messages, is added by the server; do not write it."

// summaryWords returns how many words a summary may have that a text asks for, 0 if it
// asks for none.
func summaryWords(text string) int {
	at := strings.LastIndex(text, summaryTask)
	if at < 0 {
		return 0
	}
	_, limit, _ := strings.Cut(text[at:], "at most ")
	number, _, found := strings.Cut(limit, " words")
	words, err := strconv.Atoi(number)
	if !found || err != nil {
		return 0
	}
	return words
}

// A summariser is asked for six words for every ten tokens of the cap; the scripted one
// fills four fifths of that.
const (
	tokensPerWord = 10.0 / 6
	filledShare   = 0.8
)

// summary writes notes of about as many tokens as the words allow, always the same, with
// the eight sections that are asked for. They keep the facts, the newest if there are
// too many.
func (s *Script) summary(words int, facts []string) string {
	sections := []struct{ title, text string }{
		{"1. Primary Request and Intent", "The user wants the work done that their own messages describe."},
		{"2. Key Technical Concepts", "Those of the project at hand."},
		{"3. Files and Code Sections", ""},
		{"4. Errors and Fixes", "What failed was tried again until it did not."},
		{"5. Problem Solving", "One thing after the other."},
		{"7. Pending Tasks", "What the newest message asks for."},
		{"8. Current Work", "The newest tool calls and what follows from them."},
		{"9. Optional Next Step", "Go on where the notes end."},
	}
	left := int(float64(words) * tokensPerWord * filledShare)
	for _, sec := range sections {
		left -= s.count("## " + sec.title + "\n" + sec.text + "\n\n")
	}
	sections[2].text = s.files(left, facts)
	var b strings.Builder
	for _, sec := range sections {
		fmt.Fprintf(&b, "## %s\n%s\n\n", sec.title, sec.text)
	}
	return strings.TrimSpace(b.String())
}

// files writes the section that is as long as there is room: facts, and lines without a
// meaning.
func (s *Script) files(room int, facts []string) string {
	var lines []string
	for _, fact := range slices.Backward(facts) {
		n := s.count(fact + "\n")
		if n > room {
			break
		}
		room -= n
		lines = append(lines, fact)
	}
	for i := 1; ; i++ {
		line := fmt.Sprintf("- part%03d/file%d.go was read; what matters of it is known.", i*37%1000, i)
		n := s.count(line + "\n")
		if n > room {
			break
		}
		room -= n
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return "None."
	}
	return strings.Join(lines, "\n")
}
