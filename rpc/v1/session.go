package v1

import (
	"encoding/json"
	"time"
)

// OfSession names the session that a call is about. Params embed it.
type OfSession struct {
	SessionID string `json:"session_id" v:"uuid" doc:"The session."`
}

// Session returns the id.
func (p OfSession) Session() string { return p.SessionID }

// WithKey makes a call that writes idempotent. Params embed it.
type WithKey struct {
	Key string `json:"key,omitempty" v:"key" doc:"Idempotency key: an equal call with the same key gets the first result again."`
}

// IdempotencyKey returns the key, empty if the client sent none.
func (p WithKey) IdempotencyKey() string { return p.Key }

// SessionStatus says what a session is doing.
type SessionStatus string

// The statuses, the first that applies.
const (
	SessionClosed      SessionStatus = "closed"
	SessionRunning     SessionStatus = "running"
	SessionWaitingTool SessionStatus = "waiting_tool"
	SessionCompacting  SessionStatus = "compacting"
	SessionIdle        SessionStatus = "idle"
)

func (SessionStatus) enum() []string {
	return []string{
		string(SessionClosed), string(SessionRunning), string(SessionWaitingTool), string(SessionCompacting), string(SessionIdle),
	}
}

// Session is a session as clients see it. Times are UTC.
type Session struct {
	ID               string            `json:"id" v:"uuid" doc:"The session's id."`
	LogID            string            `json:"log_id" v:"uuid" doc:"Changes when the log is not the one a client knew; give it when resuming."`
	Title            string            `json:"title" doc:"The title; made from the first message if none was given."`
	Status           SessionStatus     `json:"status" doc:"What the session is doing; the first of the listed values that applies."`
	Queued           int64             `json:"queued" doc:"Messages waiting for their turn."`
	Model            string            `json:"model" doc:"The model that answers."`
	SystemPrompt     string            `json:"system_prompt,omitempty" doc:"The system prompt; absent if empty, and for tickets."`
	Agent            *Agent            `json:"agent,omitempty" doc:"The agent; absent for tickets."`
	AgentPrompt      string            `json:"agent_prompt,omitempty" doc:"The text of AGENT.md; absent if empty, and for tickets."`
	Tools            []Tool            `json:"tools" doc:"The tools that clients offer."`
	TodoList         []TodoItem        `json:"todo_list" doc:"The todo list."`
	Settings         Settings          `json:"settings" doc:"What deviates from the server's settings."`
	Metadata         json.RawMessage   `json:"metadata" v:"object" doc:"The client's own data; all of it but white space is kept."`
	Version          int64             `json:"version" doc:"Counts the changes made by v1.session.update, from 1."`
	HeadSeq          int64             `json:"head_seq" doc:"The seq of the newest log entry."`
	Generation       int64             `json:"generation" doc:"Counts compactions and undos."`
	ReactiveLevel    int64             `json:"reactive_level" doc:"How hard the next compaction has to press, 0 to 3; above 0 after a provider refused a request as too large."`
	CompactionPaused *CompactionPause  `json:"compaction_paused,omitempty" doc:"Why no summary is made by itself; absent unless one is held back."`
	ForkedFrom       *ForkPoint        `json:"forked_from,omitempty" doc:"Where this session was forked from."`
	CreatedAt        time.Time         `json:"created_at" doc:"When it was created."`
	UpdatedAt        time.Time         `json:"updated_at" doc:"When it was last active."`
	ClosedAt         *time.Time        `json:"closed_at,omitempty" doc:"When it was closed; absent unless it is."`
	PendingToolCalls []PendingToolCall `json:"pending_tool_calls" doc:"Tool calls that wait for a result."`
	Usage            Usage             `json:"usage" doc:"What all its model calls used together."`
	Cache            CacheReport       `json:"cache" doc:"What the provider's prompt cache did about their cost."`
	Progress
}

// CacheReport is what the provider's prompt cache did for a session's model calls. Rates
// are from 0 to 1. Calls of a model whose price is not known cost 0.
type CacheReport struct {
	HitRate      float64 `json:"hit_rate" doc:"The share of the input of all calls, those for summaries and memory included, that was read from the cache."`
	ChatHitRate  float64 `json:"chat_hit_rate" doc:"The same of the chats that were answered, alone."`
	IdealHitRate float64 `json:"ideal_hit_rate" doc:"The share of the input of these chats that could have been."`
	UncachedUSD  float64 `json:"uncached_usd" doc:"What the same calls cost where nothing is cached, in US dollars."`
	SavedUSD     float64 `json:"saved_usd" doc:"What the cache saved of that; negative if writing to it cost more."`
}

