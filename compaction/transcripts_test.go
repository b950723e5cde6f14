package compaction

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sessiond/message"
)

// recorded is a line of a recorded conversation.
type recorded struct {
	Role    message.Role
	Content []struct {
		Type      string
		Text      string
		ID        string
		Name      string
		Input     json.RawMessage
		ToolUseID string `json:"tool_use_id"`
		Content   json.RawMessage
		IsError   bool `json:"is_error"`
	}
}

// tally is what happened in the replay of all files.
type tally struct{ triggers, clearings, summaries, applied, overflows int }

// Real conversations go through with every request within its limit, and a turn fails
// only where its parts can't fit whatever is done.
func TestTranscriptsGoThrough(t *testing.T) {
	files, err := filepath.Glob("../../shared/transcripts/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Skip("no transcripts beside the repository")
	}
	for _, limit := range []int{8_000, 25_000, 64_000} {
		var sum tally
		for _, path := range files {
			replay(t, path, limit, &sum)
		}
		t.Logf("limit %d: %+v", limit, sum)
		if sum.applied*100 < sum.summaries*95 {
			t.Errorf("limit %d: %d of %d summaries were applied", limit, sum.applied, sum.summaries)
		}
	}
}

func replay(t *testing.T, path string, limit int, sum *tally) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	lines.Scan()
	var head struct {
		System string
		Tools  json.RawMessage
	}
	if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, func(c *Config) { c.ContextTokensLimit = limit })
	d.notes = 1 << 30 // as much as the cap allows
	d.sit.Overhead.System = d.p.counter.Count(head.System)
	d.sit.Overhead.Tools = d.p.counter.Count(string(head.Tools))
	uses := make(map[string]message.ToolUse)
	var open []message.ToolUse
	for lines.Scan() {
		var line recorded
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		open = d.record(line, uses, open)
		if line.Role == message.RoleUser {
			d.replayStep(t, filepath.Base(path), sum)
		}
	}
}

// record adds a line, a user message that mixes results and text as two.
func (d *desk) record(line recorded, uses map[string]message.ToolUse, open []message.ToolUse) []message.ToolUse {
	var results, said []message.Block
	for _, b := range line.Content {
		switch b.Type {
		case "text":
			said = append(said, message.Text{Text: b.Text})
		case "tool_use":
			use := d.use(b.Name, string(b.Input))
			uses[b.ID] = use
			said = append(said, use)
		case "tool_result":
			var text string
			if json.Unmarshal(b.Content, &text) != nil {
				text = string(b.Content)
			}
			results = append(results, message.ToolResult{ToolUseID: uses[b.ToolUseID].ID, IsError: b.IsError, Content: []message.Block{message.Text{Text: text}}})
		}
	}
	if line.Role == message.RoleAssistant {
		return d.assistant(said...).ToolUses()
	}
	if len(results) > 0 {
		d.add(message.RoleUser, open, results...)
	}
	if len(said) > 0 {
		d.turn++
		d.sit.Breaker = d.sit.Breaker.UserMessage()
		d.sit.Ladder = d.sit.Ladder.NewTurn()
		d.add(message.RoleUser, nil, said...)
		d.sit.Turn = d.s.newestTurn()
	}
	return nil
}

func (d *desk) replayStep(t *testing.T, name string, sum *tally) {
	t.Helper()
	steps := d.settle()
	for _, st := range steps {
		switch st.Action {
		case ActionClear:
			sum.clearings++
		case ActionCompact:
			sum.summaries++
			if recordOf(d.s, st.Plan.Generation+1) != nil {
				sum.applied++
			}
		case ActionSend, ActionClimb, ActionOverflow:
		}
	}
	if len(steps) > 1 {
		sum.triggers++
	}
	last := steps[len(steps)-1]
	if err := checkView(d.s.View()); err != nil {
		t.Fatalf("%s at #%d: %v", name, d.seq, err)
	}
	if last.Action == ActionOverflow {
		sum.overflows++
		if d.couldFit(last.Budget) {
			t.Errorf("%s at #%d: the turn fails although its parts fit: %v", name, d.seq, d.s.Parts(d.sit.Overhead, 1))
		}
		return
	}
	if last.Context.Tokens() > last.Budget.Input {
		t.Errorf("%s at #%d: %d tokens are sent", name, d.seq, last.Context.Tokens())
	}
	d.sit.Ladder = d.sit.Ladder.Succeeded(last.Context.Judged(), last.Budget.Landing)
}

// couldFit reports whether overhead, summary, ledger, pinned request and the newest
// unit, its results at 500 tokens each, fit together.
func (d *desk) couldFit(b Budget) bool {
	if b.OverheadTooLarge() {
		return false
	}
	need := b.Overhead + b.SummaryCap + b.LedgerCap + d.p.pinnedAt(d.s, b.PinnedMax)
	u := d.s.conv.units[len(d.s.conv.units)-1]
	for i := u.first; i < u.end; i++ {
		need += messageTokens
		for k, block := range d.s.conv.items[i].Message.Content {
			n := d.s.conv.items[i].Measure.Blocks[k].Tokens
			if _, ok := block.(message.ToolResult); ok {
				n = min(n, minResultTokens+callTokens)
			}
			need += n
		}
	}
	return need <= b.Input
}
