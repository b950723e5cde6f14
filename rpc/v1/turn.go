package v1

import "time"

// TurnStatus says where a turn stands.
type TurnStatus string

// The states of a turn: queued, then running, then one of the others; dropped comes
// only after queued.
const (
	TurnQueued      TurnStatus = "queued"
	TurnRunning     TurnStatus = "running"
	TurnCompleted   TurnStatus = "completed"
	TurnStopped     TurnStatus = "stopped"
	TurnFailed      TurnStatus = "failed"
	TurnInterrupted TurnStatus = "interrupted"
	TurnDropped     TurnStatus = "dropped"
)

func (TurnStatus) enum() []string {
	return []string{
		string(TurnQueued), string(TurnRunning), string(TurnCompleted), string(TurnStopped),
		string(TurnFailed), string(TurnInterrupted), string(TurnDropped),
	}
}

// Turn is a turn as clients see it. Times are UTC.
type Turn struct {
	ID             string          `json:"id" v:"uuid" doc:"The turn's id."`
	SessionID      string          `json:"session_id" v:"uuid" doc:"The session."`
	MessageID      string          `json:"message_id" v:"uuid" doc:"The user's message that began it."`
	Status         TurnStatus      `json:"status" doc:"Where it stands."`
	Rounds         int64           `json:"rounds" doc:"Model calls so far."`
	Usage          Usage           `json:"usage" doc:"What they used together."`
	UsageByPurpose *UsageByPurpose `json:"usage_by_purpose,omitempty" doc:"The same by purpose."`
	CostUSD        float64         `json:"cost_usd" doc:"The price in US dollars."`
	HitRate        float64         `json:"hit_rate" doc:"The share of their input that was read from the prompt cache, 0 to 1."`
	UncachedUSD    float64         `json:"uncached_usd" doc:"What the same calls cost where nothing is cached."`
	SavedUSD       float64         `json:"saved_usd" doc:"What the cache saved of that; negative if writing to it cost more."`
	Error          *TurnError      `json:"error,omitempty" doc:"Why it failed or was interrupted."`
	CreatedAt      time.Time       `json:"created_at" doc:"When its message was stored."`
	StartedAt      *time.Time      `json:"started_at,omitempty" doc:"When it began to run."`
	CompletedAt    *time.Time      `json:"completed_at,omitempty" doc:"When it ended."`
}

// UsageByPurpose splits a turn's usage by what the model was called for.
type UsageByPurpose struct {
	Chat    *Usage `json:"chat,omitempty" doc:"Answering the user."`
	Summary *Usage `json:"summary,omitempty" doc:"Writing summaries for compactions."`
	Memory  *Usage `json:"memory,omitempty" doc:"Bringing the session's memory up to date."`
}

// TurnErrorKind names why a turn did not complete.
type TurnErrorKind string

// The reasons, a closed set.
const (
	TurnContextOverflow TurnErrorKind = "context_overflow"
	TurnUpstreamFailed  TurnErrorKind = "upstream_failed"
	TurnRoundLimit      TurnErrorKind = "round_limit"
	TurnTimeLimit       TurnErrorKind = "time_limit"
	TurnTokenLimit      TurnErrorKind = "token_limit"
	TurnRefused         TurnErrorKind = "refused"
	TurnQuotaExceeded   TurnErrorKind = "quota_exceeded"
	TurnCrash           TurnErrorKind = "crash"
	TurnInternal        TurnErrorKind = "internal"
)

func (TurnErrorKind) enum() []string {
	return []string{
		string(TurnContextOverflow), string(TurnUpstreamFailed), string(TurnRoundLimit),
		string(TurnTimeLimit), string(TurnTokenLimit), string(TurnRefused),
		string(TurnQuotaExceeded), string(TurnCrash), string(TurnInternal),
	}
}

// TurnError says why a turn did not complete.
type TurnError struct {
	Kind    TurnErrorKind `json:"kind" doc:"The reason; switch on this."`
	Message string        `json:"message,omitempty" doc:"The same for people."`
}

// TurnStopParams are the params of v1.turn.stop.
type TurnStopParams struct {
	OfSession
	TurnID     string `json:"turn_id,omitempty" v:"uuid" doc:"Stop only this turn; absent: whatever is running."`
	ClearQueue bool   `json:"clear_queue,omitempty" v:"default=false" doc:"Also drop the messages that wait."`
	WithKey
}

// TurnStopResult is the result of v1.turn.stop.
type TurnStopResult struct {
	Stopped  bool `json:"stopped" doc:"Something was running and has been stopped."`
	Replayed bool `json:"replayed,omitempty" doc:"The key was used before; this is the first call's result."`
}

// TurnGetParams are the params of v1.turn.get.
type TurnGetParams struct {
	OfSession
	TurnID string `json:"turn_id" v:"uuid" doc:"The turn."`
}

// TurnGetResult is the result of v1.turn.get.
type TurnGetResult struct {
	Turn Turn `json:"turn" doc:"The turn."`
}

// TurnListParams are the params of v1.turn.list.
type TurnListParams struct {
	OfSession
	Limit  int64  `json:"limit,omitempty" v:"min=1,max=100,default=50" doc:"Most turns of the page."`
	Cursor string `json:"cursor,omitempty" v:"nonempty,max=512" doc:"The next_cursor of the page before."`
}

// TurnListResult is the result of v1.turn.list.
type TurnListResult struct {
	Turns      []Turn `json:"turns" doc:"Newest first."`
	NextCursor string `json:"next_cursor,omitempty" doc:"Where the next page begins; absent on the last one."`
}
