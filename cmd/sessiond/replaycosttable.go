package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"sessiond/internal/replay"
)

// costTables write what replays cost: tables for people, for each limit or as pages of
// documentation show them for all together, one of all for programs, and a drawing.
type costTables struct {
	out   io.Writer
	flags *replayFlags
	file  *os.File // nil: none is wanted
	csv   *csv.Writer
	pages []*grid // of all limits so far, as a page shows them
}

func newCostTables(out io.Writer, f *replayFlags) (*costTables, error) {
	t := &costTables{out: out, flags: f}
	if err := writable(f.cost.plot); err != nil {
		return nil, err
	}
	var err error
	if t.file, err = createCSV(f.compact.csv); err != nil || t.file == nil {
		return t, err
	}
	t.csv = csv.NewWriter(t.file)
	if err := t.csv.Write(costCSVHead()); err != nil {
		return nil, errors.Join(err, t.file.Close())
	}
	return t, nil
}

// close writes what is still held back.
func (t *costTables) close() error {
	var err error
	for _, g := range t.pages {
		err = errors.Join(err, g.markdown(t.out))
	}
	t.pages = nil
	if t.file == nil {
		return err
	}
	t.csv.Flush()
	return errors.Join(err, t.csv.Error(), t.file.Close())
}

// write writes a comparison.
func (t *costTables) write(run *costRun) error {
	think := ""
	if t.flags.thinking {
		think = ", with thinking"
	}
	_, err := fmt.Fprintf(t.out, "limit %d, summaries: %s, prices of %s%s: %d conversations, %d requests rejected\n\n",
		run.limit, t.flags.cost.summaries, t.flags.cost.priceModel, think, len(run.Ours), len(run.rejected))
	for i, g := range []*grid{t.costs(run), t.afterwards(run), t.spread(run), t.summaries(run), t.calls(run)} {
		if t.flags.cost.markdown {
			t.collect(i, run.limit, g)
			continue
		}
		err = errors.Join(err, g.write(t.out))
	}
	_, err2 := io.WriteString(t.out, costNotes(run))
	return errors.Join(err, err2, t.record(run), t.draw(run))
}

// collect adds the rows of a limit to the table of all limits that is number at.
func (t *costTables) collect(at, limit int, g *grid) {
	if at == len(t.pages) {
		t.pages = append(t.pages, &grid{head: append([]string{"LIMIT"}, g.head...)})
	}
	for _, row := range g.rows {
		t.pages[at].add(append([]string{grouped(limit)}, row...)...)
	}
}

// grouped writes a number of tokens with commas between thousands.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// costs is what all conversations cost together.
func (t *costTables) costs(run *costRun) *grid {
	g := &grid{head: []string{"ALL TOGETHER", "HIT RATE", "INPUT, USD", "BELOW (a)", "WHERE NOTHING WAS CLEARED"}}
	if run.FlatBase != nil {
		g.head = append(g.head, "BELOW (a) WITH FLAT SUMMARIES", "WHERE NOTHING WAS CLEARED")
	}
	g.head = append(g.head, "ALL, USD")
	for _, s := range run.Strategies() {
		c := run.Total(s)
		row := []string{string(s), rate(c.Total() > 0, c.HitRate()), t.flags.cost.usd(c.InputUSD)}
		row = append(row, saving(run.Saved(s, false)), saving(run.Saved(s, true)))
		if run.FlatBase != nil {
			row = append(row, saving(run.SavedOfFlat(s, false)), saving(run.SavedOfFlat(s, true)))
		}
		g.add(append(row, t.flags.cost.usd(c.Usage.CostUSD))...)
	}
	return g
}

// calls is how many requests there were, and their tokens.
func (*costTables) calls(run *costRun) *grid {
	g := &grid{head: []string{"REQUESTS AND TOKENS", "CHATS", "SUMMARIES", "MEMORY", "IN FULL", "READ", "WRITTEN 5M", "WRITTEN 1H", "OUTPUT"}}
	for _, s := range run.Strategies() {
		c := run.Total(s)
		row := []string{string(s)}
		for _, p := range []replay.Purpose{replay.PurposeChat, replay.PurposeSummary, replay.PurposeMemory} {
			row = append(row, strconv.Itoa(c.Parts[p]))
		}
		for _, tokens := range []int64{c.Usage.Input, c.Usage.CacheRead, c.Usage.CacheWrite5m, c.Usage.CacheWrite1h, c.Usage.Output} {
			row = append(row, strconv.FormatInt(tokens, 10))
		}
		g.add(row...)
	}
	return g
}

