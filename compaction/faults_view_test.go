package compaction

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/message"
	"sessiond/tokens"
)

// Faults of what the model is shown, and of how it is counted.

// A cut never falls between a call and its result, however many calls a round has.
func TestB36B38RoundsStayWhole(t *testing.T) {
	for keep := range 12 {
		d := newDesk(t)
		d.user(words("go", 50*keep))
		for i := range 6 {
			calls := []message.ToolUse{d.use("bash", `{"n":1}`), d.use("bash", `{"n":2}`), d.use("bash", fmt.Sprintf(`{"n":%d}`, i))}
			d.assistant(calls[0], calls[1], calls[2])
			d.answer(calls, words("A", 100*keep+1), words("B", 700), words("C", 90))
			d.settle()
			if err := checkView(d.s.View()); err != nil {
				t.Fatal(err)
			}
		}
		d.says(words("text", 3_000))
		d.user("x")
		if pl, _ := d.p.PlanManual(d.s, d.situation()); pl != nil {
			d.carry(pl)
		}
		if err := checkView(d.s.View()); err != nil {
			t.Fatal(err)
		}
	}
}

// Only the newest record counts; what older ones had kept does not come back.
func TestB41ChainedCompactions(t *testing.T) {
	d := newDesk(t)
	for i := range 5 {
		d.user(fmt.Sprintf("request %d", i))
		d.round("bash", `{"command":"make"}`, words("out", 800))
		d.says(words("done", 800))
		d.user("next")
		pl, reason := d.p.PlanManual(d.s, d.situation())
		if pl == nil {
			t.Fatal(reason)
		}
		d.carry(pl)
		v := d.s.View()
		if err := checkView(v); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(viewText(v), frameOpening); n != 1 {
			t.Fatalf("%d summary messages", n)
		}
	}
}

func TestB49ThinkingIsOpaque(t *testing.T) {
	raw := []byte(`{"type":"thinking","thinking":"","signature":"EqQB/+=="}`)
	d := newDesk(t)
	d.user("go")
	use := d.use("bash", `{"command":"make"}`)
	d.assistant(message.Thinking{Provider: "p", Raw: raw}, use)
	d.answer([]message.ToolUse{use}, "ok")
	th, ok := d.s.View().Messages[1].Content[0].(message.Thinking)
	if !ok || !bytes.Equal(th.Raw, raw) {
		t.Fatalf("thinking is not what was stored: %v", th)
	}
	d.s.Clear(&Clearing{ThinkingFrom: d.s.conv.maxSeq + 1})
	v := d.s.View()
	if len(v.Messages[1].Content) != 1 || !v.ThinkingDropped {
		t.Errorf("after a change: %v, dropped %v", v.Messages[1].Content, v.ThinkingDropped)
	}
	d.assistant(message.Thinking{Provider: "p", Raw: raw}, message.Text{Text: "x"})
	if v = d.s.View(); v.ThinkingDropped {
		t.Error("new thinking counts as dropped")
	}
}

func TestB50NothingEmptyIsShown(t *testing.T) {
	d := newDesk(t)
	d.user(" \n", message.Image{MimeType: "image/png", Data: "AAAA"})
	d.round("bash", `{}`, "")
	d.assistant(message.Text{Text: ""}, message.Text{Text: "x"})
	d.user("\t")
	d.says("y")
	d.user("z")
	v := d.s.View()
	if err := checkView(v); err != nil {
		t.Error(err)
	}
	text := viewText(v)
	for _, want := range []string{noOutput, emptyMessage, "AAAA"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown", want)
		}
	}
}

