package replay

import (
	"math"
	"slices"
)

// Strategy is a way of paying for conversations.
type Strategy string

// The strategies, in the order in which they are told. Three are the same requests under
// three ways to cache; with memories other requests are made, and where no summary repeats
// the chat.
const (
	NoCaching      Strategy = "a: no caching"
	NoCachingFlat  Strategy = "a: no caching, flat summaries"
	AutomaticMark  Strategy = "b: automatic marker"
	Ours           Strategy = "c: ours"
	OursWithMemory Strategy = "d: ours, with memory"
)

// Comparison is how conversations went and what they cost by each strategy.
type Comparison struct {
	Prices     Prices
	Ours       []*Course
	WithMemory []*Course // the same conversations; nil: that was not tried
	// FlatBase are the same conversations without memories, with all summaries asked for as
	// one would without a cache; nil: that was not tried.
	FlatBase []*Course
}

// Strategies returns those that can be compared.
func (c *Comparison) Strategies() []Strategy {
	all := []Strategy{NoCaching}
	if c.FlatBase != nil {
		all = append(all, NoCachingFlat)
	}
	return append(all, c.Caching()...)
}

// Caching returns those of them that cache.
func (c *Comparison) Caching() []Strategy { return append([]Strategy{AutomaticMark}, c.OwnMarks()...) }

// OwnMarks returns those of them with marks of ours.
func (c *Comparison) OwnMarks() []Strategy {
	if c.WithMemory == nil {
		return []Strategy{Ours}
	}
	return []Strategy{Ours, OursWithMemory}
}

// Courses returns how the conversations went that a strategy pays for.
func (c *Comparison) Courses(s Strategy) []*Course {
	switch s {
	case OursWithMemory:
		return c.WithMemory
	case NoCachingFlat:
		return c.FlatBase
	case NoCaching, AutomaticMark, Ours:
	}
	return c.Ours
}

// mode is how a strategy caches.
func (s Strategy) mode() Mode {
	switch s {
	case NoCaching, NoCachingFlat:
		return Uncached
	case AutomaticMark:
		return Automatic
	case Ours, OursWithMemory:
	}
	return Marked
}

// Each returns what each conversation costs.
func (c *Comparison) Each(s Strategy) []Costs {
	var out []Costs
	for _, course := range c.Courses(s) {
		out = append(out, course.Costs(s.mode(), c.Prices))
	}
	return out
}

// Total returns what all cost together.
func (c *Comparison) Total(s Strategy) Costs {
	var out Costs
	for _, one := range c.Each(s) {
		out = out.Plus(one)
	}
	return out
}

// After returns how the chats after all events of a kind were served.
func (c *Comparison) After(s Strategy, e Event) Afterwards {
	var out Afterwards
	for _, course := range c.Courses(s) {
		out = out.Plus(course.After(e, s.mode()))
	}
	return out
}

// Saving is how far the input costs less with a strategy than without caching.
type Saving struct {
	Conversations    int
	Untouched        int // of them, those that were neither cleared nor compacted
	USD, UncachedUSD float64
}

// Share is the saving as a share, 0 to 1; negative if it costs more.
func (s Saving) Share() float64 {
	if s.UncachedUSD == 0 {
		return 0
	}
	return 1 - s.USD/s.UncachedUSD
}

// Saved returns the saving over all conversations, or over those in which the strategy
// cleared no results.
func (c *Comparison) Saved(s Strategy, unclearedOnly bool) Saving {
	return c.savedOf(NoCaching, s, unclearedOnly)
}

// SavedOfFlat is Saved beside what one pays who does not cache and asks for summaries in
// the way that is cheaper then.
func (c *Comparison) SavedOfFlat(s Strategy, unclearedOnly bool) Saving {
	return c.savedOf(NoCachingFlat, s, unclearedOnly)
}

func (c *Comparison) savedOf(base, s Strategy, unclearedOnly bool) Saving {
	var out Saving
	uncached, each := c.Each(base), c.Each(s)
	for i, course := range c.Courses(s) {
		if unclearedOnly && course.Clearings() > 0 {
			continue
		}
		out.Conversations++
		if course.Clearings() == 0 && course.Count((*Compacted).Commits) == 0 {
			out.Untouched++
		}
		out.USD += each[i].InputUSD
		out.UncachedUSD += uncached[i].InputUSD
	}
	return out
}

// Above is a conversation that costs more by a strategy than with the automatic marker.
type Above struct {
	ID    string
	Share float64 // by which it does, of the input's cost
}

// Above returns those conversations, the worst first. Less than a tenth of a percent more
// is none.
func (c *Comparison) Above(s Strategy) []Above {
	const least = 0.001
	var out []Above
	automatic, each := c.Each(AutomaticMark), c.Each(s)
	for i, course := range c.Courses(s) {
		if over := each[i].InputUSD/automatic[i].InputUSD - 1; over > least {
			out = append(out, Above{course.ID, over})
		}
	}
	slices.SortStableFunc(out, func(a, b Above) int {
		switch {
		case a.Share > b.Share:
			return -1
		case a.Share < b.Share:
			return 1
		}
		return 0
	})
	return out
}

// Count counts the compactions of a strategy that are as a test says.
func (c *Comparison) Count(s Strategy, is func(*Compacted) bool) int {
	n := 0
	for _, course := range c.Courses(s) {
		n += course.Count(is)
	}
	return n
}

// Percentile returns the value that a share of the values does not exceed, 0 of none.
func Percentile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(math.Ceil(share*float64(len(sorted))))-1, 0)]
}
