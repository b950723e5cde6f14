package session

import (
	"context"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/store"
)

// prepare does all that has to be done before the next model call of a turn: what is due
// is shown, old results make room, and the conversation is made to fit. Where that takes
// a summary call it returns, and is called again when the call has ended. At last it
// begins the round, once all of this is on disk, or ends the turn.
func (a *actor) prepare(ctx context.Context, t *turnRun) {
	if a.nextAsked(ctx) {
		return
	}
	a.bindThinking(t.settings)
	a.injectDue(t)
	if c := a.m.planner.Microcompact(a.history.state, a.situation(t.settings)); c != nil {
		a.clear(t, c)
	}
	for {
		sit := a.situation(t.settings)
		if t.detail.Refused {
			sit.Trigger = compaction.TriggerOverflow
		}
		step := a.m.planner.Next(a.history.state, sit)
		a.st.Context.Breaker = step.Breaker
		a.warnOfOverhead(t, sit, &step)
		switch step.Action {
		case compaction.ActionSend:
			a.send(ctx, t, step.Context, step.Budget)
			return
		case compaction.ActionOverflow:
			a.overflow(t, sit, &step)
			return
		case compaction.ActionClear:
			t.detail.Refused = false // the request is another one now; stored with what made it so
			a.clear(t, step.Clearing)
		case compaction.ActionClimb:
			a.climb(t)
		case compaction.ActionCompact:
			if a.compact(ctx, &compactRun{plan: step.Plan, budget: step.Budget, turn: t}) {
				return
			}
			a.injectDue(t) // what stays may show it in an older version
		}
	}
}

// send begins the round when everything before it is on disk.
func (a *actor) send(ctx context.Context, t *turnRun, c compaction.Context, b compaction.Budget) {
	size := requestSize{
		raw: c.Raw(), tokens: c.Tokens(), judged: c.Judged(), landing: b.Landing, threshold: b.Threshold,
		shape: a.history.state.ShapeID(),
	}
	if a.next == nil && a.inflight == nil {
		a.beginRound(ctx, t, size)
		return
	}
	a.then(func(ctx context.Context) {
		if a.mayGoOn(t) {
			a.beginRound(ctx, t, size)
		}
	})
}

// requestSize is what was counted of a request before it was sent.
type requestSize struct {
	raw, tokens, judged int
	landing, threshold  int
	shape               string
}

// injectDue shows the attachments that are new or changed with the newest message, if
// that is a user's. After a pause of the provider's it is not; they wait for the next.
func (a *actor) injectDue(t *turnRun) {
	conv := a.history.state.Conversation()
	if conv.Len() == 0 {
		return
	}
	last := conv.Message(conv.Len() - 1)
	if last.Role != message.RoleUser {
		return
	}
	for _, due := range a.history.state.Due(a.attachments(t.settings, 0)) {
		in := compaction.Injection{TargetID: last.ID, Attachment: due}
		a.append(EntryContextInjected, t.row.ID, "", encode(in), injectedData(&in))
		a.history.state.Inject(in)
	}
}

// clear stores a clearing.
func (a *actor) clear(t *turnRun, c *compaction.Clearing) {
	body := &clearedBody{Clearing: c, CacheEffectUSD: a.clearingEffect(c, t.settings.Model)}
	a.append(EntryContextCleared, t.row.ID, "", encode(body), clearedData(body))
	a.history.state.Clear(c)
	a.stageTurn()
	a.m.metrics.cleared(c)
}

// climb notes that a request was refused, or would be, at the level the session was at.
func (a *actor) climb(t *turnRun) {
	a.st.Context.Ladder = a.st.Context.Ladder.Refused()
	t.detail.Refused = true
	a.stageTurn()
}

// overflow ends a turn whose request can't be made to fit. The session goes on: what is
// too large was named, and the next message is tried anew.
func (a *actor) overflow(t *turnRun, sit *compaction.Situation, step *compaction.Step) {
	parts := a.history.state.Parts(sit.Overhead, sit.Ratio)
	e := &TurnError{
		Kind: TurnContextOverflow, Message: overflowMessage(step.Context.Tokens(), step.Budget, parts, t.detail.Refusal),
	}
	t.detail.Refused = false
	a.log.Warn("the request can't be made to fit", zap.String("turn_id", string(t.row.ID)), zap.String("why", e.Message))
	a.endTurn(store.TurnFailed, e)
}

// namedParts is how many parts an overflow names: the largest.
const namedParts = 3

func overflowMessage(tokens int, b compaction.Budget, parts []compaction.Part, refusal string) string {
	var named []string
	for _, p := range parts[:min(namedParts, len(parts))] {
		if p.Tokens > 0 {
			named = append(named, fmt.Sprintf("%s %d", p.Name, p.Tokens))
		}
	}
	parted := strings.Join(named, ", ")
	if tokens <= b.Input {
		return fmt.Sprintf("the provider refused a request of about %d tokens as too large, and no more can be left out; its largest parts are %s; it said: %s",
			tokens, parted, refusal)
	}
	return fmt.Sprintf("the request has %d tokens, and %d is the most it may have; its largest parts are %s", tokens, b.Input, parted)
}

// warnOfOverhead warns once of each overhead that leaves too little room.
func (a *actor) warnOfOverhead(t *turnRun, sit *compaction.Situation, step *compaction.Step) {
	b := step.Budget
	raw := step.Context.Overhead // what it comes to in the provider's tokens changes with every call
	if !b.OverheadHigh() || a.st.Context.Warned == raw {
		return
	}
	a.st.Context.Warned = raw
	a.append(EntryContextWarning, t.row.ID, "", encode(warningBody{
		Kind: warningOverhead, Overhead: b.Overhead, Threshold: b.Threshold, Limit: b.Input, Parts: fixedParts(sit),
		Message: fmt.Sprintf("the system prompt, tools and attachments take %d of the %d tokens at which a conversation is compacted; "+
			"context_tokens_limit should be at least four times as much", b.Overhead, b.Threshold),
	}), nil)
}

func fixedParts(sit *compaction.Situation) []compaction.Part {
	scaled := func(raw int) int { return int(float64(raw)*sit.Ratio + 0.5) }
	parts := []compaction.Part{{Name: "system", Tokens: scaled(sit.Overhead.System)}, {Name: "tools", Tokens: scaled(sit.Overhead.Tools)}}
	for _, at := range sit.Overhead.Attachments {
		parts = append(parts, compaction.Part{Name: string(at.Kind), Tokens: scaled(at.Tokens)})
	}
	return parts
}
