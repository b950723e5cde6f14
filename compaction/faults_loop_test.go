package compaction

import (
	"slices"
	"testing"
	"time"

	"sessiond/message"
)

// The tests named after faults show that what went wrong in other products of this kind
// ends here as it should. Those here are about loops, thrash and triggers.

func TestB01OverheadAloneIsOverTheThreshold(t *testing.T) {
	d := newDesk(t)
	d.sit.Overhead.System = 13_000
	for range 3 {
		d.user("hi")
		if st := d.next(); st.Action != ActionSend || !st.Budget.OverheadHigh() {
			t.Fatalf("%s, warned %v; want send with a warning", st.Action, st.Budget.OverheadHigh())
		}
		d.says("hello")
	}
}

// The overhead and what has to stay leave no room: no call is made that could not help.
func TestB03NoLoopWhereNothingCanLand(t *testing.T) {
	d := newDesk(t)
	d.sit.Overhead.System = 9_000
	d.user("go")
	calls := 0
	for range 40 {
		d.round("bash", `{"command":"make"}`, words("out", 900))
		for _, st := range d.settle() {
			if st.Action == ActionCompact {
				calls++
				if r := recordOf(d.s, st.Plan.Generation+1); r == nil {
					t.Fatal("a call was paid for nothing")
				}
			}
		}
	}
	if calls > 40/3 {
		t.Errorf("%d summary calls in 40 rounds", calls)
	}
}

func noProgress() Judgement {
	return Judgement{Outcome: OutcomeNoProgress, Before: 13_000, After: 12_900, Judged: 12_900}
}

func TestB04ThreeStrikesSurviveInternalWork(t *testing.T) {
	pl := &Plan{Trigger: TriggerAuto}
	var k Breaker
	for range 3 {
		k = k.Judged(pl, noProgress(), true, "t1")
	}
	if !k.Paused {
		t.Fatalf("not paused: %+v", k)
	}
	b := Budget{Threshold: 12_000, Headroom: 12_000, High: 19_800, Edge: 22_400}
	sit := &Situation{Now: noon, Trigger: TriggerAuto, Turn: "t2"}
	if k.mayCall(sit, 20_000, LevelNormal, b) {
		t.Error("another turn of the server's own making ended the pause")
	}
	if !k.mayCall(sit, 22_401, LevelNormal, b) {
		t.Error("the pause stopped an attempt over edge")
	}
	if k := k.UserMessage(); !k.mayCall(sit, 13_000, LevelNormal, b) {
		t.Error("a user's message did not end the pause")
	}
	if k := k.Grown(16_000, b); !k.mayCall(sit, 16_000, LevelNormal, b) {
		t.Error("growth of a quarter of the headroom did not end the pause")
	}
	manual := &Plan{Trigger: TriggerManual}
	if k := k.Judged(manual, Judgement{Outcome: OutcomeApplied}, true, "t2"); k.Paused {
		t.Error("a manual success did not end the pause")
	}
	held := noProgress()
	held.Held = true
	if k := (Breaker{Strikes: 2}).Judged(pl, held, true, "t1"); k.Strikes != 2 {
		t.Error("what the open round holds over the threshold counts as a strike")
	}
}

// The trigger counts the overhead and the cut does not: nothing to take away means no
// call and no new boundary, and the old summary stays.
func TestB05EmptySpanIsNoop(t *testing.T) {
	d := newDesk(t)
	d.user(words("old", 3_000))
	d.says(words("old", 3_000))
	d.user("go")
	d.sit.Ladder.Level = LevelNormal
	pl, _ := d.p.PlanManual(d.s, d.situation())
	d.carry(pl)
	old := d.s.Record().Text
	d.says(words("short", 100))
	d.sit.Overhead.System = 20_000
	for _, st := range d.settle() {
		if st.Action != ActionSend {
			t.Fatalf("%s with nothing to compact", st.Action)
		}
	}
	if d.s.Record().Text != old || d.s.View().Summary != 0 {
		t.Error("the old summary is gone")
	}
}

