package chat

import (
	"fmt"
	"strings"

	v1 "sessiond/rpc/v1"
)

// counted knows the messages of the log, to tell how many a compaction takes away.
type counted struct {
	seqs     []int64 // of messages
	from     int64   // all messages from here on are among them
	boundary int64   // the first that the model is shown verbatim; 0: not known
}

func (c *counted) add(seq int64) { c.seqs = append(c.seqs, seq) }

// openCounted takes the messages of a session that was opened.
func (v *View) openCounted(e Opened) {
	v.counted = counted{from: 1, boundary: e.Boundary}
	if e.Session.Generation == 0 {
		v.counted.boundary = 1
	}
	if e.Earlier {
		v.counted.from = e.Messages[0].Seq
	}
	for i := range e.Messages {
		v.counted.add(e.Messages[i].Seq)
	}
}

// move moves the boundary and returns how many messages left the view; false if that is
// not known.
func (c *counted) move(boundary, pinned int64) (left int64, known bool) {
	old := c.boundary
	c.boundary = boundary
	if old == 0 || old < c.from {
		return 0, false
	}
	for _, seq := range c.seqs {
		if seq >= old && seq < boundary && seq != pinned {
			left++
		}
	}
	return left, true
}

// generation takes the generation that an entry tells of.
func (v *View) generation(n int64) {
	v.session.Generation = n
	if n >= v.due {
		v.due = 0
	}
}

// compacted tells that a compaction took effect.
func (v *View) compacted(seq int64, c *v1.Compaction) {
	v.activity = v1.Activity{}
	v.generation(c.Generation)
	boundary := c.BoundarySeq
	if boundary == 0 { // nothing stays verbatim
		boundary = seq
	}
	parts := []string{arrow(c.TokensBefore, c.TokensAfter) + " tokens"}
	if left, known := v.counted.move(boundary, c.PinnedSeq); known && left > 0 {
		parts = append(parts, plural(left, "message", "messages"))
	}
	if c.Writer != v1.WriterNone {
		parts = append(parts, "by "+string(c.Writer))
	}
	if c.CostUSD != nil && *c.CostUSD > 0 {
		parts = append(parts, money(*c.CostUSD))
	}
	text := "⇣ compacted: " + strings.Join(parts, ", ")
	if c.Outcome == v1.CompactionDegraded {
		text += " (" + words(c.Reason) + ")"
	}
	v.emit(line(Accent, text))
}

func (v *View) compactionFailed(c *v1.Compaction) {
	v.activity = v1.Activity{}
	text := "⇣ not compacted: " + words(string(c.Outcome))
	if c.Reason != "" {
		text += ", " + words(c.Reason)
	}
	v.emit(line(Warn, text))
}

func (v *View) undone(c *v1.Compaction) {
	v.generation(c.Generation)
	v.counted.boundary = max(c.BoundarySeq, 1)
	v.emit(line(Accent, fmt.Sprintf("⇡ compaction undone: %s tokens", arrow(c.TokensBefore, c.TokensAfter))))
}

func (v *View) cleared(c *v1.ContextClearedData) {
	v.note(fmt.Sprintf("⇣ %s left out, %s: %s tokens", plural(int64(len(c.IDs)), "old tool result", "old tool results"),
		words(string(c.Reason)), arrow(c.TokensBefore, c.TokensAfter)))
}

// wasCompacted takes the answer to a compaction that was asked for. If it did something,
// an entry tells, which may come later than the answer.
func (v *View) wasCompacted(r *v1.CompactionResult, undo bool) {
	switch r.Outcome {
	case v1.CompactionApplied, v1.CompactionDegraded:
		if r.Generation != nil && *r.Generation > v.session.Generation {
			v.due = *r.Generation
		}
	case v1.CompactionNoop:
		text := "There is nothing to compact yet."
		switch {
		case undo:
			text = "There is nothing to undo."
		case r.Reason != "" && r.Reason != "nothing_to_compact":
			text = "Not compacted: " + words(r.Reason) + "."
		}
		v.aside(line(Dim, text))
	case v1.CompactionNoProgress, v1.CompactionFailed, v1.CompactionAborted:
	}
}

func arrow(before, after int64) string { return tokens(before) + " → " + tokens(after) }

// words turns a name of the contract into words.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }
