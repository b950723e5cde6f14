package compaction

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessiond/message"
)

func TestWriterOfAnAutomaticCompaction(t *testing.T) {
	entries := []MemoryEntry{{ID: "e", Title: "t", Content: "c", Extracted: true}}
	d := newDesk(t)
	d.user("go") // #1
	for range 30 {
		d.says(words("text", 420))
	}
	st := d.next()
	if st.Plan == nil {
		t.Fatal(st.Action)
	}
	through := st.Plan.ThroughSeq
	tests := []struct {
		name    string
		memory  Memory
		trigger Trigger
		want    Writer
	}{
		{"no entries", Memory{WatermarkSeq: through}, TriggerAuto, WriterModel},
		{"all covered", Memory{Entries: entries, WatermarkSeq: through}, TriggerAuto, WriterMemory},
		{"two units uncovered", Memory{Entries: entries, WatermarkSeq: through - 2}, TriggerAuto, WriterMemory},
		{"half the share uncovered", Memory{Entries: entries, WatermarkSeq: through - 4}, TriggerAuto, WriterMemory},
		{"more uncovered", Memory{Entries: entries, WatermarkSeq: through - 6}, TriggerAuto, WriterModel},
		{"covers what stays as well", Memory{Entries: entries, WatermarkSeq: through + 5}, TriggerAuto, WriterMemory},
		{"asked for by hand", Memory{Entries: entries, WatermarkSeq: through}, TriggerManual, WriterModel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl := *st.Plan
			pl.Trigger = tt.trigger
			if got := pl.choose(tt.memory); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestMemoryDraftKeepsEarlierNotes(t *testing.T) {
	d, pl := long(t, 20, 300)
	d.carry(pl)
	d.says(words("x", 3_000))
	d.user("next")
	pl, _ = d.p.PlanManual(d.s, d.situation())
	m := Memory{Entries: []MemoryEntry{{ID: "new", Title: "New", Content: "decided on 8081"}, {ID: "old", Title: "Old", Content: words("o", 3_000)}}, WatermarkSeq: pl.ThroughSeq}
	draft := d.p.MemoryDraft(pl, m, nil)
	if len(draft.MemoryIDs) != 1 || draft.MemoryIDs[0] != "new" {
		t.Errorf("written from %v", draft.MemoryIDs)
	}
	for _, want := range []string{"decided on 8081", "the request"} {
		if !strings.Contains(draft.Body, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := d.p.counter.Count(draft.Body); n > pl.Budget.SummaryCap {
		t.Errorf("%d tokens, the cap is %d", n, pl.Budget.SummaryCap)
	}
	d.sit.Overhead.Attachments = []Attachment{d.p.Attach(Attachment{Kind: AttachSessionMemory, Key: "new", Version: "1", Text: "decided on 8081"})}
	r, _ := d.p.Apply(d.s, d.situation(), pl, draft)
	if strings.Count(viewText(d.s.after(r).View()), "decided on 8081") != 1 {
		t.Error("what the summary was written from is shown beside it")
	}
	if due := d.s.after(r).Due(d.sit.Overhead.Attachments); len(due) != 0 {
		t.Errorf("and is due again: %v", due)
	}
}

func TestDigest(t *testing.T) {
	d := newDesk(t)
	d.user("make the tests pass")
	d.round("read", `{"path":"a.go"}`, "package a")
	d.round("edit", `{"path":"a.go"}`, "ok")
	use := d.use("bash", `{"command":"go test"}`)
	d.assistant(use)
	d.add(message.RoleUser, []message.ToolUse{use}, message.ToolResult{ToolUseID: use.ID, IsError: true, Content: []message.Block{message.Text{Text: "FAIL\nTestX"}}})
	d.says("TestX fails because of the port.")
	d.user("go on")
	pl, _ := d.p.PlanManual(d.s, d.situation())
	todos := []Todo{{"fix the port", "in_progress"}, {"read the code", "completed"}}
	body := d.p.Digest(pl, todos).Body
	want := `## 1. Primary Request and Intent
The user began with:
<first_message seq="1">
make the tests pass
</first_message>

## 2. Key Technical Concepts
None.

## 3. Files and Code Sections
- a.go (read, edit)

## 4. Errors and Fixes
- bash go test: FAIL TestX

## 5. Problem Solving
None.

## 7. Pending Tasks
- fix the port (in_progress)

## 8. Current Work
<assistant_message seq="8">
TestX fails because of the port.
</assistant_message>`
	if body != want {
		t.Errorf("got\n%s", body)
	}
}

// What an earlier summary knew is carried over into a digest.
func TestDigestCarriesOver(t *testing.T) {
	d, pl := long(t, 20, 300)
	d.carry(pl)
	d.says(words("x", 500))
	d.user("next")
	pl, _ = d.p.PlanManual(d.s, d.situation())
	sections := d.p.Digest(pl, nil).Sections
	if !strings.HasPrefix(sectionOf(sections, sectionRequest).Text, "the request") || sectionOf(sections, sectionPending).Text != "none yet" {
		t.Errorf("%v", sections)
	}
}

func TestDraftsFitTheCap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := anyDesk(t, rt)
		for range rapid.IntRange(2, 20).Draw(rt, "length") {
			d.grow(rt)
		}
		pl, _ := d.p.PlanManual(d.s, d.situation())
		if pl == nil {
			return
		}
		limit := rawTokens(pl.Budget.SummaryCap, pl.ratio)
		m := Memory{Entries: []MemoryEntry{{ID: "a", Title: "T", Content: words("c", rapid.IntRange(1, 3_000).Draw(rt, "entry"))}}, WatermarkSeq: rapid.Int64Range(0, d.seq).Draw(rt, "watermark")}
		for _, draft := range []*Draft{d.p.Digest(pl, nil), d.p.MemoryDraft(pl, m, nil)} {
			if n := d.p.counter.Count(draft.Body); n > limit {
				rt.Fatalf("%s: %d tokens, the cap is %d", draft.Writer, n, limit)
			}
		}
	})
}

// A change that the model made by a tool call is not repeated while the call is in view.
func TestDueAttachments(t *testing.T) {
	d := newDesk(t)
	d.user("go")
	use := d.use("todo_write", `{"todos":[]}`)
	call := d.assistant(use)
	d.answer([]message.ToolUse{use}, "ok")
	list := d.p.Attach(Attachment{Kind: AttachTodoList, Version: "2", Text: "the list", MadeBySeq: call.Seq})
	if due := d.s.Due([]Attachment{list}); len(due) != 0 {
		t.Errorf("due while the call is in view: %v", due)
	}
	d.sit.Overhead.Attachments = []Attachment{list}
	d.says(words("x", 2_000))
	d.user("next")
	pl, _ := d.p.PlanManual(d.s, d.situation())
	d.carry(pl)
	if text := viewText(d.s.View()); strings.Count(text, "the list") != 1 || len(d.s.Due(d.sit.Overhead.Attachments)) != 0 {
		t.Errorf("after the call has left: %s", text)
	}
	m := d.says("fine")
	d.s.Inject(Injection{TargetID: m.ID, Attachment: d.p.Attach(Attachment{Kind: AttachTodoList, Version: "3", Text: "newer"})})
	if due := d.s.Due([]Attachment{list}); len(due) != 1 {
		t.Error("an older version in view counts as the current one")
	}
}

// Undo shows again what was shown before, thinking aside.
func TestUndoRestoresTheView(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := anyDesk(t, rt)
		for range rapid.IntRange(3, 30).Draw(rt, "length") {
			d.grow(rt)
			d.settle()
		}
		d.says("end")
		d.user("next")
		before := d.s.snapshot()
		pl, _ := d.p.PlanManual(d.s, d.situation())
		if pl == nil {
			return
		}
		if _, j := d.carry(pl); !j.Outcome.Commits() {
			return
		}
		d.says("later")
		d.user("later still")
		u := &Undone{Generation: d.s.generation + 1, Undoes: d.s.generation, ThinkingFrom: d.s.conv.maxSeq + 1}
		if err := d.s.Undo(u); err != nil {
			rt.Fatal(err)
		}
		before.shape.ThinkingFrom = u.ThinkingFrom
		if viewText(before.View()) != viewText(d.s.View()) {
			rt.Fatal("not the view from before")
		}
		if err := d.s.Undo(u); err == nil {
			rt.Fatal("undone twice")
		}
	})
}

