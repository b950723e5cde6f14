package main

import (
	"fmt"
	"os"
	"time"

	"sessiond/cost"
	"sessiond/internal/plot"
	"sessiond/internal/replay"
)

// draw draws the conversation with the most rounds, if that was asked for.
func (t *costTables) draw(run *costRun) error {
	if t.flags.cost.plot == "" {
		return nil
	}
	longest := run.Ours[0]
	for _, c := range run.Ours {
		if len(c.Chats()) > len(longest.Chats()) {
			longest = c
		}
	}
	return os.WriteFile(t.flags.cost.plot, costChart(longest).SVG(), 0o644) //nolint:gosec // a picture for everybody
}

// costChart is how the context of a conversation grew and what of it was read from the
// cache.
func costChart(c *replay.Course) *plot.Chart {
	out := &plot.Chart{
		Title:    "Context of " + c.ID,
		Subtitle: "each request as the provider counted it; between area and line is what was read anew, for the full price or a higher one",
		XLabel:   "round (one request for an answer each)",
		YLabel:   "input of the request, in tokens",
		Steps:    "rounds",
		Line:     plot.Series{Name: "whole input"},
		Area:     plot.Series{Name: "of it, read from the cache"},
		Levels:   []plot.Level{{Name: "limit L", Value: float64(c.Numbers.InputLimit), Bound: true}, {Name: "threshold T", Value: float64(c.Numbers.Threshold)}},
		Kinds:    []plot.Kind{{Name: "compaction"}, {Name: "clearing under pressure"}, {Name: "microcompact"}},
		Spots:    plot.Kind{Name: "cold after a pause"},
	}
	kinds := map[replay.Event]int{replay.EventCompaction: 0, replay.EventClearing: 1, replay.EventMicrocompact: 2}
	before := int64(0)
	chats := c.Chats()
	for i := range chats {
		r := &chats[i]
		tokens := cost.InputTokens(r.Under(replay.Marked))
		out.Line.Values = append(out.Line.Values, float64(tokens))
		out.Area.Values = append(out.Area.Values, float64(r.Under(replay.Marked).CacheRead))
		for _, e := range r.Before {
			k := &out.Kinds[kinds[e]]
			text := fmt.Sprintf("%s before round %d: %d tokens in round %d, %d in this one", e, i+1, before, i, tokens)
			k.Marks = append(k.Marks, plot.Mark{Step: i + 1, Text: text})
		}
		if i > 0 {
			if pause := r.PauseAfter(&chats[i-1]); pause > 0 {
				text := fmt.Sprintf("round %d came after a pause of %s: %d of %d tokens were read from the cache", i+1, pause.Round(time.Minute), r.Under(replay.Marked).CacheRead, tokens)
				out.Spots.Marks = append(out.Spots.Marks, plot.Mark{Step: i + 1, Text: text})
			}
		}
		before = tokens
	}
	return out
}
