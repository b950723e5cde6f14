package compaction

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// covering is a desk at a compaction, with the plan for it.
func covering(t *testing.T) (*desk, *Plan) {
	t.Helper()
	d := newDesk(t)
	d.user("go")
	for range 30 {
		d.says(words("text", 420))
	}
	st := d.next()
	if st.Plan == nil {
		t.Fatal(st.Action)
	}
	return d, st.Plan
}

func extracted(n, tokens int, newest int64) []MemoryEntry {
	var out []MemoryEntry
	for i := range n {
		out = append(out, MemoryEntry{
			ID: fmt.Sprint("e", i), Category: MemoryDecision, Title: fmt.Sprintf("Entry-%02d", i), Content: words("c", tokens), Extracted: true, NewestSeq: newest,
		})
	}
	return out
}

// Memory writes a summary only if nothing is lost by it.
func TestMemoryWritesOnlyWhatItStandsFor(t *testing.T) {
	d, pl := covering(t)
	one := extracted(1, 20, pl.ThroughSeq)
	clients := slices.Clone(one)
	clients[0].Extracted = false
	full := SummaryShare(pl.Budget, 1) / 100
	tests := []struct {
		name   string
		memory Memory
		want   Writer
	}{
		{"all of it", Memory{Entries: one, WatermarkSeq: pl.ThroughSeq}, WriterMemory},
		{"what a client wrote stands for nothing", Memory{Entries: clients, WatermarkSeq: pl.ThroughSeq}, WriterModel},
		{"all but room for one", Memory{Entries: extracted(full-2, 80, pl.ThroughSeq), WatermarkSeq: pl.ThroughSeq}, WriterMemory},
		{"more entries than there is room for", Memory{Entries: extracted(20, 190, pl.ThroughSeq), WatermarkSeq: pl.ThroughSeq}, WriterModel},
		{"an entry is gone that told of half", Memory{Entries: one, WatermarkSeq: pl.ThroughSeq, LostSeq: pl.ThroughSeq / 2}, WriterModel},
		{"an entry is gone that told of the first", Memory{Entries: one, WatermarkSeq: pl.ThroughSeq, LostSeq: 2}, WriterMemory},
		{"nothing was read", Memory{Entries: one}, WriterModel},
		{"a message was read that does not exist", Memory{Entries: one, WatermarkSeq: 999}, WriterModel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := pl.choose(tt.memory); got != tt.want {
				t.Fatalf("%s, want %s", got, tt.want)
			}
			if tt.want != WriterMemory {
				return
			}
			draft := d.p.MemoryDraft(pl, tt.memory, nil)
			for _, e := range tt.memory.Entries {
				if !strings.Contains(draft.Body, e.note()) {
					t.Errorf("%s is not whole in it", e.Title)
				}
			}
		})
	}
}

// Where no more than two units leave and nothing of them was read, a digest would be all
// that is left of them: the model writes.
func TestMemoryDoesNotWriteOfWhatItNeverRead(t *testing.T) {
	d := newDesk(t)
	d.sit.Tools = d.p.Tools([]Tool{{Name: "ask", Cleanable: new(bool)}})
	d.user("go")
	d.round("ask", `{"path":"a"}`, words("result", 9_000))
	d.sit.Memory = Memory{Entries: extracted(1, 5, 1)}
	for range 3 {
		d.says(words("more", 3_300))
		st := d.next()
		if st.Action != ActionCompact {
			continue
		}
		if units, _ := st.Plan.uncovered(d.sit.Memory); len(units) > 2 || st.Plan.Writer != WriterModel {
			t.Errorf("%d units leave, %s writes", len(units), st.Plan.Writer)
		}
		return
	}
	t.Fatal("no compaction")
}

// The current entries take the place of those an earlier summary was written from; what a
// model wrote is kept beside them.
func TestMemoryTakesTheEarlierMemorysPlace(t *testing.T) {
	d := newDesk(t)
	d.user("go")
	ports, model := 0, false
	for i := 0; i < 400 && ports < 5; i++ {
		d.says(words("text", 420))
		st := d.next()
		if st.Action != ActionCompact {
			continue
		}
		if !model {
			model = true
			if _, j := d.carry(st.Plan); j.Outcome != OutcomeApplied {
				t.Fatal(j)
			}
			continue
		}
		ports++
		d.sit.Memory = Memory{WatermarkSeq: st.Plan.ThroughSeq, Entries: []MemoryEntry{
			{ID: "a", Category: MemoryDecision, Title: "Port", Content: fmt.Sprint("PORT-IS-", 8080+ports), Extracted: true, NewestSeq: st.Plan.ThroughSeq},
			{ID: "b", Category: MemoryLearning, Title: "L", Content: "SAME-LEARNING", Extracted: true, NewestSeq: st.Plan.ThroughSeq},
		}}
		if st = d.next(); st.Plan.Writer != WriterMemory {
			t.Fatalf("compaction %d by %s", ports, st.Plan.Writer)
		}
		r, _ := d.carry(st.Plan)
		for text, want := range map[string]int{"SAME-LEARNING": 1, "PORT-IS-": 1, fmt.Sprint("PORT-IS-", 8080+ports): 1, "the request abc": 1} {
			if n := strings.Count(r.Text, text); n != want {
				t.Errorf("compaction %d: %q stands %d times", ports, text, n)
			}
		}
	}
	if ports < 5 {
		t.Fatalf("%d compactions from memory", ports)
	}
}

