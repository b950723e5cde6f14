package v1

import "time"

// The codes of JSON-RPC itself that the contract names.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602 // data is InvalidParamsData
	CodeInternalError  = -32603 // data is InternalErrorData
	CodeCancelled      = -32800 // the call was cancelled by $/cancelRequest
)

// Kind names a way in which a call can fail. Clients switch on it; the code is the
// same information as a number.
type Kind string

// The kinds, a closed set.
const (
	KindUnauthenticated     Kind = "unauthenticated"
	KindForbidden           Kind = "forbidden"
	KindTooManyInFlight     Kind = "too_many_in_flight"
	KindRateLimited         Kind = "rate_limited"
	KindOverloaded          Kind = "overloaded"
	KindShuttingDown        Kind = "shutting_down"
	KindQuotaExceeded       Kind = "quota_exceeded"
	KindContentTooLarge     Kind = "content_too_large"
	KindSubscriptionLimit   Kind = "subscription_limit"
	KindUnsupportedMedia    Kind = "unsupported_media"
	KindNotFound            Kind = "not_found"
	KindBusy                Kind = "busy"
	KindQueueFull           Kind = "queue_full"
	KindVersionConflict     Kind = "version_conflict"
	KindIdempotencyConflict Kind = "idempotency_conflict"
	KindSessionClosed       Kind = "session_closed"
	KindLogReset            Kind = "log_reset"
	KindToolCallNotFound    Kind = "tool_call_not_found"
	KindToolCallClaimed     Kind = "tool_call_claimed"
	KindToolCallResolved    Kind = "tool_call_resolved"
	KindUpstreamFailed      Kind = "upstream_failed"
	KindContextOverflow     Kind = "context_overflow"
)

// KindInfo is one row of the error table.
type KindInfo struct {
	Kind Kind
	Code int
	// Retryable: the very same call may succeed later without anything being done
	// about it.
	Retryable bool
	// Message is the error's text when there is nothing better to say.
	Message string
}

// Kinds returns the error table in order of code.
func Kinds() []KindInfo {
	return []KindInfo{
		{KindUnauthenticated, -31001, false, "no valid credentials"},
		{KindForbidden, -31002, false, "the credentials do not allow this"},
		{KindTooManyInFlight, -31005, true, "too many unanswered calls on this connection"},
		{KindRateLimited, -31006, true, "too many calls"},
		{KindOverloaded, -31007, true, "too much work is waiting"},
		{KindShuttingDown, -31008, true, "the server is shutting down"},
		{KindQuotaExceeded, -31009, false, "the owner's quota is used up"},
		{KindContentTooLarge, -31010, false, "the content is larger than the model can take"},
		{KindSubscriptionLimit, -31011, false, "too many subscriptions on this connection"},
		{KindUnsupportedMedia, -31012, false, "this type of media is not supported"},
		{KindNotFound, -31020, false, "not found"},
		{KindBusy, -31021, true, "the session is busy"},
		{KindQueueFull, -31022, true, "too many messages are waiting in the session"},
		{KindVersionConflict, -31023, false, "the session has changed since that version"},
		{KindIdempotencyConflict, -31024, false, "the key was used with other params"},
		{KindSessionClosed, -31025, false, "the session is closed"},
		{KindLogReset, -31026, false, "that position is not in this log: start again from 0"},
		{KindToolCallNotFound, -31030, false, "no such tool call"},
		{KindToolCallClaimed, -31031, true, "another client has claimed the tool call"},
		{KindToolCallResolved, -31032, false, "the tool call already has another result"},
		{KindUpstreamFailed, -31040, true, "the model's provider failed"},
		{KindContextOverflow, -31041, false, "the conversation does not fit into the model's context"},
	}
}

// Info returns the kind's row; ok is false for a kind that is none.
func (k Kind) Info() (info KindInfo, ok bool) {
	for _, row := range Kinds() {
		if row.Kind == k {
			return row, true
		}
	}
	return KindInfo{}, false
}

