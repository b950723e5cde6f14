package replay

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sessiond/compaction"
	"sessiond/message"
)

// The scripted memory answers what package compaction really asks with operations that it
// takes, always the same ones, and does not grow without end.
func TestScriptKeepsMemories(t *testing.T) {
	p, script := planner(t), NewScript(counter(t).Count)
	s := compaction.NewState()
	var entries []compaction.MemoryEntry
	watermark, next := int64(0), 0
	for round := range 12 {
		for i := range int64(2) {
			seq := int64(2*round) + i + 1
			m := &message.Message{
				ID: message.ID(fmt.Sprint(seq)), Seq: seq, Role: [...]message.Role{message.RoleUser, message.RoleAssistant}[i],
				TurnID: message.TurnID(fmt.Sprint(round)), Content: []message.Block{words("something is said")},
			}
			if err := s.Append(compaction.Item{Message: m, Measure: p.Measure(m, nil, nil)}); err != nil {
				t.Fatal(err)
			}
		}
		x := p.StartExtraction(s, &compaction.Situation{Ratio: 1}, compaction.ExtractOptions{Entries: entries, WatermarkSeq: watermark})
		body, err := json.Marshal(map[string]any{
			"system":   []any{map[string]string{"type": "text", "text": x.Request.System}},
			"messages": []any{map[string]string{"role": "user", "content": x.Request.Prompt}},
		})
		if err != nil {
			t.Fatal(err)
		}
		answer := message.JoinText(script.answer("c", body))
		if again := message.JoinText(script.answer("c", body)); again != answer {
			t.Fatalf("asked again it answers\n%s\nnot\n%s", again, answer)
		}
		ops, err := x.Take(answer)
		if err != nil || len(ops) < 2 {
			t.Fatalf("round %d: %d operations: %v", round, len(ops), err)
		}
		entries = applied(t, entries, ops, &next)
		watermark = x.ThroughSeq
	}
	if n := len(entries); n != memoryEntriesKept {
		t.Errorf("%d entries", n)
	}
	if got := script.operations("nothing to read"); got != `{"operations":[]}` {
		t.Errorf("without a transcript: %s", got)
	}
}

// applied makes the operations of an answer, newest entries first.
func applied(t *testing.T, entries []compaction.MemoryEntry, ops []compaction.MemoryOp, next *int) []compaction.MemoryEntry {
	t.Helper()
	for _, op := range ops {
		if op.Op == compaction.MemoryAdd {
			if len(op.Seqs) == 0 || counter(t).Count(op.Content) > memoryEntryTokens {
				t.Errorf("an entry of %d tokens with sources %v", counter(t).Count(op.Content), op.Seqs)
			}
			*next++
			e := compaction.MemoryEntry{ID: fmt.Sprint("m", *next), Category: op.Category, Title: op.Title, Content: op.Content}
			entries = append([]compaction.MemoryEntry{e}, entries...)
			continue
		}
		kept := entries[:0:0]
		for _, e := range entries {
			if e.ID == op.ID && op.Op == compaction.MemoryDelete {
				continue
			}
			if e.ID == op.ID {
				e.Content = op.Content
			}
			kept = append(kept, e)
		}
		entries = kept
	}
	return entries
}

// Ids of memories are counted alike wherever they stand for memories, and nowhere else.
func TestIDsOfMemoriesAreCountedAlike(t *testing.T) {
	o := &FakeOptions{Count: func(text string) int { return strings.Count(text, "f") }}
	count := o.counter()
	one, other := `"id":"0199ffff-0000-7000-8000-00000000ffff"`, `"id":"01990000-0000-7000-8000-000000000000"`
	for _, form := range []string{
		`{"operations":[{"op":"delete",%s}]}`, "Keep it.\n\n<memory>\n{%s,\"title\":\"x\"}\n</memory>\n\n<transcript>\nff\n</transcript>",
	} {
		if a, b := count(fmt.Sprintf(form, one)), count(fmt.Sprintf(form, other)); a != b {
			t.Errorf("%s: %d and %d", form, a, b)
		}
	}
	for _, text := range []string{`{"op":"delete",` + one + `}`, "<memory>\n" + one, "<memory>\n</memory>\n" + one} {
		if got, want := count(text), strings.Count(text, "f"); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