// Cuts fall between characters as people see them, and the text stays UTF-8.
func TestB53NoHalfCharacters(t *testing.T) {
	encoding, err := tokens.New("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(DefaultConfig(), encoding, encoding.Name())
	if err != nil {
		t.Fatal(err)
	}
	clusters := []string{"👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "é", "漢", "x", "\r\n", "e\u0301\u0302", "✈️"}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(clusters), 1, 200).Draw(t, "clusters")
		text := strings.Join(parts, "")
		ends := map[int]bool{0: true}
		n := 0
		for _, part := range parts {
			n += len(part)
			ends[n] = true
		}
		budget := rapid.IntRange(0, 100).Draw(t, "budget")
		cut := p.cut(text, p.counter.Count(text), budget, 60, 20)
		if !ends[cut.Head] || !ends[len(text)-cut.Tail] {
			t.Fatalf("cut inside a character: %q … %q", text[:cut.Head], text[len(text)-cut.Tail:])
		}
		if s := p.shorten(text, budget); !utf8.ValidString(s) || p.counter.Count(s) > budget {
			t.Fatalf("%q has %d tokens, the budget is %d", s, p.counter.Count(s), budget)
		}
	})
}

// A picture costs what the provider's formula says, wherever it is.
func TestB59ImagesAreNotText(t *testing.T) {
	d := newDesk(t)
	img := message.Image{MimeType: "image/png", Data: strings.Repeat("A", 800)}
	m := d.user("look", img)
	use := d.use("screenshot", `{}`)
	d.assistant(use)
	d.add(message.RoleUser, []message.ToolUse{use}, message.ToolResult{ToolUseID: use.ID, Content: []message.Block{img, message.Text{Text: "seen"}}})
	if got := d.s.conv.items[0].Measure.Blocks[1].Tokens; got != 800 {
		t.Errorf("the image of %s costs %d", m.ID, got)
	}
	if got := d.s.conv.items[2].Measure.Blocks[0].Tokens; got != callTokens+1+800 {
		t.Errorf("the result costs %d", got)
	}
}

func TestImagesOfAResultOverItsBudget(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.ToolResult.MaxTokens = 1_000 })
	img := func(n int) message.Block {
		return message.Image{MimeType: "image/png", Data: strings.Repeat("A", n)}
	}
	d.user("go")
	use := d.use("screenshot", `{}`)
	d.assistant(use)
	d.add(message.RoleUser, []message.ToolUse{use}, message.ToolResult{ToolUseID: use.ID, Content: []message.Block{
		img(300), message.Text{Text: words("text", 2_000)}, img(900), img(100),
	}})
	r := d.s.View().Messages[2].Content[0].(message.ToolResult)
	if len(r.Content) != 2 || r.Content[1] != img(300) {
		t.Fatalf("%d blocks are shown", len(r.Content))
	}
	if c, _ := d.context(); c.Raw() != d.viewTokens(d.s.View()) {
		t.Errorf("added up %d, counted %d", c.Raw(), d.viewTokens(d.s.View()))
	}
}

// After a compaction the meter shows the new request at once, not what the summariser
// was sent and not nothing; after a restart too.
func TestB63B64MeterAfterCompaction(t *testing.T) {
	d, pl := long(t, 20, 500)
	r, j := d.carry(pl)
	c, _ := d.context()
	if c.Tokens() != j.After || r.TokensAfter != j.After || c.Tokens() >= j.Before/2 || c.Tokens() == 0 {
		t.Errorf("%d tokens now, judged from %d to %d", c.Tokens(), j.Before, j.After)
	}
}

func TestB66ThinkingAndToolsCount(t *testing.T) {
	d := newDesk(t)
	d.sit.Overhead.Tools = 5_000
	d.user("go")
	d.assistant(message.Thinking{Provider: "p", Text: words("hm", 8_000)}, message.Text{Text: "ok"})
	if c, _ := d.context(); c.Thinking != 8_000 || c.Tokens() < 13_000 {
		t.Errorf("%d tokens, %d of thinking", c.Tokens(), c.Thinking)
	}
}

