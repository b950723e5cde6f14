package v1

import "encoding/json"

// Progress is how far a session is from its next compaction, as of the newest stored
// message or model call. What tells it embeds it.
type Progress struct {
	CurrentContextTokens     int64   `json:"current_context_tokens" doc:"Tokens of the next request as it would be sent now."`
	CompressionThreshold     int64   `json:"compression_threshold" doc:"The size at which compaction begins by itself."`
	CompressionProgress      float64 `json:"compression_progress" doc:"The one in percent of the other, with one decimal; over 100 if it is exceeded."`
	EstimatedNextRoundTokens int64   `json:"estimated_next_round_tokens" doc:"What the next model call is expected to come to."`
	RoundsUntilCompression   int64   `json:"rounds_until_compression" doc:"Model calls until then as growth has been, at most 999; -1 if it is exceeded."`
	Estimated                bool    `json:"estimated" doc:"Counted by the server; false: by the provider."`
}

// SessionContextParams are the params of v1.session.context.
type SessionContextParams struct {
	OfSession
	IncludeView bool `json:"include_view,omitempty" v:"default=false" doc:"Also tell the messages; not for tickets."`
}

// SessionContextResult is the result of v1.session.context. Each of View is a
// [ViewMessage]. All numbers but those of Progress are as of now.
type SessionContextResult struct {
	Model string `json:"model" doc:"The model it is for."`
	Progress
	ContextTokens      int64             `json:"context_tokens" doc:"Tokens of the next request as it would be sent now."`
	Judged             int64             `json:"judged" doc:"The same without the open tool round and the pinned request, which no compaction can shrink."`
	Parts              []ContextPart     `json:"parts" doc:"What it is made of, largest first."`
	ContextTokensLimit int64             `json:"context_tokens_limit" doc:"L: the limit in force."`
	InputLimit         int64             `json:"input_limit" doc:"L′: what a request may hold, given the model's window."`
	MaxOutputTokens    int64             `json:"max_output_tokens" doc:"What an answer may hold."`
	BufferTokens       int64             `json:"buffer_tokens" doc:"How far below L′ compaction begins."`
	Overhead           int64             `json:"overhead" doc:"F: what no compaction can shrink: system prompt, tools and attachments."`
	Threshold          int64             `json:"threshold" doc:"T: where compaction begins by itself."`
	Headroom           int64             `json:"headroom" doc:"H: T − F."`
	Landing            int64             `json:"landing" doc:"What a compaction aims at."`
	High               int64             `json:"high" doc:"The size over which one is made even if that was not worth it lately."`
	Edge               int64             `json:"edge" doc:"The size over which a failed summary is replaced by a digest."`
	SummaryCap         int64             `json:"summary_cap" doc:"The most tokens of a summary."`
	LedgerCap          int64             `json:"ledger_cap" doc:"The most tokens of the user's own words in it."`
	Share              int64             `json:"share" doc:"What messages that stay and files that are shown again have together."`
	PinnedTokens       int64             `json:"pinned_tokens" doc:"The size over which a pinned request is shown in part."`
	Level              int64             `json:"level" doc:"How hard the next compaction has to press, 0 to 3."`
	Generation         int64             `json:"generation" doc:"Counts compactions and undos."`
	BoundarySeq        int64             `json:"boundary_seq" doc:"The first message that is shown verbatim; 0: nothing has left, or nothing follows."`
	PinnedSeq          int64             `json:"pinned_seq,omitempty" doc:"The message of the user that is shown although it lies before the boundary."`
	Cleared            []string          `json:"cleared" doc:"The tool_use_ids of results that are shown as a placeholder."`
	Ratio              float64           `json:"ratio" doc:"The provider's tokens for one token as counted here."`
	Encoding           string            `json:"encoding" doc:"What tokens are counted by here."`
	CompactionPaused   *CompactionPause  `json:"compaction_paused,omitempty" doc:"Why no summary is made by itself; absent unless one is held back."`
	View               []json.RawMessage `json:"view,omitempty" v:"ref=ViewMessage" doc:"include_view: the messages as the model would be shown them."`
}

// ContextPart is a part of a request.
type ContextPart struct {
	Name   string `json:"name" doc:"What it is: system, tools, a kind of attachment, outdated_attachments, summary, pinned_request, messages, open_round or thinking."`
	Tokens int64  `json:"tokens" doc:"Its size as the provider counts."`
}

