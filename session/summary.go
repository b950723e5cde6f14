package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"sessiond/compaction"
	"sessiond/cost"
	"sessiond/llm"
	"sessiond/message"
	"sessiond/prompt"
)

// compactRun is a compaction being made: one at a time in a session.
type compactRun struct {
	plan   *compaction.Plan
	model  string // that writes the summary
	budget compaction.Budget
	turn   *turnRun // nil while no turn runs
	asked  *asked   // nil for automatic ones
	since  time.Time
	cancel context.CancelFunc // of the summary call; nil until it runs
	bill   cost.Bill          // of the summary call
}

// compact carries out a plan. It reports whether a summary call was begun: the rest
// follows when that has ended.
func (a *actor) compact(ctx context.Context, run *compactRun) (waits bool) {
	run.since = a.m.opts.Now()
	if run.plan.Writer != compaction.WriterModel {
		a.applyDraft(run, a.m.planner.Write(run.plan, a.situation(a.current()), run.plan.Writer))
		return false
	}
	a.compacting = run
	a.tell(&Activity{Name: ActivityCompacting, Since: a.now(), Layer: run.layer()})
	call, chat := a.startCall(run)
	a.batch().dirty = true // the status of the session is another
	a.then(func(context.Context) {
		if a.compacting != run {
			return
		}
		cctx, cancel := context.WithTimeout(ctx, a.summaryTime(run))
		run.cancel = cancel
		a.spawn(func() {
			defer cancel()
			done := summaryDone{run: run}
			done.take(cctx, a.m.model, call, func(r compaction.SummaryRequest) *llm.Request { return chat.summary(run.model, r) })
			a.post(ctx, done)
		})
	})
	return true
}

// layer numbers what made the compaction, as clients know it.
func (r *compactRun) layer() int {
	switch r.plan.Trigger {
	case compaction.TriggerManual:
		return 0
	case compaction.TriggerOverflow:
		return 3
	case compaction.TriggerAuto:
	}
	return 2
}

// summaryTime is how long a summary call may take.
func (a *actor) summaryTime(run *compactRun) time.Duration {
	d := a.m.opts.SummaryTimeout
	if run.turn != nil {
		d = min(d, max(a.timeLeft(run.turn), time.Millisecond))
	}
	return d
}

// startCall prepares the summary call: what the planner asks, and the request that the
// next chat call would be, which begins with the newest one as it was sent.
func (a *actor) startCall(run *compactRun) (compaction.Call, repeatable) {
	s := a.current()
	model := a.m.opts.SummaryModel
	if model == "" {
		model = s.Model
	}
	run.model = model
	info := a.m.models.info(model)
	o := compaction.CallOptions{WindowTokens: info.window, MaxOutputTokens: info.maxOutput}
	if run.asked != nil {
		o.Instruction = run.asked.instruction
	}
	base := a.chatRequest(s)
	if last := a.st.Context.LastCall; last != nil && last.Model == model && model == s.Model && base != nil {
		o.Chat = &compaction.ChatRequest{
			Thinking: last.Thinking || base.Thinking != "" && base.Thinking != llm.ThinkingOff,
		}
		o.Chat.CachedTokens, o.Chat.CachePrice = a.cached(last)
	}
	caching := a.caching(s)
	caching.Once = true
	return a.m.planner.StartCall(run.plan, o), repeatable{base, caching, a.st.Context.Cache.Mark}
}

// repeatable is a chat request that a summary call may repeat, as the provider's cache
// knows it.
type repeatable struct {
	request *llm.Request
	caching prompt.Caching
	last    prompt.LastMark
}

const (
	// promptCacheKept is how long providers keep a prefix after its last use, at least.
	promptCacheKept = 5 * time.Minute
	// cachedPrice is what a cached token costs for one of full price, with most providers.
	cachedPrice = 0.1
)

// cached is what the provider is expected to hold of a call's input, and what a token of
// that costs for one of full price.
func (a *actor) cached(last *lastCall) (tokens int, price float64) {
	off := !a.m.opts.CacheBreakpoints && a.st.Context.Cache.Hits.ReadTokens == 0
	if off || a.m.opts.Now().Sub(last.At) >= promptCacheKept {
		return 0, cachedPrice
	}
	rates, known := a.m.opts.Prices.Rates(last.Model, message.Usage{Input: int64(last.Tokens)})
	if !known || rates.Input == 0 {
		return last.Tokens, cachedPrice
	}
	return last.Tokens, rates.CacheRead / rates.Input
}

