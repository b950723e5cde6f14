package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/compaction"
	"sessiond/internal/client"
	"sessiond/llm"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/tokens"
)

func counter(t *testing.T) *tokens.Encoding {
	t.Helper()
	e, err := tokens.New("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func planner(t *testing.T) *compaction.Planner {
	t.Helper()
	p, err := compaction.New(compaction.DefaultConfig(), counter(t), "o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func said(role message.Role, content ...message.Block) Message {
	return Message{Role: role, Content: content}
}

func words(text string) message.Text { return message.Text{Text: text} }

// books returns a bookkeeper of a conversation that stands at a message.
func books(t *testing.T, at int, messages ...Message) *bookkeeper {
	t.Helper()
	b := &bookkeeper{
		o:      CompactOptions{Script: NewScript(counter(t).Count), Meter: NewMeter(nil, 25_000), Planner: planner(t)},
		report: &Report{Cleared: make(map[v1.ClearReason]int)},
	}
	b.p = newPlayer(nil, &Conversation{ID: "c", Messages: messages}, b)
	b.p.at = at
	b.report.Numbers = &v1.SessionContextResult{
		Overhead: 1_000, SummaryCap: 500, LedgerCap: 300, InputLimit: 8_000, PinnedTokens: 1_750, Ratio: 1,
		Threshold: 5_000, Headroom: 4_000, High: 6_800,
	}
	return b
}

func entry(t *testing.T, seq int64, kind v1.EventType, data any) *v1.Entry {
	t.Helper()
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return &v1.Entry{Seq: seq, Type: kind, Data: raw}
}

func (b *bookkeeper) tell(t *testing.T, seq int64, kind v1.EventType, data any) {
	t.Helper()
	if err := b.entry(entry(t, seq, kind, data)); err != nil {
		t.Fatal(err)
	}
}

// A summary is recognised by what package compaction really asks, and has the length and
// the form that it accepts.
func TestScriptAnswersRequestsForSummaries(t *testing.T) {
	p := planner(t)
	s := compaction.NewState()
	for i := range int64(12) {
		m := &message.Message{
			ID: message.ID(fmt.Sprint(i)), Seq: i + 1, Role: [...]message.Role{message.RoleUser, message.RoleAssistant}[i%2],
			TurnID: message.TurnID(fmt.Sprint(i / 2)), Content: []message.Block{words(filler(int(i), 1_200, counter(t).Count))},
		}
		if err := s.Append(compaction.Item{Message: m, Measure: p.Measure(m, nil, nil)}); err != nil {
			t.Fatal(err)
		}
	}
	step := p.Next(s, &compaction.Situation{Ratio: 1, Trigger: compaction.TriggerAuto})
	if step.Action != compaction.ActionCompact {
		t.Fatalf("the next step is %s", step.Action)
	}
	script := NewScript(counter(t).Count)
	for name, chat := range map[string]*compaction.ChatRequest{"flat": nil, "chat": {CachePrice: 0.1, CachedTokens: 1 << 20}} {
		t.Run(name, func(t *testing.T) {
			call := p.StartCall(step.Plan, compaction.CallOptions{Chat: chat})
			if call.Request().Chat != (chat != nil) {
				t.Fatal("the request has another form")
			}
			body, err := json.Marshal(map[string]any{"messages": []any{map[string]any{
				"role": "user", "content": []any{map[string]any{"type": "text", "text": call.Request().Prompt}},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			answer := script.answer("c", body)
			if len(answer) != 1 {
				t.Fatal("it was taken for a chat")
			}
			text := answer[0].(message.Text).Text
			limit := float64(step.Budget.SummaryCap)
			if n := float64(counter(t).Count(text)); n < 0.75*limit || n > 0.85*limit {
				t.Errorf("it has %.0f tokens of %.0f", n, limit)
			}
			if _, draft, failure := call.Take(compaction.Reply{Text: text}); draft == nil {
				t.Errorf("it is refused: %s", failure)
			}
		})
	}
}

func TestScriptGivesTheCue(t *testing.T) {
	script := NewScript(counter(t).Count)
	body := []byte(`{"messages":[{"role":"user","content":"hello"}]}`)
	script.cue("c", []message.Block{words("hi")})
	for range 2 {
		if diff := cmp.Diff([]message.Block{words("hi")}, script.answer("c", body)); diff != "" {
			t.Errorf("the answer differs (-want +got):\n%s", diff)
		}
	}
	if got := script.answer("other", body); got != nil {
		t.Errorf("another conversation is answered %v", got)
	}
}

func TestScriptKeepsFacts(t *testing.T) {
	script := NewScript(counter(t).Count)
	c, facts := WithFacts(40, counter(t).Count)
	var told strings.Builder
	for i := range c.Messages {
		told.Write(message.AppendBlocks(nil, c.Messages[i].Content, message.Form{}))
	}
	found := script.facts.in(told.String())
	if len(found) != len(facts) {
		t.Fatalf("%d of %d facts are told", len(found), len(facts))
	}
	if n := c.tokens(counter(t).Count); n < 40*1_900 || n > 40*2_100 {
		t.Errorf("40 facts stand in %d tokens", n)
	}
	summary := script.summary(300, found)
	kept := script.facts.in(summary)
	if len(kept) < 5 || kept[0] != found[len(found)-1] {
		t.Errorf("of 40 facts the notes have %q", kept)
	}
	if n := counter(t).Count(summary); n > 300*10/6 {
		t.Errorf("%d tokens are too many", n)
	}
}

func TestChain(t *testing.T) {
	conversation := func(id string, tokens int) *Conversation {
		return &Conversation{ID: id, System: "of " + id, Messages: []Message{said(message.RoleUser, words(strings.Repeat("a", tokens)))}}
	}
	all := []*Conversation{conversation("a", 60), conversation("b", 60), conversation("c", 100), conversation("d", 10)}
	chains := Chain(all, 100, func(text string) int { return len(text) })
	var got []string
	for _, c := range chains {
		got = append(got, fmt.Sprintf("%s %q: %d messages", c.ID, c.System, len(c.Messages)))
	}
	want := []string{`chain-01 "of a": 2 messages`, `chain-02 "of c": 2 messages`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the chains differ (-want +got):\n%s", diff)
	}
}

// The user's messages that left have to be accounted for, the pinned one aside.
func TestBooksAccountForTexts(t *testing.T) {
	for name, tt := range map[string]struct {
		boundary, pinned, verbatim, counted int64
		fault                               bool
	}{
		"all":                {boundary: 20, verbatim: 1, counted: 1},
		"one is missing":     {boundary: 20, verbatim: 1, fault: true},
		"one too many":       {boundary: 20, verbatim: 3, fault: true},
		"the pinned one":     {pinned: 30, verbatim: 2},
		"the pinned one too": {pinned: 30, verbatim: 3, fault: true},
		"nothing stays":      {verbatim: 3},
	} {
		t.Run(name, func(t *testing.T) {
			b := books(t, 0, said(message.RoleUser, words("x")))
			for _, seq := range []int64{2, 10, 30} {
				b.tell(t, seq, v1.EventMessageAdded, map[string]any{"message": map[string]any{"role": "user"}})
			}
			b.tell(t, 40, v1.EventCompactionCompleted, v1.Compaction{
				Outcome: v1.CompactionApplied, BoundarySeq: tt.boundary, PinnedSeq: tt.pinned,
				Survived: v1.Survived{UserMessages: tt.verbatim, UserMessagesCounted: tt.counted},
			})
			if got := len(b.report.Faults) > 0; got != tt.fault {
				t.Errorf("faults: %q", b.report.Faults)
			}
		})
	}
}

func TestBooksCheckTheSpend(t *testing.T) {
	auto := func(before, after int64) v1.Compaction {
		return v1.Compaction{Outcome: v1.CompactionApplied, Trigger: v1.TriggerAuto, Writer: v1.WriterModel, TokensBefore: before, TokensAfter: after}
	}
	refused := func(level int64) v1.Compaction {
		return v1.Compaction{Outcome: v1.CompactionApplied, Trigger: v1.TriggerOverflow, Writer: v1.WriterModel, Level: level}
	}
	for name, tt := range map[string]struct {
		calls []v1.Compaction
		fault bool
	}{
		"grown":              {calls: []v1.Compaction{auto(5_100, 3_700), auto(5_100, 3_700)}},
		"not grown":          {calls: []v1.Compaction{auto(5_100, 4_500), auto(5_200, 4_000)}, fault: true},
		"over high":          {calls: []v1.Compaction{auto(7_000, 6_700), auto(7_000, 6_700)}},
		"refused, two times": {calls: []v1.Compaction{refused(1), refused(1)}, fault: true},
		"refused, higher":    {calls: []v1.Compaction{refused(1), refused(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			b := books(t, 0, said(message.RoleUser, words("x")))
			for i, c := range tt.calls {
				b.tell(t, int64(i)+1, v1.EventCompactionCompleted, c)
				b.checkSpend(i)
			}
			if got := len(b.report.Faults) > 0; got != tt.fault {
				t.Errorf("faults: %q", b.report.Faults)
			}
		})
	}
}

// A turn may fail where its parts do not fit, for that reason and no other; then a small
// message takes the place of what is left of it.
func TestBooksJudgeFailedTurns(t *testing.T) {
	long := filler(1, 9_000, counter(t).Count)
	call := message.ToolUse{ID: "a", Name: "read", Input: []byte("{}")}
	result := func(text string) message.ToolResult {
		return message.ToolResult{ToolUseID: "a", Content: []message.Block{words(text)}}
	}
	round := func(said1 string, result1 string) []Message {
		return []Message{
			said(message.RoleUser, words("do it")), said(message.RoleAssistant, words(said1), call),
			said(message.RoleUser, result(result1)), said(message.RoleAssistant, words("done")), said(message.RoleUser, words("next")),
		}
	}
	for name, tt := range map[string]struct {
		messages []Message
		kind     v1.TurnErrorKind
		fault    bool
	}{
		"a large result": {round("I will.", long), v1.TurnContextOverflow, true},
		"a large call":   {round(long, "ok"), v1.TurnContextOverflow, false},
		"for no reason":  {round(long, "ok"), v1.TurnInternal, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := books(t, 0, tt.messages...)
			b.tell(t, 1, v1.EventMessageAdded, map[string]any{"message": map[string]any{"role": "user"}})
			b.p.at = 3
			if err := b.failed(&v1.TurnCompletedData{Status: v1.OutcomeFailed, Error: &v1.TurnError{Kind: tt.kind}}); err != nil {
				t.Fatal(err)
			}
			turn := b.turn()
			turn.Need = b.need(turn.Message)
			b.judge(turn)
			if got := len(b.report.Faults) > 0; got != tt.fault {
				t.Errorf("faults: %q (%s)", b.report.Faults, turn.Need)
			}
			var rest []string
			for _, m := range b.p.c.Messages[3:] {
				rest = append(rest, message.JoinText(m.Content))
			}
			if diff := cmp.Diff([]string{probe, probeAnswer, "next"}, rest); diff != "" {
				t.Errorf("what follows differs (-want +got):\n%s", diff)
			}
		})
	}
}

// A message that is not even taken ends its turn, though a part of it would have had room;
// other refusals end the replay.
func TestBooksJudgeRefusedMessages(t *testing.T) {
	b := books(t, 0, said(message.RoleUser, words(filler(1, 9_000, counter(t).Count))), said(message.RoleAssistant, words("yes")), said(message.RoleUser, words("next")))
	if err := b.refused(&client.Error{Data: []byte(`{"kind":"busy"}`)}); err == nil {
		t.Error("the replay goes on after an error that it can't know")
	}
	if err := b.refused(&client.Error{Data: []byte(`{"kind":"content_too_large"}`)}); err != nil {
		t.Fatal(err)
	}
	if len(b.report.Faults) != 1 {
		t.Errorf("faults: %q", b.report.Faults)
	}
	if first := message.JoinText(b.p.c.Messages[0].Content); first != probe || len(b.p.c.Messages) != 3 {
		t.Errorf("%d messages follow, first %q", len(b.p.c.Messages), first)
	}
}

func TestBooksCountTriggers(t *testing.T) {
	b := books(t, 1, said(message.RoleUser, words("x")), said(message.RoleAssistant, words("y")))
	answer := func(input int64) {
		b.tell(t, 1, v1.EventMessageAdded, map[string]any{"message": map[string]any{"role": "assistant", "usage": v1.Usage{Input: 1_000, CacheRead: input - 1_000}}})
	}
	answer(4_999)
	answer(5_000) // held
	b.tell(t, 1, v1.EventContextCleared, v1.ContextClearedData{Reason: v1.ClearPressure})
	answer(4_000)
	b.tell(t, 1, v1.EventContextCleared, v1.ContextClearedData{Reason: v1.ClearIdle})
	answer(4_000)
	b.tell(t, 1, v1.EventCompactionFailed, v1.Compaction{Outcome: v1.CompactionFailed})
	b.tell(t, 1, v1.EventTurnCompleted, v1.TurnCompletedData{})
	if b.report.Triggers != 3 || b.report.Held != 1 {
		t.Errorf("%d triggers, %d held; want 3, 1", b.report.Triggers, b.report.Held)
	}
}

// model answers with some usage.
type model struct{ input int64 }

func (m model) Stream(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
	return &llm.Response{Usage: message.Usage{Input: m.input, CacheRead: 10, Output: 1_000}}, nil
}

func TestMeterMissesWhatARequestHasToHold(t *testing.T) {
	m := NewMeter(model{100}, 105)
	m.expect("c", []string{"the request", "the result"})
	req := &llm.Request{Model: "c", Messages: []message.Message{
		{Role: message.RoleUser, Content: []message.Block{words("this is the request")}},
		{Role: message.RoleUser, Content: []message.Block{message.ToolResult{Content: []message.Block{words("gone")}}}},
	}}
	if _, err := m.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	want := Calls{Chats: 1, Largest: 110, Over: 1, Missing: []string{"the result"}}
	if diff := cmp.Diff(want, m.Of("c")); diff != "" {
		t.Errorf("the calls differ (-want +got):\n%s", diff)
	}
}

// What a compaction leaves of the newest messages is all that stands behind its summary
// message, and it lasts for the rounds until the next one.
func TestBooksCountWhatCompactionsKeep(t *testing.T) {
	b := books(t, 0, said("user", words("a")), said("assistant", words("b")), said("user", words("c")), said("assistant", words("d")))
	answer := map[string]any{"message": map[string]any{"role": "assistant", "usage": map[string]any{"input": 100}}}
	compaction := func(o v1.CompactionOutcome, after int64) *v1.Compaction {
		return &v1.Compaction{Outcome: o, Trigger: v1.TriggerAuto, Writer: v1.WriterDigest, TokensBefore: 5_000, TokensAfter: after, Summary: "one two three"}
	}
	b.tell(t, 1, v1.EventMessageAdded, answer)
	b.tell(t, 2, v1.EventMessageAdded, answer)
	b.tell(t, 3, v1.EventCompactionCompleted, compaction(v1.CompactionApplied, 4_000))
	b.tell(t, 4, v1.EventMessageAdded, answer)
	b.tell(t, 5, v1.EventCompactionFailed, compaction(v1.CompactionFailed, 0))
	b.tell(t, 6, v1.EventMessageAdded, answer)
	b.tell(t, 7, v1.EventMessageAdded, answer)
	b.tell(t, 8, v1.EventCompactionCompleted, compaction(v1.CompactionDegraded, 2_000))
	b.tell(t, 9, v1.EventMessageAdded, answer)
	if diff := cmp.Diff(Kept{Compactions: 2, Tokens: 3_000 - 3 + 1_000 - 3, Rounds: 5}, b.report.Kept); diff != "" {
		t.Errorf("kept differs (-want +got):\n%s", diff)
	}
}
