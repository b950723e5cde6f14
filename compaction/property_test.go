package compaction

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/message"
	"sessiond/tokens"
)

// anyLimit draws a limit from 4k to 1M, and anyOverhead an overhead from nothing to all
// of it.
func anyLimit(t *rapid.T) int {
	return rapid.SampledFrom([]int{4_000, 6_000, 8_000, 16_000, 25_000, 64_000, 200_000, 1_000_000}).Draw(t, "limit")
}

func anyOverhead(t *rapid.T, limit int) int {
	return limit * rapid.SampledFrom([]int{0, 0, 5, 10, 20, 30, 45, 60, 80, 100}).Draw(t, "overhead %") / 100
}

// anyDesk is an empty session with any configuration.
func anyDesk(tb testing.TB, t *rapid.T) *desk {
	tb.Helper()
	return anyDeskWith(tb, t, quarter{}, anyLimit(t))
}

func anyDeskWith(tb testing.TB, t *rapid.T, counter Counter, limit int) *desk {
	tb.Helper()
	d := newDeskWith(tb, counter, func(c *Config) { c.ContextTokensLimit = limit })
	d.sit.Ratio = rapid.SampledFrom([]float64{1, 1, 0.8, 1.37, 1.6}).Draw(t, "ratio")
	overhead := rawTokens(anyOverhead(t, limit), d.sit.Ratio)
	d.sit.Overhead.System = overhead / 2
	d.sit.Overhead.Tools = overhead - overhead/2
	if rapid.Bool().Draw(t, "has window") {
		d.sit.Limits.WindowTokens = rapid.IntRange(4_096, 2*limit).Draw(t, "window")
	}
	if rapid.Bool().Draw(t, "has attachments") {
		a := Attachment{Kind: AttachAgentPrompt, Version: "1", Text: words("AGENT", limit/50)}
		b := Attachment{Kind: AttachSessionMemory, Key: "e", Version: "1", Text: words("MEMORY", limit/80)}
		d.sit.Overhead.Attachments = []Attachment{d.p.Attach(a), d.p.Attach(b)}
	}
	no := false
	d.sit.Tools = d.p.Tools([]Tool{{Name: "keep", Cleanable: &no}, {Name: "cat", Reads: "file"}})
	d.notes = rapid.IntRange(60, 9_000).Draw(t, "notes")
	return d
}

// grow adds a random piece of a conversation. Sizes follow the limit, so that every
// limit is reached.
func (d *desk) grow(t *rapid.T) {
	unit := max(d.p.cfg.ContextTokensLimit/40, 40)
	size := func(name string) int {
		n := rapid.IntRange(1, unit).Draw(t, name)
		if rapid.IntRange(0, 9).Draw(t, name+" big") == 0 {
			n *= rapid.IntRange(5, 30).Draw(t, name+" times")
		}
		return n
	}
	if d.turn == 0 || rapid.IntRange(0, 4).Draw(t, "turn ends") == 0 {
		if d.turn > 0 {
			d.says(words("answer", size("answer")))
			if rapid.IntRange(0, 9).Draw(t, "idles") == 0 {
				d.now = d.now.Add(2 * time.Hour)
			}
		}
		d.user(words(fmt.Sprintf("M%d", d.turn+1), size("request")))
		d.sit.Ladder = d.sit.Ladder.NewTurn()
		d.sit.Breaker = d.sit.Breaker.UserMessage()
	} else {
		d.growRound(t, size)
	}
	if due := d.s.Due(d.sit.Overhead.Attachments); len(due) > 0 {
		last := d.s.conv.items[len(d.s.conv.items)-1].Message
		for _, a := range due {
			d.s.Inject(Injection{TargetID: last.ID, Attachment: a})
		}
	}
}

func (d *desk) growRound(t *rapid.T, size func(string) int) {
	var blocks []message.Block
	if rapid.Bool().Draw(t, "thinks") {
		blocks = append(blocks, message.Thinking{Provider: "p", Text: words("thought", size("thought")), Raw: []byte(fmt.Sprintf(`{"s":%d}`, d.seq))})
	}
	if rapid.Bool().Draw(t, "talks") {
		blocks = append(blocks, message.Text{Text: words("I will", 20)})
	}
	var calls []message.ToolUse
	var results []string
	for range rapid.IntRange(1, 3).Draw(t, "calls") {
		name := rapid.SampledFrom([]string{"read", "cat", "bash", "keep", "write"}).Draw(t, "tool")
		input := fmt.Sprintf(`{"path":"f%d.go","file":"f%d.go","content":"x"}`, rapid.IntRange(0, 9).Draw(t, "file"), rapid.IntRange(0, 9).Draw(t, "cat file"))
		use := d.use(name, input)
		calls = append(calls, use)
		blocks = append(blocks, use)
		results = append(results, words("result", size("result")))
	}
	d.assistant(blocks...)
	d.answer(calls, results...)
}

