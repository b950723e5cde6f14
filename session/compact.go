package session

import (
	"context"
	"errors"
	"fmt"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/store"
)

// MaxInstructionBytes bounds the instruction of a compaction.
const MaxInstructionBytes = 8 << 10

// Compact compacts a session now, whatever the size of its context. While a turn runs it
// waits for the end of the round. Of calls with the same instruction that come while one
// waits or runs, all get its result. Errors: not_found, session_closed, busy (too many
// different ones wait), invalid_param, idempotency_conflict, overloaded, shutting_down.
func (m *Manager) Compact(ctx context.Context, ref store.Ref, o CompactOptions, i Idempotency) (Replay[*Compaction], error) {
	if len(o.Instruction) > MaxInstructionBytes {
		return Replay[*Compaction]{}, errInvalid("custom_instruction", fmt.Sprintf("is longer than %d bytes", MaxInstructionBytes))
	}
	return keyedCall(ctx, m, ref, i, func(p promise[Replay[*Compaction]]) command {
		return compactCommand{keyed{i}, o, p}
	})
}

type compactCommand struct {
	keyed
	options CompactOptions
	reply   promise[Replay[*Compaction]]
}

func (c compactCommand) apply(ctx context.Context, a *actor) {
	if replayed(a, c.keyed, c.reply) {
		return
	}
	if !a.row.ClosedAt.IsZero() {
		c.reply.fail(errClosed())
		return
	}
	if c.options.DryRun {
		a.withContext(ctx, a.current().Model, func(context.Context) { c.dryRun(a) })
		return
	}
	waiting, err := a.askedUnder(c.idem)
	if waiting == nil && err == nil {
		waiting, err = a.ask(c.options.Instruction)
	}
	if err != nil {
		c.reply.fail(err)
		return
	}
	if c.options.Wait {
		waiting.callers = append(waiting.callers, caller{c.keyed, c.reply})
	} else {
		finish(a, c.keyed, c.reply, &Compaction{Queued: true})
	}
	a.goOn(ctx)
}

// dryRun answers with the plan.
func (c compactCommand) dryRun(a *actor) {
	sit := a.situation(a.current())
	sit.Trigger = compaction.TriggerManual
	plan, reason := a.m.planner.PlanManual(a.history.state, sit)
	context, b := a.m.planner.Gauge(a.history.state, sit)
	result := &Compaction{
		Generation: a.st.Context.Generation, Trigger: compaction.TriggerManual, Writer: compaction.WriterNone,
		Level: sit.Ladder.Level, TokensBefore: context.Tokens(), TokensAfter: context.Tokens(),
	}
	if plan == nil {
		result.Outcome, result.Reason = compaction.OutcomeNoop, reason
	} else {
		result.Writer, result.BoundarySeq, result.PinnedSeq = plan.Writer, plan.BoundarySeq, plan.PinnedSeq
		result.TokensAfter = plan.After
		result.Plan = &CompactionPlan{
			FromSeq: plan.FromSeq, ThroughSeq: plan.ThroughSeq, Messages: plan.Leaves(), Landing: b.Landing, Lands: plan.Lands,
		}
	}
	okOnFlush(a, c.reply, Replay[*Compaction]{Value: result})
}

// asked is a compaction that clients asked for.
type asked struct {
	instruction string
	callers     []caller // those who wait for its result
}

type caller struct {
	keyed
	reply promise[Replay[*Compaction]]
}

// maxAsked bounds the compactions that wait for one session, each with an instruction of
// its own.
const maxAsked = 8

// ask returns the compaction with an instruction that waits or runs, or makes one that
// waits.
func (a *actor) ask(instruction string) (*asked, error) {
	if run := a.compacting; run != nil && run.asked != nil && run.asked.instruction == instruction {
		return run.asked, nil
	}
	for _, w := range a.asked {
		if w.instruction == instruction {
			return w, nil
		}
	}
	if len(a.asked) >= maxAsked {
		return nil, &Error{Kind: KindBusy, Message: fmt.Sprintf("%d compactions are waiting already", len(a.asked))}
	}
	w := &asked{instruction: instruction}
	a.asked = append(a.asked, w)
	a.st.Context.Asked = true
	a.batch().dirty = true
	return w, nil
}

