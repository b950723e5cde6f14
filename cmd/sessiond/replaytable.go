package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"sessiond/internal/replay"
	v1 "sessiond/rpc/v1"
)

// compactTables writes what replays came to: a table for people for each limit, and one
// of all for programs.
type compactTables struct {
	out      io.Writer
	file     *os.File // nil: none is wanted
	csv      *csv.Writer
	through  string
	thinking bool
}

func newCompactTables(out io.Writer, f *replayFlags) (*compactTables, error) {
	t := &compactTables{out: out, through: f.through, thinking: f.thinking}
	var err error
	if t.file, err = createCSV(f.compact.csv); err != nil || t.file == nil {
		return t, err
	}
	t.csv = csv.NewWriter(t.file)
	names := []string{"through", "thinking", "limit", "conversation"}
	for _, c := range compactColumns() {
		names = append(names, c.name)
	}
	return t, t.csv.Write(names)
}

// createCSV makes the file of a table, nil if none is wanted.
func createCSV(name string) (*os.File, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // no file is wanted
	}
	return os.Create(name) //nolint:gosec // the user names the file
}

func (t *compactTables) close() error {
	if t.file == nil {
		return nil
	}
	t.csv.Flush()
	return errors.Join(t.csv.Error(), t.file.Close())
}

// compactColumn is a number that is told of each conversation, and how those of several
// come together.
type compactColumn struct {
	name  string
	value func(r *replay.Report) int64
	most  bool // the largest one, not the sum
}

// compactColumns are the numbers in their order.
func compactColumns() []compactColumn {
	count := func(is func(*replay.Compacted) bool) func(*replay.Report) int64 {
		return func(r *replay.Report) int64 { return int64(r.Count(is)) }
	}
	cleared := func(why v1.ClearReason) func(*replay.Report) int64 {
		return func(r *replay.Report) int64 { return int64(r.Cleared[why]) }
	}
	trigger := func(by v1.CompactionTrigger) func(*replay.Report) int64 {
		return count(func(c *replay.Compacted) bool { return c.Trigger == by })
	}
	writer := func(by v1.SummaryWriter) func(*replay.Report) int64 {
		return count(func(c *replay.Compacted) bool { return c.Writer == by })
	}
	level := func(at int64) func(*replay.Report) int64 {
		return count(func(c *replay.Compacted) bool { return c.Level == at })
	}
	outcome := func(is v1.CompactionOutcome) func(*replay.Report) int64 {
		return count(func(c *replay.Compacted) bool { return c.Outcome == is })
	}
	return []compactColumn{
		{name: "rounds", value: func(r *replay.Report) int64 { return int64(r.Chats) }},
		{name: "triggers", value: func(r *replay.Report) int64 { return int64(r.Triggers) }},
		{name: "held", value: func(r *replay.Report) int64 { return int64(r.Held) }},
		{name: "cleared_pressure", value: cleared(v1.ClearPressure)},
		{name: "cleared_overflow", value: cleared(v1.ClearOverflow)},
		{name: "cleared_idle", value: cleared(v1.ClearIdle)},
		{name: "auto", value: trigger(v1.TriggerAuto)},
		{name: "overflow", value: trigger(v1.TriggerOverflow)},
		{name: "level_0", value: level(0)},
		{name: "level_1", value: level(1)},
		{name: "level_2", value: level(2)},
		{name: "level_3", value: level(3)},
		{name: "by_model", value: writer(v1.WriterModel)},
		{name: "by_memory", value: writer(v1.WriterMemory)},
		{name: "by_digest", value: writer(v1.WriterDigest)},
		{name: "applied", value: outcome(v1.CompactionApplied)},
		{name: "degraded", value: outcome(v1.CompactionDegraded)},
		{name: "no_progress", value: outcome(v1.CompactionNoProgress)},
		{name: "failed", value: outcome(v1.CompactionFailed)},
		{name: "summary_calls", value: func(r *replay.Report) int64 { all, _ := r.SummaryCalls(); return int64(all) }},
		{name: "summary_calls_in_turn", most: true, value: func(r *replay.Report) int64 { _, most := r.SummaryCalls(); return int64(most) }},
		{name: "summary_requests", value: func(r *replay.Report) int64 { return int64(r.Summaries) }},
		{name: "tokens_before", value: func(r *replay.Report) int64 { before, _ := r.Tokens(); return before }},
		{name: "tokens_after", value: func(r *replay.Report) int64 { _, after := r.Tokens(); return after }},
		{name: "texts_verbatim", value: func(r *replay.Report) int64 { return r.Texts.Verbatim }},
		{name: "texts_cut", value: func(r *replay.Report) int64 { return r.Texts.Cut }},
		{name: "texts_counted", value: func(r *replay.Report) int64 { return r.Texts.Counted }},
		{name: "largest_request", most: true, value: func(r *replay.Report) int64 { return r.Largest }},
		{name: "over_limit", value: func(r *replay.Report) int64 { return int64(r.Over) }},
		{name: "turns_completed", value: func(r *replay.Report) int64 { ok, _ := r.TurnsBy(); return int64(ok) }},
		{name: "turns_failed", value: func(r *replay.Report) int64 { _, failed := r.TurnsBy(); return int64(failed) }},
	}
}

