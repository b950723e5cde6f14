package session

import (
	"encoding/json"
	"fmt"
	"time"

	"sessiond/message"
	"sessiond/store"
)

// View is a session as clients see it, as of its last flushed change. It is
// immutable and may be shared.
type View struct {
	ID           message.SessionID `json:"id"`
	LogID        string            `json:"log_id"`
	Owner        string            `json:"owner"`
	Title        string            `json:"title"`
	Status       store.Status      `json:"status"`
	Queued       int               `json:"queued"`
	Settings     *Settings         `json:"settings"`
	Version      int64             `json:"version"`
	HeadSeq      int64             `json:"head_seq"`
	Usage        message.Usage     `json:"usage"`
	PendingCalls []PendingCall     `json:"pending_calls,omitempty"`
	CreatedAt    time.Time         `json:"created_at"`
	UpdatedAt    time.Time         `json:"updated_at"`
	ClosedAt     time.Time         `json:"closed_at"`

	Generation    int64     `json:"generation"` // counts compactions and undos
	ReactiveLevel int       `json:"reactive_level"`
	Paused        *Pause    `json:"compaction_paused,omitempty"`
	Gauge         Gauge     `json:"gauge"`
	Cache         CacheInfo `json:"cache"`

	todo    *todoState // who made the todo list; nil if there never was one
	fixed   fixedCost
	encoded encodeOnce
}

// Encoded returns enc(), calling it only the first time, whoever asks.
func (v *View) Encoded(enc func() []byte) []byte { return v.encoded.get(enc) }

// unfinished reports whether the session has an open turn or a queue.
func (v *View) unfinished() bool {
	return v.Status == store.StatusRunning || v.Status == store.StatusWaitingTool || v.Status == store.StatusCompacting || v.Queued > 0
}

// PendingCall is a tool call that waits for a client's result.
type PendingCall struct {
	ToolUseID    message.ToolUseID `json:"tool_use_id"`
	TurnID       message.TurnID    `json:"turn_id"`
	Name         string            `json:"name"`
	Input        json.RawMessage   `json:"input"`
	Deadline     time.Time         `json:"deadline"`
	ClaimedUntil time.Time         `json:"claimed_until"` // zero: not claimed
}

// state is the document of a session row that holds what the other columns don't.
type state struct {
	Usage message.Usage `json:"usage"`
	// UncachedUSD is what the same calls cost where nothing is cached.
	UncachedUSD float64 `json:"uncached_usd,omitempty"`
	// HeadDigest identifies the model, system prompt and tools of the newest answer.
	HeadDigest string `json:"head_digest,omitempty"`
	// ThinkingFrom: the thinking of messages before this seq is shown to no model.
	ThinkingFrom int64 `json:"thinking_from,omitempty"`
	// ImagesFrom: the images of messages before this seq are shown to no model.
	ImagesFrom int64 `json:"images_from,omitempty"`
	// BodyBytes is what a request of this session may have, after one was refused for its
	// bytes; 0: what the provider tells.
	BodyBytes int `json:"body_bytes,omitempty"`

	Context contextState `json:"context,omitzero"`
}

// viewOfRow makes the view of a session as its row tells it. Queued and PendingCalls are
// not in it; a session that is not loaded has neither.
func viewOfRow(row *store.Session, now time.Time) (*View, error) {
	settings, st, err := decodeRow(row)
	if err != nil {
		return nil, err
	}
	return newView(row, settings, st, now), nil
}

func newView(row *store.Session, settings *Settings, st state, now time.Time) *View {
	v := &View{
		ID: row.ID, LogID: row.LogID, Owner: row.Owner, Title: row.Title, Status: row.Status,
		Settings: settings, Version: row.Version, HeadSeq: row.HeadSeq, Usage: st.Usage,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, ClosedAt: row.ClosedAt,
		Generation: st.Context.Generation, ReactiveLevel: int(st.Context.Ladder.Level), Paused: st.Context.pause(now), Cache: st.cacheInfo(),
		todo: st.Context.Todo, fixed: st.Context.fixed(settings),
	}
	if g := st.Context.Gauge; g != nil {
		v.Gauge = *g
	}
	return v
}

