package compaction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/message"
)

func (d *desk) attachment(kind AttachmentKind, key, text string) Attachment {
	return d.p.Attach(Attachment{Kind: kind, Key: key, Version: text, Text: message.Wrap(string(kind), text)})
}

// A compaction after refusals shortens what stands beside the conversation. Little ones
// have nothing to give: they stay whole, and are there when the level is back at 0.
func TestSmallAttachmentsOutliveRefusals(t *testing.T) {
	const rule, step = "Never push to main; ask the user first.", "- [pending] fix the port\n"
	for level := LevelNormal; level <= LevelAggressive; level++ {
		t.Run(fmt.Sprint("level ", level), func(t *testing.T) {
			d := newDesk(t)
			first := d.user("go")
			d.sit.Overhead.Attachments = []Attachment{
				d.attachment(AttachAgentPrompt, "", rule), d.attachment(AttachTodoList, "", step),
			}
			for _, a := range d.sit.Overhead.Attachments {
				d.s.Inject(Injection{TargetID: first.ID, Attachment: a})
			}
			for range 30 {
				d.says(words("text", 420))
			}
			d.sit.Ladder.Level, d.sit.Trigger = level, TriggerOverflow
			step := d.next()
			if step.Plan == nil {
				t.Fatal(step.Action)
			}
			d.carry(step.Plan)
			var texts []string
			for _, a := range d.s.Record().Attachments {
				texts = append(texts, a.Text)
			}
			want := []string{d.sit.Overhead.Attachments[0].Text, d.sit.Overhead.Attachments[1].Text}
			if diff := cmp.Diff(want, texts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever is shortened keeps its tags and its version, is as small as it has to be, and
// of AGENT.md, the todo list and the user's memory something is always left.
func TestShortenedAttachmentsKeepTheirWrappers(t *testing.T) {
	kinds := []AttachmentKind{AttachAgentPrompt, AttachTodoList, AttachSessionMemory, AttachUserMemory}
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		var as []Attachment
		for i := range rapid.IntRange(1, 30).Draw(rt, "memories") {
			as = append(as, d.attachment(AttachSessionMemory, fmt.Sprint(i), words("m", rapid.IntRange(1, 400).Draw(rt, "size"))))
		}
		for _, kind := range kinds {
			as = append(as, d.attachment(kind, "", words("a\n</"+string(kind)+">b", rapid.IntRange(1, 900).Draw(rt, "size"))))
		}
		limit := rapid.IntRange(3*minAttachmentTokens, 3_000).Draw(rt, "limit")
		bounded := d.p.Bound(as, limit)
		total := 0
		standing := 0
		for i := range bounded {
			total += bounded[i].Tokens
			if bounded[i].stands() {
				standing++
			}
			intact(rt, d, &bounded[i])
		}
		if total > limit || standing != 3 {
			rt.Errorf("%d tokens of %d, %d that always stand", total, limit, standing)
		}
		for i := range as {
			for rule, floor := range map[attachmentRule]int{attachmentsFull: as[i].Tokens, attachmentsQuarter: minAttachmentTokens / 2, attachmentsFew: minAttachmentTokens / 2} {
				a := d.p.reduce(as[i], rule)
				if rule == attachmentsFew && (a.Kind == AttachSessionMemory || a.Kind == AttachUserMemory) {
					floor = 0
				} else {
					intact(rt, d, &a)
				}
				if most := d.p.reducedTokens(&as[i], rule); a.Tokens > most || a.Tokens < min(floor, as[i].Tokens) || a.Version != as[i].Version {
					rt.Errorf("of %d tokens %d are left, at most %d, at least %d", as[i].Tokens, a.Tokens, most, floor)
				}
			}
		}
	})
}

// intact checks that an attachment is one wrapper around something.
func intact(t *rapid.T, d *desk, a *Attachment) {
	body, opened := strings.CutPrefix(a.Text, "<"+string(a.Kind)+">\n")
	body, closed := strings.CutSuffix(body, "\n</"+string(a.Kind)+">")
	if !opened || !closed || strings.TrimSpace(body) == "" || strings.Contains(body, "</"+string(a.Kind)) {
		t.Errorf("%q is no wrapper around something", a.Text)
	}
	if a.Tokens != d.p.counter.Count(a.Text) {
		t.Errorf("%d tokens are said to be %d", d.p.counter.Count(a.Text), a.Tokens)
	}
}

// Where there is no room for all, memories of the session go, the last ones first, and
// are no longer said to be there.
func TestBoundLeavesOutTheLastMemories(t *testing.T) {
	d := newDesk(t)
	as := []Attachment{d.attachment(AttachAgentPrompt, "", words("rules", 400))}
	for i := range 40 {
		as = append(as, d.attachment(AttachSessionMemory, fmt.Sprint(i), words("m", 60)))
	}
	as = append(as, d.attachment(AttachUserMemory, "", words("rules", 400)))
	var keys []string
	for _, a := range d.p.Bound(as, 400) {
		keys = append(keys, string(a.Kind)+a.Key)
	}
	if diff := cmp.Diff([]string{"agent_prompt", "session_memory0", "session_memory1", "session_memory2", "user_memory"}, keys); diff != "" {
		t.Error(diff)
	}
}

// Of what has the most important first, the first is what stays.
func TestUserMemoryIsShortenedAtItsEnd(t *testing.T) {
	d := newDesk(t)
	a := d.p.reduce(d.attachment(AttachUserMemory, "", "FIRST "+words("x", 900)+" LAST"), attachmentsQuarter)
	if !strings.Contains(a.Text, "FIRST") || strings.Contains(a.Text, "LAST") {
		t.Errorf("%q", a.Text)
	}
}

// One long text makes others shorter, and none disappear; of too many the first stay.
func TestFit(t *testing.T) {
	d := newDesk(t)
	tests := []struct {
		name  string
		sizes []int
		want  []int // at most
		gone  int   // from this one on; 0: none
	}{
		{"all fit", []int{10, 500, 490}, []int{10, 500, 490}, 0},
		{"one is long", []int{5_000, 10, 200}, []int{790, 10, 200}, 0},
		{"all are long", []int{5_000, 5_000}, []int{500, 500}, 0},
		{"too many", []int{400, 400, 400, 400, 400, 400, 400, 400, 400, 400, 400, 400, 400, 400}, []int{80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 0, 0}, 12},
		{"none", nil, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			texts := make([]string, len(tt.sizes))
			for i, n := range tt.sizes {
				texts[i] = words(fmt.Sprint(i), n)
			}
			for i, text := range d.p.Fit(texts, 1_000) {
				gone := tt.gone > 0 && i >= tt.gone
				if n := d.p.counter.Count(text); n > tt.want[i] || (text == "") != gone || tt.want[i] == tt.sizes[i] && text != texts[i] {
					t.Errorf("%d: %d tokens: %.40q", i, n, text)
				}
			}
		})
	}
}

// A version is shown once, and the newest that is shown is the current one: what stays
// verbatim with an older version makes the current one due behind it.
func TestEachVersionOnceAfterAStaleOne(t *testing.T) {
	d := newDesk(t)
	for i := range 10 {
		d.user(words(fmt.Sprint("u", i), 100))
		d.says(words("a", 100))
	}
	newest := d.user("newest")
	old, current := d.attachment(AttachTodoList, "", "LIST-ONE"), d.attachment(AttachTodoList, "", "LIST-TWO")
	rules := d.attachment(AttachAgentPrompt, "", "RULES")
	d.s.Inject(Injection{TargetID: newest.ID, Attachment: old})
	d.says("ok")
	d.sit.Overhead.Attachments = []Attachment{rules, current}
	d.sit.Turn = ""
	pl, reason := d.p.PlanManual(d.s, d.situation())
	if pl == nil {
		t.Fatal(reason)
	}
	d.carry(pl)
	next := d.user("next")
	for _, due := range d.s.Due(d.sit.Overhead.Attachments) {
		d.s.Inject(Injection{TargetID: next.ID, Attachment: due})
	}
	text := viewText(d.s.View())
	for _, one := range []string{"RULES", "LIST-ONE", "LIST-TWO"} {
		if n := strings.Count(text, one); n != 1 {
			t.Errorf("%s is shown %d times", one, n)
		}
	}
	if strings.Index(text, "LIST-TWO") < strings.Index(text, "LIST-ONE") {
		t.Error("the newest list in view is not the current one")
	}
}

// What a record does not show and the units behind it neither is not kept.
func TestKeptVersion(t *testing.T) {
	d := newDesk(t)
	first := d.user("go")
	d.s.Inject(Injection{TargetID: first.ID, Attachment: d.attachment(AttachSessionMemory, "a", "A")})
	second := d.user("on")
	d.s.Inject(Injection{TargetID: second.ID, Attachment: d.attachment(AttachSessionMemory, "b", "B")})
	var got []string
	for _, through := range []int64{0, first.Seq, second.Seq} {
		for _, key := range []string{"a", "b"} {
			got = append(got, d.s.KeptVersion(AttachSessionMemory, key, through))
		}
	}
	if diff := cmp.Diff([]string{"A", "B", "", "B", "", ""}, got); diff != "" {
		t.Error(diff)
	}
}
