package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sessiond/compaction"
	"sessiond/configs"
	"sessiond/internal/client"
	"sessiond/internal/replay"
	"sessiond/tokens"
)

// compactFlags are what a replay is told in which conversations are compacted.
type compactFlags struct {
	on        bool
	facts     int
	limits    tokenList
	chain     int
	window    int
	summaries string
	csv       string
}

// The writers of the summaries of a replay.
const (
	summariesScripted = "scripted"
	summariesByModel  = "model"
)

func (f *compactFlags) register(fs *flag.FlagSet) {
	f.limits = tokenList{compaction.DefaultConfig().ContextTokensLimit}
	fs.BoolVar(&f.on, "compact", false, "keep the conversations within --limit, tell what that took, and check it")
	fs.IntVar(&f.facts, "facts", 0, "in place of files: make up a conversation with so many facts, and look where they are in the end")
	fs.Var(&f.limits, "limit", "with --compact, --facts or --cost: context_tokens_limit; several, separated by commas, are tried one after the other")
	fs.IntVar(&f.chain, "chain", 0, "with --compact or --cost: join conversations into ones of at least so many tokens")
	fs.IntVar(&f.window, "window", 0, "with --compact, --facts or --cost: the model's window in tokens; 0: without end")
	fs.StringVar(&f.summaries, "summaries", summariesScripted, "with --compact or --facts: scripted, or model: the one that the SESSIOND_LLM__… variables name writes them")
	fs.StringVar(&f.csv, "csv", "", "with --compact or --cost: also write the table to a file, as comma-separated values")
}

func (f *replayFlags) checkCompact() error {
	if f.through == "" {
		f.through = string(configs.ProviderAnthropic)
	}
	switch {
	case f.compact.summaries != summariesScripted && f.compact.summaries != summariesByModel:
		return &usageError{"replay: --summaries is scripted or model"}
	case f.database != "" && len(f.compact.limits) > 1:
		return &usageError{"replay: --database takes one --limit"}
	}
	return nil
}

// tokenList is a flag of numbers of tokens.
type tokenList []int

// String implements flag.Value.
func (l *tokenList) String() string {
	words := make([]string, len(*l))
	for i, n := range *l {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// Set implements flag.Value.
func (l *tokenList) Set(text string) error {
	*l = nil
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < compaction.MinLimitTokens {
			return fmt.Errorf("%q is no number of tokens from %d on", word, compaction.MinLimitTokens)
		}
		*l = append(*l, n)
	}
	return nil
}

// replayCompact plays conversations that have to be kept within a limit, prints what that
// took, and fails if anything was not as it must be.
func (p *program) replayCompact(ctx context.Context, f *replayFlags, conversations []*replay.Conversation) error {
	if err := f.checkCompact(); err != nil {
		return err
	}
	conversations, err := f.chained(conversations)
	if err != nil {
		return err
	}
	out, err := newCompactTables(p.stdout, f)
	if err != nil {
		return err
	}
	var faults []string
	for _, limit := range f.compact.limits {
		run, err := p.compactAll(ctx, f, limit, slices.Clone(conversations))
		if err != nil {
			return errors.Join(err, out.close())
		}
		faults = append(faults, run.faults()...)
		if err := out.write(run); err != nil {
			return errors.Join(err, out.close())
		}
	}
	if err := out.close(); err != nil {
		return err
	}
	return broken(faults)
}

// chained joins conversations, if that was asked for.
func (f *replayFlags) chained(conversations []*replay.Conversation) ([]*replay.Conversation, error) {
	if f.compact.chain == 0 {
		return conversations, nil
	}
	counter, err := tokens.New(string(configs.Default().Context.Encoding))
	if err != nil {
		return nil, err
	}
	return replay.Chain(conversations, f.compact.chain, counter.Count), nil
}

// broken is an error that names everything that was not as it must be.
func broken(faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("not as it must be:\n%s", strings.Join(faults, "\n"))
}

// compactRun is a replay of conversations at one limit.
type compactRun struct {
	limit   int
	reports []*replay.Report
	seen    replay.Seen
	repairs float64
}

// compactAll plays conversations at a limit.
func (p *program) compactAll(ctx context.Context, f *replayFlags, limit int, conversations []*replay.Conversation) (*compactRun, error) {
	desk, err := p.openDesk(ctx, f, limit, conversations)
	if err != nil {
		return nil, err
	}
	run, err := desk.play(ctx)
	return run, errors.Join(err, desk.close(ctx))
}

// compactDesk is a server for conversations at a limit, and what is needed to watch it.
type compactDesk struct {
	replayBench
	conversations []*replay.Conversation
	options       replay.CompactOptions
	limit         int
}

// replayBench is what a replay is made on. What is not there yet is nil.
type replayBench struct {
	provider *replayProvider
	server   *replayServer
	conn     *client.Conn
}

func (b *replayBench) close(ctx context.Context) error {
	var err error
	if b.conn != nil {
		b.conn.Close()
	}
	if b.server != nil {
		err = b.server.end(ctx)
	}
	if b.provider != nil {
		b.provider.close()
	}
	return err
}

func (p *program) openDesk(ctx context.Context, f *replayFlags, limit int, conversations []*replay.Conversation) (_ *compactDesk, err error) {
	counter, err := tokens.New(string(configs.Default().Context.Encoding))
	if err != nil {
		return nil, err
	}
	cfg := compaction.DefaultConfig()
	cfg.ContextTokensLimit = limit
	planner, err := compaction.New(cfg, counter, counter.Name())
	if err != nil {
		return nil, err
	}
	script := replay.NewScript(counter.Count)
	fake := replay.FakeOptions{Conversations: conversations, Script: script, WindowTokens: f.compact.window, Count: counter.Count}
	d := &compactDesk{conversations: conversations, limit: limit}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close(ctx))
		}
	}()
	if d.provider, err = newReplayProvider(ctx, f, fake); err != nil {
		return nil, err
	}
	meter := replay.NewMeter(d.provider.model, limit)
	if err := p.chooseWriter(f, meter); err != nil {
		return nil, err
	}
	d.provider.model = meter
	d.options = replay.CompactOptions{Script: script, Meter: meter, Planner: planner, Rest: d.provider.clock.rest}
	if d.server, err = p.startReplay(ctx, f, d.provider, cfg); err != nil {
		return nil, err
	}
	d.conn, err = client.Dial(ctx, d.server.url(), client.Options{})
	return d, err
}