func decodeRow(row *store.Session) (*Settings, state, error) {
	var settings Settings
	if err := json.Unmarshal(row.Settings, &settings); err != nil {
		return nil, state{}, fmt.Errorf("session %s: settings: %w", row.ID, err)
	}
	var st state
	if err := json.Unmarshal(row.State, &st); err != nil {
		return nil, state{}, fmt.Errorf("session %s: state: %w", row.ID, err)
	}
	return &settings, st, nil
}

// Turn is a turn as clients see it.
type Turn struct {
	ID             message.TurnID           `json:"id"`
	SessionID      message.SessionID        `json:"session_id"`
	MessageID      message.ID               `json:"message_id"`
	CreatedSeq     int64                    `json:"created_seq"`
	Status         store.TurnStatus         `json:"status"`
	Rounds         int                      `json:"rounds"`
	Usage          message.Usage            `json:"usage"`
	UncachedUSD    float64                  `json:"uncached_usd"` // what the same calls cost where nothing is cached
	UsageByPurpose map[string]message.Usage `json:"usage_by_purpose"`
	Error          *TurnError               `json:"error"`
	CreatedAt      time.Time                `json:"created_at"`
	StartedAt      time.Time                `json:"started_at"`
	CompletedAt    time.Time                `json:"completed_at"`
}

// turnDetail is the JSON document of a turn's row.
type turnDetail struct {
	Usage    map[string]message.Usage `json:"usage,omitempty"` // by purpose
	Error    *TurnError               `json:"error,omitempty"`
	Uncached float64                  `json:"uncached_usd,omitempty"`
	ActiveMS int64                    `json:"active_ms,omitempty"` // time spent, tools not counted
	Parked   bool                     `json:"parked,omitempty"`    // the server stopped in an orderly way
	Refused  bool                     `json:"refused,omitempty"`   // the newest request was too large and is to be made smaller
	Learned  int                      `json:"learned,omitempty"`   // the window that this showed, in tokens, until all sessions know it
	Refusal  string                   `json:"refusal,omitempty"`   // what the provider said of that
	// Claims are the live claims on the turn's open calls.
	Claims map[message.ToolUseID]claimDetail `json:"claims,omitempty"`
	// Settings are what the turn began with, kept from the moment they are changed
	// while it runs.
	Settings *Settings `json:"settings,omitempty"`
}

// claimDetail is a claim as it is stored: an acknowledged one must survive a restart.
type claimDetail struct {
	Token string    `json:"token"`
	Until time.Time `json:"until"`
}

// The purposes of model calls in the usage of a turn.
const (
	purposeChat    = "chat"
	purposeSummary = "summary"
	purposeMemory  = "memory"
)

func (d *turnDetail) total() message.Usage {
	var sum message.Usage
	for _, u := range d.Usage {
		sum = sum.Add(u)
	}
	return sum
}

func decodeTurn(id message.SessionID, t *store.Turn) (*Turn, error) {
	detail, err := decodeTurnDetail(t)
	if err != nil {
		return nil, err
	}
	return &Turn{
		ID: t.ID, SessionID: id, MessageID: t.MessageID, CreatedSeq: t.CreatedSeq, Status: t.Status,
		Rounds: t.Rounds, Usage: detail.total(), UncachedUSD: detail.Uncached, UsageByPurpose: detail.Usage, Error: detail.Error,
		CreatedAt: t.CreatedAt, StartedAt: t.StartedAt, CompletedAt: t.CompletedAt,
	}, nil
}

func decodeTurnDetail(t *store.Turn) (*turnDetail, error) {
	detail := &turnDetail{}
	if len(t.Detail) == 0 {
		return detail, nil
	}
	if err := json.Unmarshal(t.Detail, detail); err != nil {
		return nil, fmt.Errorf("turn %s: %w", t.ID, err)
	}
	return detail, nil
}
