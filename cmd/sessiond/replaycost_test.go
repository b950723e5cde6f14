package main

import (
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/internal/testenv"
)

// pricedTranscripts are recorded conversations in which results are cleared after a pause
// of hours, and others that are compacted, with a large system prompt and with none.
func pricedTranscripts(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, name := range []string{"claude-code-5a9f70a103", "codex-f0089e9de8", "openhands-025b74b7d0"} {
		files = append(files, filepath.Join(testenv.Transcripts(t), name+".jsonl"))
	}
	return files
}

// TestReplayCost: what prompt caching has to come to over all recorded conversations it
// does over these as well. make replay-cost takes all of them, at more limits.
func TestReplayCost(t *testing.T) {
	table, drawing := filepath.Join(t.TempDir(), "table.csv"), filepath.Join(t.TempDir(), "context.svg")
	args := []string{"replay", "--cost", "--log", "error", "--csv", table, "--plot", drawing}
	code, stdout, stderr := execute(t, nil, append(args, pricedTranscripts(t)...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	for _, want := range []string{
		`limit 25000, summaries: cost, prices of claude-sonnet-5-5: 3 conversations, 0 requests rejected`,
		`a: no caching +0\.0 % .* 0\.0 %`, `a: no caching +118 +7 +0 `, `microcompact +b: automatic marker +1 +0\.0 %`,
		`microcompact +c: ours +1 +0\.0 % +9[0-9]\.. %`, `microcompact +d: ours, with memory +1 `,
		`d: ours, with memory +[0-9]+ +[1-9][0-9]* +[0-9]+ +[0-9]+ +[0-9]+ +1\.[0-3]`,
	} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("the report does not say %q:\n%s", want, stdout)
		}
	}
	checkCostCSV(t, table)
	checkDrawing(t, drawing)
	t.Log("\n" + stdout)
}

// checkCostCSV looks at the table for programs: every conversation by each strategy.
func checkCostCSV(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 1+3*4 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	want := []string{"limit", "summary_mode", "price_model", "thinking", "conversation", "strategy", "chat_calls"}
	if diff := cmp.Diff(want, rows[0][:len(want)]); diff != "" {
		t.Errorf("the columns differ (-want +got):\n%s", diff)
	}
}

// checkDrawing looks at the picture of the longest conversation.
func checkDrawing(t *testing.T, name string) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(raw))); err == nil; {
		_, err = d.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("the drawing is not well formed: %v", err)
	}
	for _, want := range []string{"Context of openhands-025b74b7d0", "limit L 25,000", "threshold T 12,000", "compaction ("} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the drawing does not show %q", want)
		}
	}
}

// Where requests are not marked nothing is read from the cache, after a microcompact or
// anywhere else.
func TestReplayCostWithoutBreakpoints(t *testing.T) {
	code, stdout, stderr := execute(t, nil, "replay", "--cost", "--log", "error", "--breakpoints=false", pricedTranscripts(t)[0])
	if code != 0 {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	if !regexp.MustCompile(`microcompact +c: ours +1 +0\.0 % +0\.0 % +0\.0 % +0\.0 % +0\.0 % +0\.0 %`).MatchString(stdout) {
		t.Errorf("something was read:\n%s", stdout)
	}
}

// What a few rounds can't save is told, and makes the command fail unless that is not
// asked for.
func TestReplayCostTellsWhatFallsShort(t *testing.T) {
	file := filepath.Join(testenv.Transcripts(t), "toolbench-eee062360d.jsonl")
	code, _, stderr := execute(t, nil, "replay", "--cost", "--log", "error", file)
	if code != 1 || !strings.Contains(stderr, "limit 25000: c: ours: the input costs 52.4 % less") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := execute(t, nil, "replay", "--cost", "--check=false", "--log", "error", file); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
