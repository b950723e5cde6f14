package cost

// Change says what was done on purpose to what a request says, since the one before it.
type Change int

// The changes. Each is excused as long as it is rare: see [Watch].
const (
	Unchanged Change = iota
	// NewHead is another model, other words of the system, other tools or other settings.
	NewHead
	// NewShape is a compaction, a clearing, an undo, or another number of images (rule 5.8).
	NewShape
)

// Watch follows how the calls of a conversation use the prompt cache, and says when to
// warn that they do worse than they could. The zero value has seen no calls.
//
// What is changed on purpose can't be read, and that is no fault: the ideal leaves it out,
// but only as often as it makes sense. Two new heads in a row are excused and then one in
// twenty calls, which costs about what is tolerated anyway; three new shapes in a row and
// then one in four calls. Whatever comes oftener counts as if the request should have gone
// on from the one before it, whoever changed it.
//
// A warning needs three calls that missed, so that a cache that was lost once is none. It
// comes once; only when half of the tolerance has been regained can there be another.
type Watch struct {
	Hits Hits `json:"hits,omitzero"`
	// Missed is what could have been read and was not, by the kind of part that differed,
	// since a warning was last called off.
	Missed []Missed `json:"missed,omitempty"`
	Warned bool     `json:"warned,omitempty"`
	// Heads and Shapes are how many calls it takes until all that was excused is made up for.
	Heads  int `json:"heads,omitempty"`
	Shapes int `json:"shapes,omitempty"`
}

// Missed is what calls did not read from the cache because of one kind of part.
type Missed struct {
	Kind    PartKind `json:"kind"`              // PartNone: nothing that was sent differed
	Message int      `json:"message,omitempty"` // for PartMessage, of the newest call
	Calls   int      `json:"calls"`
	Tokens  int64    `json:"tokens"`
}

const (
	callsPerHead, headsAhead   = 20, 2
	callsPerShape, shapesAhead = 4, 3
	missesToWarn               = 3
)

// Add returns the watch with one more call, the next one in time that was answered, and
// whether this is the moment to warn: then [Watch.Worst] names the part. change says what
// was changed on purpose, before which c.SameTokens were left as they were; c.Changed is
// not looked at. differs is the first part of the request that is not as in the one before.
func (w Watch) Add(c Call, change Change, differs Part, t Terms) (Watch, bool) {
	w.Heads, w.Shapes = max(w.Heads-1, 0), max(w.Shapes-1, 0)
	c.Changed = w.excuse(change)
	before := w.Hits.IdealTokens
	w.Hits = w.Hits.Add(c, t)
	if missed := w.Hits.IdealTokens - before - c.Usage.CacheRead; float64(missed) > tolerance*float64(InputTokens(c.Usage)) {
		w.Missed = blame(w.Missed, differs, missed)
	}
	if w.Warned {
		if !w.Hits.under(tolerance / 2) {
			w.Warned, w.Missed = false, nil
		}
		return w, false
	}
	w.Warned = w.Hits.Low() && w.misses() >= missesToWarn
	return w, w.Warned
}

// excuse reports whether a change is rare enough not to count, and remembers it if so.
func (w *Watch) excuse(change Change) bool {
	switch {
	case change == NewHead && w.Heads <= (headsAhead-1)*callsPerHead:
		w.Heads += callsPerHead
	case change == NewShape && w.Shapes <= (shapesAhead-1)*callsPerShape:
		w.Shapes += callsPerShape
	default:
		return false
	}
	return true
}

// blame returns what was missed with one more call. The list it is given is not changed.
func blame(all []Missed, p Part, tokens int64) []Missed {
	out := make([]Missed, 0, len(all)+1)
	found := Missed{Kind: p.Kind}
	for _, m := range all {
		if m.Kind == p.Kind {
			found = m
			continue
		}
		out = append(out, m)
	}
	found.Message, found.Calls, found.Tokens = p.Message, found.Calls+1, found.Tokens+tokens
	return append(out, found)
}

func (w *Watch) misses() int {
	n := 0
	for _, m := range w.Missed {
		n += m.Calls
	}
	return n
}

// Worst is the part because of which most was missed: of messages, the one that differed
// last. It is the zero Part if nothing was missed, or nothing that was sent differed.
func (w *Watch) Worst() Part {
	worst := Missed{Tokens: -1}
	for _, m := range w.Missed {
		if m.Tokens >= worst.Tokens { // the newest of equals
			worst = m
		}
	}
	return Part{Kind: worst.Kind, Message: worst.Message}
}
