package session

import (
	"time"

	"sessiond/compaction"
	"sessiond/cost"
	"sessiond/message"
)

// CompactOptions say how a compaction that was asked for is made.
type CompactOptions struct {
	// Instruction replaces the body of what the summariser is asked; empty: the usual one.
	Instruction string
	DryRun      bool // plan only, change nothing
	Wait        bool // answer when it has ended, else as soon as it was taken on
}

// Compaction is how a compaction ended, or, of a dry run, how it is planned.
type Compaction struct {
	Outcome         compaction.Outcome  `json:"outcome,omitempty"`
	Reason          compaction.Reason   `json:"reason,omitempty"`
	Generation      int64               `json:"generation"`
	Trigger         compaction.Trigger  `json:"trigger"`
	Writer          compaction.Writer   `json:"writer"`
	Level           compaction.Level    `json:"level"`
	BoundarySeq     int64               `json:"boundary_seq"` // 0: nothing stays verbatim, or nothing left
	PinnedSeq       int64               `json:"pinned_seq,omitempty"`
	TokensBefore    int                 `json:"tokens_before"`
	TokensAfter     int                 `json:"tokens_after"` // of a plan: the most it may be
	Summary         string              `json:"summary,omitempty"`
	Survived        compaction.Survived `json:"survived"`
	InstructionUsed bool                `json:"instruction_used"`

	// What the summary's model calls used and cost, the share of their input that was read
	// from the prompt cache, what they had cost without one, and what that saved; all nil if
	// there was no call.
	Usage       *message.Usage `json:"usage,omitempty"`
	CostUSD     *float64       `json:"cost_usd,omitempty"`
	HitRate     *float64       `json:"hit_rate,omitempty"`
	UncachedUSD *float64       `json:"uncached_usd,omitempty"`
	SavedUSD    *float64       `json:"saved_usd,omitempty"`
	// CacheEffectUSD is what it does to the cost of the input until the next one is due, the
	// summary call included; nil if the model's price is unknown.
	CacheEffectUSD *float64 `json:"cache_effect_usd,omitempty"`
	DurationMS     int64    `json:"duration_ms"`

	// Queued: it was taken on and is told of as an event; nothing else is set.
	Queued bool `json:"queued,omitempty"`
	// Plan is set by a dry run that has something to do; Outcome is empty then.
	Plan *CompactionPlan `json:"plan,omitempty"`
}

// setBill tells what the summary's model calls cost, if there was one.
func (c *Compaction) setBill(b cost.Bill) {
	if b.Usage == (message.Usage{}) {
		return
	}
	c.Usage, c.CostUSD = &b.Usage, &b.Usage.CostUSD
	c.HitRate, c.UncachedUSD, c.SavedUSD = new(b.HitRate()), &b.UncachedUSD, new(b.SavedUSD())
}

// CompactionPlan is what a compaction would do.
type CompactionPlan struct {
	FromSeq    int64 `json:"from_seq"`    // the first message that leaves
	ThroughSeq int64 `json:"through_seq"` // the last one
	Messages   int   `json:"messages"`    // how many leave
	Landing    int   `json:"landing"`     // tokens
	Lands      bool  `json:"lands"`
}

// ContextInfo is what the model would get now.
type ContextInfo struct {
	compaction.Figures
	Model    string
	Progress Gauge
	Paused   *Pause
	// View is the conversation as it would be shown; nil unless asked for.
	View []message.Message
}

// Gauge is how full a session's context is, as of the newest stored message or call.
type Gauge struct {
	compaction.Progress
	Estimated bool `json:"estimated"` // counted here; false: the provider measured it
}

// Pause says why no automatic summary is made at the moment.
type Pause struct {
	Reason PauseReason `json:"reason"`
	// Until is when it ends by itself; zero: at the next user message, or by growth.
	Until time.Time `json:"until,omitzero"`
}

// PauseReason is a closed list.
type PauseReason string

// The reasons for a pause.
const (
	PauseNoProgress PauseReason = "no_progress"       // three compactions in a row did not help
	PauseSummariser PauseReason = "summariser_failed" // it is tried again later
)
