package session

import (
	"encoding/json"
	"fmt"
	"time"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/message"
	"sessiond/store"
)

// EntryKind names what an entry of the log tells. The set is closed; the kind is the
// type of the event that clients see.
type EntryKind string

// The kinds of entries.
const (
	EntryCreated        EntryKind = "session.created"
	EntryUpdated        EntryKind = "session.updated"
	EntryDeleted        EntryKind = "session.deleted" // published, never stored: the log is gone
	EntryMessageQueued  EntryKind = "message.queued"
	EntryMessageDropped EntryKind = "message.dropped"
	EntryMessageAdded   EntryKind = "message.added"
	EntryTurnStarted    EntryKind = "turn.started"
	EntryTurnCompleted  EntryKind = "turn.completed"
	EntryToolCalled     EntryKind = "tool.called"
	EntryToolClaimed    EntryKind = "tool.claimed"
	EntryToolResolved   EntryKind = "tool.resolved"

	EntryCommand             EntryKind = "command"
	EntryContextInjected     EntryKind = "context.injected"
	EntryContextCleared      EntryKind = "context.cleared"
	EntryContextWarning      EntryKind = "context.warning"
	EntryCompactionCompleted EntryKind = "compaction.completed"
	EntryCompactionFailed    EntryKind = "compaction.failed"
	EntryCompactionUndone    EntryKind = "compaction.undone"
	EntryMemoryChanged       EntryKind = "memory.changed"
)

// storesMessage reports whether entries of this kind hold a message.
func (k EntryKind) storesMessage() bool {
	return k == EntryMessageAdded || k == EntryMessageQueued
}

// OmitOverBytes is the size above which events and pages show a block's size and
// hash instead of its data.
const OmitOverBytes = 64 << 10

// Event is a stored entry as it is told to clients. It is immutable.
type Event struct {
	SessionID message.SessionID
	Seq       int64
	At        time.Time
	Kind      EntryKind
	TurnID    message.TurnID
	Data      json.RawMessage // blocks over OmitOverBytes are omitted, results filled in

	encoded encodeOnce
}

// The bodies of the entries. Those that hold raw JSON of a model (messages, tool
// inputs) are written by hand, the rest by encode.
type (
	updatedBody struct {
		Version int64         `json:"version"`
		Fields  []string      `json:"fields"`
		Title   *string       `json:"title,omitempty"`
		Status  *store.Status `json:"status,omitempty"`
		// TodoList is the list as it is now, if it changed: a fork from the past has to know
		// it. Clients are not told.
		TodoList *[]Todo `json:"todo_list,omitempty"`
	}
	createdBody struct {
		Title      string      `json:"title"`
		Model      string      `json:"model"`
		ForkedFrom *ForkedFrom `json:"forked_from,omitempty"`
	}
	droppedBody struct {
		MessageID message.ID `json:"message_id"`
	}
	turnStartedBody struct {
		MessageID message.ID `json:"message_id"`
		// Queued is set when the message is in an earlier message.queued entry.
		Queued bool `json:"queued,omitempty"`
	}
	turnCompletedBody struct {
		Status  store.TurnStatus `json:"status"`
		Stop    llm.StopReason   `json:"stop_reason,omitempty"` // why the last answer ended early
		Error   *TurnError       `json:"error,omitempty"`
		Usage   message.Usage    `json:"usage"`
		CostUSD float64          `json:"cost_usd"`
	}
	toolClaimedBody struct {
		ToolUseID  message.ToolUseID `json:"tool_use_id"`
		LeaseUntil time.Time         `json:"lease_until"`
	}
	toolCalledBody struct {
		ToolUseID message.ToolUseID `json:"tool_use_id"`
		Name      string            `json:"name"`
		Input     json.RawMessage   `json:"input"`
		Deadline  time.Time         `json:"deadline"`
	}
	toolResolvedBody struct {
		ToolUseID message.ToolUseID `json:"tool_use_id"`
		By        Resolver          `json:"by"`
		Content   json.RawMessage   `json:"content"`
		IsError   bool              `json:"is_error"`
	}
	messageBody struct {
		Message json.RawMessage     `json:"message"`
		Measure *compaction.Measure `json:"measure,omitempty"`
	}
)

// Resolver says who ended a tool call.
type Resolver string

// The resolvers.
const (
	ByClient  Resolver = "client"
	ByBuiltin Resolver = "builtin"
	ByTimeout Resolver = "timeout"
	ByStop    Resolver = "stop"
	ByCrash   Resolver = "crash"
)

// TurnError says why a turn failed.
type TurnError struct {
	Kind    TurnErrorKind `json:"kind"`
	Message string        `json:"message"`
}

// TurnErrorKind is a closed list of why turns fail.
type TurnErrorKind string