// Agent is a named role with its own prompt.
type Agent struct {
	Name         string `json:"name" v:"nonempty,max=title_bytes,clean" doc:"The agent's name."`
	SystemPrompt string `json:"system_prompt" v:"max=prompt_bytes" doc:"The agent's prompt."`
}

// Tool is a tool that clients run for the model.
type Tool struct {
	Name        string          `json:"name" v:"toolname" doc:"The name, unique in the session."`
	Description string          `json:"description" doc:"What the model is told about it."`
	InputSchema json.RawMessage `json:"input_schema" v:"schema" doc:"JSON Schema of the input, of type object; all of it but white space is kept."`
	Cleanable   *bool           `json:"cleanable,omitempty" doc:"Whether old results may be cleared from the model's context; absent: decided by name."`
	Reads       string          `json:"reads,omitempty" v:"nonempty,max=256" doc:"The input member that names the file the tool reads."`
	TimeoutMS   int64           `json:"timeout_ms,omitempty" v:"min=1,max=2592000000" doc:"How long a call may wait for its result; absent: the server's default."`
}

// TodoStatus says how far a todo item is.
type TodoStatus string

// The states of a todo item.
const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress"
	TodoCompleted  TodoStatus = "completed"
)

func (TodoStatus) enum() []string {
	return []string{string(TodoPending), string(TodoInProgress), string(TodoCompleted)}
}

// TodoItem is one line of a todo list.
type TodoItem struct {
	Content    string     `json:"content" v:"nonempty,max=4096" doc:"What is to be done, in the imperative."`
	ActiveForm string     `json:"active_form" v:"nonempty,max=4096" doc:"The same while it is being done."`
	Status     TodoStatus `json:"status" doc:"How far it is."`
}

// Thinking says how much the model reasons before it answers.
type Thinking string

// The levels of thinking. A model that lacks one takes the nearest it has.
const (
	ThinkingOff    Thinking = "off"
	ThinkingLow    Thinking = "low"
	ThinkingMedium Thinking = "medium"
	ThinkingHigh   Thinking = "high"
	ThinkingXHigh  Thinking = "xhigh"
	ThinkingMax    Thinking = "max"
)

func (Thinking) enum() []string {
	return []string{
		string(ThinkingOff), string(ThinkingLow), string(ThinkingMedium),
		string(ThinkingHigh), string(ThinkingXHigh), string(ThinkingMax),
	}
}

// Settings are the server's settings that a session may override; nil leaves the
// server's.
type Settings struct {
	ContextTokensLimit      *int64    `json:"context_tokens_limit,omitempty" v:"min=4000,max=10000000" doc:"Most tokens of a request to the model."`
	AutoCompactBufferTokens *int64    `json:"auto_compact_buffer_tokens,omitempty" v:"min=0,max=10000000" doc:"How far below the limit the context is compacted, less than the limit; 0: by the server's rule."`
	Thinking                *Thinking `json:"thinking,omitempty" doc:"How much the model reasons before it answers."`
	MaxRoundsPerTurn        *int64    `json:"max_rounds_per_turn,omitempty" v:"min=1,max=10000" doc:"Most model calls of one turn."`
}

// check refuses what contradicts itself; what contradicts the server's settings is
// refused where those are known.
func (s *Settings) check() *ParamError {
	limit, buffer := s.ContextTokensLimit, s.AutoCompactBufferTokens
	if limit != nil && buffer != nil && *buffer >= *limit {
		return &ParamError{Path: "auto_compact_buffer_tokens", Reason: "must be less than context_tokens_limit"}
	}
	return nil
}

// ForkPoint is the place in another session's log where a session began.
type ForkPoint struct {
	SessionID string `json:"session_id" v:"uuid" doc:"The session that was forked."`
	Seq       int64  `json:"seq" doc:"The last entry that was taken over."`
}

