package compaction

import "math"

// Growth is how fast a session's context grows, kept on its row. Methods return what it
// becomes.
type Growth struct {
	// EWMA is the mean growth per round; it counts once Known.
	EWMA  float64 `json:"ewma,omitempty"`
	Known bool    `json:"known,omitempty"`
	// Last is the context of the round before, LastShape what it was shaped by; a round
	// across a change of shape tells nothing about growth.
	Last      int    `json:"last,omitempty"`
	LastShape string `json:"last_shape,omitempty"`
}

// startShare is the growth that is assumed before any was seen, of the threshold.
const startShare = 0.05

// Round takes the context of a round. shape names what it was shaped by, see
// [State.ShapeID]. The first round, and one across a compaction, a clearing or an undo,
// are only remembered.
func (g Growth) Round(context int, shape string, alpha float64, threshold int) Growth {
	if g.LastShape == shape && g.Last > 0 {
		grown := math.Max(float64(context-g.Last), 0)
		before := g.EWMA
		if !g.Known {
			before = startShare * float64(threshold)
		}
		g.EWMA, g.Known = alpha*grown+(1-alpha)*before, true
	}
	g.Last, g.LastShape = context, shape
	return g
}

// Progress is how far a session is from its next compaction. All numbers are finite.
type Progress struct {
	ContextTokens  int     `json:"current_context_tokens"`
	Threshold      int     `json:"compression_threshold"`
	Percent        float64 `json:"compression_progress"` // one decimal, over 100 when exceeded
	NextRound      int     `json:"estimated_next_round_tokens"`
	RoundsUntil    int     `json:"rounds_until_compression"` // -1 when exceeded, at most 999
	GrowthPerRound float64 `json:"-"`
}

const maxRoundsUntil = 999

// Progress tells how far a context is from a threshold. The same comparison decides
// whether compaction is due.
func (g Growth) Progress(context, threshold int) Progress {
	growth := startShare * float64(threshold)
	if g.Known {
		growth = g.EWMA
	}
	p := Progress{ContextTokens: context, Threshold: threshold, GrowthPerRound: growth, RoundsUntil: maxRoundsUntil}
	p.NextRound = context + int(math.Round(growth))
	if threshold > 0 {
		// Rounded down to the decimal, so that it says 100 only if it is.
		p.Percent = math.Floor(float64(context)*1000/float64(threshold)) / 10
	}
	switch {
	case context >= threshold:
		p.RoundsUntil = -1
	case growth > 0:
		rounds := math.Ceil(float64(threshold-context) / growth)
		p.RoundsUntil = int(math.Min(rounds, maxRoundsUntil))
	}
	return p
}
