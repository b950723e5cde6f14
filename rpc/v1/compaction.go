package v1

import "time"

// SessionCompactParams are the params of v1.session.compact.
type SessionCompactParams struct {
	OfSession
	CustomInstruction string `json:"custom_instruction,omitempty" v:"nonempty,max=instruction_bytes" doc:"What the summary is to be like, in place of the usual instruction."`
	DryRun            bool   `json:"dry_run,omitempty" v:"default=false" doc:"Only tell what would be done."`
	Wait              bool   `json:"wait" v:"default=true" doc:"Answer when it has ended; else as soon as it was taken on."`
	WithKey
}

// SessionUndoCompactParams are the params of v1.session.undo_compact.
type SessionUndoCompactParams struct {
	OfSession
	WithKey
}

// CompactionResult is the result of v1.session.compact and v1.session.undo_compact: the
// members of a [Compaction]; but only Queued if the call did not wait, and Plan in
// place of Outcome if it was a dry run with something to do.
type CompactionResult struct {
	Outcome         CompactionOutcome `json:"outcome,omitempty" doc:"How it ended."`
	Reason          string            `json:"reason,omitempty" doc:"Why, where there is something to explain."`
	Generation      *int64            `json:"generation,omitempty" doc:"The session's generation afterwards."`
	Trigger         CompactionTrigger `json:"trigger,omitempty" doc:"What asked for it."`
	Writer          SummaryWriter     `json:"writer,omitempty" doc:"Who wrote the summary."`
	Level           *int64            `json:"level,omitempty" doc:"How hard it pressed, 0 to 3."`
	BoundarySeq     *int64            `json:"boundary_seq,omitempty" doc:"The first message that stays verbatim; 0: none does, or none left."`
	PinnedSeq       int64             `json:"pinned_seq,omitempty" doc:"The user's newest message, if it lies before the boundary and stays all the same."`
	TokensBefore    *int64            `json:"tokens_before,omitempty" doc:"Tokens of the next request before."`
	TokensAfter     *int64            `json:"tokens_after,omitempty" doc:"Tokens of the next request afterwards; of a plan the most it may be."`
	Summary         string            `json:"summary,omitempty" doc:"The summary message that stands for what has left."`
	Survived        *Survived         `json:"survived,omitempty" doc:"What of the user's words and files the summary message keeps."`
	InstructionUsed *bool             `json:"instruction_used,omitempty" doc:"Whether custom_instruction decided the summary's form."`
	Usage           *Usage            `json:"usage,omitempty" doc:"What the summary's model calls used; absent if there was none."`
	CostUSD         *float64          `json:"cost_usd,omitempty" doc:"Their price in US dollars."`
	HitRate         *float64          `json:"hit_rate,omitempty" doc:"The share of their input that was read from the prompt cache, 0 to 1."`
	UncachedUSD     *float64          `json:"uncached_usd,omitempty" doc:"What the same calls cost where nothing is cached."`
	SavedUSD        *float64          `json:"saved_usd,omitempty" doc:"What the cache saved of that; negative if writing to it cost more."`
	CacheEffectUSD  *float64          `json:"cache_effect_usd,omitempty" doc:"What it does to the cost of the input until the next one is due, these calls included; absent if the price is not known."`
	DurationMS      *int64            `json:"duration_ms,omitempty" doc:"How long it took."`
	Queued          bool              `json:"queued,omitempty" doc:"It was taken on; an event tells how it ended."`
	Plan            *CompactionPlan   `json:"plan,omitempty" doc:"dry_run: what would be done."`
	Replayed        bool              `json:"replayed,omitempty" doc:"The key was used before; this is the first call's result."`
}

// CompactionPlan is what a compaction would do.
type CompactionPlan struct {
	FromSeq    int64 `json:"from_seq" doc:"The first message that would leave."`
	ThroughSeq int64 `json:"through_seq" doc:"The last one."`
	Messages   int64 `json:"messages" doc:"How many would leave."`
	Landing    int64 `json:"landing" doc:"The tokens that a compaction aims at."`
	Lands      bool  `json:"lands" doc:"Whether this one would get there."`
}