// askedUnder returns the compaction that a call under the same key waits for, nil if
// there is none. It fails if that call was another one.
func (a *actor) askedUnder(i Idempotency) (*asked, error) {
	all := a.asked
	if run := a.compacting; run != nil && run.asked != nil {
		all = append([]*asked{run.asked}, all...)
	}
	for _, w := range all {
		for _, c := range w.callers {
			if !i.set() || c.idem.Key != i.Key || c.idem.Method != i.Method {
				continue
			}
			if c.idem.Fingerprint != i.Fingerprint {
				return nil, errKeyUsed(i)
			}
			return w, nil
		}
	}
	return nil, nil //nolint:nilnil // nobody waits under this key
}

// answer tells all who wait. A compaction that failed is not remembered under their
// keys: asked again, it is tried again.
func (w *asked) answer(a *actor, result *Compaction) {
	a.st.Context.Asked = len(a.asked) > 0
	a.batch().dirty = true
	kept := result.Outcome != compaction.OutcomeFailed && result.Outcome != compaction.OutcomeAborted
	for _, c := range w.callers {
		switch {
		case !kept:
			okOnFlush(a, c.reply, Replay[*Compaction]{Value: result})
		case !replayed(a, c.keyed, c.reply):
			finish(a, c.keyed, c.reply, result)
		}
	}
}

// goOn takes up what waits for a session in which nothing runs: compactions that were
// asked for, and then the next message.
func (a *actor) goOn(ctx context.Context) {
	if a.turn != nil || a.compacting != nil || a.deleting || !a.row.ClosedAt.IsZero() {
		return
	}
	if len(a.asked) == 0 {
		a.openNextTurn()
		return
	}
	a.withContext(ctx, a.settings.Model, func(ctx context.Context) {
		if a.turn == nil && a.compacting == nil && !a.nextAsked(ctx) {
			a.goOn(ctx)
		}
	})
}

// nextAsked begins the next compaction that a client asked for, and reports whether a
// summary call runs now. Those that have nothing to do are answered.
func (a *actor) nextAsked(ctx context.Context) bool {
	for len(a.asked) > 0 {
		w := a.asked[0]
		a.asked = a.asked[1:]
		sit := a.situation(a.current())
		sit.Trigger = compaction.TriggerManual
		plan, reason := a.m.planner.PlanManual(a.history.state, sit)
		if plan == nil {
			c, _ := a.m.planner.Gauge(a.history.state, sit)
			w.answer(a, &Compaction{
				Outcome: compaction.OutcomeNoop, Reason: reason, Generation: a.st.Context.Generation,
				Trigger: compaction.TriggerManual, Writer: compaction.WriterNone, Level: sit.Ladder.Level,
				TokensBefore: c.Tokens(), TokensAfter: c.Tokens(),
			})
			continue
		}
		_, budget := a.m.planner.Gauge(a.history.state, sit)
		if a.compact(ctx, &compactRun{plan: plan, budget: budget, turn: a.turn, asked: w}) {
			return true
		}
	}
	return false
}

// dropAsked aborts the compactions that wait.
func (a *actor) dropAsked() {
	for len(a.asked) > 0 {
		w := a.asked[0]
		a.asked = a.asked[1:]
		result := a.aborted()
		a.append(EntryCompactionFailed, "", "", encode(result), nil)
		w.answer(a, result)
	}
}

// aborted is the result of a compaction that a client asked for and that never began.
func (a *actor) aborted() *Compaction {
	c := &Compaction{
		Outcome: compaction.OutcomeAborted, Reason: compaction.ReasonCancelled, Generation: a.st.Context.Generation,
		Trigger: compaction.TriggerManual, Writer: compaction.WriterNone, Level: a.st.Context.Ladder.Level,
	}
	if g := a.st.Context.Gauge; g != nil {
		c.TokensBefore, c.TokensAfter = g.ContextTokens, g.ContextTokens
	}
	return c
}

// UndoCompact takes back the newest compaction: the model is shown what it was shown
// just before. Nothing to undo is a noop. Errors: not_found, session_closed, busy (a turn
// or a compaction runs), context_overflow (what it was shown is too large by now),
// idempotency_conflict, overloaded, shutting_down.
func (m *Manager) UndoCompact(ctx context.Context, ref store.Ref, i Idempotency) (Replay[*Compaction], error) {
	return keyedCall(ctx, m, ref, i, func(p promise[Replay[*Compaction]]) command { return undoCommand{keyed{i}, p} })
}

