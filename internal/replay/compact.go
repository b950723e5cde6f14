package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sessiond/compaction"
	"sessiond/internal/client"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/tokens"
)

// CompactOptions is what a replay needs in which conversations are compacted.
type CompactOptions struct {
	Script  *Script // of the server's models
	Meter   *Meter  // before the server's models
	Planner *compaction.Planner
	// Rest lets so much time pass on the server's clock.
	Rest func(d time.Duration)
}

// Compact plays a conversation that may be too long for its session's limit. A turn that
// fails is left where it is; a small message shows whether the session goes on, and then
// the next turn is played. What must not happen is a fault in the report; an error means
// that the replay itself could not go on.
func Compact(ctx context.Context, conn *client.Conn, c *Conversation, o CompactOptions) (*Report, error) {
	own := *c
	own.Messages = slices.Clone(c.Messages)
	w := &bookkeeper{o: o, report: &Report{Cleared: make(map[v1.ClearReason]int)}}
	w.p = newPlayer(conn, &own, w)
	result, err := w.p.run(ctx)
	if err != nil {
		return nil, err
	}
	if result.Resumed {
		return nil, fmt.Errorf("%s: was replayed into this database before", c.ID)
	}
	w.report.Result, w.report.Calls = *result, o.Meter.Of(c.ID)
	for _, text := range w.report.Missing {
		w.fault("a request does not hold %q", text)
	}
	return w.report, nil
}

// bookkeeper is the witness of a replay that keeps its books.
type bookkeeper struct {
	o       CompactOptions
	p       *player
	report  *Report
	pressed bool    // something was done about the size of the next request
	users   []int64 // seqs of the user's messages
	rounds  int64   // model calls since the last compaction
	ended   int     // turns that were judged
	spent   int     // compactions whose calls were judged
}

func (b *bookkeeper) rest(d time.Duration) { b.o.Rest(d) }

// cue also says what the next request has to hold: the beginnings of the newest message
// of the user, and of each result that the model has not seen.
func (b *bookkeeper) cue(answer []message.Block) {
	messages := b.p.c.Messages
	var texts []string
	at := b.p.at
	if messages[at].Results() {
		for _, block := range messages[at].Content {
			texts = append(texts, beginning(block.(message.ToolResult).Content)) //nolint:forcetypeassert // Results has looked
		}
	}
	for at > 0 && (messages[at].Role != message.RoleUser || messages[at].Results()) {
		at--
	}
	b.o.Meter.expect(b.p.c.ID, append(texts, beginning(messages[at].Content)))
	b.o.Script.cue(b.p.c.ID, answer)
}

// beginning returns the start of what is said, which is shown of it however it is cut.
func beginning(content []message.Block) string {
	const runes = 60
	for _, block := range content {
		t, ok := block.(message.Text)
		if !ok || strings.TrimSpace(t.Text) == "" {
			continue
		}
		r := []rune(strings.TrimSpace(t.Text[:min(len(t.Text), 8*runes)]))
		return string(r[:min(len(r), runes)])
	}
	return ""
}

func (b *bookkeeper) fault(format string, args ...any) {
	b.report.Faults = append(b.report.Faults, b.p.c.ID+": "+fmt.Sprintf(format, args...))
}

// look reads the numbers in force when something is to be judged by them: when no turn
// runs, and after compactions, since a refusal in the middle of a turn changes them.
func (b *bookkeeper) look(ctx context.Context, idle bool) error {
	if !idle && b.spent == len(b.report.Compactions) {
		return nil
	}
	var numbers v1.SessionContextResult
	params := map[string]any{"session_id": b.p.follow.SessionID}
	if err := b.p.conn.Call(ctx, v1.MethodSessionContext, params, &numbers); err != nil {
		return err
	}
	b.report.Numbers = &numbers
	for ; b.spent < len(b.report.Compactions); b.spent++ {
		b.checkSpend(b.spent)
	}
	for ; idle && b.ended < len(b.report.Turns); b.ended++ {
		if t := &b.report.Turns[b.ended]; !t.Completed {
			t.Need = b.need(t.Message)
			b.judge(t)
		}
	}
	return nil
}