// story plays a whole session and lets check look at it after every step.
func story(tb testing.TB, t *rapid.T, check func(d *desk, before *State, steps []Step)) {
	tb.Helper()
	anyDesk(tb, t).story(t, check)
}

// story plays a whole session on the desk.
func (d *desk) story(t *rapid.T, check func(d *desk, before *State, steps []Step)) {
	for range rapid.IntRange(5, 60).Draw(t, "length") {
		d.grow(t)
		before := d.s.snapshot()
		if c := d.p.Microcompact(d.s, d.situation()); c != nil {
			d.s.Clear(c)
		}
		if rapid.IntRange(0, 30).Draw(t, "refused") == 0 {
			d.sit.Ladder = d.sit.Ladder.Refused()
			d.sit.Trigger = TriggerOverflow
		}
		steps := d.settle()
		check(d, before, steps)
		if c, b := d.context(); steps[len(steps)-1].Action == ActionSend {
			d.sit.Ladder = d.sit.Ladder.Succeeded(c.Judged(), b.Landing)
		}
	}
}

// invariant holds after every step of every session. It returns what is wrong.
type invariant struct {
	name  string
	check func(d *desk, before *State, steps []Step) error
}

func invariants() []invariant {
	return []invariant{
		{"the view is valid", func(d *desk, _ *State, _ []Step) error { return checkView(d.s.View()) }},
		{"the context adds up", contextAddsUp},
		{"plans land", plansLand},
		{"what is sent fits", whatIsSentFits},
		{"twice changes nothing", twiceChangesNothing},
		{"the boundary never goes back", boundaryNeverGoesBack},
		{"higher levels leave less", higherLevelsLeaveLess},
		{"thinking is whole or absent", thinkingIsWholeOrAbsent},
		{"the ledger counts all", ledgerCountsAll},
		{"the meter agrees with the trigger", meterAgrees},
	}
}

func TestInvariants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		story(t, rt, func(d *desk, before *State, steps []Step) {
			for _, in := range invariants() {
				if err := in.check(d, before, steps); err != nil {
					rt.Fatalf("%s: %v", in.name, err)
				}
			}
		})
	})
}

// The same with the real encoding, whose counts of parts are not those of the whole.
func TestInvariantsWithARealEncoding(t *testing.T) {
	encoding, err := tokens.New("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.SampledFrom([]int{4_000, 8_000, 25_000}).Draw(rt, "limit")
		anyDeskWith(t, rt, encoding, limit).story(rt, func(d *desk, before *State, steps []Step) {
			for _, in := range invariants() {
				if err := in.check(d, before, steps); err != nil {
					rt.Fatalf("%s: %v", in.name, err)
				}
			}
		})
	})
}

