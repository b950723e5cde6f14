package replay

import (
	"fmt"

	v1 "sessiond/rpc/v1"
)

// Report is what keeping a conversation within its limit came to. Tokens are the
// provider's.
type Report struct {
	Result
	Calls

	// Triggers are the model calls before which the context had reached the threshold;
	// Held are those of them before which nothing was done about it.
	Triggers, Held int
	Cleared        map[v1.ClearReason]int
	Compactions    []Compacted
	// Texts are the user's messages that had left the view at the end.
	Texts Texts
	Kept  Kept
	Turns []Turn
	// Numbers are those in force at the end.
	Numbers *v1.SessionContextResult
	// Faults are what must not happen, in words.
	Faults []string
}

// Compacted is a compaction that ended, in whatever way.
type Compacted struct {
	v1.Compaction
	Turn int // counted from 0
}

// Called reports whether a model was asked for it.
func (c *Compacted) Called() bool { return c.Writer == v1.WriterModel }

// Commits reports whether it took effect.
func (c *Compacted) Commits() bool {
	return c.Outcome == v1.CompactionApplied || c.Outcome == v1.CompactionDegraded
}

// after is the context that the conversation went on with.
func (c *Compacted) after() int64 {
	if c.Commits() {
		return c.TokensAfter
	}
	return c.TokensBefore
}

// Texts counts the user's messages that a summary message stands for: those in it word
// for word, those with their beginning and end, and those that are only counted.
type Texts struct{ Verbatim, Cut, Counted int64 }

// Plus adds up two.
func (t Texts) Plus(u Texts) Texts {
	return Texts{t.Verbatim + u.Verbatim, t.Cut + u.Cut, t.Counted + u.Counted}
}

// Kept is what compactions that took effect left of the newest messages, all together.
type Kept struct {
	Compactions int64
	Tokens      int64 // of what stood behind the summary message right after
	Rounds      int64 // model calls up to them, since the compaction before or the beginning
}

// Plus adds up two.
func (k Kept) Plus(l Kept) Kept {
	return Kept{k.Compactions + l.Compactions, k.Tokens + l.Tokens, k.Rounds + l.Rounds}
}

// Turn is how one message of the user was answered.
type Turn struct {
	Message   int  // its place among the messages, from 0
	Probe     bool // it was sent to see whether the session goes on
	Completed bool
	Kind      v1.TurnErrorKind // why it did not complete
	Need      Need             // of one that did not
}

// Need is the least that a turn must have room for, and the room there is.
type Need struct {
	Overhead int64 // F
	Summary  int64 // its cap
	Ledger   int64 // its cap
	Request  int64 // the user's message as it is cut when it is pinned
	Unit     int64 // the largest tool round, its results at 500 tokens each
	Limit    int64 // L′
}

// minFreeTokens is what has to be left beside the overhead for a turn to be begun.
const minFreeTokens = 1_000

// Fits reports whether the turn must complete.
func (n Need) Fits() bool { return n.sum() <= n.Limit && n.Begins() }

// Begins reports whether the overhead leaves room for a turn at all.
func (n Need) Begins() bool { return n.Overhead <= n.Limit-minFreeTokens }

func (n Need) sum() int64 { return n.Overhead + n.Summary + n.Ledger + n.Request + n.Unit }

// String says why a turn has no room, or that it has.
func (n Need) String() string {
	if !n.Begins() {
		return fmt.Sprintf("overhead %d of %d", n.Overhead, n.Limit)
	}
	sign := ">"
	if n.Fits() {
		sign = "<="
	}
	return fmt.Sprintf("overhead %d + summary %d + ledger %d + request %d + largest round %d = %d %s %d",
		n.Overhead, n.Summary, n.Ledger, n.Request, n.Unit, n.sum(), sign, n.Limit)
}

// SummaryCalls returns how many summary calls there were, and the most in one turn.
func (r *Report) SummaryCalls() (all, inTurn int) {
	byTurn := make(map[int]int)
	for i := range r.Compactions {
		if c := &r.Compactions[i]; c.Called() {
			all++
			byTurn[c.Turn]++
			inTurn = max(inTurn, byTurn[c.Turn])
		}
	}
	return all, inTurn
}

// Count returns how many compactions are as a test says.
func (r *Report) Count(is func(*Compacted) bool) int {
	n := 0
	for i := range r.Compactions {
		if is(&r.Compactions[i]) {
			n++
		}
	}
	return n
}

// Tokens returns the tokens before and after the compactions that took effect, together.
func (r *Report) Tokens() (before, after int64) {
	for i := range r.Compactions {
		if c := &r.Compactions[i]; c.Commits() {
			before += c.TokensBefore
			after += c.TokensAfter
		}
	}
	return before, after
}

// TurnsBy counts the turns that completed and those that did not, probes aside.
func (r *Report) TurnsBy() (completed, failed int) {
	for _, t := range r.Turns {
		switch {
		case t.Probe:
		case t.Completed:
			completed++
		default:
			failed++
		}
	}
	return completed, failed
}
