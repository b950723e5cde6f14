package compaction

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a compaction that was asked for keeps: the newest turn, if it is at most a third.
func TestManualKeepsTheNewestTurn(t *testing.T) {
	tests := []struct {
		name          string
		before, after int // messages before the newest turn, and of it
		want          int64
	}{
		{"a third", 4, 2, 5},
		{"a little more than a third", 3, 2, 5},
		{"all there is", 0, 6, 6},
		{"small", 20, 2, 21},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			for i := range tt.before {
				if i == 0 {
					d.user("old")
					continue
				}
				d.says("old")
			}
			d.user("new")
			for range tt.after - 1 {
				d.says("new")
			}
			pl, reason := d.p.PlanManual(d.s, d.situation())
			if pl == nil {
				t.Fatal(reason)
			}
			if pl.BoundarySeq != tt.want {
				t.Errorf("boundary #%d, want #%d", pl.BoundarySeq, tt.want)
			}
		})
	}
}

// Only files that leave the view come back: not one that the kept part still shows, and
// not one that left long ago.
func TestFilesThatLeave(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Recovery.MaxFiles = 1 })
	d.user("go")
	d.round("read", `{"path":"first.go"}`, words("first", 300))
	d.round("read", `{"path":"second.go"}`, words("second", 300))
	d.says(words("x", 2_000))
	d.user("next")
	manual := func() []string {
		t.Helper()
		pl, reason := d.p.PlanManual(d.s, d.situation())
		if pl == nil {
			t.Fatal(reason)
		}
		r, j := d.carry(pl)
		if !j.Outcome.Commits() {
			t.Fatalf("%s %s", j.Outcome, j.Reason)
		}
		var names []string
		for _, f := range r.Files {
			names = append(names, f.Path)
		}
		return names
	}
	if diff := cmp.Diff([]string{"second.go"}, manual()); diff != "" {
		t.Fatal(diff)
	}
	d.says(words("x", 2_000))
	d.user("more")
	d.round("read", `{"path":"second.go"}`, words("second", 300))
	// The newest turn stays and shows second.go; first.go left with the first record.
	if got := manual(); len(got) != 0 {
		t.Errorf("shown again: %v", got)
	}
	d.says(words("x", 2_000))
	d.user("last")
	if diff := cmp.Diff([]string{"second.go"}, manual()); diff != "" {
		t.Error(diff)
	}
}

// The last resort takes from the pinned request before it takes from results the model
// has not seen.
func TestLastResortCutsThePinnedRequestFirst(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.ContextTokensLimit = 8_000 })
	d.user(words("request", 1_900))
	for range 6 {
		d.says(words("text", 400))
	}
	d.round("bash", `{"command":"make"}`, words("out", 3_000))
	d.settle()
	if d.s.Record() == nil || d.s.Record().PinnedSeq != 1 {
		t.Fatal("the request is not pinned")
	}
	d.sit.Ladder, d.sit.Trigger = Ladder{Level: LevelAggressive, Spent: true}, TriggerOverflow
	st := d.next()
	if st.Action != ActionClear || st.Clearing.Pinned == nil || len(st.Clearing.Cuts) != 0 {
		t.Fatalf("%s %+v", st.Action, st.Clearing)
	}
	d.s.Clear(st.Clearing)
	c, _ := d.context()
	if c.Pinned < minResultTokens || c.Pinned >= 1_500 || c.Tokens() != st.Clearing.TokensAfter {
		t.Errorf("%d tokens of the pinned request are left, context %d", c.Pinned, c.Tokens())
	}
	for range 2 {
		st = d.next()
		d.s.Clear(st.Clearing)
	}
	if len(st.Clearing.Cuts) != 1 {
		t.Errorf("then the results: %s %+v", st.Action, st.Clearing)
	}
}

// A turn that was stopped leaves results the model never saw: those are not cleared.
func TestUnseenResultsAreNotCleared(t *testing.T) {
	d := newDesk(t)
	d.user("go")
	seen := d.round("bash", `{"command":"a"}`, words("seen", 500))
	d.says("ok")
	d.round("bash", `{"command":"b"}`, words("unseen", 500))
	d.user("I stopped you; go on")
	c := d.p.onPaper(d.s, d.situation(), LevelAggressive)
	if diff := cmp.Diff([]string{string(seen.ID)}, func() (ids []string) {
		for _, id := range c.IDs() {
			ids = append(ids, string(id))
		}
		return ids
	}()); diff != "" {
		t.Error(diff)
	}
}
