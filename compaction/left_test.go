package compaction

import (
	"slices"
	"testing"

	"sessiond/message"
)

// What left is what stands before the boundary in conversation order. What is not in the
// conversation, such as a message that waits for its turn, has not left, however low its
// seq; one that waited has left only once its own place did.
func TestLeft(t *testing.T) {
	d := newDesk(t)
	var waiting int64
	for i := range 20 {
		d.user(words("asked", 300))
		if d.seq++; i%5 == 0 { // a message is stored that waits
			waiting = d.seq
		}
		d.says(words("said", 300))
		if i%5 == 4 { // and now its turn has come
			head := d.seq
			d.seq = waiting - 1
			d.user(words("waited", 300))
			d.seq = head
		}
	}
	if d.s.Left() != nil {
		t.Error("something left before anything was compacted")
	}
	pl, reason := d.p.PlanManual(d.s, d.situation())
	if pl == nil {
		t.Fatal(reason)
	}
	d.carry(pl)
	l, c := d.s.Left(), d.s.Conversation()
	var left []int64
	for i := range c.Len() {
		seq := c.Message(i).Seq
		if !l.HasMessage(seq) {
			continue
		}
		if left = append(left, seq); len(left) != i+1 {
			t.Errorf("message %d has left, and one before it has not", seq)
		}
	}
	if len(left) == 0 || left[len(left)-1] != pl.ThroughSeq || l.Newest() != slices.Max(left) {
		t.Errorf("left are %v, the newest of them %d; replaced were those through %d", left, l.Newest(), pl.ThroughSeq)
	}
	for seq := range d.seq + 2 {
		if l.HasMessage(seq) != slices.Contains(left, seq) || d.s.HasLeft(seq, 0) != slices.Contains(left, seq) {
			t.Errorf("%d has left: %v", seq, l.HasMessage(seq))
		}
	}
}

// A result comes in before the message that holds it, and leaves with that.
func TestResultsLeaveWithTheirRound(t *testing.T) {
	d := newDesk(t)
	round := func() (result int64) {
		use := d.use("read", `{"path":"a.go"}`)
		d.assistant(use)
		d.seq++
		result = d.seq
		d.answer([]message.ToolUse{use}, words("row", 300))
		return result
	}
	d.user("go")
	first := round()
	for range 10 {
		d.says(words("said", 300))
		d.user(words("asked", 300))
	}
	second := round()
	d.says("done")
	pl, reason := d.p.PlanManual(d.s, d.situation())
	if pl == nil {
		t.Fatal(reason)
	}
	for _, through := range []bool{false, true} {
		d.carry(pl)
		l := d.s.Left()
		if !l.HasResult(first) || l.HasResult(second) != through {
			t.Errorf("the first has left: %v, the second: %v, want %v", l.HasResult(first), l.HasResult(second), through)
		}
		d.user("next")
		d.says("done")
		if pl, _ = d.p.PlanManual(d.s, d.situation()); pl == nil {
			t.Fatal("no second plan")
		}
	}
}