// ViewMessage describes a message as the model is shown it.
type ViewMessage struct {
	ID      string            `json:"id,omitempty" v:"uuid" doc:"The message of the log that is shown; absent for a summary message."`
	Seq     int64             `json:"seq,omitempty" doc:"The entry that stores it."`
	Role    Role              `json:"role" doc:"Who speaks."`
	Content []json.RawMessage `json:"content" v:"ref=Block" doc:"What is shown of it; data over 64 KiB omitted."`
}

// CommandData is the data of command.
type CommandData struct {
	Command string `json:"command" doc:"Its name, such as compact."`
	Text    string `json:"text,omitempty" doc:"What followed the name."`
}

// AttachmentKind is what is shown to the model beside the conversation.
type AttachmentKind string

// The kinds of attachments.
const (
	AttachmentAgentPrompt   AttachmentKind = "agent_prompt"
	AttachmentTodoList      AttachmentKind = "todo_list"
	AttachmentSessionMemory AttachmentKind = "session_memory"
	AttachmentUserMemory    AttachmentKind = "user_memory"
)

func (AttachmentKind) enum() []string {
	return []string{
		string(AttachmentAgentPrompt), string(AttachmentTodoList),
		string(AttachmentSessionMemory), string(AttachmentUserMemory),
	}
}

// ContextInjectedData is the data of context.injected.
type ContextInjectedData struct {
	TargetMessageID string         `json:"target_message_id" v:"uuid" doc:"The message at whose end it is shown."`
	Kind            AttachmentKind `json:"kind" doc:"What it is."`
	Text            string         `json:"text,omitempty" doc:"What the model reads; absent for tickets."`
	Tokens          int64          `json:"tokens" doc:"Its size as counted by the server."`
}

// ClearReason is why results were cleared.
type ClearReason string

// The reasons for a clearing.
const (
	ClearIdle     ClearReason = "idle"
	ClearPressure ClearReason = "pressure"
	ClearOverflow ClearReason = "overflow"
)

func (ClearReason) enum() []string {
	return []string{string(ClearIdle), string(ClearPressure), string(ClearOverflow)}
}

// ContextClearedData is the data of context.cleared.
type ContextClearedData struct {
	IDs            []string    `json:"ids" doc:"The tool_use_ids whose results are shown as a placeholder, or shorter, from now on."`
	TokensBefore   int64       `json:"tokens_before" doc:"Tokens of the next request before."`
	TokensAfter    int64       `json:"tokens_after" doc:"Tokens of the next request afterwards."`
	Reason         ClearReason `json:"reason" doc:"Why."`
	CacheEffectUSD *float64    `json:"cache_effect_usd,omitempty" doc:"What it does to the cost of the input until the next compaction, in US dollars; absent if the price is not known."`
}

// WarningKind is what a context.warning is about.
type WarningKind string

// The kinds of warnings.
const (
	// WarningOverhead is that the fixed parts of a request leave too little room for the
	// conversation.
	WarningOverhead WarningKind = "overhead"
	// WarningCache is that the prompt cache is hit less than it could be.
	WarningCache WarningKind = "cache"
)

func (WarningKind) enum() []string { return []string{string(WarningOverhead), string(WarningCache)} }

// ContextWarningData is the data of context.warning.
type ContextWarningData struct {
	Kind            WarningKind   `json:"kind" doc:"What it is about."`
	Message         string        `json:"message" doc:"The same for people."`
	OverheadTokens  int64         `json:"overhead_tokens,omitempty" doc:"overhead: F, what every request begins with."`
	Threshold       int64         `json:"threshold,omitempty" doc:"overhead: T, where compaction begins by itself."`
	Limit           int64         `json:"limit,omitempty" doc:"overhead: L′, what a request may hold."`
	Parts           []ContextPart `json:"parts,omitempty" doc:"overhead: what a request is made of, largest first."`
	HitRate         *float64      `json:"hit_rate,omitempty" doc:"cache: the share of the chats' input that was read from the prompt cache."`
	IdealHitRate    *float64      `json:"ideal_hit_rate,omitempty" doc:"cache: the share that could have been."`
	FirstDifference string        `json:"first_difference,omitempty" doc:"cache: the part, such as system, tools or message 3, in which requests differed from those before them so that most was missed."`
}
