package v1

import "encoding/json"

// EventFilter says which notifications a subscriber wants.
type EventFilter string

// The filters.
const (
	EventsAll      EventFilter = "all"
	EventsProgress EventFilter = "progress"
)

func (EventFilter) enum() []string { return []string{string(EventsAll), string(EventsProgress)} }

// SubscribeParams are the params of v1.session.subscribe.
type SubscribeParams struct {
	OfSession
	AfterSeq *int64      `json:"after_seq,omitempty" v:"min=0" doc:"The last entry the client has, 0 for none; absent: only what happens from now on."`
	LogID    string      `json:"log_id,omitempty" v:"uuid" doc:"The log that after_seq belongs to."`
	Deltas   bool        `json:"deltas" v:"default=true" doc:"Whether to send v1.session.delta."`
	Events   EventFilter `json:"events,omitempty" v:"default=all" doc:"all, or progress for activity without contents."`
}

// SubscribeResult is the result of v1.session.subscribe. Each of Entries is an
// [Entry].
type SubscribeResult struct {
	Session          Session           `json:"session" doc:"The session now."`
	HeadSeq          int64             `json:"head_seq" doc:"The seq of the newest log entry."`
	LogID            string            `json:"log_id" v:"uuid" doc:"The log that the seqs belong to."`
	Entries          []json.RawMessage `json:"entries" v:"ref=Entry" doc:"The entries after after_seq."`
	More             bool              `json:"more" doc:"The page was too small and the subscription is not live yet: ask again from the last entry."`
	OpenItems        []OpenItem        `json:"open_items" doc:"What is being streamed right now."`
	PendingToolCalls []PendingToolCall `json:"pending_tool_calls" doc:"Tool calls that wait for a result."`
}

// OpenItem is a block of an answer that is still being streamed.
type OpenItem struct {
	ItemID string    `json:"item_id" doc:"The message's id, a slash and the block's index."`
	TurnID string    `json:"turn_id" v:"uuid" doc:"The turn."`
	Kind   DeltaKind `json:"kind" doc:"What the text is."`
	Next   int64     `json:"next" doc:"The from of the next delta."`
	Text   string    `json:"text" doc:"Everything up to there."`
}

// UnsubscribeParams are the params of v1.session.unsubscribe.
type UnsubscribeParams struct {
	OfSession
}

// UnsubscribeResult is the result of v1.session.unsubscribe.
type UnsubscribeResult struct{}

// LogParams are the params of v1.session.log.
type LogParams struct {
	OfSession
	AfterSeq int64 `json:"after_seq,omitempty" v:"min=0,default=0" doc:"Only entries after this one."`
	Limit    int64 `json:"limit,omitempty" v:"min=1,max=500,default=500" doc:"Most entries of the page."`
}

// LogResult is the result of v1.session.log. Each of Entries is an [Entry].
type LogResult struct {
	Entries []json.RawMessage `json:"entries" v:"ref=Entry" doc:"In order of seq, without a gap."`
	HeadSeq int64             `json:"head_seq" doc:"The seq of the newest entry of the log."`
	LogID   string            `json:"log_id" v:"uuid" doc:"The log that the seqs belong to."`
	More    bool              `json:"more" doc:"There are entries after the last one of the page."`
}