// After a model's notes only what was learned since has to be told by the memory; the
// rest is told by the notes.
func TestModelsNotesSpareTheMemory(t *testing.T) {
	d, pl := covering(t)
	d.carry(pl)
	old := extracted(18, 80, pl.ThroughSeq)
	for range 60 {
		d.says(words("text", 420))
		st := d.next()
		if st.Action != ActionCompact {
			continue
		}
		fresh := MemoryEntry{ID: "new", Category: MemoryIssue, Title: "New", Content: "NEW", Extracted: true, NewestSeq: st.Plan.ThroughSeq}
		m := Memory{Entries: append([]MemoryEntry{fresh}, old...), WatermarkSeq: st.Plan.ThroughSeq}
		if got := st.Plan.choose(m); got != WriterMemory {
			t.Fatalf("%s writes", got)
		}
		draft := d.p.MemoryDraft(st.Plan, m, nil)
		if draft.MemoryIDs[0] != "new" || !strings.Contains(draft.Body, words("the request", 100)) {
			t.Errorf("written from %v:\n%s", draft.MemoryIDs, draft.Body)
		}
		for i := range m.Entries {
			m.Entries[i].NewestSeq = st.Plan.ThroughSeq
		}
		if got := st.Plan.choose(m); got != WriterModel {
			t.Errorf("%s writes what has no room", got)
		}
		return
	}
	t.Fatal("no compaction")
}

// Work that the entries tell of is not gone from view at once: the last answers are told.
func TestMemoryTellsWhatWasGoingOn(t *testing.T) {
	d, pl := covering(t)
	m := Memory{Entries: extracted(1, 5, pl.ThroughSeq), WatermarkSeq: pl.ThroughSeq}
	told := func() string {
		s := sectionOf(d.p.MemoryDraft(pl, m, nil).Sections, sectionCurrent)
		return s.whole()
	}
	current := told()
	if n := strings.Count(current, "<"+answerTag); n != maxDigestAnswers {
		t.Errorf("%d answers:\n%s", n, current)
	}
	m.WatermarkSeq -= 5
	current = told()
	if n := strings.Count(current, "<"+answerTag); n != 5 {
		t.Errorf("of 5 that were not read %d:\n%s", n, current)
	}
}

// However a history goes on, and whatever a memory has to say: each message that left the
// view was written of by a model, stands for an entry that is shown, is told by a digest
// of few units, or is a user's and in the ledger.
func TestNothingThatLeftIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := anyDesk(t, rt)
		for range rapid.IntRange(5, 60).Draw(rt, "length") {
			d.grow(rt)
			d.sit.Memory = anyMemory(rt, d)
			st := d.next()
			if st.Action == ActionCompact && st.Plan.Writer == WriterMemory {
				checkNothingLost(rt, d, st.Plan)
			}
			d.settle()
		}
	})
}

func anyMemory(rt *rapid.T, d *desk) Memory {
	seq := rapid.Int64Range(0, d.seq)
	m := Memory{WatermarkSeq: d.seq - rapid.Int64Range(0, 6).Draw(rt, "behind")}
	if rapid.IntRange(0, 4).Draw(rt, "anywhere") == 0 {
		m.WatermarkSeq = seq.Draw(rt, "watermark")
	}
	if rapid.IntRange(0, 4).Draw(rt, "loses") == 0 {
		m.LostSeq = seq.Draw(rt, "lost")
	}
	for i := range rapid.IntRange(0, 8).Draw(rt, "entries") {
		m.Entries = append(m.Entries, MemoryEntry{
			ID: fmt.Sprint("e", i), Title: "T", Category: MemoryIssue, Content: words(fmt.Sprint("content-", i), rapid.IntRange(1, 60).Draw(rt, "tokens")),
			Extracted: rapid.IntRange(0, 3).Draw(rt, "who") > 0, NewestSeq: seq.Draw(rt, "newest"),
		})
	}
	return m
}

func checkNothingLost(rt *rapid.T, d *desk, pl *Plan) {
	m := d.sit.Memory
	draft := d.p.MemoryDraft(pl, m, nil)
	r, _ := d.p.Apply(d.s, d.situation(), pl, draft)
	start, seq := pl.told()
	uncovered, tokens := pl.uncovered(m)
	if len(uncovered) > 2 && calibrated(tokens, pl.ratio) > pl.Budget.Share/2 {
		rt.Fatalf("%d units of %d tokens are told by a digest", len(uncovered), tokens)
	}
	for _, e := range m.Entries {
		if e.Extracted && (seq == 0 || !d.s.HasLeft(e.NewestSeq, seq)) && (!slices.Contains(draft.MemoryIDs, e.ID) || !strings.Contains(draft.Body, e.note())) {
			rt.Fatalf("%s is not told of:\n%s", e.ID, draft.Body)
		}
	}
	c := d.s.conv
	for u := start; u < pl.to; u++ {
		read := u < c.unitAfter(m.WatermarkSeq) && u >= c.unitAfter(m.LostSeq)
		if !read && !slices.Contains(uncovered, c.units[u]) {
			rt.Fatalf("unit %d of [%d, %d) is told by nobody", u, start, pl.to)
		}
		for i := c.units[u].first; i < c.units[u].end; i++ {
			if it := c.items[i].Message; !read && it.Role == "assistant" && !blank(it.PlainText()) && !strings.Contains(draft.Body, fmt.Sprintf(`<%s seq="%d">`, answerTag, it.Seq)) {
				rt.Fatalf("the answer #%d is not in the digest:\n%s", it.Seq, draft.Body)
			}
		}
	}
	users := 0
	for _, i := range c.users {
		if i < c.firstItem(pl.to) && c.items[i].Message.Seq != pl.PinnedSeq {
			users++
		}
	}
	if l := r.Ledger; l.Verbatim+l.Cut+l.Counted != users {
		rt.Fatalf("%d messages of users left, the ledger has %+v", users, l)
	}
}