// summary is a request of a summary call. Thinking is off; what is repeated of the chat
// stays as it is, or the provider's cache would not know it.
func (c repeatable) summary(model string, r compaction.SummaryRequest) *llm.Request {
	task := message.Message{Role: message.RoleUser, Content: []message.Block{message.Text{Text: r.Prompt}}}
	req := llm.Request{
		Model: model, System: r.System, Messages: []message.Message{task}, MaxOutputTokens: r.MaxOutputTokens,
		Thinking: llm.ThinkingOff,
	}
	if r.Chat {
		req = *c.request
		req.Resume = false // an answer at its end is not gone on with
		req.MaxOutputTokens = r.MaxOutputTokens
		req.Messages = append(slices.Clip(c.request.Messages), task)
	}
	valid, _ := prompt.Build(req)
	if r.Chat {
		valid, _ = prompt.Mark(valid, c.caching, c.last)
	}
	return valid
}

// summaryDone takes the outcome of a summary call.
type summaryDone struct {
	run        *compactRun
	draft      *compaction.Draft
	failure    string // its class, if there is no draft
	err        error  // of the last request, for the log
	usage      message.Usage
	retryAfter time.Duration
}

// take asks the model until the call is over. It runs in a goroutine of its own.
func (d *summaryDone) take(ctx context.Context, m llm.Model, call compaction.Call, request func(compaction.SummaryRequest) *llm.Request) {
	for d.draft == nil && d.failure == "" {
		resp, err := callModel(ctx, m, request(call.Request()), func(llm.Delta) {})
		if resp != nil {
			d.usage = d.usage.Add(resp.Usage)
		}
		d.err = err
		call, d.draft, d.failure = call.Take(d.reply(resp, err))
	}
}

// Classes of a summary that could not be had, besides those of package compaction and of
// the provider's errors.
const (
	failureTimeout  = "timeout"
	failureInternal = "internal"
)

func (d *summaryDone) reply(resp *llm.Response, err error) compaction.Reply {
	if err == nil {
		r := compaction.Reply{CutByLength: resp.Stop == llm.StopMaxTokens || resp.Stop == llm.StopContextWindow}
		for _, b := range resp.Content {
			switch b := b.(type) {
			case message.Text:
				r.Text += b.Text
			case message.ToolUse:
				r.ToolCalls++
			case message.Thinking, message.Image, message.ToolResult:
			}
		}
		if resp.Stop == llm.StopRefusal {
			r.Failure = string(llm.ClassRefused)
		}
		return r
	}
	if me, ok := llm.AsError(err); ok {
		d.retryAfter = me.RetryAfter
		if me.Class == llm.ClassSize { // less is less in bytes too
			return compaction.Reply{Failure: compaction.ClassOverflow}
		}
		return compaction.Reply{Failure: string(me.Class)}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return compaction.Reply{Failure: failureTimeout}
	}
	return compaction.Reply{Failure: failureInternal}
}

func (d summaryDone) apply(ctx context.Context, a *actor) {
	if ctx.Err() != nil {
		return // the server stops: nothing changed
	}
	run := d.run
	if a.compacting != run { // it was stopped; what it used is paid for all the same
		a.countLate(llm.Spent(d.usage))
		return
	}
	a.compacting = nil
	run.bill.Usage = d.usage
	a.countSummary(run)
	if d.draft != nil {
		a.applyDraft(run, d.draft)
	} else {
		a.log.Warn("no summary could be had", zap.String("class", d.failure), zap.Error(d.err), cause(d.err))
		a.summaryFailed(run, d.failure, d.retryAfter)
	}
	a.compacted(ctx, run)
}

// countSummary adds what a summary call used to its turn and its session. It counts for
// nothing else: not for the size of the context, nor for how fast that grows.
func (a *actor) countSummary(run *compactRun) {
	run.bill.UncachedUSD = a.charge(run.model, run.bill.Usage)
	if run.turn != nil {
		run.turn.detail.Uncached += run.bill.UncachedUSD
		run.turn.detail.add(purposeSummary, run.bill.Usage)
		run.turn.detail.ActiveMS += a.m.opts.Now().Sub(run.since).Milliseconds()
		a.stageTurn()
	}
}

// compacted goes on after a compaction with what waited for it.
func (a *actor) compacted(ctx context.Context, run *compactRun) {
	a.batch().dirty = true
	if run.turn != nil {
		a.nextRound(ctx, run.turn)
		return
	}
	a.goOn(ctx)
}