// SessionCreateParams are the params of v1.session.create.
type SessionCreateParams struct {
	Title        string          `json:"title,omitempty" v:"max=title_bytes,clean" doc:"The title; absent: made from the first message."`
	Model        string          `json:"model,omitempty" v:"nonempty,max=256" doc:"One of the models of v1.server.info; absent: the default one."`
	SystemPrompt string          `json:"system_prompt,omitempty" v:"max=prompt_bytes" doc:"The system prompt; absent: the server's."`
	Agent        *Agent          `json:"agent,omitempty" doc:"The agent that answers; it stays for the session's life."`
	AgentPrompt  string          `json:"agent_prompt,omitempty" v:"max=prompt_bytes" doc:"The text of AGENT.md."`
	Tools        []Tool          `json:"tools,omitempty" v:"max=tools,maxbytes=tools_bytes,unique=name" doc:"The tools that clients offer."`
	Settings     *Settings       `json:"settings,omitempty" doc:"What is to deviate from the server's settings."`
	Metadata     json.RawMessage `json:"metadata,omitempty" v:"object,max=metadata_bytes" doc:"The client's own data; all of it but white space is kept."`
	WithKey
}

// SessionResult is the result of the calls that change a session.
type SessionResult struct {
	Session  Session `json:"session" doc:"The session after the call."`
	Replayed bool    `json:"replayed,omitempty" doc:"The key was used before; this is the first call's result."`
}

// SessionGetParams are the params of v1.session.get.
type SessionGetParams struct {
	OfSession
}

// SessionGetResult is the result of v1.session.get.
type SessionGetResult struct {
	Session Session `json:"session" doc:"The session now."`
}

// SessionListParams are the params of v1.session.list.
type SessionListParams struct {
	Limit  int64         `json:"limit,omitempty" v:"min=1,max=100,default=50" doc:"Most sessions of the page."`
	Cursor string        `json:"cursor,omitempty" v:"nonempty,max=512" doc:"The next_cursor of the page before."`
	Status SessionStatus `json:"status,omitempty" doc:"Only sessions with this status."`
}

// SessionListResult is the result of v1.session.list.
type SessionListResult struct {
	Sessions   []Session `json:"sessions" doc:"Newest activity first."`
	NextCursor string    `json:"next_cursor,omitempty" doc:"Where the next page begins; absent on the last one."`
}

// SessionUpdateParams are the params of v1.session.update. A nil member was absent
// and leaves what there is; any other replaces it whole, so an empty string, list or
// object clears.
type SessionUpdateParams struct {
	OfSession
	IfVersion    *int64          `json:"if_version,omitempty" v:"min=1" doc:"Fail with version_conflict unless this is the session's version."`
	Title        *string         `json:"title,omitempty" v:"max=title_bytes,clean" doc:"The new title."`
	Model        *string         `json:"model,omitempty" v:"nonempty,max=256" doc:"The new model, one of v1.server.info."`
	SystemPrompt *string         `json:"system_prompt,omitempty" v:"max=prompt_bytes" doc:"The new system prompt."`
	AgentPrompt  *string         `json:"agent_prompt,omitempty" v:"max=prompt_bytes" doc:"The new text of AGENT.md."`
	Tools        []Tool          `json:"tools,omitempty" v:"max=tools,maxbytes=tools_bytes,unique=name" doc:"The new list of tools."`
	TodoList     []TodoItem      `json:"todo_list,omitempty" v:"max=256" doc:"The new todo list."`
	Settings     *Settings       `json:"settings,omitempty" doc:"The new settings; what is not named falls back to the server's."`
	Metadata     json.RawMessage `json:"metadata,omitempty" v:"object,max=metadata_bytes" doc:"The client's new data."`
	WithKey
}

// SessionCloseParams are the params of v1.session.close.
type SessionCloseParams struct {
	OfSession
	WithKey
}

// SessionOpenParams are the params of v1.session.open.
type SessionOpenParams struct {
	OfSession
	WithKey
}

// SessionDeleteParams are the params of v1.session.delete.
type SessionDeleteParams struct {
	OfSession
	WithKey
}

// SessionDeleteResult is the result of v1.session.delete.
type SessionDeleteResult struct {
	Replayed bool `json:"replayed,omitempty" doc:"The key was used before."`
}

// SessionForkParams are the params of v1.session.fork.
type SessionForkParams struct {
	OfSession
	AtSeq *int64 `json:"at_seq,omitempty" v:"min=1" doc:"The last entry to take over, moved back to the end of a unit; absent: the end of the last finished turn."`
	Title string `json:"title,omitempty" v:"max=title_bytes,clean" doc:"The new session's title; absent: the old one's."`
	WithKey
}
