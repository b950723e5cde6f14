package v1

import (
	"reflect"
	"time"
)

// The notifications.
const (
	NotifyEvent    = "v1.session.event"
	NotifyDelta    = "v1.session.delta"
	NotifyActivity = "v1.session.activity"
	NotifyProgress = "v1.session.progress"
	NotifyServer   = "v1.server.notice"
)

// Notification is a message from the server that nobody asked for.
type Notification struct {
	Name    string
	Summary string
	// Lossy notifications may be dropped when a client reads slowly.
	Lossy  bool
	Params reflect.Type
}

// Notifications returns everything a server may send on its own.
func Notifications() []Notification {
	return []Notification{
		{NotifyEvent, "A new log entry of a session, after it was stored; seq has no gaps.", false, reflect.TypeFor[Event]()},
		{NotifyDelta, "A piece of an answer while it is streamed.", true, reflect.TypeFor[Delta]()},
		{NotifyActivity, "What a session is busy with.", true, reflect.TypeFor[Activity]()},
		{NotifyProgress, "How full a session's context is; at most every 250 ms, and the last change is always told.", false, reflect.TypeFor[SessionProgress]()},
		{NotifyServer, "Something every client of the server should know.", false, reflect.TypeFor[ServerNotice]()},
	}
}

// DeltaKind says what a streamed text is.
type DeltaKind string

// The kinds of streamed text.
const (
	DeltaText      DeltaKind = "text"
	DeltaThinking  DeltaKind = "thinking"
	DeltaToolInput DeltaKind = "tool_input"
)

func (DeltaKind) enum() []string {
	return []string{string(DeltaText), string(DeltaThinking), string(DeltaToolInput)}
}

// Delta is the params of v1.session.delta.
type Delta struct {
	SessionID string    `json:"session_id" v:"uuid" doc:"The session."`
	TurnID    string    `json:"turn_id" v:"uuid" doc:"The turn."`
	ItemID    string    `json:"item_id" doc:"The message's id, a slash and the block's index."`
	Kind      DeltaKind `json:"kind" doc:"What the text is."`
	From      int64     `json:"from" doc:"The number of the first chunk: append if it is the one you expect."`
	To        int64     `json:"to" doc:"The number after the last chunk: expect it next."`
	Text      string    `json:"text" doc:"The text of these chunks."`
}

// ActivityKind says what a session is doing besides answering.
type ActivityKind string

// The activities.
const (
	ActivityCompacting  ActivityKind = "compacting"
	ActivityRetrying    ActivityKind = "retrying"
	ActivityWaitingTool ActivityKind = "waiting_tool"
	ActivityNone        ActivityKind = "none"
)

func (ActivityKind) enum() []string {
	return []string{string(ActivityCompacting), string(ActivityRetrying), string(ActivityWaitingTool), string(ActivityNone)}
}

// Activity is the params of v1.session.activity. Since is UTC.
type Activity struct {
	SessionID string       `json:"session_id" v:"uuid" doc:"The session."`
	Activity  ActivityKind `json:"activity" doc:"What is going on."`
	Since     time.Time    `json:"since" doc:"When it began."`
	Attempt   int64        `json:"attempt,omitempty" doc:"retrying: the number of the coming try, from 2."`
	RetryInMS int64        `json:"retry_in_ms,omitempty" doc:"retrying: how long until then."`
	Layer     *int64       `json:"layer,omitempty" doc:"compacting: 0 if a client asked for it, 2 if it was due, 3 if a request was too large."`
}

// NoticeKind says what the server has to tell.
type NoticeKind string

// The notices.
const (
	NoticeShuttingDown NoticeKind = "shutting_down"
	NoticeAuthExpiring NoticeKind = "auth_expiring"
)

func (NoticeKind) enum() []string {
	return []string{string(NoticeShuttingDown), string(NoticeAuthExpiring)}
}

// ServerNotice is the params of v1.server.notice.
type ServerNotice struct {
	Kind         NoticeKind `json:"kind" doc:"What is about to happen."`
	RetryAfterMS int64      `json:"retry_after_ms,omitempty" doc:"How long to wait before reconnecting."`
}