// applyDraft makes the record of a plan and, if it helps, puts it in force.
func (a *actor) applyDraft(run *compactRun, draft *compaction.Draft) {
	sit := a.situationAt(a.current(), run.plan.ThroughSeq)
	record, j := a.m.planner.Apply(a.history.state, sit, run.plan, draft)
	a.judged(run, j, draft.Writer == compaction.WriterModel)
	result := a.result(run, j)
	result.Writer = draft.Writer
	if !j.Outcome.Commits() {
		a.failedWith(run, result)
		return
	}
	if err := a.history.state.Commit(record); err != nil {
		a.log.DPanic("a record that was just made can't be committed", zap.Error(err))
		return
	}
	a.st.Context.Generation = record.Generation
	if t := run.turn; t != nil && t.detail.Refused { // the request is another one now
		t.detail.Refused = false
		a.stageTurn()
	}
	result.CacheEffectUSD = a.compactionEffect(result, a.current().Model)
	result.Generation, result.Survived, result.InstructionUsed = record.Generation, record.Survived(), record.InstructionUsed
	body := &compactedBody{Record: record, Result: result}
	a.append(EntryCompactionCompleted, run.turnID(), "", encode(body), compactedData(body))
	a.indexHistory()
	told := *result
	told.Summary = record.Text
	a.ended(run, &told)
}

// summaryFailed notes that no summary could be had, and makes one without a model if
// there is no room left to wait.
func (a *actor) summaryFailed(run *compactRun, class string, retryAfter time.Duration) {
	j := a.m.planner.Fail(a.history.state, a.situation(a.current()), class)
	a.judged(run, j, true)
	a.st.Context.Breaker = a.st.Context.Breaker.Failed(a.m.opts.Now(), retryAfter)
	writer := run.plan.Fallback(run.budget)
	if writer == compaction.WriterNone {
		a.failedWith(run, a.result(run, j))
		return
	}
	failed := a.result(run, j)
	a.append(EntryCompactionFailed, run.turnID(), "", encode(failed), nil)
	a.m.metrics.compacted(failed)
	a.applyDraft(run, a.m.planner.Write(run.plan, a.situation(a.current()), writer))
}

func (a *actor) judged(run *compactRun, j compaction.Judgement, called bool) {
	turn := message.TurnID("")
	if run.turn != nil {
		turn = run.turn.row.ID
	}
	a.st.Context.Breaker = a.st.Context.Breaker.Judged(run.plan, j, called, turn)
}

func (r *compactRun) turnID() message.TurnID {
	if r.turn == nil {
		return ""
	}
	return r.turn.row.ID
}

// result tells how a compaction ended.
func (a *actor) result(run *compactRun, j compaction.Judgement) *Compaction {
	c := &Compaction{
		Outcome: j.Outcome, Reason: j.Reason, Generation: a.st.Context.Generation,
		Trigger: run.plan.Trigger, Writer: run.plan.Writer, Level: run.plan.Level,
		BoundarySeq: run.plan.BoundarySeq, PinnedSeq: run.plan.PinnedSeq,
		TokensBefore: j.Before, TokensAfter: j.After,
		DurationMS: a.m.opts.Now().Sub(run.since).Milliseconds(),
	}
	c.setBill(run.bill)
	return c
}

// failedWith tells of a compaction that changed nothing. One that had nothing to do is
// no entry.
func (a *actor) failedWith(run *compactRun, result *Compaction) {
	if result.Outcome != compaction.OutcomeNoop {
		a.append(EntryCompactionFailed, run.turnID(), "", encode(result), nil)
	}
	a.ended(run, result)
}

// ended answers those who asked for a compaction.
func (a *actor) ended(run *compactRun, result *Compaction) {
	a.m.metrics.compacted(result)
	if run.asked != nil {
		run.asked.answer(a, result)
	}
	if a.activity == ActivityCompacting {
		a.tell(&Activity{Name: ActivityNone, Since: a.now()})
	}
}

// abortCompaction ends a compaction in progress: nothing changed.
func (a *actor) abortCompaction() {
	run := a.compacting
	if run == nil {
		return
	}
	a.compacting = nil
	if run.cancel != nil {
		run.cancel()
	}
	c, _ := a.m.planner.Gauge(a.history.state, a.situation(a.current()))
	j := compaction.Judgement{
		Outcome: compaction.OutcomeAborted, Reason: compaction.ReasonCancelled, Before: c.Tokens(), After: c.Tokens(),
	}
	a.judged(run, j, true)
	a.failedWith(run, a.result(run, j))
}
