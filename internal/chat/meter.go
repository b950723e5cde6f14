package chat

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	v1 "sessiond/rpc/v1"
)

// Mark stands before what is typed.
const Mark = "›"

const mark = Mark + " "

// Meter is what stands before the input: how full the context is, if that is known.
func (v *View) Meter() Line {
	prompt := Span{Accent, mark}
	p := v.progress
	if p == nil || p.CompressionThreshold <= 0 {
		return Line{Spans: []Span{prompt}}
	}
	return Line{Spans: []Span{
		{band(p.CompressionProgress), full(p.CompressionProgress) + " "},
		{Dim, short(p.CurrentContextTokens) + "/" + short(p.CompressionThreshold) + " "},
		prompt,
	}}
}

// full writes a part of the threshold in percent. It is not 100 % before it is.
func full(percent float64) string { return fmt.Sprintf("%.0f%%", math.Floor(percent)) }

// band is the style of a part of the threshold, in percent.
func band(percent float64) Style {
	switch {
	case percent > 100:
		return Over
	case percent > 80:
		return Bad
	case percent > 50:
		return Warn
	}
	return Good
}

// tokens writes a number of tokens: 980, 5.0k, 12.4k, 1.2M.
func tokens(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 999_950:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// short is tokens without a fraction where that would be too exact: 5.0k, 12k.
func short(n int64) string {
	if n >= 9_950 && n < 999_500 {
		return fmt.Sprintf("%.0fk", float64(n)/1000)
	}
	return tokens(n)
}

func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// money writes US dollars: cents exactly, and small amounts to two digits that say
// something.
func money(usd float64) string {
	switch {
	case usd >= 0.1 || usd == 0:
		return fmt.Sprintf("$%.2f", usd)
	case usd < 0.0001:
		return "< $0.0001"
	}
	return "$" + strings.TrimRight(strconv.FormatFloat(usd, 'f', 4, 64), "0")
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// bar is a bar of width columns, filled by part of whole. What is too little for a column
// is a thin line.
func bar(part, whole int64, width int) string {
	filled := 0
	if whole > 0 {
		filled = int(float64(min(max(part, 0), whole))/float64(whole)*float64(width) + 0.5)
	}
	if filled == 0 && part > 0 {
		return "▏" + strings.Repeat("░", width-1)
	}
	return strings.Repeat("█", filled) + strings.Repeat("░", width-filled)
}

// isProgress reports whether a session's progress says something.
func isProgress(p *v1.Progress) bool { return p != nil && p.CompressionThreshold > 0 }