// The context is added up from counts that are stored with messages; what a provider
// measured before a compaction can't trigger anything.
func TestB06MeasurementsBeforeTheBoundaryAreVoid(t *testing.T) {
	d := newDesk(t)
	d.user(words("a", 6_000))
	m := d.says(words("b", 6_000))
	m.Usage = &message.Usage{Input: 15_000}
	d.user("ok")
	d.settle()
	if c, b := d.context(); c.Tokens() >= b.Landing {
		t.Fatalf("%d tokens after the compaction", c.Tokens())
	}
	if st := d.next(); st.Action != ActionSend {
		t.Errorf("%s right after a compaction", st.Action)
	}
}

func TestB07InflatedResultIsNotAccepted(t *testing.T) {
	d := newDesk(t)
	d.user(words("a", 400))
	d.says(words("b", 400))
	d.user("c")
	before := viewText(d.s.View())
	d.notes = 1_800
	pl, _ := d.p.PlanManual(d.s, d.situation())
	if _, j := d.carry(pl); j.Outcome != OutcomeNoop || j.Reason != ReasonNotSmaller {
		t.Errorf("%s %s, want noop not_smaller", j.Outcome, j.Reason)
	}
	if viewText(d.s.View()) != before {
		t.Error("the view changed")
	}
}

func TestB08OneSummaryPerTurnUnlessItGrows(t *testing.T) {
	b := Budget{Threshold: 12_000, Headroom: 12_000, High: 19_800, Edge: 22_400}
	applied := Judgement{Outcome: OutcomeApplied, Before: 12_500, After: 11_000}
	pl := &Plan{Trigger: TriggerAuto}
	k := Breaker{}.Judged(pl, applied, true, "t1")
	tests := []struct {
		name    string
		turn    message.TurnID
		trigger Trigger
		context int
		want    bool
	}{
		{"same turn, little growth", "t1", TriggerAuto, 14_999, false},
		{"same turn, grown by a third of the headroom", "t1", TriggerAuto, 15_000, true},
		{"same turn, over high", "t1", TriggerAuto, 19_801, true},
		{"same turn, refused", "t1", TriggerOverflow, 11_500, true},
		{"another turn", "t2", TriggerAuto, 12_000, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sit := &Situation{Now: noon, Trigger: tt.trigger, Turn: tt.turn}
			if got := k.mayCall(sit, tt.context, LevelLight, b); got != tt.want {
				t.Errorf("may call: %v, want %v", got, tt.want)
			}
		})
	}
	overflow := &Plan{Trigger: TriggerOverflow, Level: LevelLight}
	k = k.Judged(overflow, applied, true, "t1")
	sit := &Situation{Now: noon, Trigger: TriggerOverflow, Turn: "t1"}
	if k.mayCall(sit, 11_500, LevelLight, b) || !k.mayCall(sit, 11_500, LevelMedium, b) {
		t.Error("a refusal allows one call per level")
	}
	if k = (Breaker{}).Judged(&Plan{Trigger: TriggerManual}, applied, true, "t1"); k.Turn != "" {
		t.Error("a manual compaction counts in the spend rule")
	}
}

func TestB10NoopIsNoStrike(t *testing.T) {
	d := newDesk(t)
	d.sit.Overhead.System = 11_900
	d.user("one")
	d.says("two")
	d.user(words("three", 200))
	d.settle()
	if d.sit.Breaker.Strikes != 0 {
		t.Fatalf("%d strikes for nothing to do", d.sit.Breaker.Strikes)
	}
	for range 60 {
		d.says(words("grows", 200))
	}
	d.user("go")
	steps := d.settle()
	if !slices.Contains(actions(steps), ActionCompact) {
		t.Errorf("a session that began short never compacts: %v", actions(steps))
	}
}

func TestB11RecoveredFilesFitTheLanding(t *testing.T) {
	d := newDesk(t)
	d.user("go")
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		d.round("read", `{"path":"`+name+`.go"}`, words("file", 9_000))
		d.settle()
	}
	d.says("read them all")
	d.user("next")
	d.sit.Ladder = Ladder{}
	pl, reason := d.p.PlanManual(d.s, d.situation())
	if pl == nil {
		t.Fatal(reason)
	}
	r, _ := d.carry(pl)
	total := 0
	for _, f := range r.Files {
		if f.Tokens > 2_000 {
			t.Errorf("%s has %d tokens", f.Path, f.Tokens)
		}
		total += f.Tokens
	}
	if c, b := d.context(); total > b.Share || c.Tokens() >= b.Threshold || len(r.Files) == 0 {
		t.Errorf("%d files of %d tokens, context %d of %d", len(r.Files), total, c.Tokens(), b.Threshold)
	}
}