func TestB68StandingInstructionsStay(t *testing.T) {
	d := newDesk(t)
	rule := d.p.Attach(Attachment{Kind: AttachAgentPrompt, Version: "1", Text: "<agent_prompt>\nnever push\n</agent_prompt>"})
	d.sit.Overhead.Attachments = []Attachment{rule}
	for range 3 {
		m := d.user(words("q", 1_000))
		for _, a := range d.s.Due(d.sit.Overhead.Attachments) {
			d.s.Inject(Injection{TargetID: m.ID, Attachment: a})
		}
		d.says(words("a", 1_000))
		d.user("next")
		pl, _ := d.p.PlanManual(d.s, d.situation())
		d.carry(pl)
		if n := strings.Count(viewText(d.s.View()), "never push"); n != 1 {
			t.Fatalf("the rule is shown %d times", n)
		}
	}
}

func TestB69UserWordsSurvive(t *testing.T) {
	d := newDesk(t)
	d.user("port must be 8081")
	for range 5 {
		d.says(words("a", 2_000))
		d.user(words("q", 200))
		d.says("b")
		d.user("next")
		pl, _ := d.p.PlanManual(d.s, d.situation())
		d.carry(pl)
		if !strings.Contains(viewText(d.s.View()), "port must be 8081") {
			t.Fatal("the first request is gone")
		}
	}
}

// What is appended between plan and commit follows the summary, once; the plan stays good.
func TestB71B86MessagesDuringTheCall(t *testing.T) {
	d, pl := long(t, 20, 400)
	call := d.p.StartCall(pl, CallOptions{})
	d.says("answer meanwhile")
	d.user("M-new")
	_, draft, _ := call.Take(Reply{Text: scripted(100)})
	r, j := d.p.Apply(d.s, d.situation(), pl, draft)
	if j.Outcome != OutcomeApplied {
		t.Fatalf("%s %s", j.Outcome, j.Reason)
	}
	if err := d.s.Commit(r); err != nil {
		t.Fatal(err)
	}
	v := d.s.View()
	if last := v.Messages[len(v.Messages)-1]; last.Content[0] != (message.Text{Text: "M-new"}) || strings.Count(viewText(v), "M-new") != 1 {
		t.Errorf("the view ends with %v", last)
	}
}

func TestB72TheFrameAsksForNothing(t *testing.T) {
	d, pl := long(t, 20, 400)
	d.carry(pl)
	m := d.s.View().Messages[0]
	text := m.Content[0].(message.Text).Text
	if m.Role != message.RoleUser || !strings.Contains(text, "from the server, not from the user") ||
		!strings.Contains(text, "ask for nothing") || !strings.Contains(text, "history_search") || !strings.Contains(text, "verbatim") {
		t.Errorf("the frame: %.300s", text)
	}
}

// The same state gives the same bytes, a hundred times over.
func TestB80SameStateSameBytes(t *testing.T) {
	d, pl := long(t, 20, 400)
	d.sit.Overhead.Attachments = []Attachment{
		d.p.Attach(Attachment{Kind: AttachAgentPrompt, Version: "1", Text: "A"}), d.p.Attach(Attachment{Kind: AttachUserMemory, Version: "1", Text: "B"}),
	}
	draft := d.write(pl)
	first, _ := d.p.Apply(d.s, d.situation(), pl, draft)
	for range 100 {
		again, _ := d.p.Apply(d.s, d.situation(), pl, draft)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatal(diff)
		}
		if viewText(d.s.after(first).View()) != viewText(d.s.after(again).View()) {
			t.Fatal("two views")
		}
	}
}

// Fifteen results come one by one: the beginning of the view changes seldom.
func TestB82ClearingComesInBatches(t *testing.T) {
	d := newDesk(t)
	d.user("go")
	breaks := 0
	for i := range 15 {
		d.round("bash", fmt.Sprintf(`{"command":"make %d"}`, i), words("out", 900))
		shape := d.s.ShapeID()
		d.settle()
		if d.s.ShapeID() != shape {
			breaks++
		}
	}
	if breaks > 2 {
		t.Errorf("the prefix broke %d times", breaks)
	}
}

