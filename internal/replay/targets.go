package replay

import (
	"fmt"

	v1 "sessiond/rpc/v1"
)

// What prompt caching has to come to, over many conversations.
const (
	hitsAfterMicrocompact = 0.75 // of the requests after the first
	savedMuch             = 0.69 // of the input's cost, at large limits or where nothing was cleared
	savedAtSmallLimits    = 0.62
	largeLimit            = 64_000
	memoryCallsAtMost     = 1.4 // times as many calls as without
	writtenByMemory       = 0.5 // of the automatic compactions
)

// Faults lists what of that is not so at a limit, in words.
func (c *Comparison) Faults(limit int) []string {
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, s := range c.OwnMarks() {
		if rest := c.After(s, EventMicrocompact).Rest(); rest.Requests > 0 && rest.Rate() < hitsAfterMicrocompact {
			add("%s: requests 2 to 5 after a microcompact were read from the cache by %s, less than %s", s, percent(rest.Rate()), percent(hitsAfterMicrocompact))
		}
		for _, unclearedOnly := range []bool{false, true} {
			want, where := savedMuch, "over all conversations"
			switch {
			case unclearedOnly:
				where = "where nothing was cleared"
			case limit < largeLimit:
				want = savedAtSmallLimits
			}
			if saved := c.Saved(s, unclearedOnly); saved.UncachedUSD > 0 && saved.Share() < want {
				add("%s: the input costs %s less than without caching %s, less than %s", s, percent(saved.Share()), where, percent(want))
			}
		}
		if ours, automatic := c.Total(s).InputUSD, c.Total(AutomaticMark).InputUSD; ours > automatic {
			add("%s: the input costs %.4f USD, more than %.4f with the automatic marker alone", s, ours, automatic)
		}
	}
	if c.WithMemory != nil {
		faults = append(faults, c.memoryFaults()...)
	}
	return faults
}

// memoryFaults looks at what memories take and give.
func (c *Comparison) memoryFaults() []string {
	var faults []string
	without, with := c.Total(Ours).Total(), c.Total(OursWithMemory).Total()
	if float64(with) > memoryCallsAtMost*float64(without) {
		faults = append(faults, fmt.Sprintf("%s: %d calls, more than %.1f times the %d without", OursWithMemory, with, memoryCallsAtMost, without))
	}
	all := c.Count(OursWithMemory, automatically)
	free := c.Count(OursWithMemory, func(x *Compacted) bool { return automatically(x) && !x.Called() })
	if float64(free) < writtenByMemory*float64(all) {
		faults = append(faults, fmt.Sprintf("%s: %d of %d automatic summaries took no call, less than %s", OursWithMemory, free, all, percent(writtenByMemory)))
	}
	return faults
}

// automatically reports whether a compaction took effect that nobody asked for.
func automatically(c *Compacted) bool { return c.Commits() && c.Trigger != v1.TriggerManual }

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
