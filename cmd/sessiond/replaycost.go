package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"sessiond/compaction"
	"sessiond/configs"
	"sessiond/internal/client"
	"sessiond/internal/replay"
	"sessiond/llm"
	"sessiond/message"
	"sessiond/session"
	"sessiond/tokens"
)

// costFlags are what a replay is told that keeps account of what requests cost.
type costFlags struct {
	on         bool
	priceModel string
	summaries  string
	marked     bool
	check      bool
	flatBase   bool
	plot       string
	markdown   bool
	sweeps     sweepList
}

// How summaries are asked for in such a replay.
const (
	summariesByCost = "cost"   // in the way that is cheaper
	summariesFlat   = "flat"   // always with the text of what leaves
	summariesShared = "shared" // with the chat's request repeated, wherever that can be
)

func summaryModes() []string { return []string{summariesByCost, summariesFlat, summariesShared} }

// defaultPriceModel is a model of the middle, as most conversations use.
const defaultPriceModel = "claude-sonnet-5-5"

func (f *costFlags) register(fs *flag.FlagSet) {
	fs.BoolVar(&f.on, "cost", false, "keep the conversations within --limit on their own clock, tell what the requests cost with and without prompt caching, and check it")
	fs.StringVar(&f.priceModel, "price-model", defaultPriceModel, "with --cost: whose prices count")
	fs.StringVar(&f.summaries, "summary-mode", summariesByCost, "with --cost: how summaries are asked for: flat, shared, or cost, which is the cheaper of both")
	fs.BoolVar(&f.marked, "breakpoints", true, "with --cost: mark requests for the cache; without, it checks that nothing is read from it")
	fs.BoolVar(&f.check, "check", true, "with --cost: fail if less is saved than must be over many conversations")
	fs.BoolVar(&f.flatBase, "flat-base", false, "with --cost: also hold everything against no caching with flat summaries, which takes another replay")
	fs.BoolVar(&f.markdown, "markdown", false, "with --cost: print the tables as pages of documentation show them, in Markdown and all limits in one")
	fs.StringVar(&f.plot, "plot", "", "with --cost: draw how the context of the longest conversation grew, as SVG; takes one --limit")
	fs.Var(&f.sweeps, "sweep", "with --cost: in place of the report compare values of one setting, as NAME=VALUE,…: landing_ratio, recovery (its max_tokens) or summary-mode; may be given again for others")
}

func (f *replayFlags) checkCost() error {
	switch {
	case f.through != "" && f.through != string(configs.ProviderAnthropic):
		return &usageError{"replay: --cost goes through anthropic"}
	case f.compact.summaries != summariesScripted:
		return &usageError{"replay: --cost takes scripted --summaries"}
	case !slices.Contains(summaryModes(), f.cost.summaries):
		return &usageError{"replay: --summary-mode is cost, flat or shared"}
	case f.database != "":
		return &usageError{"replay: --cost takes no --database: it replays more than once"}
	case f.cost.plot != "" && len(f.compact.limits) > 1:
		return &usageError{"replay: --plot takes one --limit"}
	}
	if err := f.checkSweep(); err != nil {
		return err
	}
	_, err := f.cost.prices()
	return err
}

// costVariant is how sessions are set up for one replay.
type costVariant struct {
	limit     int
	summaries string
	memory    bool // extraction is on
	context   func(*compaction.Config)
}

// replayCost plays conversations whose requests are paid for, prints what they cost, and
// fails if too little is saved.
func (p *program) replayCost(ctx context.Context, f *replayFlags, conversations []*replay.Conversation) error {
	if err := f.checkCost(); err != nil {
		return err
	}
	conversations, err := f.chained(conversations)
	if err != nil {
		return err
	}
	if len(f.cost.sweeps) > 0 {
		return p.replaySweeps(ctx, f, conversations)
	}
	out, err := newCostTables(p.stdout, f)
	if err != nil {
		return err
	}
	faults, err := p.replayLimits(ctx, f, out, conversations)
	if err := errors.Join(err, out.close()); err != nil {
		return err
	}
	return broken(faults)
}