// checkView tells which rule of the providers a view breaks.
func checkView(v *View) error {
	if len(v.Messages) == 0 || v.Messages[0].Role != message.RoleUser {
		return fmt.Errorf("the view does not begin with the user")
	}
	if v.Messages[len(v.Messages)-1].Role != message.RoleUser {
		return fmt.Errorf("the view does not end with the user")
	}
	open := map[message.ToolUseID]bool{}
	for i := range v.Messages {
		m := &v.Messages[i]
		if err := m.Check(); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if len(m.Content) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		for _, b := range m.Content {
			switch b := b.(type) {
			case message.Text:
				if blank(b.Text) {
					return fmt.Errorf("message %d has a blank text", i)
				}
			case message.ToolResult:
				if !open[b.ToolUseID] {
					return fmt.Errorf("message %d: result %s answers nothing", i, b.ToolUseID)
				}
				delete(open, b.ToolUseID)
				if !says(b.Content) {
					return fmt.Errorf("message %d: result %s says nothing", i, b.ToolUseID)
				}
			case message.Image, message.Thinking, message.ToolUse:
			}
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d: calls without results: %v", i, open)
		}
		for _, use := range m.ToolUses() {
			open[use.ID] = true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls without results: %v", open)
	}
	return nil
}

// What is added up from stored counts is what counting the view anew would give.
func contextAddsUp(d *desk, _ *State, _ []Step) error {
	c, _ := d.context()
	want := d.viewTokens(d.s.View()) + d.sit.Overhead.System + d.sit.Overhead.Tools
	if c.Raw() != want {
		return fmt.Errorf("added up %d, counted %d", c.Raw(), want)
	}
	return nil
}

// After a compaction the context is within the landing, open round and pinned request
// aside, and never more than was planned.
func plansLand(d *desk, _ *State, steps []Step) error {
	for _, st := range steps {
		if st.Action != ActionCompact {
			continue
		}
		r := recordOf(d.s, st.Plan.Generation+1)
		if r == nil {
			return fmt.Errorf("a plan from %d to %d made no progress", st.Plan.Before, st.Plan.After)
		}
		state := State{conv: d.s.conv, records: []*Record{r}, shape: r.Shape, injections: d.s.injections}
		if c, b := d.p.Gauge(&state, d.situation()); c.Judged() > b.Landing && r.Reason != ReasonOverLanding {
			return fmt.Errorf("judged %d over the landing %d without a reason", c.Judged(), b.Landing)
		}
		if st.Plan.Lands && r.Reason == ReasonOverLanding && len(d.sit.Overhead.Attachments) == 0 {
			return fmt.Errorf("the plan landed, the compaction did not")
		}
		if r.TokensAfter > st.Plan.After {
			return fmt.Errorf("planned for %d, got %d", st.Plan.After, r.TokensAfter)
		}
	}
	return nil
}

func recordOf(s *State, generation int64) *Record {
	for _, r := range s.records {
		if r.Generation == generation {
			return r
		}
	}
	return nil
}

func whatIsSentFits(_ *desk, _ *State, steps []Step) error {
	last := steps[len(steps)-1]
	if last.Action == ActionSend && last.Context.Tokens() > last.Budget.Input {
		return fmt.Errorf("%d tokens are sent, %d may be", last.Context.Tokens(), last.Budget.Input)
	}
	return nil
}

func twiceChangesNothing(d *desk, _ *State, steps []Step) error {
	if c := d.p.Microcompact(d.s, d.situation()); c != nil {
		return fmt.Errorf("cleared twice: %v", c.IDs())
	}
	if r := d.s.Record(); r != nil {
		shape := d.s.ShapeID()
		if err := d.s.Commit(r); err == nil || d.s.ShapeID() != shape {
			return fmt.Errorf("a record was committed twice")
		}
	}
	if again := d.next(); steps[len(steps)-1].Action == ActionSend && again.Action != ActionSend {
		return fmt.Errorf("settled, and then %s", again.Action)
	}
	return nil
}

func boundaryNeverGoesBack(d *desk, before *State, _ []Step) error {
	if d.s.boundary() < before.boundary() {
		return fmt.Errorf("from unit %d to %d", before.boundary(), d.s.boundary())
	}
	return nil
}

func higherLevelsLeaveLess(d *desk, before *State, _ []Step) error {
	sit := d.situation()
	sit.Trigger = TriggerOverflow
	most := -1
	for level := LevelNormal; level <= LevelAggressive; level++ {
		sit.Ladder.Level = level
		pl, _ := d.p.plan(before, sit)
		if pl == nil || !pl.Lands {
			continue
		}
		if most >= 0 && pl.total > most {
			return fmt.Errorf("from level %d on %d tokens are left, before it %d", level, pl.total, most)
		}
		most = pl.total
	}
	return nil
}

// Thinking is shown byte for byte or not at all, and never after something before it
// has changed.
func thinkingIsWholeOrAbsent(d *desk, before *State, _ []Step) error {
	for _, m := range d.s.View().Messages {
		for _, b := range m.Content {
			if _, ok := b.(message.Thinking); !ok {
				continue
			}
			stored := d.s.conv.items[d.s.conv.bySeq[m.Seq]].Message.Content
			if !slices.ContainsFunc(stored, func(s message.Block) bool { return cmp.Equal(s, b) }) {
				return fmt.Errorf("thinking of #%d is not what was stored", m.Seq)
			}
			if before.ShapeID() != d.s.ShapeID() {
				return fmt.Errorf("thinking of #%d was kept over a change before it", m.Seq)
			}
		}
	}
	return nil
}

// The words of users: verbatim, cut and counted make all of them.
func ledgerCountsAll(d *desk, _ *State, _ []Step) error {
	r := d.s.Record()
	if r == nil {
		return nil
	}
	want := 0
	for _, i := range d.s.conv.users {
		if seq := d.s.conv.items[i].Message.Seq; i < d.s.conv.firstItem(d.s.boundary()) && seq != r.PinnedSeq {
			want++
		}
	}
	if got := r.Ledger.Verbatim + r.Ledger.Cut + r.Ledger.Counted; got != want {
		return fmt.Errorf("%d user messages left, the ledger has %+v", want, r.Survived())
	}
	return nil
}

// The meter says 100 exactly when the trigger is reached.
func meterAgrees(d *desk, _ *State, _ []Step) error {
	c, b := d.context()
	p := Growth{}.Progress(c.Tokens(), b.Threshold)
	if reached := c.Tokens() >= b.Threshold; reached != (p.Percent >= 100) || reached != (p.RoundsUntil == -1) {
		return fmt.Errorf("%d of %d is %v %% and %d rounds", c.Tokens(), b.Threshold, p.Percent, p.RoundsUntil)
	}
	return nil
}

// Planning, viewing and applying change nothing that they are given.
func TestArgumentsStay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		story(t, rt, func(d *desk, _ *State, steps []Step) {
			if len(steps) < 2 {
				return // nothing is going on
			}
			state, items, sit := jsonOf(d.s.snapshot()), itemsText(d.s), jsonOf(d.sit.Overhead)
			view := viewText(d.s.View())
			over := d.situation()
			over.Trigger = TriggerOverflow
			for level := LevelNormal; level <= LevelAggressive; level++ {
				over.Ladder.Level = level
				if st := d.p.Next(d.s, over); st.Plan != nil {
					d.p.Apply(d.s, over, st.Plan, d.p.Digest(st.Plan, nil))
				}
			}
			over.Ladder.Spent = true
			d.p.Next(d.s, over)
			if pl, _ := d.p.PlanManual(d.s, over); pl != nil {
				d.p.Apply(d.s, over, pl, d.write(pl))
			}
			if jsonOf(d.s.snapshot()) != state || itemsText(d.s) != items || jsonOf(d.sit.Overhead) != sit {
				rt.Fatal("an argument changed")
			}
			if viewText(d.s.View()) != view {
				rt.Fatal("the view changed")
			}
		})
	})
}

