package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/message"
	"sessiond/prompt"
	"sessiond/store"
)

// memoryState is what decides when a session's memory is brought up to date next.
type memoryState struct {
	// Watermark is the last message, in conversation order, that was read for the memory.
	Watermark int64 `json:"watermark,omitempty"`
	// Marks are the newest extractions, oldest first, for forks from the past.
	Marks []memoryMark `json:"marks,omitempty"`
	// Lost is the last message of which an extracted entry told that is gone, or that a
	// client or the model changed: up to it the memory stands for nothing that left the view.
	Lost int64 `json:"lost,omitempty"`
	// Done is set once an extraction was begun in the present generation, which was At a
	// size of the context.
	Done       bool  `json:"done,omitempty"`
	Generation int64 `json:"generation,omitempty"`
	At         int   `json:"at,omitempty"`
	// Deleted are the titles of deleted memories that the view may still show, by id.
	Deleted map[message.MemoryID]string `json:"deleted,omitempty"`
}

// extraction is a call that brings the memory up to date; the conversation goes on
// meanwhile.
type extraction struct {
	turn   *turnRun // in which it began, for its usage
	model  string
	cancel context.CancelFunc
}

// maybeExtract begins to bring the memory up to date, if a compaction is near that it
// would help.
func (a *actor) maybeExtract(ctx context.Context, t *turnRun) {
	if !a.m.opts.ExtractMemory || a.extracting != nil || a.compacting != nil || !a.history.ready() {
		return
	}
	sit := a.situation(t.settings)
	c, b := a.m.planner.Gauge(a.history.state, sit)
	if !a.extractionDue(c.Tokens(), b) || a.m.planner.ClearingLands(a.history.state, sit) || a.m.planner.MemoryWrites(a.history.state, sit) {
		return
	}
	model := a.m.opts.SummaryModel
	if model == "" {
		model = t.settings.Model
	}
	info := a.m.models.info(model)
	x := a.m.planner.StartExtraction(a.history.state, sit, compaction.ExtractOptions{
		Entries: a.sessionMemory().Entries, WatermarkSeq: a.st.Context.Memory.Watermark, Recalls: recallTools(),
		WindowTokens: info.window, MaxOutputTokens: info.maxOutput,
	})
	if x == nil {
		return
	}
	m := &a.st.Context.Memory
	m.Done, m.Generation, m.At = true, a.st.Context.Generation, c.Tokens()
	a.batch().dirty = true
	cctx, cancel := context.WithTimeout(ctx, a.m.opts.SummaryTimeout)
	run := &extraction{turn: t, model: model, cancel: cancel}
	a.extracting = run
	a.m.metrics.extracting.Inc()
	most := compaction.MemoryTokens(b, sit.Ratio)
	req, _ := prompt.Build(llm.Request{
		Model: model, System: x.Request.System, MaxOutputTokens: x.Request.MaxOutputTokens, Thinking: llm.ThinkingOff,
		Messages: []message.Message{{Role: message.RoleUser, Content: []message.Block{message.Text{Text: x.Request.Prompt}}}},
	})
	a.spawn(func() {
		defer cancel()
		resp, err := callModel(cctx, a.m.model, req, func(llm.Delta) {})
		a.post(ctx, extracted{run: run, plan: x, most: most, resp: resp, err: err})
	})
}

// extractionDue reports whether a compaction is near and the memory was not brought up to
// date for it yet.
func (a *actor) extractionDue(tokens int, b compaction.Budget) bool {
	last, m := -1, a.st.Context.Memory
	if m.Done && m.Generation == a.st.Context.Generation {
		last = m.At
	}
	return compaction.ExtractionDue(a.st.Context.Growth.Progress(tokens, b.Threshold).RoundsUntil, tokens, last, b)
}

// extracted takes what came of an extraction. A failure changes nothing: the next one
// begins where this one did.
type extracted struct {
	run  *extraction
	plan *compaction.Extraction
	most int // tokens of the memory
	resp *llm.Response
	err  error
}

func (c extracted) apply(ctx context.Context, a *actor) {
	if ctx.Err() != nil {
		return
	}
	if a.extracting != c.run {
		a.countLate(c.resp)
		a.m.metrics.extractionEnded(extractionDropped)
		return
	}
	a.extracting = nil
	c.count(a)
	if c.err != nil {
		a.m.metrics.extractionEnded(extractionFailed)
		a.log.Warn("the memory could not be brought up to date", zap.Error(c.err), cause(c.err))
		return
	}
	ops, err := c.plan.Take(answerText(c.resp))
	if err != nil {
		a.m.metrics.extractionEnded(extractionUnusable)
		a.log.Warn("the memory could not be brought up to date", zap.Error(err))
		return
	}
	a.m.metrics.extractionEnded(extractionOK)
	before := a.row.HeadSeq
	a.bringUpToDate(ops, c.plan.ThroughSeq)
	a.boundMemory(c.most)
	a.st.Context.Memory.mark(memoryMark{Through: a.st.Context.Memory.Watermark, From: before + 1, To: a.row.HeadSeq})
	a.batch().dirty = true
}

