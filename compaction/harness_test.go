package compaction

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sessiond/message"
)

// quarter counts a token for every four bytes begun, so that sizes in tests are plain
// arithmetic.
type quarter struct{}

func (quarter) Count(text string) int { return (len(text) + 3) / 4 }

func (quarter) Head(text string, n int) string {
	end := min(4*max(n, 0), len(text))
	for end < len(text) && end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func (quarter) Tail(text string, n int) string {
	start := max(len(text)-4*max(n, 0), 0)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:]
}

func imageTokens(img message.Image) int { return len(img.Data) }

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// desk is a session in a test: a state, and the situation it is in.
type desk struct {
	t   testing.TB
	p   *Planner
	s   *State
	sit Situation
	seq int64
	now time.Time
	// turn is the running turn.
	turn int
	// notes are what the scripted summariser writes, of as many tokens.
	notes   int
	results int // calls made so far
}

func newDesk(tb testing.TB, change ...func(*Config)) *desk {
	tb.Helper()
	return newDeskWith(tb, quarter{}, change...)
}

func newDeskWith(tb testing.TB, counter Counter, change ...func(*Config)) *desk {
	tb.Helper()
	cfg := DefaultConfig()
	for _, c := range change {
		c(&cfg)
	}
	p, err := New(cfg, counter, "test")
	if err != nil {
		tb.Fatal(err)
	}
	d := &desk{t: tb, p: p, s: NewState(), now: noon, notes: 200}
	d.sit = Situation{Ratio: 1, Images: imageTokens, Trigger: TriggerAuto, Tools: p.Tools(nil), Limits: Limits{MaxOutputTokens: 8_192}}
	return d
}

// words is a text of a number of tokens that begins with a name.
func words(name string, tokens int) string {
	const filler = "abc def ghi jkl mno pqr stu vwx yz0 "
	text := name + " " + strings.Repeat(filler, 4*tokens/len(filler)+1)
	return strings.TrimSpace(text[:max(4*tokens, len(name))])
}

func (d *desk) add(role message.Role, calls []message.ToolUse, content ...message.Block) *message.Message {
	d.seq++
	m := &message.Message{
		ID: message.ID(fmt.Sprintf("m%d", d.seq)), Seq: d.seq, Role: role, Content: content,
		TurnID: message.TurnID(fmt.Sprintf("t%d", d.turn)), CreatedAt: d.now,
	}
	var measure Measure
	if calls == nil {
		measure = d.p.Measure(m, nil, imageTokens)
	} else {
		measure = d.p.MeasureRound(m, calls, d.p.RoundRoom(d.s, d.situation()), imageTokens)
	}
	if err := d.s.Append(Item{Message: m, Measure: measure}); err != nil {
		d.t.Fatal(err)
	}
	return m
}

func (d *desk) user(text string, more ...message.Block) *message.Message {
	d.turn++
	d.sit.Turn = message.TurnID(fmt.Sprintf("t%d", d.turn))
	return d.add(message.RoleUser, nil, append([]message.Block{message.Text{Text: text}}, more...)...)
}

func (d *desk) assistant(blocks ...message.Block) *message.Message {
	return d.add(message.RoleAssistant, nil, blocks...)
}

func (d *desk) says(text string) *message.Message { return d.assistant(message.Text{Text: text}) }

// use makes a call with an id of its own.
func (d *desk) use(name, input string) message.ToolUse {
	d.results++
	return message.ToolUse{ID: message.ToolUseID(fmt.Sprintf("c%d", d.results)), Name: name, Input: []byte(input)}
}

// round adds a tool round of one call and returns the call.
func (d *desk) round(name, input, result string) message.ToolUse {
	use := d.use(name, input)
	d.assistant(use)
	d.answer([]message.ToolUse{use}, result)
	return use
}

func (d *desk) answer(calls []message.ToolUse, results ...string) *message.Message {
	content := make([]message.Block, len(calls))
	for i, c := range calls {
		content[i] = message.ToolResult{ToolUseID: c.ID, Content: []message.Block{message.Text{Text: results[i]}}}
	}
	return d.add(message.RoleUser, calls, content...)
}

func (d *desk) situation() *Situation {
	sit := d.sit
	sit.Now = d.now
	return &sit
}

func (d *desk) context() (Context, Budget) { return d.p.Gauge(d.s, d.situation()) }

func (d *desk) next() Step { return d.p.Next(d.s, d.situation()) }

// scripted is a summary of a number of tokens in the right form.
func scripted(tokens int) string {
	const form = "## 1. Primary Request and Intent\n%s\n\n## 7. Pending Tasks\nnone yet\n\n## 8. Current Work\nin the middle"
	return fmt.Sprintf(form, words("the request", max(tokens-len(form)/4, 2)))
}

// write asks the scripted summariser.
func (d *desk) write(pl *Plan) *Draft {
	d.t.Helper()
	if pl.Writer != WriterModel {
		return d.p.Write(pl, d.situation(), pl.Writer)
	}
	call := d.p.StartCall(pl, CallOptions{})
	if call.Request().Prompt == "" {
		d.t.Fatal("an empty prompt")
	}
	reply := Reply{Text: scripted(min(d.notes, rawTokens(pl.Budget.SummaryCap, pl.ratio)))}
	for {
		var draft *Draft
		var failure string
		if call, draft, failure = call.Take(reply); failure != "" {
			d.t.Fatalf("the scripted summary was refused: %s", failure)
		}
		if draft != nil {
			return draft
		}
	}
}

// carry carries out a plan.
func (d *desk) carry(pl *Plan) (*Record, Judgement) {
	d.t.Helper()
	draft := d.write(pl)
	r, j := d.p.Apply(d.s, d.situation(), pl, draft)
	d.sit.Breaker = d.sit.Breaker.Judged(pl, j, draft.Writer == WriterModel, d.sit.Turn)
	if j.Outcome.Commits() {
		if err := d.s.Commit(r); err != nil {
			d.t.Fatal(err)
		}
	}
	return r, j
}

// settle does what has to be done before a call until the request may be sent, and
// returns the steps.
func (d *desk) settle() []Step {
	d.t.Helper()
	var steps []Step
	for {
		st := d.next()
		steps = append(steps, st)
		if len(steps) > 20 {
			d.t.Fatalf("no end: %v", actions(steps))
		}
		d.sit.Breaker = st.Breaker
		switch st.Action {
		case ActionSend, ActionOverflow:
			d.sit.Trigger = TriggerAuto
			return steps
		case ActionClear:
			d.s.Clear(st.Clearing)
			d.sit.Trigger = TriggerAuto
		case ActionCompact:
			d.carry(st.Plan)
			d.sit.Trigger = TriggerAuto
		case ActionClimb:
			d.sit.Ladder = d.sit.Ladder.Refused()
			d.sit.Trigger = TriggerOverflow
		}
	}
}

func actions(steps []Step) []Action {
	out := make([]Action, len(steps))
	for i, st := range steps {
		out[i] = st.Action
	}
	return out
}

// viewText writes a view so that two can be compared.
func viewText(v *View) string {
	var b strings.Builder
	for _, m := range v.Messages {
		fmt.Fprintf(&b, "#%d %s %s\n", m.Seq, m.Role, message.AppendBlocks(nil, m.Content, message.Form{}))
	}
	return b.String()
}

// viewTokens counts a view anew.
func (d *desk) viewTokens(v *View) int {
	n := 0
	for i := range v.Messages {
		n += messageTokens
		for _, b := range v.Messages[i].Content {
			n += d.p.countBlock(b, imageTokens)
		}
	}
	return n
}