// spread is how the conversations differ.
func (t *costTables) spread(run *costRun) *grid {
	g := &grid{head: []string{"EACH CONVERSATION", "HIT RATE, P50", "P95", "INPUT, USD, P50", "P95", "ALL, USD, P50", "P95", "BELOW (a), P50", "P95"}}
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
		row = append(row, percentiles(hits, share)...)
		row = append(row, percentiles(input, t.flags.cost.usd)...)
		row = append(row, percentiles(usd, t.flags.cost.usd)...)
		g.add(append(row, percentiles(saved, share)...)...)
	}
	return g
}

// percentiles are the middle one of some values, and that which 95 of 100 do not exceed.
func percentiles(values []float64, written func(float64) string) []string {
	var cells []string
	for _, at := range []float64{0.5, 0.95} {
		if len(values) == 0 {
			cells = append(cells, none)
			continue
		}
		cells = append(cells, written(replay.Percentile(values, at)))
	}
	return cells
}

// afterwards is how the requests were served that follow a change.
func (*costTables) afterwards(run *costRun) *grid {
	g := &grid{head: []string{"HIT RATE OF REQUESTS AFTER A", "BY", "TIMES", "1", "2", "3", "4", "5", "2 TO 5"}}
	for _, e := range []replay.Event{replay.EventMicrocompact, replay.EventClearing, replay.EventCompaction} {
		for _, s := range run.Caching() {
			after := run.After(s, e)
			row := []string{string(e), string(s), strconv.FormatInt(after[0].Requests, 10)}
			for _, one := range after {
				row = append(row, rate(one.Requests > 0, one.Rate()))
			}
			rest := after.Rest()
			g.add(append(row, rate(rest.Requests > 0, rest.Rate()))...)
		}
	}
	return g
}

// summaries is what was done to make room, and what it took.
func (*costTables) summaries(run *costRun) *grid {
	g := &grid{head: []string{
		"MAKING ROOM", "COMPACTIONS", "WITHOUT A CALL", "SUMMARY REQUESTS", "REPEATING THE CHAT'S", "ALL REQUESTS", "TIMES THOSE OF (c)",
		"CONVERSATIONS WITHOUT A CLEARING", "NEITHER COMPACTED", "DEARER THAN (b)",
	}}
	base := max(run.Total(replay.Ours).Total(), 1)
	for _, s := range run.OwnMarks() {
		c := run.Total(s)
		all := run.Count(s, (*replay.Compacted).Commits)
		called := run.Count(s, func(x *replay.Compacted) bool { return x.Commits() && x.Called() })
		uncleared := run.Saved(s, true)
		g.add(string(s), strconv.Itoa(all), strconv.Itoa(all-called), strconv.Itoa(c.Parts[replay.PurposeSummary]), strconv.Itoa(c.Repeated),
			strconv.Itoa(c.Total()), fmt.Sprintf("%.2f", float64(c.Total())/float64(base)),
			strconv.Itoa(uncleared.Conversations), strconv.Itoa(uncleared.Untouched), strconv.Itoa(len(run.Above(s))))
	}
	return g
}

// none stands where there is nothing of which a number could tell.
const none = "-"

// rate writes a share, if there is anything that it is of.
func rate(known bool, v float64) string {
	if !known {
		return none
	}
	return share(v)
}

func saving(s replay.Saving) string { return rate(s.UncachedUSD > 0, s.Share()) }

func share(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// usd writes dollars: pages of documentation are about many conversations.
func (f *costFlags) usd(v float64) string {
	if f.markdown {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.4f", v)
}

// costNotes name the conversations that are dearer than with the automatic marker.
func costNotes(run *costRun) string {
	var b strings.Builder
	for _, s := range run.OwnMarks() {
		above := run.Above(s)
		if len(above) == 0 {
			continue
		}
		words := make([]string, len(above))
		for i, one := range above {
			words[i] = fmt.Sprintf("%s +%s", one.ID, share(one.Share))
		}
		fmt.Fprintf(&b, "%s: dearer than (b) in %d conversations: %s\n", s, len(above), strings.Join(words, ", "))
	}
	return b.String() + "\n"
}
