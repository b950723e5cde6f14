package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"sessiond/compaction"
	"sessiond/internal/replay"
)

// sweep is a setting and the values it is tried with.
type sweep struct {
	name   string
	values []string
	set    func(v *costVariant, value string) error
}

// settingNamed returns what puts a value of a setting into force; nil if there is none of
// that name.
func settingNamed(name string) func(v *costVariant, value string) error {
	switch name {
	case "landing_ratio":
		return func(v *costVariant, value string) error {
			ratio, err := strconv.ParseFloat(value, 64)
			v.context = func(c *compaction.Config) { c.LandingRatio = ratio }
			return err
		}
	case "recovery":
		return func(v *costVariant, value string) error {
			most, err := strconv.Atoi(value)
			v.context = func(c *compaction.Config) { c.Recovery.MaxTokens = most }
			return err
		}
	case "summary-mode":
		return func(v *costVariant, value string) error {
			v.summaries = value
			if !slices.Contains(summaryModes(), value) {
				return fmt.Errorf("%q is no mode", value)
			}
			return nil
		}
	}
	return nil
}

// sweepList is a flag of sweeps.
type sweepList []sweep

// String implements flag.Value.
func (l *sweepList) String() string {
	var words []string
	for _, s := range *l {
		words = append(words, s.name+"="+strings.Join(s.values, ","))
	}
	return strings.Join(words, " ")
}

// Set implements flag.Value.
func (l *sweepList) Set(text string) error {
	name, values, _ := strings.Cut(text, "=")
	s := sweep{name: name, values: strings.Split(values, ","), set: settingNamed(name)}
	if s.set == nil {
		return fmt.Errorf("%q is not landing_ratio, recovery or summary-mode", name)
	}
	for _, value := range s.values {
		if err := s.set(&costVariant{}, value); err != nil {
			return err
		}
	}
	*l = append(*l, s)
	return nil
}

// replaySweeps tries settings one after the other, each alone, and prints a row for each
// of their values.
func (p *program) replaySweeps(ctx context.Context, f *replayFlags, conversations []*replay.Conversation) error {
	for _, limit := range f.compact.limits {
		_, _ = fmt.Fprintf(p.stdout, "limit %d, prices of %s, %d conversations\n\n", limit, f.cost.priceModel, len(conversations))
		w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(w, "SETTING\tINPUT USD (c)\tUSD (c)\tBELOW (a)\tINPUT USD (d)\tUSD (d)\tBELOW (a)\tCOMPACTIONS (c)\t(d)\tCLEARINGS (c)\tTEXTS (c)\tCUT\tCOUNTED\tKEPT\t")
		for _, s := range f.cost.sweeps {
			for _, value := range s.values {
				v := costVariant{limit: limit, summaries: f.cost.summaries}
				if err := s.set(&v, value); err != nil {
					return err
				}
				run, err := p.compareAt(ctx, f, v, conversations)
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintf(w, "%s %s\t%s\t\n", s.name, value, sweepRow(run))
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(p.stdout)
	}
	return nil
}

// sweepRow tells what a value of a setting came to.
func sweepRow(run *costRun) string {
	var columns []string
	for _, s := range []replay.Strategy{replay.Ours, replay.OursWithMemory} {
		c := run.Total(s)
		columns = append(columns, fmt.Sprintf("%.4f\t%.4f\t%s", c.InputUSD, c.Usage.CostUSD, share(run.Saved(s, false).Share())))
	}
	columns = append(columns,
		strconv.Itoa(run.Count(replay.Ours, (*replay.Compacted).Commits)), strconv.Itoa(run.Count(replay.OursWithMemory, (*replay.Compacted).Commits)))
	clearings := 0
	var texts replay.Texts
	for _, c := range run.Ours {
		clearings += c.Clearings()
		texts.Verbatim += c.Texts.Verbatim
		texts.Cut += c.Texts.Cut
		texts.Counted += c.Texts.Counted
	}
	kept := float64(texts.Verbatim) / float64(max(texts.Verbatim+texts.Cut+texts.Counted, 1))
	columns = append(columns, strconv.Itoa(clearings), fmt.Sprintf("%d\t%d\t%d\t%s", texts.Verbatim, texts.Cut, texts.Counted, share(kept)))
	return strings.Join(columns, "\t")
}
