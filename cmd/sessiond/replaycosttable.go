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

	"sessiond/cost"
	"sessiond/internal/replay"
)

// costTables write what replays cost: tables for people for each limit, one of all for
// programs, and a drawing.
type costTables struct {
	out   io.Writer
	flags *replayFlags
	file  *os.File // nil: none is wanted
	csv   *csv.Writer
}

func newCostTables(out io.Writer, f *replayFlags) (*costTables, error) {
	t := &costTables{out: out, flags: f}
	var err error
	if t.file, err = createCSV(f.compact.csv); err != nil || t.file == nil {
		return t, err
	}
	t.csv = csv.NewWriter(t.file)
	names := []string{"limit", "summary_mode", "price_model", "thinking", "conversation", "strategy"}
	for _, c := range costColumns() {
		names = append(names, c.name)
	}
	return t, t.csv.Write(names)
}

func (t *costTables) close() error {
	if t.file == nil {
		return nil
	}
	t.csv.Flush()
	return errors.Join(t.csv.Error(), t.file.Close())
}

// write writes a comparison.
func (t *costTables) write(run *costRun) error {
	think := ""
	if t.flags.thinking {
		think = ", with thinking"
	}
	_, err := fmt.Fprintf(t.out, "limit %d, summaries: %s, prices of %s%s: %d conversations, %d requests rejected\n\n",
		run.limit, t.flags.cost.summaries, t.flags.cost.priceModel, think, len(run.Ours), len(run.rejected))
	for _, table := range []func(io.Writer, *costRun){writeTotals, writeSpread, writeAfterwards} {
		w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', tabwriter.AlignRight)
		table(w, run)
		err = errors.Join(err, w.Flush())
	}
	_, err2 := io.WriteString(t.out, costNotes(run))
	return errors.Join(err, err2, t.record(run), t.draw(run))
}

// writeTotals writes what all conversations cost together.
func writeTotals(w io.Writer, run *costRun) {
	_, _ = fmt.Fprintln(w, "ALL TOGETHER\tCHATS\tSUMMARIES\tMEMORY\tINPUT\tREAD\tWRITTEN 5M\tWRITTEN 1H\tOUTPUT\tHIT RATE\tINPUT USD\tUSD\tINPUT BELOW (a)\tUNCLEARED\t")
	for _, s := range run.Strategies() {
		c := run.Total(s)
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%.4f\t%.4f\t%s\t%s\t\n", s,
			c.Parts[replay.PurposeChat], c.Parts[replay.PurposeSummary], c.Parts[replay.PurposeMemory],
			c.Usage.Input, c.Usage.CacheRead, c.Usage.CacheWrite5m, c.Usage.CacheWrite1h, c.Usage.Output,
			share(c.HitRate()), c.InputUSD, c.Usage.CostUSD, share(run.Saved(s, false).Share()), share(run.Saved(s, true).Share()))
	}
	_, _ = fmt.Fprintln(w)
}

// writeSpread writes how the conversations differ.
func writeSpread(w io.Writer, run *costRun) {
	_, _ = fmt.Fprintln(w, "EACH CONVERSATION\tHIT RATE P50\tP95\tINPUT USD P50\tP95\tUSD P50\tP95\tBELOW (a) P50\tP95\t")
	uncached := run.Each(replay.NoCaching)
	for _, s := range run.Strategies() {
		var hits, input, usd, saved []float64
		for i, c := range run.Each(s) {
			if c.Total() == 0 {
				continue // it could not begin
			}
			hits, input, usd = append(hits, c.HitRate()), append(input, c.InputUSD), append(usd, c.Usage.CostUSD)
			saved = append(saved, 1-c.InputUSD/uncached[i].InputUSD)
		}
		row := []string{string(s)}
		for _, values := range [][]float64{hits, input, usd, saved} {
			for _, at := range []float64{0.5, 0.95} {
				v := replay.Percentile(values, at)
				if &values[0] == &hits[0] || &values[0] == &saved[0] {
					row = append(row, share(v))
					continue
				}
				row = append(row, fmt.Sprintf("%.4f", v))
			}
		}
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t")+"\t")
	}
	_, _ = fmt.Fprintln(w)
}

// writeAfterwards writes how the requests were served that follow a change.
func writeAfterwards(w io.Writer, run *costRun) {
	_, _ = fmt.Fprintln(w, "HIT RATE OF REQUESTS AFTER\tTIMES\t1\t2\t3\t4\t5\t2-5\t")
	for _, e := range []replay.Event{replay.EventMicrocompact, replay.EventClearing, replay.EventCompaction} {
		for _, s := range run.Strategies() {
			after := run.After(s, e)
			_, _ = fmt.Fprintf(w, "%s, %s\t%d\t", e, s, after[0].Requests)
			for _, one := range after {
				_, _ = fmt.Fprintf(w, "%s\t", served(one))
			}
			_, _ = fmt.Fprintf(w, "%s\t\n", served(after.Rest()))
		}
	}
	_, _ = fmt.Fprintln(w)
}