// Of two compactions made for one state one takes effect.
func TestB85CompareAndSwap(t *testing.T) {
	d, pl := long(t, 20, 400)
	draft := d.write(pl)
	one, _ := d.p.Apply(d.s, d.situation(), pl, draft)
	two, _ := d.p.Apply(d.s, d.situation(), pl, draft)
	if err := d.s.Commit(one); err != nil {
		t.Fatal(err)
	}
	if err := d.s.Commit(two); !errors.Is(err, ErrSuperseded) {
		t.Errorf("the second one: %v", err)
	}
	r, j := d.p.Apply(d.s, d.situation(), pl, draft)
	if r != nil || j.Outcome != OutcomeAborted || j.Reason != ReasonSuperseded {
		t.Errorf("an old plan: %v %s %s", r, j.Outcome, j.Reason)
	}
}

// Plan, call and record change nothing until they are committed.
func TestB87WithoutCommitNothingChanged(t *testing.T) {
	d, pl := long(t, 20, 400)
	before := jsonOf(d.s) + itemsText(d.s)
	d.p.Apply(d.s, d.situation(), pl, d.write(pl))
	d.p.Fail(d.s, d.situation(), "network")
	if jsonOf(d.s)+itemsText(d.s) != before {
		t.Error("something changed")
	}
}

// A turn that can't fit fails, and the next small message is answered.
func TestSessionStaysUsableAfterAnOverflow(t *testing.T) {
	d := newDesk(t)
	d.user("go")
	d.round("write", `{"path":"big.go","content":"`+words("big", 26_000)+`"}`, "written")
	steps := d.settle()
	if last := steps[len(steps)-1]; last.Action != ActionOverflow {
		t.Fatalf("%v", actions(steps))
	}
	if parts := d.s.Parts(d.sit.Overhead, 1); parts[0].Name != "open_round" {
		t.Errorf("the largest part is %v", parts[0])
	}
	d.user("small")
	d.sit.Ladder = d.sit.Ladder.NewTurn()
	d.sit.Breaker = d.sit.Breaker.UserMessage()
	steps = d.settle()
	if last := steps[len(steps)-1]; last.Action != ActionSend || last.Context.Tokens() > last.Budget.Input {
		t.Errorf("%v, %d tokens", actions(steps), last.Context.Tokens())
	}
}

func TestB58ChineseIsNotUndercounted(t *testing.T) {
	encoding, err := tokens.New("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	d := newDeskWith(t, encoding, func(c *Config) { c.ContextTokensLimit, c.AutoCompactBufferTokens = 6_000, 3_000 })
	const sentence = "端口必须是八零八一请修复它"
	for range 20 {
		d.user(strings.Repeat(sentence, 30))
		d.says(strings.Repeat(sentence, 10))
	}
	d.user("好的")
	if st := d.next(); st.Action != ActionCompact {
		t.Fatalf("%s at %d of %d", st.Action, st.Context.Tokens(), st.Budget.Threshold)
	}
	d.settle()
	if c, b := d.context(); c.Judged() > b.Landing {
		t.Errorf("%d are left, the landing is %d", c.Judged(), b.Landing)
	}
}

func TestForkLeavesThinkingOut(t *testing.T) {
	d := newDesk(t)
	d.user("go")
	m := d.assistant(message.Thinking{Provider: "p", Text: words("hm", 50)}, message.Text{Text: words("x", 9)})
	got := d.s.conv.items[1].Measure.WithoutThinking(m.Content)
	if len(got.Blocks) != 1 || got.Blocks[0].Tokens != 9 || got.Encoding != "test" {
		t.Errorf("%+v", got)
	}
	if err := d.s.Append(Item{Message: m, Measure: got}); !errors.Is(err, ErrMeasure) {
		t.Errorf("a measure that does not fit: %v", err)
	}
}