// replayLimits plays conversations at one limit after the other, and returns what was not
// as it must be.
func (p *program) replayLimits(ctx context.Context, f *replayFlags, out *costTables, conversations []*replay.Conversation) (faults []string, err error) {
	for _, limit := range f.compact.limits {
		run, err := p.compareAt(ctx, f, costVariant{limit: limit, summaries: f.cost.summaries}, conversations)
		if err != nil {
			return faults, err
		}
		faults = append(faults, run.faults(f)...)
		if err := out.write(run); err != nil {
			return faults, err
		}
	}
	return faults, nil
}

// costRun is a comparison at one limit.
type costRun struct {
	replay.Comparison
	limit    int
	rejected []string
}

// compareAt plays conversations without and with memories.
func (p *program) compareAt(ctx context.Context, f *replayFlags, v costVariant, conversations []*replay.Conversation) (*costRun, error) {
	prices, err := f.cost.prices()
	if err != nil {
		return nil, err
	}
	run := &costRun{limit: v.limit, Comparison: replay.Comparison{Prices: prices}}
	play := func(v costVariant) []*replay.Course {
		if err != nil {
			return nil
		}
		courses, rejected, failed := p.costAll(ctx, f, v, slices.Clone(conversations))
		run.rejected, err = append(run.rejected, rejected...), failed
		return courses
	}
	run.Ours = play(v)
	withMemory, flat := v, v
	withMemory.memory, flat.summaries = true, summariesFlat
	run.WithMemory = play(withMemory)
	switch {
	case f.cost.flatBase && v.summaries == summariesFlat:
		run.FlatBase = run.Ours
	case f.cost.flatBase:
		run.FlatBase = play(flat)
	}
	return run, err
}

// faults lists everything that is not as it must be.
func (r *costRun) faults(f *replayFlags) []string {
	var faults []string
	add := func(text string) { faults = append(faults, fmt.Sprintf("limit %d: %s", r.limit, text)) }
	for _, why := range r.rejected {
		add("a request was rejected: " + why)
	}
	for _, s := range r.OwnMarks() {
		for _, course := range r.Courses(s) {
			for _, fault := range course.Faults {
				add(fmt.Sprintf("%s: %s", s, fault))
			}
		}
	}
	switch {
	case !f.cost.marked:
		for _, s := range r.OwnMarks() {
			if read := r.Total(s).Usage.CacheRead; read > 0 {
				add(fmt.Sprintf("%s: %d tokens were read from the cache without breakpoints", s, read))
			}
		}
	case f.cost.check:
		for _, fault := range r.Faults(r.limit) {
			add(fault)
		}
	}
	return faults
}

// costDesk is a server for one variant, and what is needed to account for it.
type costDesk struct {
	replayBench
	options replay.CourseOptions
}

// startOfTime is when a replay on its own clock begins.
func startOfTime() time.Time { return time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC) }

// betweenConversations keeps the cache of one from serving another.
const betweenConversations = 25 * time.Hour

// costAll plays conversations in a variant, and returns how they went and why requests
// were rejected.
func (p *program) costAll(
	ctx context.Context, f *replayFlags, v costVariant, conversations []*replay.Conversation,
) (courses []*replay.Course, rejected []string, err error) {
	d, err := p.openCostDesk(ctx, f, v, conversations)
	defer func() { err = errors.Join(err, d.close(ctx)) }()
	if err != nil {
		return nil, nil, err
	}
	for _, c := range conversations {
		d.options.Clock.Advance(betweenConversations)
		course, err := d.options.Play(ctx, d.conn, c)
		if err != nil {
			return nil, nil, err
		}
		courses = append(courses, course)
	}
	return courses, d.options.Fake.Seen().Rejected, nil
}