// bringUpToDate makes the operations of an extraction that read through a message. The
// memory stands for what was read only if something was written of it: what an extraction
// found nothing in is read again by the next, and told by a digest or a model if it has to
// leave before. So is what it read if one of its operations could not be made: what was to
// be told there may have been taken from an entry that it deleted.
func (a *actor) bringUpToDate(ops []compaction.MemoryOp, through int64) {
	m := &a.st.Context.Memory
	lost, learned, all := m.Lost, false, true
	for _, op := range ops {
		if !a.applyMemoryOp(op) {
			all = false
		} else if op.Op != compaction.MemoryDelete {
			learned = true
		}
	}
	if !all {
		return
	}
	m.Lost = lost // what it deleted it has read, and told elsewhere what still matters
	if learned {
		m.Watermark = through
	}
}

// noteLost notes that an entry of the memory is about to change, or to go, which stood
// for messages that it may not stand for any more.
func (a *actor) noteLost(change memoryChange, row *store.Memory) {
	at := slices.IndexFunc(a.memories, func(m store.Memory) bool { return m.ID == row.ID })
	if at < 0 || a.memories[at].Source != string(SourceExtraction) {
		return
	}
	if change != memoryDeleted && row.Source == string(SourceExtraction) {
		return
	}
	m, seqs := &a.st.Context.Memory, a.memories[at].SourceSeqs
	if len(seqs) == 0 { // it may tell of all that was read
		seqs = []int64{m.Watermark}
	}
	m.Lost = a.history.state.LastOf(append(slices.Clone(seqs), m.Lost)...)
}

// sessionMemory is what a compaction may be written from.
func (a *actor) sessionMemory() compaction.Memory {
	m := compaction.Memory{WatermarkSeq: a.st.Context.Memory.Watermark, LostSeq: a.st.Context.Memory.Lost}
	for i := range a.memories {
		row := &a.memories[i]
		m.Entries = append(m.Entries, compaction.MemoryEntry{
			ID: string(row.ID), Category: compaction.MemoryCategory(row.Category), Title: row.Title, Content: row.Content,
			Extracted: row.Source == string(SourceExtraction), NewestSeq: newestSource(row),
		})
	}
	return m
}

// newestSource is the newest entry of the log that a memory tells of.
func newestSource(row *store.Memory) int64 {
	if len(row.SourceSeqs) > 0 {
		return slices.Max(row.SourceSeqs)
	}
	return row.Seq
}

// count adds what the call used to the turn in which it began, which may have ended since,
// and to the session.
func (c extracted) count(a *actor) {
	if c.resp == nil {
		return
	}
	uncached := a.charge(c.run.model, c.resp.Usage)
	a.batch().dirty = true
	t := c.run.turn
	t.detail.add(purposeMemory, c.resp.Usage)
	t.detail.Uncached += uncached
	t.row.Detail = encode(t.detail)
	a.stage(t.row)
}

func answerText(resp *llm.Response) string {
	var b strings.Builder
	for _, block := range resp.Content {
		if t, ok := block.(message.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// applyMemoryOp makes an operation and reports whether it could.
func (a *actor) applyMemoryOp(op compaction.MemoryOp) bool {
	now := a.now()
	if op.Op == compaction.MemoryAdd {
		if len(a.memories) >= MaxSessionMemories {
			return false
		}
		a.changeMemory(memoryCreated, store.Memory{
			ID: message.NewMemoryID(), Owner: a.ref.Owner, SessionID: a.ref.ID, Category: string(op.Category),
			Title: cutBytes(op.Title, MaxMemoryTitleBytes), Content: cutBytes(op.Content, MaxMemoryContentBytes),
			Source: string(SourceExtraction), SourceSeqs: op.Seqs, CreatedAt: now, UpdatedAt: now,
		}, "")
		return true
	}
	at := slices.IndexFunc(a.memories, func(m store.Memory) bool { return string(m.ID) == op.ID })
	if at < 0 || a.memories[at].Source == string(SourceClient) {
		return false // deleted in the meantime, or a client's own words, which stay as they are
	}
	row := a.memories[at]
	if op.Op == compaction.MemoryDelete {
		a.changeMemory(memoryDeleted, row, "")
		return true
	}
	if op.Category != "" {
		row.Category = string(op.Category)
	}
	if op.Title != "" {
		row.Title = cutBytes(op.Title, MaxMemoryTitleBytes)
	}
	if op.Content != "" {
		row.Content = cutBytes(op.Content, MaxMemoryContentBytes)
	}
	if len(op.Seqs) == 0 { // nobody knows from what: it stands where it is saved
		op.Seqs = []int64{a.newestMessage()}
	}
	learn(&row, op.Seqs...)
	row.Source, row.UpdatedAt = string(SourceExtraction), now
	a.changeMemory(memoryUpdated, row, "")
	return true
}

// boundMemory deletes the oldest extracted entries that are too many.
func (a *actor) boundMemory(most int) {
	tokens, entries := 0, 0
	for _, row := range slices.Clone(a.memories) { // newest first
		if row.Source != string(SourceExtraction) {
			continue
		}
		entries++
		tokens += a.m.opts.Counter.Count(row.Title + "\n" + row.Content)
		if entries > compaction.MaxMemoryEntries || tokens > most && entries > 1 {
			a.changeMemory(memoryDeleted, row, "")
		}
	}
}

// stopExtraction lets go of an extraction; what it used is counted when it has ended.
func (a *actor) stopExtraction() {
	if a.extracting != nil {
		a.extracting.cancel()
		a.extracting = nil
	}
}

// cutBytes returns at most n bytes of text, cut between characters.
func cutBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}

// memoryTime is how long what a tool asks of the database may take.
const memoryTime = 30 * time.Second
