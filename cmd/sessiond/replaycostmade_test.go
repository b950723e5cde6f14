package main

import (
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/internal/replay"
)

// readCSV reads a table for programs.
func readCSV(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Where no conversation could begin there is nothing to tell of, and that is told.
func TestReplayCostWhereNothingBegins(t *testing.T) {
	dir := t.TempDir()
	table, drawing := filepath.Join(dir, "table.csv"), filepath.Join(dir, "context.svg")
	code, stdout, stderr := execute(t, nil, "replay", "--cost", "--check=false", "--log", "error", "--window", "100", "--flat-base",
		"--csv", table, "--plot", drawing, madeUp(t, "hopeless", 2, 10))
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{`c: ours( +-){4} +-`, `(?m)^ +a: no caching( +-){8} *$`, `microcompact +c: ours +0( +-){6}`} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("the report does not say %q:\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "NaN") || strings.Contains(stdout, "Inf") {
		t.Errorf("these are no numbers:\n%s", stdout)
	}
	if rows := readCSV(t, table); len(rows) != 1+5 {
		t.Errorf("%d rows: %q", len(rows), rows)
	}
	if raw, err := os.ReadFile(drawing); err != nil || !strings.Contains(string(raw), "Context of hopeless") {
		t.Errorf("it is drawn as %q: %v", raw, err)
	}
}

// The same conversation comes to the same, to the last digit, in every run, memory and
// all.
func TestReplayCostIsTheSameEveryTime(t *testing.T) {
	file := madeUp(t, "same", 26, 300)
	var before [][]string
	for range 2 {
		table := filepath.Join(t.TempDir(), "table.csv")
		code, _, stderr := execute(t, nil, "replay", "--cost", "--check=false", "--log", "error", "--limit", "5000", "--csv", table, file)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		rows := readCSV(t, table)
		memory := rows[len(rows)-1]
		calls, err := strconv.Atoi(memory[slices.Index(rows[0], "memory_calls")])
		if err != nil || calls < 3 { // the first has no ids in it
			t.Fatalf("too little was remembered, %d times: %v", calls, err)
		}
		if before != nil {
			if diff := cmp.Diff(before, rows); diff != "" {
				t.Errorf("two runs differ (-first +second):\n%s", diff)
			}
		}
		before = rows
	}
}

// As pages of documentation show it, all limits are in one table.
func TestReplayCostMarkdown(t *testing.T) {
	code, stdout, stderr := execute(t, nil, "replay", "--cost", "--check=false", "--log", "error", "--markdown", "--flat-base",
		"--limit", "5000,6000", madeUp(t, "page", 10, 300))
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{
		`(?m)^\| limit \| all together \| hit rate \| input, USD \|`,
		`(?ms)^\| 5,000 \| c: ours \| [0-9.]+ % \|.*^\| 6,000 \| a: no caching, flat summaries \| 0\.0 %`,
		`(?m)^\| 5,000 \| compaction \| d: ours, with memory \| [1-9]`,
		`(?m)^\| limit \| making room \| compactions \|`,
	} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("the page does not say %q:\n%s", want, stdout)
		}
	}
	if n := strings.Count(stdout, "| limit |"); n != 5 {
		t.Errorf("%d tables:\n%s", n, stdout)
	}
}

func TestReplayCostSweeps(t *testing.T) {
	file := madeUp(t, "swept", 6, 300)
	code, stdout, stderr := execute(t, nil, "replay", "--cost", "--check=false", "--log", "error", "--markdown", "--limit", "5000",
		"--sweep", "landing_ratio=0.5,0.6", "--sweep", "recovery=10000", file)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	rows := make(map[string][]string)
	for _, line := range lines(stdout) {
		if cells := strings.Split(strings.Trim(line, "| "), " | "); len(cells) > 2 {
			rows[cells[0]] = cells[1:]
		}
	}
	for _, name := range []string{"landing_ratio 0.5", "landing_ratio 0.6", "recovery 10000"} {
		if len(rows[name]) != len(rows["setting"]) {
			t.Errorf("%s has %d columns of %d:\n%s", name, len(rows[name]), len(rows["setting"]), stdout)
		}
	}
	if diff := cmp.Diff(rows["landing_ratio 0.6"], rows["recovery 10000"]); diff != "" {
		t.Errorf("two settings are at their defaults, and differ:\n%s", diff)
	}
}

// A row of a sweep that is not as it must be is told, with its setting, and makes the
// command fail.
func TestReplayCostSweepsTellWhatIsWrong(t *testing.T) {
	code, stdout, stderr := execute(t, nil, "replay", "--cost", "--log", "error", "--sweep", "recovery=0", madeUp(t, "short", 1, 1))
	if code != 1 || !strings.Contains(stderr, "recovery 0, limit 25000: c: ours: the input costs") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if !strings.Contains(stdout, "recovery 0 ") {
		t.Errorf("the row is not there:\n%s", stdout)
	}
}

// What was rejected, and what must not happen to a conversation, is a fault whether or not
// savings are looked at.
func TestReplayCostFaults(t *testing.T) {
	bad := &replay.Course{Report: &replay.Report{Faults: []string{"a turn was lost"}}}
	run := &costRun{limit: 9_000, rejected: []string{"five markers"}, Comparison: replay.Comparison{WithMemory: []*replay.Course{bad}}}
	want := []string{"limit 9000: a request was rejected: five markers", "limit 9000: d: ours, with memory: a turn was lost"}
	if diff := cmp.Diff(want, run.faults(&replayFlags{cost: costFlags{marked: true}})); diff != "" {
		t.Errorf("the faults differ (-want +got):\n%s", diff)
	}
}

// What a sweep has found out is printed although a later value could not be tried.
func TestReplayCostSweepsKeepTheirRows(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out strings.Builder
	p := &program{stdout: &out, stderr: t.Output()}
	conversations, err := readConversations([]string{madeUp(t, "kept", 1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	f := &replayFlags{level: "error", cost: costFlags{priceModel: defaultPriceModel, summaries: summariesByCost, marked: true}}
	f.compact.limits = tokenList{25_000}
	later := func(v *costVariant, _ string) error { cancel(); return setRecovery(v, "1") }
	f.cost.sweeps = sweepList{{name: "mode", values: []string{summariesFlat}, set: setSummaryMode}, {name: "recovery", values: []string{"1"}, set: later}}
	if err := p.replaySweeps(ctx, f, conversations); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "recovery 1") {
		t.Errorf("got error %v", err)
	}
	if !strings.Contains(out.String(), "mode flat ") {
		t.Errorf("the first row is lost:\n%s", out.String())
	}
}