// judge looks at a turn that failed.
func (b *bookkeeper) judge(t *Turn) {
	switch {
	case t.Kind != v1.TurnContextOverflow && t.Kind != kindTooLarge:
		b.fault("the turn of message %d failed: %s", t.Message, t.Kind)
	case t.Need.Fits():
		b.fault("the turn of message %d failed although it has room (%s): %s", t.Message, t.Kind, t.Need)
	case t.Probe && t.Need.Begins():
		b.fault("the small message %d was not answered: %s", t.Message, t.Need)
	}
}

// need computes what the turn of a message needs, as far as it came.
func (b *bookkeeper) need(at int) Need {
	n := b.report.Numbers
	out := Need{
		Overhead: n.Overhead, Summary: n.SummaryCap, Ledger: n.LedgerCap, Limit: n.InputLimit,
		Request: min(b.size(at, at+1), n.PinnedTokens),
	}
	end := at + 1
	for end < b.p.at && (b.p.c.Messages[end].Role == message.RoleAssistant || b.p.c.Messages[end].Results()) {
		end++
	}
	for i := at + 1; i < end; i++ {
		until := i + 1
		if until < end && b.p.c.Messages[until].Results() {
			until++
		}
		out.Unit = max(out.Unit, b.size(i, until))
		i = until - 1
	}
	return out
}

// size counts messages of the recording, results at no more than the least that is shown
// of them.
func (b *bookkeeper) size(from, to int) int64 {
	const leastOfResult = 500
	raw := 0
	images := func(message.Image) int { return tokens.AnthropicImageTokens(0, 0) }
	for _, m := range b.p.c.Messages[from:to] {
		whole := &message.Message{Role: m.Role, Content: m.Content}
		measure := b.o.Planner.Measure(whole, nil, images)
		raw += measure.Total()
		for i, block := range m.Content {
			if _, ok := block.(message.ToolResult); ok {
				raw -= max(measure.Blocks[i].Tokens-leastOfResult, 0)
			}
		}
	}
	return int64(math.Round(float64(raw) * b.report.Numbers.Ratio))
}

// The small message that is sent after a turn that failed, and its answer.
const (
	probe       = "Are you still there? Answer in one word."
	probeAnswer = "Yes."
)

// failed has the replay go on after a turn that failed.
func (b *bookkeeper) failed(d *v1.TurnCompletedData) error {
	t := b.turn()
	t.Completed = false
	if t.Kind = v1.TurnInternal; d.Error != nil {
		t.Kind = d.Error.Kind
	}
	b.skip(b.p.at)
	return nil
}

// refused has the replay go on after a message that was too large to be taken, as after a
// turn that failed. Which turns have no room for their message is not for the server to
// say before they begin: most of a large one is cut.
func (b *bookkeeper) refused(err error) error {
	if !client.IsKind(err, v1.KindContentTooLarge) {
		return err
	}
	b.report.Turns = append(b.report.Turns, Turn{Message: b.p.at, Kind: kindTooLarge, Need: b.need(b.p.at)})
	b.judge(b.turn())
	b.ended = len(b.report.Turns)
	b.skip(b.p.at + 1)
	return nil
}

// kindTooLarge is why a turn failed whose message was not even taken.
const kindTooLarge = v1.TurnErrorKind(v1.KindContentTooLarge)

// skip puts the small message in the place of what is left of a turn, of which nothing
// before next comes. After one that failed itself the recording goes on.
func (b *bookkeeper) skip(next int) {
	t := b.turn()
	messages := b.p.c.Messages
	for next < len(messages) && (messages[next].Role == message.RoleAssistant || messages[next].Results()) {
		next++
	}
	var instead []Message
	if !t.Probe {
		instead = []Message{
			{Role: message.RoleUser, Content: []message.Block{message.Text{Text: probe}}},
			{Role: message.RoleAssistant, Content: []message.Block{message.Text{Text: probeAnswer}}},
		}
	}
	b.p.c.Messages = slices.Concat(messages[:b.p.at], instead, messages[next:])
}

func (b *bookkeeper) turn() *Turn { return &b.report.Turns[len(b.report.Turns)-1] }

// entry keeps the books.
func (b *bookkeeper) entry(e *v1.Entry) error {
	switch e.Type { //nolint:exhaustive // the others are not about the context
	case v1.EventMessageAdded:
		return b.message(e)
	case v1.EventContextCleared:
		var d v1.ContextClearedData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		b.report.Cleared[d.Reason]++
		b.pressed = b.pressed || d.Reason != v1.ClearIdle
	case v1.EventCompactionCompleted, v1.EventCompactionFailed:
		var d v1.Compaction
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		b.compacted(&d)
	case v1.EventTurnCompleted:
		b.called(0)
	}
	return nil
}