// Compaction is how a compaction ended, the data of the events that tell it.
type Compaction struct {
	Outcome         CompactionOutcome `json:"outcome" doc:"How it ended."`
	Reason          string            `json:"reason,omitempty" doc:"Why, where there is something to explain."`
	Generation      int64             `json:"generation" doc:"The session's generation afterwards."`
	Trigger         CompactionTrigger `json:"trigger" doc:"What asked for it."`
	Writer          SummaryWriter     `json:"writer" doc:"Who wrote the summary."`
	Level           int64             `json:"level" doc:"How hard it pressed, 0 to 3."`
	BoundarySeq     int64             `json:"boundary_seq" doc:"The first message that stays verbatim; 0: none does, or none left."`
	PinnedSeq       int64             `json:"pinned_seq,omitempty" doc:"The user's newest message, if it lies before the boundary and stays all the same."`
	TokensBefore    int64             `json:"tokens_before" doc:"Tokens of the next request before."`
	TokensAfter     int64             `json:"tokens_after" doc:"Tokens of the next request afterwards."`
	Summary         string            `json:"summary,omitempty" doc:"The summary message that stands for what has left; absent with events: progress."`
	Survived        Survived          `json:"survived" doc:"What of the user's words and files the summary message keeps."`
	InstructionUsed bool              `json:"instruction_used" doc:"Whether custom_instruction decided the summary's form."`
	Usage           *Usage            `json:"usage,omitempty" doc:"What the summary's model calls used; absent if there was none."`
	CostUSD         *float64          `json:"cost_usd,omitempty" doc:"Their price in US dollars."`
	HitRate         *float64          `json:"hit_rate,omitempty" doc:"The share of their input that was read from the prompt cache, 0 to 1."`
	UncachedUSD     *float64          `json:"uncached_usd,omitempty" doc:"What the same calls cost where nothing is cached."`
	SavedUSD        *float64          `json:"saved_usd,omitempty" doc:"What the cache saved of that; negative if writing to it cost more."`
	CacheEffectUSD  *float64          `json:"cache_effect_usd,omitempty" doc:"What it does to the cost of the input until the next one is due, these calls included; absent if the price is not known."`
	DurationMS      int64             `json:"duration_ms" doc:"How long it took."`
}

// Survived counts what a summary message keeps.
type Survived struct {
	UserMessages        int64 `json:"user_messages" doc:"Messages of the user that are in it word for word."`
	UserMessagesCut     int64 `json:"user_messages_cut" doc:"Those with their beginning and end."`
	UserMessagesCounted int64 `json:"user_messages_counted" doc:"Those that are only counted."`
	Files               int64 `json:"files" doc:"Files that are shown again."`
}

// CompactionOutcome is how a compaction ended.
type CompactionOutcome string

// The outcomes. Only applied and degraded change what the model sees.
const (
	CompactionApplied    CompactionOutcome = "applied"
	CompactionNoop       CompactionOutcome = "noop"
	CompactionDegraded   CompactionOutcome = "degraded"
	CompactionNoProgress CompactionOutcome = "no_progress"
	CompactionFailed     CompactionOutcome = "failed"
	CompactionAborted    CompactionOutcome = "aborted"
)

func (CompactionOutcome) enum() []string {
	return []string{
		string(CompactionApplied), string(CompactionNoop), string(CompactionDegraded),
		string(CompactionNoProgress), string(CompactionFailed), string(CompactionAborted),
	}
}

// CompactionTrigger is what asked for a compaction.
type CompactionTrigger string

// The triggers.
const (
	TriggerManual   CompactionTrigger = "manual"
	TriggerAuto     CompactionTrigger = "auto"
	TriggerOverflow CompactionTrigger = "overflow"
)

func (CompactionTrigger) enum() []string {
	return []string{string(TriggerManual), string(TriggerAuto), string(TriggerOverflow)}
}

// SummaryWriter says who wrote a summary.
type SummaryWriter string

// The writers.
const (
	WriterModel  SummaryWriter = "model"
	WriterMemory SummaryWriter = "memory"
	WriterDigest SummaryWriter = "digest"
	WriterNone   SummaryWriter = "none"
)

func (SummaryWriter) enum() []string {
	return []string{string(WriterModel), string(WriterMemory), string(WriterDigest), string(WriterNone)}
}

// CompactionPause says why no summary is made by itself at the moment. Until is UTC.
type CompactionPause struct {
	Reason PauseReason `json:"reason" doc:"Why."`
	Until  *time.Time  `json:"until,omitempty" doc:"When it ends; absent: with the user's next message, or by growth."`
}

// PauseReason is why no summary is made by itself.
type PauseReason string

// The reasons.
const (
	PauseNoProgress       PauseReason = "no_progress"
	PauseSummariserFailed PauseReason = "summariser_failed"
)

func (PauseReason) enum() []string {
	return []string{string(PauseNoProgress), string(PauseSummariserFailed)}
}