// row holds the values of the columns by name.
type row map[string]int64

func rowOf(r *replay.Report) row {
	out := make(row)
	for _, c := range compactColumns() {
		out[c.name] = c.value(r)
	}
	return out
}

func total(rows []row) row {
	out := make(row)
	for _, c := range compactColumns() {
		for _, one := range rows {
			if c.most {
				out[c.name] = max(out[c.name], one[c.name])
			} else {
				out[c.name] += one[c.name]
			}
		}
	}
	return out
}

// write writes a run.
func (t *compactTables) write(run *compactRun) error {
	think := ""
	if t.thinking {
		think = ", with thinking"
	}
	_, _ = fmt.Fprintf(t.out, "limit %d, through %s%s\n", run.limit, t.through, think)
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "CONVERSATION\tROUNDS\tTRIGGERS\tCLEARED\tCOMPACTED\tBY LEVEL\tOUTCOMES\tCALLS\tBEFORE>AFTER\tTEXTS\tLARGEST\tOVER\tTURNS")
	rows := make([]row, len(run.reports))
	for i, r := range run.reports {
		rows[i] = rowOf(r)
		_, _ = fmt.Fprintln(table, r.ID+"\t"+rows[i].line())
		if err := t.record(run.limit, r.ID, rows[i]); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(table, "%d conversations\t%s\n", len(rows), total(rows).line())
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.out, "%d requests, %d refused as too large, %d rejected, %.0f repairs\n%s\n",
		run.seen.Requests, run.seen.TooLarge, len(run.seen.Rejected), run.repairs, overflows(run.reports))
	return err
}

// line is a row for people.
func (r row) line() string {
	join := func(names ...string) string {
		words := make([]string, len(names))
		for i, name := range names {
			words[i] = strconv.FormatInt(r[name], 10)
		}
		return strings.Join(words, "/")
	}
	before, after := int64(0), int64(0)
	if n := r["applied"] + r["degraded"]; n > 0 {
		before, after = r["tokens_before"]/n, r["tokens_after"]/n
	}
	return strings.Join([]string{
		join("rounds"), join("triggers", "held"), join("cleared_pressure", "cleared_overflow", "cleared_idle"),
		join("auto", "overflow", "by_digest"), join("level_0", "level_1", "level_2", "level_3"),
		join("applied", "degraded", "no_progress", "failed"), join("summary_calls", "summary_calls_in_turn"),
		fmt.Sprintf("%d>%d", before, after), join("texts_verbatim", "texts_cut", "texts_counted"),
		join("largest_request"), join("over_limit"), join("turns_completed", "turns_failed"),
	}, "\t")
}

func (t *compactTables) record(limit int, id string, r row) error {
	if t.csv == nil {
		return nil
	}
	values := []string{t.through, strconv.FormatBool(t.thinking), strconv.Itoa(limit), id}
	for _, c := range compactColumns() {
		values = append(values, strconv.FormatInt(r[c.name], 10))
	}
	return t.csv.Write(values)
}

// overflows lists the turns that failed, each with the reason and with how the small
// message after it went; but conversations that could not begin on one line.
func overflows(reports []*replay.Report) string {
	var b strings.Builder
	for _, r := range reports {
		hopeless, last := 0, replay.Need{}
		for i, turn := range r.Turns {
			switch {
			case turn.Completed || turn.Probe:
			case !turn.Need.Begins():
				hopeless, last = hopeless+1, turn.Need
			default:
				fmt.Fprintf(&b, "%s, message %d: %s: %s; %s\n", r.ID, turn.Message, turn.Kind, turn.Need, afterwards(r.Turns[i+1:]))
			}
		}
		if hopeless > 0 {
			fmt.Fprintf(&b, "%s, %d turns: %s: %s\n", r.ID, hopeless, v1.TurnContextOverflow, last)
		}
	}
	return b.String()
}

// afterwards says how the small message went that follows a turn that failed.
func afterwards(next []replay.Turn) string {
	switch {
	case len(next) == 0 || !next[0].Probe:
		return "no small message was sent after it"
	case next[0].Completed:
		return "the small message after it was answered"
	}
	return "the small message after it was not answered"
}
