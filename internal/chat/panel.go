package chat

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "sessiond/rpc/v1"
)

// barWidth is the length of the bars of /context, in columns.
const barWidth = 24

// contextLines shows what the model is given, against the limit.
func contextLines(c *v1.SessionContextResult, s *v1.Session) []Line {
	lines := []Line{
		{},
		{Spans: []Span{
			span(Strong, "Context"), span(Dim, " · "+c.Model+" · "),
			span(Plain, tokens(c.ContextTokens)+" tokens"),
			span(Dim, " · compacted at "), span(Plain, tokens(c.Threshold)), span(Dim, " (T) · at most "), span(Plain, tokens(c.InputLimit)), span(Dim, " (L′)"),
		}},
	}
	whole, widest := max(c.Threshold, c.ContextTokens), 0
	rows := []v1.ContextPart{}
	for _, p := range append(slices.Clone(c.Parts), v1.ContextPart{Name: "together", Tokens: c.ContextTokens}) {
		if p.Tokens > 0 {
			rows = append(rows, v1.ContextPart{Name: words(p.Name), Tokens: p.Tokens})
			widest = max(widest, Width(p.Name))
		}
	}
	for i, p := range rows {
		style := Accent
		if i == len(rows)-1 {
			style = band(percent(p.Tokens, c.Threshold))
		}
		lines = append(lines, contextRow(pad(p.Name, widest), p.Tokens, whole, style))
	}
	lines = append(lines, indented(Dim, fmt.Sprintf("level %d · generation %d · ratio %.2f (%s, %s) · a compaction aims at %s",
		c.Level, c.Generation, c.Ratio, c.Encoding, measured(c.Estimated), tokens(c.Landing))))
	lines = append(lines, indented(Dim, "next compaction "+whenNext(&c.Progress)))
	if p := c.CompactionPaused; p != nil {
		lines = append(lines, indented(Warn, "none is made by itself at the moment: "+words(string(p.Reason))))
	}
	return append(lines, usageLines(s)...)
}

// indented is a line of a panel.
func indented(s Style, text string) Line {
	return Line{Indent: 2, Spans: []Span{span(s, "  "+text)}}
}

func contextRow(name string, n, whole int64, style Style) Line {
	return Line{Spans: []Span{
		span(Plain, "  "+name+"  "), span(style, bar(n, whole, barWidth)), span(Plain, padLeft(tokens(n), 8)),
		span(Dim, fmt.Sprintf("  %3.0f%%", percent(n, whole))),
	}}
}

func percent(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole) * 100
}

func measured(estimated bool) string {
	if estimated {
		return "counted here"
	}
	return "as the provider counted"
}

func whenNext(p *v1.Progress) string {
	switch n := p.RoundsUntilCompression; {
	case n < 0:
		return "is due"
	case n >= 999:
		return "is far away"
	default:
		return "in about " + plural(n, "round", "rounds")
	}
}

// usageLines tells what the session has used, and what the prompt cache did about it.
func usageLines(s *v1.Session) []Line {
	u := &s.Usage
	if u.Input+u.Output+u.CacheRead == 0 {
		return nil
	}
	text := fmt.Sprintf("so far %s in, %s out", tokens(u.Input+u.CacheRead+u.CacheWrite5m+u.CacheWrite1h), tokens(u.Output))
	if u.CostUSD > 0 {
		text += ", " + money(u.CostUSD)
	}
	if u.CacheRead+u.CacheWrite5m+u.CacheWrite1h > 0 {
		text += fmt.Sprintf(" · cache hit rate %.0f%% of %.0f%% possible", s.Cache.ChatHitRate*100, s.Cache.IdealHitRate*100)
		if s.Cache.SavedUSD > 0 {
			text += ", " + money(s.Cache.SavedUSD) + " saved"
		}
	}
	return []Line{indented(Dim, text)}
}

// sessionLines lists sessions with the numbers that /open takes.
func sessionLines(e SessionsTold, current string, zone *time.Location) []Line {
	if len(e.Sessions) == 0 {
		return []Line{line(Dim, "There are no sessions yet.")}
	}
	lines := []Line{{}}
	for i := range e.Sessions {
		s := &e.Sessions[i]
		number, title := padLeft(strconv.Itoa(i+1), 4)+"  ", s.Title
		if title == "" {
			title = "(no title)"
		}
		style := Plain
		if s.ID == current {
			style = Accent
		}
		about := "  " + when(s.UpdatedAt, e.Now, zone)
		if s.Status != v1.SessionIdle {
			about += " · " + words(string(s.Status))
		}
		spans := []Span{span(Dim, number), span(style, pad(Head(oneLine(title), labelWidth), 30)), span(Dim, about)}
		if isProgress(&s.Progress) {
			spans = append(spans, span(Dim, " · "), span(band(s.CompressionProgress), full(s.CompressionProgress)))
		}
		lines = append(lines, cut(spans...))
	}
	if e.More {
		lines = append(lines, line(Dim, "      and older ones"))
	}
	return append(lines, line(Dim, "  /open N opens one."))
}

// when writes a time for people who know what day it is.
func when(at, now time.Time, zone *time.Location) string {
	at, now = at.In(zone), now.In(zone)
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// memoryLines shows what is remembered.
func memoryLines(e MemoriesTold) []Line {
	if len(e.Memories) == 0 {
		return []Line{line(Dim, "Nothing is remembered yet.")}
	}
	lines := []Line{{}}
	for i := range e.Memories {
		m := &e.Memories[i]
		about := string(m.Category)
		if m.Scope == v1.MemoryOfUser {
			about = "you, " + about
			if m.Importance != "" {
				about += ", " + string(m.Importance)
			}
		}
		lines = append(lines,
			Line{Spans: []Span{span(Accent, "  ◆ "), span(Strong, m.Title), span(Dim, " ("+about+"; by "+string(m.Source)+")")}},
			cut(span(Plain, "    "+oneLine(m.Content))),
		)
	}
	if e.More {
		lines = append(lines, line(Dim, "    and older ones"))
	}
	return lines
}
