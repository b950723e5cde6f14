package v1

import (
	"encoding/json"
	"reflect"
	"time"
)

// EventType says what a log entry tells.
type EventType string

// The types of log entries, a closed set.
const (
	EventSessionCreated EventType = "session.created"
	EventSessionUpdated EventType = "session.updated"
	EventSessionDeleted EventType = "session.deleted"
	EventMessageQueued  EventType = "message.queued"
	EventMessageDropped EventType = "message.dropped"
	EventMessageAdded   EventType = "message.added"
	EventCommand        EventType = "command"
	EventTurnStarted    EventType = "turn.started"
	EventTurnCompleted  EventType = "turn.completed"
	EventToolCalled     EventType = "tool.called"
	EventToolClaimed    EventType = "tool.claimed"
	EventToolResolved   EventType = "tool.resolved"

	EventContextInjected     EventType = "context.injected"
	EventContextCleared      EventType = "context.cleared"
	EventContextWarning      EventType = "context.warning"
	EventCompactionCompleted EventType = "compaction.completed"
	EventCompactionFailed    EventType = "compaction.failed"
	EventCompactionUndone    EventType = "compaction.undone"
	EventMemoryChanged       EventType = "memory.changed"
)

// EventInfo describes one type of event.
type EventInfo struct {
	Type    EventType
	Summary string
	Data    reflect.Type // of Event.Data
}

// Events returns the types of events in the order in which they are described.
func Events() []EventInfo {
	return []EventInfo{
		{EventSessionCreated, "The session was created, or forked.", reflect.TypeFor[SessionCreatedData]()},
		{EventSessionUpdated, "The session was changed, closed or opened.", reflect.TypeFor[SessionUpdatedData]()},
		{EventSessionDeleted, "The session and its log are gone; the last event.", reflect.TypeFor[SessionDeletedData]()},
		{EventMessageQueued, "A user's message waits for its turn; no message.added follows.", reflect.TypeFor[MessageData]()},
		{EventMessageDropped, "A waiting message was taken out of the queue and will not be answered.", reflect.TypeFor[MessageDroppedData]()},
		{EventMessageAdded, "A message was added; ends the deltas of its items.", reflect.TypeFor[MessageData]()},
		{EventCommand, "The user gave a command in place of a message.", reflect.TypeFor[CommandData]()},
		{EventTurnStarted, "A turn began to answer a message.", reflect.TypeFor[TurnStartedData]()},
		{EventTurnCompleted, "A turn ended.", reflect.TypeFor[TurnCompletedData]()},
		{EventToolCalled, "The model called a tool; if it is one of the session's, a client must run it.", reflect.TypeFor[ToolCalledData]()},
		{EventToolClaimed, "A client claimed a tool call.", reflect.TypeFor[ToolClaimedData]()},
		{EventToolResolved, "A tool call has its result.", reflect.TypeFor[ToolResolvedData]()},
		{EventContextInjected, "Something is shown to the model at the end of a message: AGENT.md, the todo list, memory.", reflect.TypeFor[ContextInjectedData]()},
		{EventContextCleared, "Old results of tools are shown to the model as placeholders from now on.", reflect.TypeFor[ContextClearedData]()},
		{EventContextWarning, "Requests cost more than they should, or leave too little room for the conversation.", reflect.TypeFor[ContextWarningData]()},
		{EventCompactionCompleted, "A compaction took effect: its outcome is applied or degraded.", reflect.TypeFor[Compaction]()},
		{EventCompactionFailed, "A compaction changed nothing: its outcome is failed, no_progress or aborted.", reflect.TypeFor[Compaction]()},
		{EventCompactionUndone, "A compaction was undone.", reflect.TypeFor[Compaction]()},
		{EventMemoryChanged, "A memory of the session changed, or one of its owner that this session changed.", reflect.TypeFor[MemoryChangedData]()},
	}
}

func (EventType) enum() []string {
	events := Events()
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = string(e.Type)
	}
	return names
}

// Entry describes a log entry as pages carry it. Data is as the [EventInfo] of its
// type says.
type Entry struct {
	Seq    int64           `json:"seq" doc:"The entry's place in the log, from 1 without a gap."`
	At     time.Time       `json:"at" doc:"When it was stored."`
	Type   EventType       `json:"type" doc:"What it tells."`
	TurnID string          `json:"turn_id,omitempty" v:"uuid" doc:"The turn it belongs to."`
	Data   json.RawMessage `json:"data" v:"object" doc:"What the type says."`
}

// Event describes the params of v1.session.event: an [Entry] and its session.
type Event struct {
	SessionID string          `json:"session_id" v:"uuid" doc:"The session."`
	Seq       int64           `json:"seq" doc:"The entry's place in the log, from 1 without a gap."`
	At        time.Time       `json:"at" doc:"When it was stored."`
	Type      EventType       `json:"type" doc:"What it tells."`
	TurnID    string          `json:"turn_id,omitempty" v:"uuid" doc:"The turn it belongs to."`
	Data      json.RawMessage `json:"data" v:"object" doc:"What the type says."`
}

