package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"sessiond/configs"
	"sessiond/internal/replay"
	"sessiond/tokens"
)

// minFactCompactions is how often a conversation has to be compacted for its facts to say
// anything.
const minFactCompactions = 5

// replayFacts plays made-up conversations that tell facts, looks where those are in the
// end, and fails if one can't be found.
func (p *program) replayFacts(ctx context.Context, f *replayFlags) error {
	if err := f.checkCompact(); err != nil {
		return err
	}
	counter, err := tokens.New(string(configs.Default().Context.Encoding))
	if err != nil {
		return err
	}
	var faults []string
	for _, limit := range f.compact.limits {
		c, facts := replay.WithFacts(f.compact.facts, counter.Count)
		desk, err := p.openDesk(ctx, f, limit, []*replay.Conversation{c})
		if err != nil {
			return err
		}
		found, err := p.factsAt(ctx, desk, facts)
		if err := errors.Join(err, desk.close(ctx)); err != nil {
			return err
		}
		faults = append(faults, found...)
	}
	return broken(faults)
}

// factsAt plays a conversation with facts and prints where they are.
func (p *program) factsAt(ctx context.Context, desk *compactDesk, facts []replay.Fact) (faults []string, err error) {
	run, err := desk.play(ctx)
	if err != nil {
		return nil, err
	}
	faults = run.faults()
	report := run.reports[0]
	compactions := report.Count((*replay.Compacted).Commits)
	if compactions < minFactCompactions {
		faults = append(faults, fmt.Sprintf("limit %d: %d compactions, fewer than %d", run.limit, compactions, minFactCompactions))
	}
	places, err := replay.FindFacts(ctx, desk.conn, report.SessionID, facts)
	if err != nil {
		return faults, err
	}
	counts := make(map[replay.Place]int)
	for i, place := range places {
		if counts[place]++; place == replay.PlaceNowhere {
			faults = append(faults, fmt.Sprintf("limit %d: not found: %s (told by %s)", run.limit, facts[i].Text, facts[i].By))
		}
	}
	return faults, p.printFacts(run.limit, compactions, len(facts), counts)
}

func (p *program) printFacts(limit, compactions, all int, counts map[replay.Place]int) error {
	_, _ = fmt.Fprintf(p.stdout, "limit %d, %d facts, %d compactions\n", limit, all, compactions)
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "FOUND\tFACTS\tSHARE")
	for _, place := range []replay.Place{replay.PlaceVerbatim, replay.PlaceSummary, replay.PlaceLog, replay.PlaceCleared, replay.PlaceNowhere} {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%.0f %%\n", place, counts[place], 100*float64(counts[place])/float64(all))
	}
	return table.Flush()
}