func jsonOf(v any) string {
	if s, ok := v.(*State); ok {
		v = []any{s.records, s.shape, s.generation, s.injections}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func itemsText(s *State) string {
	var b strings.Builder
	for _, it := range s.conv.items {
		b.Write(message.Append(nil, it.Message, message.Form{}))
		b.WriteString(jsonOf(it.Measure))
	}
	return b.String()
}

// A state that was folded again from what is stored, after a trip through JSON, shows
// the same bytes and plans the same.
func TestRestartShowsTheSameBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var d *desk
		var log []any
		d = anyDesk(t, rt)
		for range rapid.IntRange(5, 60).Draw(rt, "length") {
			injected := len(d.s.injections)
			d.grow(rt)
			for _, in := range d.s.injections[injected:] {
				log = append(log, in)
			}
			for _, st := range d.settle() {
				switch st.Action {
				case ActionClear:
					log = append(log, st.Clearing)
				case ActionCompact:
					if r := recordOf(d.s, st.Plan.Generation+1); r != nil {
						log = append(log, r)
					}
				case ActionSend, ActionClimb, ActionOverflow:
				}
			}
		}
		again := NewState()
		for _, it := range d.s.conv.items {
			measure := throughJSON(rt, it.Measure)
			m, err := message.Decode(message.Append(nil, it.Message, message.Form{}))
			if err != nil {
				rt.Fatal(err)
			}
			if err := again.Append(Item{Message: m, Measure: measure}); err != nil {
				rt.Fatal(err)
			}
		}
		for _, e := range log {
			switch e := e.(type) {
			case Injection:
				again.Inject(throughJSON(rt, e))
			case *Clearing:
				again.Clear(throughJSON(rt, e))
			case *Record:
				if err := again.Commit(throughJSON(rt, e)); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if diff := cmp.Diff(viewText(d.s.View()), viewText(again.View())); diff != "" {
			rt.Fatal(diff)
		}
		a, b := d.next(), d.p.Next(again, d.situation())
		if a.Action != b.Action || a.Context != b.Context {
			rt.Fatalf("%v and after the restart %v", a, b)
		}
	})
}

func throughJSON[T any](t *rapid.T, v T) T {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// Every message is in the view or was given to the writer of a summary.
func TestB75NothingIsInNeither(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		told := map[int64]bool{}
		story(t, rt, func(d *desk, before *State, steps []Step) {
			for _, st := range steps {
				if st.Action != ActionCompact || recordOf(d.s, st.Plan.Generation+1) == nil {
					continue
				}
				request := d.p.StartCall(st.Plan, CallOptions{WindowTokens: 100_000_000}).Request().Prompt
				for i := st.Plan.s.conv.firstItem(st.Plan.from); i < st.Plan.s.conv.firstItem(st.Plan.to); i++ {
					m := st.Plan.s.conv.items[i].Message
					if strings.Contains(request, fmt.Sprintf("[#%d %s]", m.Seq, m.Role)) {
						told[m.Seq] = true
					}
				}
			}
			for _, m := range d.s.View().Messages {
				told[m.Seq] = true
			}
			for _, it := range d.s.conv.items {
				if !told[it.Message.Seq] {
					rt.Fatalf("#%d is neither shown nor summarised", it.Message.Seq)
				}
			}
		})
	})
}
