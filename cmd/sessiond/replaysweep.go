package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
		return setLandingRatio
	case "recovery":
		return setRecovery
	case "summary-mode":
		return setSummaryMode
	}
	return nil
}

func setLandingRatio(v *costVariant, value string) error {
	ratio, err := strconv.ParseFloat(value, 64)
	if err != nil {
		ratio = math.NaN() // which no range holds
	}
	cfg := compaction.DefaultConfig()
	cfg.LandingRatio = ratio
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("%w, not %q", err, value)
	}
	v.context = func(c *compaction.Config) { c.LandingRatio = ratio }
	return nil
}

func setRecovery(v *costVariant, value string) error {
	most, err := strconv.Atoi(value)
	if err != nil || most < 0 {
		return fmt.Errorf("recovery: must be a whole number of tokens from 0 on, not %q", value)
	}
	v.context = func(c *compaction.Config) { c.Recovery.MaxTokens = most }
	return nil
}

func setSummaryMode(v *costVariant, value string) error {
	if !slices.Contains(summaryModes(), value) {
		return fmt.Errorf("summary-mode: must be %s, not %q", strings.Join(summaryModes(), ", "), value)
	}
	v.summaries = value
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

// checkSweep refuses what tables of settings have no place for.
func (f *replayFlags) checkSweep() error {
	if len(f.cost.sweeps) == 0 {
		return nil
	}
	for name, given := range map[string]bool{
		"csv": f.compact.csv != "", "plot": f.cost.plot != "", "breakpoints=false": !f.cost.marked, "flat-base": f.cost.flatBase,
	} {
		if given {
			return &usageError{fmt.Sprintf("replay: --sweep and --%s do not go together", name)}
		}
	}
	return nil
}

// replaySweeps tries settings one after the other, each alone, prints a row for each of
// their values, and fails if anything was not as it must be.
func (p *program) replaySweeps(ctx context.Context, f *replayFlags, conversations []*replay.Conversation) error {
	var faults []string
	for _, limit := range f.compact.limits {
		_, _ = fmt.Fprintf(p.stdout, "limit %d, prices of %s, %d conversations\n\n", limit, f.cost.priceModel, len(conversations))
		g := &grid{head: sweepHead()}
		found, err := p.sweepsAt(ctx, f, limit, conversations, g)
		faults = append(faults, found...)
		write := g.write
		if f.cost.markdown {
			write = g.markdown
		}
		if err := errors.Join(err, write(p.stdout)); err != nil {
			return errors.Join(err, broken(faults))
		}
	}
	return broken(faults)
}

// sweepsAt adds the rows of a limit to a table. With an error those stay that there are.
func (p *program) sweepsAt(ctx context.Context, f *replayFlags, limit int, conversations []*replay.Conversation, g *grid) (faults []string, err error) {
	runs := make(map[string]*costRun) // by what was in force, as settings have defaults
	for _, s := range f.cost.sweeps {
		for _, value := range s.values {
			v := costVariant{limit: limit, summaries: f.cost.summaries}
			if err := s.set(&v, value); err != nil {
				return faults, err
			}
			name := s.name + " " + value
			run, done := runs[v.inForce()]
			if !done {
				if run, err = p.compareAt(ctx, f, v, conversations); err != nil {
					return faults, fmt.Errorf("%s: %w", name, err)
				}
				runs[v.inForce()] = run
				for _, fault := range run.faults(f) {
					faults = append(faults, name+", "+fault)
				}
			}
			g.add(append([]string{name}, sweepRow(run, f.cost.usd)...)...)
		}
	}
	return faults, nil
}

// inForce tells variants apart that are set up otherwise.
func (v *costVariant) inForce() string {
	limits := compaction.DefaultConfig()
	if v.context != nil {
		v.context(&limits)
	}
	return fmt.Sprint(v.summaries, limits)
}

// sweepHead names the columns of a table of settings.
func sweepHead() []string {
	return []string{
		"SETTING", "INPUT, USD (a)", "(b)", "(c)", "(d)", "ALL, USD (c)", "(d)", "BELOW (a) (c)", "(d)", "COMPACTIONS (c)", "(d)", "CLEARINGS (c)",
		"ROUNDS TO A COMPACTION (c)", "TOKENS KEPT (c)", "TEXTS KEPT (c)", "CUT", "COUNTED",
	}
}

// sweepRow tells what a value of a setting came to.
func sweepRow(run *costRun, usd func(float64) string) []string {
	var row []string
	number := func(v int64) { row = append(row, strconv.FormatInt(v, 10)) }
	for _, s := range []replay.Strategy{replay.NoCaching, replay.AutomaticMark, replay.Ours, replay.OursWithMemory} {
		row = append(row, usd(run.Total(s).InputUSD))
	}
	for _, s := range run.OwnMarks() {
		row = append(row, usd(run.Total(s).Usage.CostUSD))
	}
	for _, s := range run.OwnMarks() {
		row = append(row, saving(run.Saved(s, false)))
	}
	for _, s := range run.OwnMarks() {
		number(int64(run.Count(s, (*replay.Compacted).Commits)))
	}
	clearings, kept := 0, replay.Kept{}
	var texts replay.Texts
	for _, c := range run.Ours {
		clearings += c.Clearings()
		texts = texts.Plus(c.Texts)
		kept = kept.Plus(c.Kept)
	}
	number(int64(clearings))
	row = append(row, mean("%.1f", kept.Rounds, kept.Compactions), mean("%.0f", kept.Tokens, kept.Compactions))
	number(texts.Verbatim)
	number(texts.Cut)
	number(texts.Counted)
	return row
}

// mean writes what comes to each of some.
func mean(format string, sum, of int64) string {
	if of == 0 {
		return none
	}
	return fmt.Sprintf(format, float64(sum)/float64(of))
}