// The kinds of turn errors.
const (
	TurnUpstreamFailed  TurnErrorKind = "upstream_failed"
	TurnContextOverflow TurnErrorKind = "context_overflow"
	TurnRoundLimit      TurnErrorKind = "round_limit"
	TurnTimeLimit       TurnErrorKind = "time_limit"
	TurnTokenLimit      TurnErrorKind = "token_limit"
	TurnRefused         TurnErrorKind = "refused"
	TurnCrash           TurnErrorKind = "crash"
	TurnInternal        TurnErrorKind = "internal"
)

func encodeMessageBody(m *message.Message, form message.Form) []byte {
	dst := append(make([]byte, 0, 512), `{"message":`...)
	dst = message.Append(dst, m, form)
	return append(dst, '}')
}

// withMeasure is the body under which a message is stored: what clients see of it, and
// its measure.
func withMeasure(body []byte, measure *compaction.Measure) []byte {
	m := encode(measure)
	dst := make([]byte, 0, len(body)+len(m)+len(`,"measure":`))
	dst = append(dst, body[:len(body)-1]...)
	dst = append(dst, `,"measure":`...)
	dst = append(dst, m...)
	return append(dst, '}')
}

func encodeToolCalled(b toolCalledBody) []byte {
	dst := append(make([]byte, 0, 128+len(b.Input)), `{"tool_use_id":`...)
	dst = message.AppendString(dst, string(b.ToolUseID))
	dst = append(dst, `,"name":`...)
	dst = message.AppendString(dst, b.Name)
	dst = append(dst, `,"input":`...)
	dst = append(dst, b.Input...)
	dst = append(dst, `,"deadline":`...)
	dst = message.AppendTime(dst, b.Deadline)
	return append(dst, '}')
}

func encodeToolResolved(id message.ToolUseID, by Resolver, content []message.Block, isError bool, form message.Form) []byte {
	dst := append(make([]byte, 0, 256), `{"tool_use_id":`...)
	dst = message.AppendString(dst, string(id))
	dst = append(dst, `,"by":`...)
	dst = message.AppendString(dst, string(by))
	dst = append(dst, `,"content":`...)
	dst = message.AppendBlocks(dst, content, form)
	if isError {
		return append(dst, `,"is_error":true}`...)
	}
	return append(dst, `,"is_error":false}`...)
}

// decodeBody reads an entry's body into one of the types above. A body that does not
// decode means the stored log is damaged; the error names the entry.
func decodeBody[T any](e *store.Entry) (T, error) {
	var v T
	if err := json.Unmarshal(e.Body, &v); err != nil {
		return v, fmt.Errorf("entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return v, nil
}

// decodeMessage reads the message an entry stores, its seq set.
func decodeMessage(e *store.Entry) (*message.Message, error) {
	m, _, err := decodeMeasured(e)
	return m, err
}

// decodeMeasured reads the message an entry stores and its measure, nil if it has none.
func decodeMeasured(e *store.Entry) (*message.Message, *compaction.Measure, error) {
	body, err := decodeBody[messageBody](e)
	if err != nil {
		return nil, nil, err
	}
	m, err := message.Decode(body.Message)
	if err != nil {
		return nil, nil, fmt.Errorf("entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return m, body.Measure, nil
}

// resolution is what a tool.resolved entry holds.
type resolution struct {
	Seq     int64
	By      Resolver
	Content []message.Block
	IsError bool
}

func decodeResolved(e *store.Entry) (message.ToolUseID, resolution, error) {
	body, err := decodeBody[toolResolvedBody](e)
	if err != nil {
		return "", resolution{}, err
	}
	content, err := message.DecodeBlocks(body.Content)
	if err != nil {
		return "", resolution{}, fmt.Errorf("entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	if content == nil {
		content = []message.Block{}
	}
	return body.ToolUseID, resolution{Seq: e.Seq, By: body.By, Content: content, IsError: body.IsError}, nil
}

// fill returns m with the content of its referring tool results put in; m itself is
// not changed. It returns m if there is nothing to fill.
func fill(m *message.Message, resolved func(seq int64) (resolution, bool)) (*message.Message, error) {
	refs := false
	for _, b := range m.Content {
		if r, ok := b.(message.ToolResult); ok && r.Ref != 0 {
			refs = true
		}
	}
	if !refs {
		return m, nil
	}
	full := *m
	full.Content = make([]message.Block, len(m.Content))
	for i, b := range m.Content {
		r, ok := b.(message.ToolResult)
		if ok && r.Ref != 0 {
			res, found := resolved(r.Ref)
			if !found {
				return nil, fmt.Errorf("message %s: its result for %s refers to entry %d, which resolves nothing", m.ID, r.ToolUseID, r.Ref)
			}
			b = message.ToolResult{ToolUseID: r.ToolUseID, Content: res.Content, IsError: res.IsError}
		}
		full.Content[i] = b
	}
	return &full, nil
}