// SessionCreatedData is the data of session.created.
type SessionCreatedData struct {
	Title      string     `json:"title" doc:"The title."`
	Model      string     `json:"model" doc:"The model that answers."`
	ForkedFrom *ForkPoint `json:"forked_from,omitempty" doc:"Where the session was forked from."`
}

// SessionUpdatedData is the data of session.updated.
type SessionUpdatedData struct {
	Version int64          `json:"version" doc:"The session's version now."`
	Fields  []string       `json:"fields" doc:"The members of the session that changed."`
	Title   *string        `json:"title,omitempty" doc:"The new title, if it changed."`
	Status  *SessionStatus `json:"status,omitempty" doc:"The new status, if the session was closed or opened."`
}

// SessionDeletedData is the data of session.deleted.
type SessionDeletedData struct{}

// MessageData is the data of message.queued and message.added. Message is a
// [Message].
type MessageData struct {
	Message json.RawMessage `json:"message" v:"ref=Message" doc:"The message; data over 64 KiB omitted."`
}

// MessageDroppedData is the data of message.dropped.
type MessageDroppedData struct {
	MessageID string `json:"message_id" v:"uuid" doc:"The message."`
}

// TurnStartedData is the data of turn.started.
type TurnStartedData struct {
	MessageID string `json:"message_id" v:"uuid" doc:"The message that is answered."`
	Queued    bool   `json:"queued,omitempty" doc:"The message is in an earlier message.queued; else in the message.added that comes with this."`
}

// TurnOutcome is how a turn that had started ended.
type TurnOutcome string

// The outcomes.
const (
	OutcomeCompleted   TurnOutcome = "completed"
	OutcomeStopped     TurnOutcome = "stopped"
	OutcomeFailed      TurnOutcome = "failed"
	OutcomeInterrupted TurnOutcome = "interrupted"
)

func (TurnOutcome) enum() []string {
	return []string{string(OutcomeCompleted), string(OutcomeStopped), string(OutcomeFailed), string(OutcomeInterrupted)}
}

// TurnCompletedData is the data of turn.completed.
type TurnCompletedData struct {
	Status TurnOutcome `json:"status" doc:"How it ended."`
	// StopReason: an answer can be complete as far as the server goes and still end early.
	StopReason StopReason `json:"stop_reason,omitempty" doc:"Why the last answer ended before the model was done; absent if it did not."`
	Error      *TurnError `json:"error,omitempty" doc:"Why it failed or was interrupted."`
	Usage      Usage      `json:"usage" doc:"What its model calls used together."`
	CostUSD    float64    `json:"cost_usd" doc:"The price in US dollars."`
}

// StopReason says why an answer ended early.
type StopReason string

// The reasons.
const (
	StopMaxTokens     StopReason = "max_tokens"
	StopContextWindow StopReason = "context_window"
)

func (StopReason) enum() []string { return []string{string(StopMaxTokens), string(StopContextWindow)} }

// ToolCalledData is the data of tool.called.
type ToolCalledData struct {
	ToolUseID string          `json:"tool_use_id" doc:"The call's id, unique in the session."`
	Name      string          `json:"name" doc:"The tool."`
	Input     json.RawMessage `json:"input" v:"object" doc:"The tool's input, byte for byte as the model wrote it."`
	Deadline  time.Time       `json:"deadline" doc:"When the server gives it an error result."`
}

// ToolClaimedData is the data of tool.claimed.
type ToolClaimedData struct {
	ToolUseID  string    `json:"tool_use_id" doc:"The call."`
	LeaseUntil time.Time `json:"lease_until" doc:"When the claim ends."`
}

// ResolvedBy says who gave a tool call its result.
type ResolvedBy string

// The givers of results.
const (
	ByClient  ResolvedBy = "client"
	ByBuiltin ResolvedBy = "builtin"
	ByTimeout ResolvedBy = "timeout"
	ByStop    ResolvedBy = "stop"
	ByCrash   ResolvedBy = "crash"
)

func (ResolvedBy) enum() []string {
	return []string{string(ByClient), string(ByBuiltin), string(ByTimeout), string(ByStop), string(ByCrash)}
}

// ToolResolvedData is the data of tool.resolved.
type ToolResolvedData struct {
	ToolUseID string            `json:"tool_use_id" doc:"The call."`
	By        ResolvedBy        `json:"by" doc:"Who gave the result."`
	Content   []json.RawMessage `json:"content" v:"ref=Block" doc:"Text and image blocks; data over 64 KiB omitted."`
	IsError   bool              `json:"is_error" doc:"The tool failed."`
}