func (Kind) enum() []string {
	rows := Kinds()
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = string(row.Kind)
	}
	return names
}

// What is the sort of thing that was not found.
type What string

// The things that can be missing.
const (
	WhatSession What = "session"
	WhatMessage What = "message"
	WhatTurn    What = "turn"
	WhatMemory  What = "memory"
)

func (What) enum() []string {
	return []string{string(WhatSession), string(WhatMessage), string(WhatTurn), string(WhatMemory)}
}

// ErrorData is the data of an error with one of our own codes. Build it with
// [NewErrorData] and set the members that belong to its kind.
type ErrorData struct {
	Kind         Kind       `json:"kind" doc:"What went wrong; switch on this."`
	Retryable    bool       `json:"retryable" doc:"Whether the same call may succeed later."`
	RetryAfterMS int64      `json:"retry_after_ms,omitempty" doc:"How long to wait before the next try."`
	What         What       `json:"what,omitempty" doc:"not_found: what is missing, or not yours."`
	Version      int64      `json:"version,omitempty" doc:"version_conflict: the session's version now."`
	HeadSeq      *int64     `json:"head_seq,omitempty" doc:"log_reset: the seq of the log's newest entry."`
	LogID        string     `json:"log_id,omitempty" doc:"log_reset: the log there is."`
	ToolUseID    string     `json:"tool_use_id,omitempty" doc:"tool_call_…: the call."`
	Path         string     `json:"path,omitempty" doc:"unsupported_media, content_too_large: the member of the params."`
	Reason       string     `json:"reason,omitempty" doc:"unsupported_media, content_too_large: what is wrong with it."`
	Tokens       int64      `json:"tokens,omitempty" doc:"content_too_large, context_overflow: the size."`
	MaxTokens    int64      `json:"max_tokens,omitempty" doc:"content_too_large: the most that fits."`
	Limit        int64      `json:"limit,omitempty" doc:"context_overflow: the most tokens that fit."`
	Bytes        int64      `json:"bytes,omitempty" doc:"content_too_large: the size of the content, where bytes decide."`
	MaxBytes     int64      `json:"max_bytes,omitempty" doc:"content_too_large: the most bytes that are taken."`
	Queued       int64      `json:"queued,omitempty" doc:"queue_full: how many messages are waiting."`
	Quota        string     `json:"quota,omitempty" doc:"quota_exceeded: which one, running_turns or memories."`
	LeaseUntil   *time.Time `json:"lease_until,omitempty" doc:"tool_call_claimed: when the claim ends."`
}

// NewErrorData returns the data every error of this kind carries. retryAfter is
// rounded up to whole milliseconds; zero leaves it out.
func NewErrorData(k Kind, retryAfter time.Duration) ErrorData {
	info, _ := k.Info()
	data := ErrorData{Kind: k, Retryable: info.Retryable}
	if retryAfter > 0 {
		data.RetryAfterMS = int64((retryAfter + time.Millisecond - 1) / time.Millisecond)
	}
	return data
}

// InvalidParamsData is the data of [CodeInvalidParams].
type InvalidParamsData struct {
	Path   string `json:"path" doc:"The member that is wrong, such as tools[3].input_schema; empty for the params as a whole."`
	Reason string `json:"reason" doc:"What is wrong with it."`
}

// InternalErrorData is the data of [CodeInternalError].
type InternalErrorData struct {
	Incident string `json:"incident" doc:"Names the failure in the server's log."`
}

// ParamError says which member of the params is wrong. It becomes
// [CodeInvalidParams].
type ParamError struct {
	Path   string // as in InvalidParamsData
	Reason string
}

func (e *ParamError) Error() string {
	if e.Path == "" {
		return "params: " + e.Reason
	}
	return e.Path + ": " + e.Reason
}

// Data returns what the client is told.
func (e *ParamError) Data() InvalidParamsData {
	return InvalidParamsData{Path: e.Path, Reason: e.Reason}
}
