package main

import (
	"strconv"

	"sessiond/cost"
	"sessiond/internal/replay"
)

// costCSVHead names the columns of the table for programs.
func costCSVHead() []string {
	names := []string{"limit", "summary_mode", "price_model", "thinking", "conversation", "strategy"}
	for _, c := range costColumns() {
		names = append(names, c.name)
	}
	return names
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

// record writes the rows of a comparison for programs.
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
	t.csv.Flush() // what was found out at this limit is not lost with the next one
	return t.csv.Error()
}