func served(s replay.Served) string {
	if s.Requests == 0 {
		return "-"
	}
	return share(s.Rate())
}

func share(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// costNotes say what the tables don't.
func costNotes(run *costRun) string {
	var b strings.Builder
	for _, s := range run.Strategies()[2:] {
		c := run.Total(s)
		all := run.Count(s, (*replay.Compacted).Commits)
		called := run.Count(s, func(x *replay.Compacted) bool { return x.Commits() && x.Called() })
		repeated := c.Repeated
		fmt.Fprintf(&b, "%s: %d compactions, %d of them without a call; %d summary requests, %d of which repeated the chat's\n", s, all, all-called, c.Parts[replay.PurposeSummary], repeated)
		uncleared := run.Saved(s, true)
		fmt.Fprintf(&b, "%s: nothing was cleared in %d conversations\n", s, uncleared.Conversations)
		if above := run.Above(s); len(above) > 0 {
			words := make([]string, len(above))
			for i, one := range above {
				words[i] = fmt.Sprintf("%s +%s", one.ID, share(one.Share))
			}
			fmt.Fprintf(&b, "%s: dearer than (b) in %d conversations: %s\n", s, len(above), strings.Join(words, ", "))
		}
	}
	if run.WithMemory != nil {
		without, with := run.Total(replay.Ours).Total(), run.Total(replay.OursWithMemory).Total()
		fmt.Fprintf(&b, "calls with memory: %d, %.2f times the %d without\n", with, float64(with)/float64(max(without, 1)), without)
	}
	return b.String() + "\n"
}

// costColumn is a number that is told of each conversation and strategy.
type costColumn struct {
	name  string
	value func(c *replay.Course, k *replay.Costs) string
}

func costColumns() []costColumn {
	count := func(name string, value func(*replay.Course, *replay.Costs) int64) costColumn {
		return costColumn{name, func(c *replay.Course, k *replay.Costs) string { return strconv.FormatInt(value(c, k), 10) }}
	}
	number := func(name string, value func(*replay.Costs) float64) costColumn {
		return costColumn{name, func(_ *replay.Course, k *replay.Costs) string { return strconv.FormatFloat(value(k), 'f', 6, 64) }}
	}
	return []costColumn{
		count("chat_calls", func(_ *replay.Course, k *replay.Costs) int64 { return int64(k.Parts[replay.PurposeChat]) }),
		count("summary_calls", func(_ *replay.Course, k *replay.Costs) int64 { return int64(k.Parts[replay.PurposeSummary]) }),
		count("summary_calls_shared", func(_ *replay.Course, k *replay.Costs) int64 { return int64(k.Repeated) }),
		count("memory_calls", func(_ *replay.Course, k *replay.Costs) int64 { return int64(k.Parts[replay.PurposeMemory]) }),
		count("input", func(_ *replay.Course, k *replay.Costs) int64 { return k.Usage.Input }),
		count("cache_read", func(_ *replay.Course, k *replay.Costs) int64 { return k.Usage.CacheRead }),
		count("cache_write_5m", func(_ *replay.Course, k *replay.Costs) int64 { return k.Usage.CacheWrite5m }),
		count("cache_write_1h", func(_ *replay.Course, k *replay.Costs) int64 { return k.Usage.CacheWrite1h }),
		count("all_input", func(_ *replay.Course, k *replay.Costs) int64 { return cost.InputTokens(k.Usage) }),
		count("output", func(_ *replay.Course, k *replay.Costs) int64 { return k.Usage.Output }),
		number("hit_rate", func(k *replay.Costs) float64 { return k.HitRate() }),
		number("input_usd", func(k *replay.Costs) float64 { return k.InputUSD }),
		number("usd", func(k *replay.Costs) float64 { return k.Usage.CostUSD }),
		count("compactions", func(c *replay.Course, _ *replay.Costs) int64 { return int64(c.Count((*replay.Compacted).Commits)) }),
		count("clearings", func(c *replay.Course, _ *replay.Costs) int64 { return int64(c.Clearings()) }),
		count("texts_verbatim", func(c *replay.Course, _ *replay.Costs) int64 { return c.Texts.Verbatim }),
		count("texts_cut", func(c *replay.Course, _ *replay.Costs) int64 { return c.Texts.Cut }),
		count("texts_counted", func(c *replay.Course, _ *replay.Costs) int64 { return c.Texts.Counted }),
	}
}

func (t *costTables) record(run *costRun) error {
	if t.csv == nil {
		return nil
	}
	f := t.flags
	for _, s := range run.Strategies() {
		each := run.Each(s)
		for i, course := range run.Courses(s) {
			row := []string{
				strconv.Itoa(run.limit), f.cost.summaries, f.cost.priceModel, strconv.FormatBool(f.thinking), course.ID, string(s),
			}
			for _, c := range costColumns() {
				row = append(row, c.value(course, &each[i]))
			}
			if err := t.csv.Write(row); err != nil {
				return err
			}
		}
	}
	return nil
}
