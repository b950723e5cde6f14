package compaction

import "sessiond/message"

// Trigger says what asked for a compaction.
type Trigger string

// The triggers.
const (
	TriggerManual   Trigger = "manual"
	TriggerAuto     Trigger = "auto"
	TriggerOverflow Trigger = "overflow"
)

// Writer says who wrote a summary.
type Writer string

// The writers.
const (
	WriterModel  Writer = "model"
	WriterMemory Writer = "memory"
	WriterDigest Writer = "digest"
	WriterNone   Writer = "none"
)

// Outcome is how a compaction ended.
type Outcome string

// The outcomes. Only applied and degraded change what the model sees.
const (
	OutcomeApplied    Outcome = "applied"
	OutcomeNoop       Outcome = "noop"
	OutcomeDegraded   Outcome = "degraded"
	OutcomeNoProgress Outcome = "no_progress"
	OutcomeFailed     Outcome = "failed"
	OutcomeAborted    Outcome = "aborted"
)

// Commits reports whether a compaction with this outcome is stored and takes effect.
func (o Outcome) Commits() bool { return o == OutcomeApplied || o == OutcomeDegraded }

// Reason explains an outcome; empty where there is nothing to explain. The list is
// closed, but for [SummariserReason].
type Reason string

// The reasons.
const (
	ReasonNothingToCompact Reason = "nothing_to_compact"
	ReasonNotSmaller       Reason = "not_smaller"
	ReasonOverLanding      Reason = "over_landing"
	ReasonCancelled        Reason = "cancelled"
	ReasonSuperseded       Reason = "superseded"
	ReasonOverhead         Reason = "overhead"
)

// SummariserReason is the reason for a summary that could not be had.
func SummariserReason(class string) Reason { return Reason("summariser_" + class) }

// Record is one compaction with all it decided. It holds whatever the view shows of it,
// so that the view does not depend on how the next version of the program would write
// it, and the state before it, so that it can be undone.
type Record struct {
	Generation int64   `json:"generation"`
	Trigger    Trigger `json:"trigger"`
	Writer     Writer  `json:"writer"`
	Level      Level   `json:"level"`
	Outcome    Outcome `json:"outcome"`
	Reason     Reason  `json:"reason,omitempty"`

	// ThroughSeq is the last message, in conversation order, that left the view.
	ThroughSeq int64 `json:"through_seq"`
	// BoundarySeq is the first message kept verbatim; 0 if none was.
	BoundarySeq int64 `json:"boundary_seq"`
	// PinnedSeq is the newest user message if it left the view; 0 if it did not.
	PinnedSeq  int64       `json:"pinned_seq,omitempty"`
	PinnedCuts []PinnedCut `json:"pinned_cuts,omitempty"`
	// PinnedTokens is what it costs as it is cut.
	PinnedTokens int `json:"pinned_tokens,omitempty"`

	// Text is the summary message's first block, frame and ledger and files included.
	Text string `json:"text"`
	// TextTokens is what the summary message costs, attachments aside.
	TextTokens int `json:"text_tokens"`
	// Body is what the writer wrote; the next summary is told it.
	Body string `json:"body"`
	// Sections are the parts of the body.
	Sections    []Section       `json:"sections,omitempty"`
	Ledger      Ledger          `json:"ledger"`
	Files       []RecoveredFile `json:"files,omitempty"`
	Attachments []Attachment    `json:"attachments,omitempty"`
	// MemoryIDs are the memory entries the summary was written from.
	MemoryIDs []string `json:"memory_ids,omitempty"`

	InstructionUsed bool   `json:"instruction_used"`
	TokensBefore    int    `json:"tokens_before"` // of the whole context, the provider's
	TokensAfter     int    `json:"tokens_after"`
	Encoding        string `json:"encoding"`

	Before Shape `json:"before"` // restored by an undo
	Shape  Shape `json:"shape"`
}

// sections returns what the writer wrote in its parts. A record from before they were
// kept is taken apart.
func (r *Record) sections() []Section {
	if r == nil {
		return nil
	}
	if r.Sections == nil {
		return parseSections(r.Body)
	}
	return r.Sections
}

// RecoveredFile is a file that a summary message shows again.
type RecoveredFile struct {
	Path   string `json:"path"`
	Seq    int64  `json:"seq"` // of the message that had it
	Tokens int    `json:"tokens"`
}

// Survived counts what of the user's words and files a compaction keeps in view.
type Survived struct {
	UserMessages        int `json:"user_messages"`
	UserMessagesCut     int `json:"user_messages_cut"`
	UserMessagesCounted int `json:"user_messages_counted"`
	Files               int `json:"files"`
}

// Survived counts what of the user's words and files the record keeps in view.
func (r *Record) Survived() Survived {
	return Survived{
		UserMessages: r.Ledger.Verbatim, UserMessagesCut: r.Ledger.Cut, UserMessagesCounted: r.Ledger.Counted,
		Files: len(r.Files),
	}
}

// ClearReason says why results were cleared or cut.
type ClearReason string

// The reasons for a clearing.
const (
	ClearIdle     ClearReason = "idle"     // the last answer is old: microcompact
	ClearPressure ClearReason = "pressure" // instead of a summary
	ClearOverflow ClearReason = "overflow" // the last resort after refusals
)

// Clearing is one change of the shape without a compaction, the body of context.cleared.
// The cuts are those of the open round's results and of the pinned request, made only
// as a last resort.
type Clearing struct {
	Reason       ClearReason `json:"reason"`
	Cleared      []Cleared   `json:"cleared,omitempty"`
	Cuts         []ResultCut `json:"cuts,omitempty"`
	Pinned       []PinnedCut `json:"pinned,omitempty"`
	ThinkingFrom int64       `json:"thinking_from"`
	TokensBefore int         `json:"tokens_before"` // of the whole context, the provider's
	TokensAfter  int         `json:"tokens_after"`
}

// IDs lists the results that the clearing changes.
func (c *Clearing) IDs() []message.ToolUseID {
	ids := make([]message.ToolUseID, 0, len(c.Cleared)+len(c.Cuts))
	for _, cl := range c.Cleared {
		ids = append(ids, cl.ID)
	}
	for _, cut := range c.Cuts {
		ids = append(ids, cut.ID)
	}
	return ids
}

// Undone is the body of compaction.undone.
type Undone struct {
	Generation   int64 `json:"generation"` // the new one
	Undoes       int64 `json:"undoes"`     // the generation of the record that ends
	ThinkingFrom int64 `json:"thinking_from"`
	TokensBefore int   `json:"tokens_before"`
	TokensAfter  int   `json:"tokens_after"`
}
