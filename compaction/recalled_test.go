package compaction

import (
	"strings"
	"testing"

	"sessiond/message"
)

// What a search returned is remembered elsewhere: an extraction does not learn it, whatever
// else the round holds.
func TestExtractionLeavesOutWhatWasRecalled(t *testing.T) {
	d := newDesk(t)
	d.user(words("asked", 900))
	uses := []message.ToolUse{d.use("read", `{"path":"a.go"}`), d.use("memory_search", `{"query":"tea"}`), d.use("read", `{"path":"b.go"}`)}
	d.assistant(message.Thinking{}, message.Text{Text: "I look."}, uses[0], uses[1], uses[2])
	d.answer(uses, "package a", "the owner's SECRET", "package b")
	d.says(words("answered", 900))
	for _, tools := range [][]string{nil, {"memory_search"}} {
		x := d.p.StartExtraction(d.s, d.situation(), ExtractOptions{WindowTokens: 200_000, Recalls: tools})
		for _, want := range []string{"I look.", `{"query":"tea"}`, "package a", "package b"} {
			if !strings.Contains(x.Request.Prompt, want) {
				t.Errorf("without %v: %q is missing", tools, want)
			}
		}
		if strings.Contains(x.Request.Prompt, "SECRET") != (tools == nil) {
			t.Errorf("without %v:\n%s", tools, x.Request.Prompt)
		}
	}
}