// message counts a model's answer as a call, and the user's messages.
func (b *bookkeeper) message(e *v1.Entry) error {
	var d struct {
		Message struct {
			Role  v1.Role   `json:"role"`
			Usage *v1.Usage `json:"usage"`
		} `json:"message"`
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	if u := d.Message.Usage; u != nil {
		b.rounds++
		b.called(u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h)
		return nil
	}
	if b.p.at >= len(b.p.c.Messages) {
		return nil // the player refuses it
	}
	if m := &b.p.c.Messages[b.p.at]; m.Role == message.RoleUser && !m.Results() {
		b.users = append(b.users, e.Seq)
		probes := message.JoinText(m.Content) == probe
		b.report.Turns = append(b.report.Turns, Turn{Message: b.p.at, Probe: probes, Completed: true})
	}
	return nil
}

// called counts a model call with so many tokens, or the end of a turn.
func (b *bookkeeper) called(input int64) {
	switch {
	case b.pressed:
		b.report.Triggers++
	case input >= b.report.Numbers.Threshold:
		b.report.Triggers++
		b.report.Held++
	}
	b.pressed = false
}

// compacted counts a compaction and checks it.
func (b *bookkeeper) compacted(d *v1.Compaction) {
	c := Compacted{Compaction: *d, Turn: len(b.report.Turns) - 1}
	c.Summary = ""
	b.pressed = true
	if c.Commits() {
		b.checkTexts(&c)
		b.kept(d)
	}
	b.report.Compactions = append(b.report.Compactions, c)
}

// checkTexts checks that the user's messages before the boundary are all accounted for.
func (b *bookkeeper) checkTexts(c *Compacted) {
	var left int64
	for _, seq := range b.users {
		if (c.BoundarySeq == 0 || seq < c.BoundarySeq) && seq != c.PinnedSeq {
			left++
		}
	}
	s := c.Survived
	b.report.Texts = Texts{Verbatim: s.UserMessages, Cut: s.UserMessagesCut, Counted: s.UserMessagesCounted}
	if sum := s.UserMessages + s.UserMessagesCut + s.UserMessagesCounted; sum != left {
		b.fault("generation %d: of %d messages of the user that left, %d are accounted for", c.Generation, left, sum)
	}
}

// kept counts what a compaction left beside its summary message, and how far it is from
// the one before it.
func (b *bookkeeper) kept(d *v1.Compaction) {
	summary := int64(math.Round(float64(b.o.Script.count(d.Summary)) * b.report.Numbers.Ratio))
	b.report.Kept = b.report.Kept.Plus(Kept{
		Compactions: 1, Tokens: max(d.TokensAfter-b.report.Numbers.Overhead-summary, 0), Rounds: b.rounds,
	})
	b.rounds = 0
}

// spendSlack is how far the numbers in force may be off from those that decided: the
// calibration goes on.
const spendSlack = 0.05

// checkSpend checks the summary call of a compaction against the one before it in the
// same turn: the context grew by a third of the headroom, or is over the high mark, or
// the request was refused, at another level than before.
func (b *bookkeeper) checkSpend(i int) {
	c := &b.report.Compactions[i]
	if !c.Called() {
		return
	}
	var last *Compacted
	for k := range b.report.Compactions[:i] {
		before := &b.report.Compactions[k]
		if before.Turn != c.Turn || !before.Called() {
			continue
		}
		last = before
		if c.Trigger == v1.TriggerOverflow && before.Trigger == v1.TriggerOverflow && before.Level == c.Level {
			b.fault("turn %d: two summary calls at level %d", c.Turn, c.Level)
		}
	}
	if last == nil || c.Trigger == v1.TriggerOverflow {
		return
	}
	n := b.report.Numbers
	least := min(float64(n.High), float64(last.after())+float64(n.Headroom)/3) * (1 - spendSlack)
	if float64(c.TokensBefore) < least {
		b.fault("turn %d: a further summary call at %d tokens, %d after the last one", c.Turn, c.TokensBefore, last.after())
	}
}
