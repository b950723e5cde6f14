package demo

import (
	"regexp"
	"strconv"
	"strings"

	"sessiond/llm"
)

// taskOf is what a request for a summary or a memory asks: its text without what it gives
// as data, which may look like such a request itself.
func taskOf(text string) string {
	for _, tag := range []string{"transcript", "notes"} {
		before, _, after, found := between(text, tag)
		if found {
			text = before + after
		}
	}
	return text
}

// between takes a text apart at the first opening and the last closing of a tag.
func between(text, tag string) (before, inside, after string, found bool) {
	before, rest, found := strings.Cut(text, "<"+tag+">\n")
	end := strings.LastIndex(rest, "</"+tag+">")
	if !found || end < 0 {
		return text, "", "", false
	}
	return before, rest[:end], rest[end+len("</"+tag+">"):], true
}

// asksForNotes reports whether a task is a summary in a form of the user's own: it gives
// their instruction in place of headings.
func asksForNotes(task string) bool {
	return strings.Contains(task, "Write the notes that will stand in for the messages") && strings.Contains(task, "<instruction>\n")
}

// notesByRule says in a few sentences what a rule can find in the conversation. Asked to
// write notes again that were too long, it keeps their beginning.
func notesByRule(text string, req *llm.Request) string {
	task := taskOf(text)
	if _, long, _, found := between(text, "notes"); found {
		return firstWords(long, mostWords(task))
	}
	f := gatherFacts(req)
	_, asked, _, _ := between(task, "instruction")
	notes := []string{"(demo notes, made by rule) They were to follow " + quote(asked, 80) + ", which a rule can't."}
	if n := len(f.requests); n > 0 {
		notes = append(notes, "The user began with "+quote(f.requests[0], 200)+" and last asked "+quote(f.requests[n-1], 200)+".")
	}
	for _, name := range []string{"Key Technical Concepts", "Files and Code Sections", "Current Work"} {
		notes = append(notes, f.section(name))
	}
	return firstWords(strings.Join(notes, " "), mostWords(task))
}

// faultOfNotes is the failure that the user's instruction asks for, if it is one of the
// call: notes have no tool calls to get wrong.
func faultOfNotes(task string) *fault {
	_, asked, _, _ := between(task, "instruction")
	f := readFault(asked)
	if f == nil || f.kind == "" || f.call {
		return nil
	}
	return f
}

var atMostWords = regexp.MustCompile(`\bat most (\d+) words\b`)

// mostWords is how long an answer may be, or 0. The last that is said counts: an
// instruction of the user's stands before it.
func mostWords(task string) int {
	all := atMostWords.FindAllStringSubmatch(task, -1)
	if len(all) == 0 {
		return 0
	}
	n, err := strconv.Atoi(all[len(all)-1][1])
	if err != nil { // more digits than an int holds
		return 0
	}
	return n
}

// firstWords returns at most so many words of a text on one line; 0 is all.
func firstWords(text string, most int) string {
	words := strings.Fields(text)
	if most > 0 && len(words) > most {
		return strings.Join(words[:most], " ") + "…"
	}
	return strings.Join(words, " ")
}