func TestB13SummaryDoesNotGrow(t *testing.T) {
	d := newDesk(t)
	for i := range 10 {
		d.user(words("q", 3_000))
		d.says(words("a", 3_000))
		d.user("next")
		pl, reason := d.p.PlanManual(d.s, d.situation())
		if pl == nil {
			t.Fatal(reason)
		}
		grown := scripted(1_000 * (i + 1))
		call := d.p.StartCall(pl, CallOptions{})
		call, draft, _ := call.Take(Reply{Text: grown})
		for draft == nil {
			call, draft, _ = call.Take(Reply{Text: grown})
		}
		if n := d.p.counter.Count(draft.Body); n > pl.Budget.SummaryCap {
			t.Fatalf("round %d: %d tokens, the cap is %d", i, n, pl.Budget.SummaryCap)
		}
		sections := parseSections(draft.Body)
		if sectionOf(sections, sectionRequest).Text == "" || sectionOf(sections, sectionPending).Text == "" {
			t.Fatalf("round %d: trimmed away what matters most", i)
		}
		r, _ := d.p.Apply(d.s, d.situation(), pl, draft)
		if err := d.s.Commit(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestB15CompactsBetweenToolRounds(t *testing.T) {
	d := newDesk(t)
	d.user("go")
	compactions := 0
	for range 20 {
		d.round("bash", `{"command":"make"}`, words("out", 300))
		d.says(words("thought about it", 900))
		d.round("bash", `{"command":"make"}`, words("out", 300))
		for _, st := range d.settle() {
			if st.Action == ActionCompact {
				compactions++
			}
		}
		if c, b := d.context(); c.Tokens() > b.High {
			t.Fatalf("overshot to %d", c.Tokens())
		}
	}
	if compactions == 0 {
		t.Error("never compacted inside the turn")
	}
}

// Only the newest batch is too large, and there is nothing else: its own results are
// cut to fit.
func TestB20NewestBatchTooLarge(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.ToolResult.MaxTokens = 100_000 })
	d.user("go")
	d.round("bash", `{"command":"cat big"}`, words("big", 40_000))
	steps := d.settle()
	if last := steps[len(steps)-1]; last.Action != ActionSend || last.Context.Tokens() > last.Budget.Input {
		t.Errorf("%s with %d tokens", last.Action, last.Context.Tokens())
	}
}

func TestB30CooldownDoublesAndRetryAfterWins(t *testing.T) {
	var k Breaker
	var waits []time.Duration
	for range 7 {
		k = k.Failed(noon, 0)
		waits = append(waits, k.Until.Sub(noon))
	}
	s := time.Second
	if want := []time.Duration{30 * s, 60 * s, 120 * s, 240 * s, 480 * s, 600 * s, 600 * s}; !slices.Equal(waits, want) {
		t.Errorf("waits %v, want %v", waits, want)
	}
	if k = k.Failed(noon, 45*time.Minute); k.Until.Sub(noon) != 45*time.Minute {
		t.Errorf("retry-after gives way to %v", k.Until.Sub(noon))
	}
	sit := &Situation{Now: noon.Add(44 * time.Minute), Trigger: TriggerAuto, Turn: "t"}
	b := Budget{Threshold: 12_000, Headroom: 12_000, High: 19_800, Edge: 22_400}
	if k.mayCall(sit, 23_000, LevelNormal, b) {
		t.Error("a call inside the cooldown")
	}
	k = k.Judged(&Plan{Trigger: TriggerAuto}, Judgement{Outcome: OutcomeApplied}, true, "t")
	if k.Wait != 0 || !k.Until.IsZero() {
		t.Error("a success does not end the cooldown")
	}
}

// While the summariser rests, ten tool rounds go by without a call; over edge a digest
// keeps the conversation going.
func TestB30ConversationGoesOnWithoutSummariser(t *testing.T) {
	d := newDesk(t)
	d.user("go, and never push")
	d.sit.Breaker = d.sit.Breaker.Failed(noon, time.Hour)
	degraded := 0
	for range 60 {
		d.says(words("text", 500))
		d.round("bash", `{"command":"make"}`, words("out", 200))
		for _, st := range d.settle() {
			if st.Action == ActionCompact {
				if st.Plan.Writer != WriterDigest {
					t.Fatalf("the writer is %s", st.Plan.Writer)
				}
				if st.Plan.Before <= st.Budget.Edge {
					t.Fatalf("thrown away at %d while there is room", st.Plan.Before)
				}
				degraded++
			}
			if st.Action == ActionSend && st.Context.Tokens() > st.Budget.Input {
				t.Fatalf("%d tokens sent", st.Context.Tokens())
			}
		}
	}
	if degraded == 0 || d.s.Record().Outcome != OutcomeDegraded {
		t.Errorf("%d digests, the last record is %v", degraded, d.s.Record())
	}
}

func TestB33LimitIsLearned(t *testing.T) {
	for _, tt := range []struct{ named, sent, want int }{
		{32_768, 40_000, 32_768},
		{0, 40_000, 32_000},
		{0, 3_000, MinWindowTokens},
		{100, 3_000, MinWindowTokens},
	} {
		if got := LearnedWindow(tt.named, tt.sent); got != tt.want {
			t.Errorf("named %d, sent %d: %d, want %d", tt.named, tt.sent, got, tt.want)
		}
	}
	p := newDesk(t, func(c *Config) { c.ContextTokensLimit, c.AutoCompactBufferTokens = 200_000, 20_000 }).p
	b := p.Budget(Limits{WindowTokens: 32_768, MaxOutputTokens: 8_192}, 0)
	if b.Input != 24_576 || b.Threshold != 24_576-24_576*520/1000 {
		t.Errorf("L′ %d, T %d", b.Input, b.Threshold)
	}
}

// The meter and the trigger are one comparison: 100 % means that compaction is due.
func TestB14MeterAndTriggerAgree(t *testing.T) {
	for _, overhead := range []int{0, 3_000, 7_666, 12_000} {
		for _, size := range []int{2_000, 6_000, 11_990, 12_010, 15_000, 20_000} {
			d := newDesk(t)
			d.sit.Overhead.System = overhead
			d.user("go")
			for range 10 {
				d.says(words("text", size/10))
			}
			d.user("next")
			c, b := d.context()
			full := Growth{}.Progress(c.Tokens(), b.Threshold).Percent >= 100
			if st := d.next(); full != (st.Action != ActionSend || st.Reason != "") {
				t.Errorf("overhead %d, context %d of %d: full %v, and then %s %s", overhead, c.Tokens(), b.Threshold, full, st.Action, st.Reason)
			}
		}
	}
}

// Each path ends in an outcome that tells the truth.
func TestB92Outcomes(t *testing.T) {
	d, pl := long(t, 20, 400)
	small := &Draft{Writer: WriterModel, Body: scripted(60)}
	tests := []struct {
		name    string
		trigger Trigger
		draft   *Draft
		outcome Outcome
		reason  Reason
	}{
		{"applied", TriggerAuto, small, OutcomeApplied, ""},
		{"degraded", TriggerAuto, d.p.Digest(pl, nil), OutcomeDegraded, ""},
		{"no progress", TriggerAuto, &Draft{Writer: WriterModel, Body: words("x", 9_000)}, OutcomeNoProgress, ""},
		{"not smaller", TriggerManual, &Draft{Writer: WriterModel, Body: words("x", 9_000)}, OutcomeNoop, ReasonNotSmaller},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := *pl
			p.Trigger = tt.trigger
			r, j := d.p.Apply(d.s, d.situation(), &p, tt.draft)
			if j.Outcome != tt.outcome || j.Reason != tt.reason || r.Outcome != j.Outcome || r.TokensBefore != j.Before {
				t.Errorf("%s %q, want %s %q", j.Outcome, j.Reason, tt.outcome, tt.reason)
			}
		})
	}
	if j := d.p.Fail(d.s, d.situation(), ClassEmpty); j.Outcome != OutcomeFailed || j.Reason != "summariser_empty" || j.After != j.Before {
		t.Errorf("%+v", j)
	}
	large := &Draft{Writer: WriterModel, Body: words("x", 5_000)}
	d.says(words("y", 3_000))
	if _, j := d.p.Apply(d.s, d.situation(), pl, large); j.Outcome != OutcomeApplied || j.Reason != ReasonOverLanding {
		t.Errorf("over the landing: %s %q", j.Outcome, j.Reason)
	}
}