func TestSectionsSurviveALedger(t *testing.T) {
	body := "## 1. Primary Request and Intent\nr\n\n## 5. Problem Solving\n1. one\n2. two\n7. seven\n\n## 6. All User Messages\nmade up\n\n## 7. Pending Tasks\np"
	got := joinSections(withLedger(parseSections(body), "words"))
	want := "## 1. Primary Request and Intent\nr\n\n## 5. Problem Solving\n1. one\n2. two\n7. seven\n\n## 6. All User Messages\nwords\n\n## 7. Pending Tasks\np"
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestTrimGivesUpWhatCanBeLookedUp(t *testing.T) {
	d := newDesk(t)
	var b strings.Builder
	for n := 1; n <= 9; n++ {
		if n != sectionUser {
			fmt.Fprintf(&b, "## %d. %s\n%s\n\n", n, sectionTitle(n), words(fmt.Sprintf("s%d", n), 200))
		}
	}
	for _, limit := range []int{1_400, 1_000, 500, 100, 20, 3} {
		sections := d.p.trim(parseSections(b.String()), limit)
		if n := d.p.counter.Count(joinSections(sections)); n > limit {
			t.Errorf("limit %d: %d tokens", limit, n)
		}
		files, pending := sectionOf(sections, sectionFiles).Text, sectionOf(sections, sectionPending).Text
		if limit >= 500 && (len(files) >= len(pending) || pending == "") {
			t.Errorf("limit %d: %d bytes of files, %d of pending tasks", limit, len(files), len(pending))
		}
	}
}