// chooseWriter has a real model write the summaries, if that was asked for.
func (p *program) chooseWriter(f *replayFlags, meter *replay.Meter) error {
	if f.compact.summaries != summariesByModel {
		return nil
	}
	cfg, err := p.load("")
	if err != nil {
		return err
	}
	resolved := cfg.LLM.Resolved(p.environ)
	if resolved.Provider == configs.ProviderDemo || resolved.Provider == configs.ProviderAuto {
		return &usageError{"replay: --summaries model needs a model: set SESSIOND_LLM__PROVIDER, SESSIOND_LLM__MODEL and its key"}
	}
	m, err := pickModels(resolved, newLogger(configs.Log{Level: configs.LogLevel(f.level), Format: configs.FormatConsole}, p.stderr))
	if err != nil {
		return err
	}
	meter.SummariesBy(m.model, m.names[0])
	return nil
}

func (d *compactDesk) play(ctx context.Context) (*compactRun, error) {
	run := &compactRun{limit: d.limit}
	for _, c := range d.conversations {
		r, err := replay.Compact(ctx, d.conn, c, d.options)
		if err != nil {
			return nil, err
		}
		run.reports = append(run.reports, r)
	}
	repairs, err := sumOf(d.server.metrics, "sessiond_request_repairs_total")
	if err != nil {
		return nil, err
	}
	run.repairs, run.seen = repairs, d.provider.fake.Seen()
	return run, nil
}

// appliedPercent is how many of the automatic compactions have to be applied.
const appliedPercent = 95

// faults lists everything that was not as it must be.
func (r *compactRun) faults() []string {
	var faults []string
	add := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("limit %d: ", r.limit)+fmt.Sprintf(format, args...))
	}
	for _, why := range r.seen.Rejected {
		add("a request was rejected: %s", why)
	}
	all, applied := 0, 0
	for _, one := range r.reports {
		for _, fault := range one.Faults {
			add("%s", fault)
		}
		all += one.Count(automatic)
		applied += one.Count(func(c *replay.Compacted) bool { return automatic(c) && c.Outcome == "applied" })
	}
	if applied*100 < all*appliedPercent {
		add("%d of %d automatic compactions were applied, less than %d %%", applied, all, appliedPercent)
	}
	return faults
}

func automatic(c *replay.Compacted) bool { return c.Trigger != "manual" }