type undoCommand struct {
	keyed
	reply promise[Replay[*Compaction]]
}

func (c undoCommand) apply(ctx context.Context, a *actor) {
	a.withContext(ctx, a.current().Model, func(context.Context) { c.undo(a) })
}

func (c undoCommand) undo(a *actor) {
	if replayed(a, c.keyed, c.reply) { // not before it was waited: an equal call may have waited too
		return
	}
	switch {
	case !a.row.ClosedAt.IsZero():
		c.reply.fail(errClosed())
		return
	case a.turn != nil || a.compacting != nil || len(a.asked) > 0 || len(a.queue) > 0:
		c.reply.fail(&Error{Kind: KindBusy, Message: "a turn or a compaction is running"})
		return
	}
	sit := a.situation(a.settings)
	u, err := a.m.planner.PlanUndo(a.history.state, sit)
	if err != nil {
		c.reply.fail(undoError(err))
		return
	}
	result := &Compaction{
		Outcome: compaction.OutcomeApplied, Generation: a.st.Context.Generation, Trigger: compaction.TriggerManual,
		Writer: compaction.WriterNone, Level: a.st.Context.Ladder.Level,
	}
	if u == nil {
		n, _ := a.m.planner.Gauge(a.history.state, sit)
		result.Outcome, result.Reason = compaction.OutcomeNoop, compaction.ReasonNothingToCompact
		result.TokensBefore, result.TokensAfter = n.Tokens(), n.Tokens()
		finish(a, c.keyed, c.reply, result)
		return
	}
	if err := a.history.state.Undo(u); err != nil {
		c.reply.fail(fmt.Errorf("undo: %w", err))
		return
	}
	a.st.Context.Generation = u.Generation
	a.st.Context.Breaker = a.st.Context.Breaker.UndidAt(u.TokensAfter)
	figures := a.m.planner.Figures(a.history.state, sit)
	result.Generation, result.TokensBefore, result.TokensAfter = u.Generation, u.TokensBefore, u.TokensAfter
	result.BoundarySeq, result.PinnedSeq = figures.BoundarySeq, figures.PinnedSeq
	a.append(EntryCompactionUndone, "", "", encode(undoneBody{Undone: *u, Result: result}), encode(result))
	finish(a, c.keyed, c.reply, result)
}

func undoError(err error) error {
	var over *compaction.OverflowError
	switch {
	case errors.As(err, &over):
		return &Error{
			Kind: KindContextOverflow, Message: over.Error(), Data: map[string]any{"tokens": over.Tokens, "limit": over.Limit},
		}
	case errors.Is(err, compaction.ErrTurnRuns):
		return &Error{Kind: KindBusy, Message: "a turn is running"}
	}
	return fmt.Errorf("undo: %w", err)
}

// Context tells what the model would get now. With withView, the conversation as it
// would be shown too. Errors: not_found, overloaded, shutting_down.
func (m *Manager) Context(ctx context.Context, ref store.Ref, withView bool) (*ContextInfo, error) {
	return withActor(ctx, m, ref, func(a *actor) (*ContextInfo, error) {
		p := newPromise[*ContextInfo]()
		return ask(ctx, a, contextCommand{withView, p}, p)
	})
}

type contextCommand struct {
	withView bool
	reply    promise[*ContextInfo]
}

func (c contextCommand) apply(ctx context.Context, a *actor) {
	a.withContext(ctx, a.current().Model, func(context.Context) {
		s := a.current()
		sit := a.situation(s)
		info := &ContextInfo{
			Figures: a.m.planner.Figures(a.history.state, sit), Model: s.Model, Paused: a.st.Context.pause(sit.Now),
		}
		info.Progress = Gauge{
			Progress:  a.st.Context.Growth.Progress(info.ContextTokens, info.Threshold),
			Estimated: a.st.Context.MeasuredShape != a.history.state.ShapeID(),
		}
		if c.withView {
			info.View = []message.Message{}
			info.View = append(info.View, a.shown()...)
		}
		okOnFlush(a, c.reply, info)
	})
}
