package replay

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// memoryIDs finds the ids of memories, which are other ones in every run, so that they are
// not counted as what they are: how many tokens such an id has is up to its digits.
type memoryIDs struct{ pattern *regexp.Regexp }

func newMemoryIDs() memoryIDs {
	return memoryIDs{regexp.MustCompile(`"id":"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"`)}
}

// memoryIDCounted is counted for every id.
const memoryIDCounted = `"id":"01234567-89ab-7cde-8f01-23456789abcd"`

// alike returns what a text is counted as: a request to keep the memory, or its answer,
// with all ids alike, and any other text as it is.
func (m memoryIDs) alike(text string) string {
	if strings.HasPrefix(text, operationsBegin) {
		return m.pattern.ReplaceAllLiteralString(text, memoryIDCounted)
	}
	before, rest, found := strings.Cut(text, memoryTag)
	inside, after, closed := strings.Cut(rest, memoryTagEnd)
	if !found || !closed {
		return text
	}
	return before + memoryTag + m.pattern.ReplaceAllLiteralString(inside, memoryIDCounted) + memoryTagEnd + after
}

// What memories stand in.
const (
	memoryTag       = "<memory>\n"
	memoryTagEnd    = "</memory>"
	operationsBegin = `{"operations":[`
)

// memoryNumbers finds the numbers of the messages in a transcript.
type memoryNumbers struct{ pattern *regexp.Regexp }

func newMemoryNumbers() memoryNumbers {
	return memoryNumbers{regexp.MustCompile(`(?m)^\[#([0-9]+) (?:user|assistant)\]$`)}
}

func (n memoryNumbers) in(text string) []int64 {
	var seqs []int64
	for _, found := range n.pattern.FindAllStringSubmatch(text, -1) {
		if seq, err := strconv.ParseInt(found[1], 10, 64); err == nil {
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

// memoryOp is an operation on a session's memory, and an entry as it is told of.
type memoryOp struct {
	Op       string  `json:"op,omitempty"`
	ID       string  `json:"id,omitempty"`
	Category string  `json:"category,omitempty"`
	Title    string  `json:"title,omitempty"`
	Content  string  `json:"content,omitempty"`
	Seqs     []int64 `json:"seqs,omitempty"`
}

// The scripted memory: what an entry takes, if that is not more than is asked for, how many there may be before one goes, and
// what a call adds beside bringing the entry of the progress up to date.
const (
	memoryEntryTokens = 110
	memoryEntriesKept = 8
)

// operations answers a request to keep a session's memory, always the same: the first
// time with what the user wants, a decision and the progress, later with the progress
// brought up to date, one more thing that was found out, and the oldest of these let go
// once there are many.
func (s *Script) operations(prompt string) string {
	memory, transcript := between(prompt, "memory"), between(prompt, "transcript")
	seqs := s.numbers.in(transcript)
	if len(seqs) == 0 {
		return `{"operations":[]}`
	}
	first, last := seqs[0], seqs[len(seqs)-1]
	entries := readMemory(memory)
	tokens := entryTokens(prompt)
	note := func(op, id, category string, from, to int64) memoryOp {
		return memoryOp{
			Op: op, ID: id, Category: category, Title: fmt.Sprintf("The %s as of #%d", category, to),
			Content: s.remark(category, from, to, tokens), Seqs: []int64{from, to},
		}
	}
	var ops []memoryOp
	progress, oldest := newest(entries, "progress"), oldestOf(entries, "learning")
	if progress == "" {
		ops = append(ops, note("add", "", "context", first, first), note("add", "", "decision", first, last), note("add", "", "progress", first, last))
	} else {
		ops = append(ops, note("update", progress, "progress", first, last), note("add", "", "learning", first, last))
	}
	if len(entries) >= memoryEntriesKept && oldest != "" {
		ops = append(ops, memoryOp{Op: "delete", ID: oldest})
	}
	answer, err := json.Marshal(map[string]any{"operations": ops})
	if err != nil { // strings and numbers only
		return `{"operations":[]}`
	}
	return string(answer)
}

// entryTokens is what an entry may take, so that all together keep to the words that are
// asked for, of which ten make about sixteen tokens, and their titles have room.
func entryTokens(prompt string) int {
	_, rest, _ := strings.Cut(prompt, " entries and ")
	number, _, _ := strings.Cut(rest, " words in all")
	words, err := strconv.Atoi(number)
	if err != nil {
		return memoryEntryTokens
	}
	return min(memoryEntryTokens, words*16/10/memoryEntriesKept-memoryTitleTokens)
}

// memoryTitleTokens is what the title of an entry takes, and what it stands in.
const memoryTitleTokens = 20

// remark is what an entry says: so many tokens without a meaning, but for how it begins.
func (s *Script) remark(category string, from, to int64, tokens int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The %s from #%d to #%d, as the assistant told it.", category, from, to)
	left := tokens - s.count(b.String())
	for i := from; ; i++ {
		line := fmt.Sprintf(" In part%03d/file%d.go the handler of case %d was changed.", i*37%1000, i, to)
		if left -= s.count(line); left < 0 {
			return b.String()
		}
		b.WriteString(line)
	}
}

// between returns what stands in a wrapper.
func between(text, tag string) string {
	_, rest, _ := strings.Cut(text, "<"+tag+">\n")
	inside, _, _ := strings.Cut(rest, "</"+tag+">")
	return inside
}

// readMemory reads the entries that a request tells of, newest first.
func readMemory(text string) []memoryOp {
	var entries []memoryOp
	for line := range strings.Lines(text) {
		var e memoryOp
		if json.Unmarshal([]byte(line), &e) == nil && e.ID != "" {
			entries = append(entries, e)
		}
	}
	return entries
}

// newest returns the id of the newest entry of a category, "" if there is none.
func newest(entries []memoryOp, category string) string {
	for _, e := range entries {
		if e.Category == category {
			return e.ID
		}
	}
	return ""
}

func oldestOf(entries []memoryOp, category string) string {
	id := ""
	for _, e := range entries {
		if e.Category == category {
			id = e.ID
		}
	}
	return id
}