// openCostDesk starts what a variant needs. What it returns is to be closed in any case.
func (p *program) openCostDesk(ctx context.Context, f *replayFlags, v costVariant, conversations []*replay.Conversation) (*costDesk, error) {
	d := &costDesk{}
	counter, err := tokens.New(string(configs.Default().Context.Encoding))
	if err != nil {
		return d, err
	}
	limits := compaction.DefaultConfig()
	limits.ContextTokensLimit = v.limit
	if v.context != nil {
		v.context(&limits)
	}
	planner, err := compaction.New(limits, counter, counter.Name())
	if err != nil {
		return d, err
	}
	script, clock := replay.NewScript(counter.Count), replay.NewClock(startOfTime())
	fake := replay.NewCacheFake(replay.FakeOptions{
		Conversations: conversations, Script: script, WindowTokens: f.compact.window, Count: counter.Count, Thinking: f.thinking,
	}, f.cost.priceModel, clock.Now)
	if d.provider, err = newCostProvider(ctx, f, fake, conversations); err != nil {
		return d, err
	}
	meter := replay.NewMeter(d.provider.model, v.limit)
	about := llm.Capabilities{CacheMinTokens: fake.CacheMinTokens(), TokenRatio: 1} // the fake counts as the server does
	ledger := replay.NewLedger(meter, d.provider.model, clock, about)
	d.provider.model = ledger
	d.options = replay.CourseOptions{
		CompactOptions: replay.CompactOptions{Script: script, Meter: meter, Planner: planner},
		Ledger:         ledger, Fake: fake, Clock: clock, Extracting: d.extracting,
	}
	prices, err := f.cost.told(v.summaries, d.provider.names)
	if err != nil {
		return d, err
	}
	d.server, err = p.startReplayWith(ctx, f, d.provider, limits, func(o *session.Options) {
		o.Now, o.Prices, o.CacheBreakpoints, o.ExtractMemory = clock.Now, prices, f.cost.marked, v.memory
		// The clock leaps over pauses of days, which must not end anything.
		o.ToolTimeout, o.MaxTurnDuration, o.IdleUnload = endless, endless, endless
	})
	if err != nil {
		return d, err
	}
	d.conn, err = client.Dial(ctx, d.server.url(), client.Options{})
	return d, err
}

// endless is longer than any recording.
const endless = 100 * 365 * 24 * time.Hour

func newCostProvider(ctx context.Context, f *replayFlags, fake *replay.CacheFake, conversations []*replay.Conversation) (*replayProvider, error) {
	p := &replayProvider{thinking: llm.ThinkingOff, fake: fake}
	if f.thinking {
		p.thinking = llm.ThinkingMedium
	}
	for _, c := range conversations {
		p.names = append(p.names, c.ID)
	}
	return p, p.serve(ctx, string(configs.ProviderAnthropic))
}

// told are the prices that the server is told, by which it chooses how to ask for
// summaries. What is paid for in the end is counted by the real ones.
func (f *costFlags) told(summaries string, names []string) (*llm.Prices, error) {
	rates, err := f.prices()
	if err != nil {
		return nil, err
	}
	price := llm.Price{Rates: rates(message.Usage{})}
	switch summaries {
	case summariesFlat:
		price.CacheRead = 1000 * price.Input
	case summariesShared:
		price.CacheRead = 0
	}
	all := make(map[string]llm.Price, len(names))
	for _, name := range names {
		all[name] = price
	}
	return llm.NewPrices(all)
}

// prices are those of the model that counts.
func (f *costFlags) prices() (replay.Prices, error) {
	prices, err := llm.NewPrices(nil)
	if err != nil {
		return nil, err
	}
	if !prices.Known(f.priceModel) {
		return nil, &usageError{fmt.Sprintf("replay: the price of %q is not known", f.priceModel)}
	}
	return func(u message.Usage) llm.Rates {
		rates, _ := prices.Rates(f.priceModel, u)
		return rates
	}, nil
}

// extracting reports whether a memory is being brought up to date.
func (d *costDesk) extracting() (bool, error) {
	begun, err := sumOf(d.server.metrics, "sessiond_memory_extractions_begun_total")
	if err != nil || begun == 0 {
		return false, err
	}
	ended, err := sumOf(d.server.metrics, "sessiond_memory_extractions_total")
	return begun > ended, err
}
