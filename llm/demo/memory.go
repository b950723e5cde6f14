package demo

import (
	"encoding/json"
	"strings"
)

// asksForMemory reports whether a request is for bringing a session's memory up to date.
func asksForMemory(text string) bool {
	return strings.Contains(text, `{"operations":[`) && strings.Contains(text, "<memory>")
}

// memoryOp is a change of a memory, in the form the request asks for.
type memoryOp struct {
	Op       string `json:"op"`
	ID       string `json:"id,omitempty"`
	Category string `json:"category,omitempty"`
	Title    string `json:"title,omitempty"`
	Content  string `json:"content,omitempty"`
	Seqs     []int  `json:"seqs,omitempty"`
}

// rememberByRule keeps two entries: what the user asked for first, and what was said
// last.
func rememberByRule(text string) string {
	ops := []memoryOp{}
	messages := readTranscript(text)
	have := knownEntries(text)
	for _, m := range messages {
		if m.role == "user" && m.text != "" && have["context"] == "" {
			ops = append(ops, memoryOp{
				Op: "add", Category: "context", Title: "What the user began with",
				Content: "(noted by rule) The user began with " + quote(m.text, 200), Seqs: []int{m.seq},
			})
			break
		}
	}
	if n := len(messages); n > 0 {
		last := messages[n-1]
		op := memoryOp{
			Op: "add", Category: "progress", Title: "Where the conversation stands",
			Content: "(noted by rule) The " + last.role + " said last: " + quote(last.text, 300), Seqs: []int{last.seq},
		}
		if id := have["progress"]; id != "" {
			op.Op, op.ID = "update", id
		}
		ops = append(ops, op)
	}
	raw, err := json.Marshal(map[string]any{"operations": ops})
	if err != nil { // strings and numbers only
		return `{"operations":[]}`
	}
	return string(raw)
}

// knownEntries returns the id of one entry of each category.
func knownEntries(text string) map[string]string {
	known := make(map[string]string)
	_, text, _ = strings.Cut(text, "<memory>\n")
	text, _, _ = strings.Cut(text, "</memory>")
	for line := range strings.SplitSeq(text, "\n") {
		var e memoryOp
		if json.Unmarshal([]byte(line), &e) == nil && e.ID != "" {
			known[e.Category] = e.ID
		}
	}
	return known
}
