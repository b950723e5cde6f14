package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/internal/testenv"
)

// shortTranscripts are recorded conversations that compact in different ways and take
// little time: a few turns, many, one large result, large tools, Chinese.
func shortTranscripts(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, name := range []string{
		"claude-code-3323b1b6e0", "claude-code-60af8b24c3", "claude-code-cbeea4002b", "codex-f0089e9de8",
		"deer-flow-27cf7cfaee", "moatless-d67176c9fc",
	} {
		files = append(files, filepath.Join(testenv.Transcripts(t), name+".jsonl"))
	}
	return files
}

// TestReplayCompact: conversations that are far too long for their limits go on, and the
// command finds nothing that is not as it must be. make replay-compact takes all of them,
// at more limits.
func TestReplayCompact(t *testing.T) {
	sum := regexp.MustCompile(`(?m)^6 conversations .*$`)
	for flags, limits := range map[string]string{"--through=anthropic": "25000,8000", "--thinking": "25000,8000", "--through=openai": "25000"} {
		t.Run(flags, func(t *testing.T) {
			table := filepath.Join(t.TempDir(), "table.csv")
			runs := strings.Count(limits, ",") + 1
			args := []string{"replay", "--compact", "--log", "error", "--limit", limits, "--csv", table, flags}
			code, stdout, stderr := execute(t, nil, append(args, shortTranscripts(t)...)...)
			if code != 0 {
				t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
			}
			if n := strings.Count(stdout, " 0 rejected, 0 repairs"); n != runs {
				t.Errorf("not as it should be:\n%s", stdout)
			}
			t.Log("\n" + strings.Join(sum.FindAllString(stdout, -1), "\n"))
			checkCompactCSV(t, table, runs)
		})
	}
}

// checkCompactCSV looks at the table for programs: every conversation at every limit.
func checkCompactCSV(t *testing.T, name string, runs int) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 1+6*runs {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	if diff := cmp.Diff([]string{"through", "thinking", "limit", "conversation", "rounds"}, rows[0][:5]); diff != "" {
		t.Errorf("the columns differ (-want +got):\n%s", diff)
	}
}

// TestReplayFacts: nothing that was said is lost by compaction: it is shown, or in the
// summary, or where that points to.
func TestReplayFacts(t *testing.T) {
	code, stdout, stderr := execute(t, nil, "replay", "--facts", "40", "--log", "error", "--limit", "25000,8000")
	if code != 0 {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	if strings.Count(stdout, "nowhere   0      0 %") != 2 {
		t.Errorf("some facts are lost")
	}
	t.Log("\n" + stdout)
}

// TestReplayFactsNeedCompactions: a conversation that stays whole proves nothing.
func TestReplayFactsNeedCompactions(t *testing.T) {
	code, _, stderr := execute(t, nil, "replay", "--facts", "3")
	if code != 1 || !strings.Contains(stderr, "0 compactions") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestReplayCompactTellsOverflows: a limit so small that the overhead takes all of it
// fails turns, for that reason.
func TestReplayCompactTellsOverflows(t *testing.T) {
	code, stdout, stderr := execute(t, nil, "replay", "--compact", "--log", "error", "--limit", "8000", shortTranscripts(t)[3])
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if !regexp.MustCompile(`(?m)^codex-f0089e9de8, 6 turns: context_overflow: overhead [0-9]+ of 8000$`).MatchString(stdout) {
		t.Errorf("the overflows are not told:\n%s", stdout)
	}
}

func TestReplayRefusesFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.jsonl")
	text := `{"id":"a"}` + "\n" + `{"role":"user","content":[{"type":"text","text":"x"}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"limit":              {"--compact", "--limit", "25000,x"},
		"small limit":        {"--compact", "--limit", "100"},
		"summaries":          {"--compact", "--summaries", "none"},
		"no model":           {"--compact", "--summaries", "model"},
		"one database":       {"--compact", "--limit", "8000,9000", "--database", "sqlite:x.db"},
		"thinking and where": {"--compact", "--thinking", "--through", "openai"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, _, stderr := execute(t, nil, append(append([]string{"replay"}, args...), file)...); code != 2 {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
}
