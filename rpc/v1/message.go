package v1

import (
	"encoding/json"
	"time"
)

// WhenBusy says what to do with a message while a turn is running.
type WhenBusy string

// The choices for a message that comes while the session is busy.
const (
	BusyQueue     WhenBusy = "queue"
	BusyReject    WhenBusy = "reject"
	BusyInterrupt WhenBusy = "interrupt"
)

func (WhenBusy) enum() []string {
	return []string{string(BusyQueue), string(BusyReject), string(BusyInterrupt)}
}

// MessageSendParams are the params of v1.message.send.
type MessageSendParams struct {
	OfSession
	Content     Content      `json:"content" v:"nonempty" doc:"What the user says: a string, or text and image blocks."`
	Attachments []Attachment `json:"attachments,omitempty" doc:"Files that go with the message."`
	WhenBusy    WhenBusy     `json:"when_busy,omitempty" v:"default=queue" doc:"While a turn runs: wait for it, fail with busy, or stop it."`
	WithKey
}

// Attachment is a file that goes with a message: text, or data in base64, never
// both. The nil one was not sent.
type Attachment struct {
	Name     string  `json:"name" v:"nonempty,max=title_bytes,clean" doc:"The file's name."`
	MimeType string  `json:"mime_type" v:"nonempty,max=256" doc:"The file's type."`
	Text     *string `json:"text,omitempty" doc:"The file as text; either this or data."`
	Data     *string `json:"data,omitempty" v:"nonempty,base64" doc:"The file in base64; either this or text."`
}

func (a *Attachment) check() *ParamError {
	if (a.Text == nil) == (a.Data == nil) {
		return &ParamError{Reason: "must have either text or data"}
	}
	return nil
}

// MessageSendResult is the result of v1.message.send: the message is stored, the
// answer comes as events. A command is no message and has no turn.
type MessageSendResult struct {
	MessageID string     `json:"message_id,omitempty" v:"uuid" doc:"The message's id; absent for a command."`
	Seq       int64      `json:"seq" doc:"The entry that stores the message, or the command."`
	TurnID    string     `json:"turn_id,omitempty" v:"uuid" doc:"The turn that answers it; absent for a command."`
	Queued    bool       `json:"queued" doc:"The turn waits for another one."`
	Command   bool       `json:"command,omitempty" doc:"It was a command, and is carried out."`
	Files     []SentFile `json:"files,omitempty" doc:"What became of the files; absent if there were none."`
	Replayed  bool       `json:"replayed" doc:"The key was used before; nothing was sent again."`
}

// SentFile tells what became of a file that came with a message.
type SentFile struct {
	Name        string   `json:"name" doc:"Its name."`
	Tokens      int64    `json:"tokens" doc:"What the whole file costs."`
	ShownTokens int64    `json:"shown_tokens" doc:"What the model is shown of it."`
	Changes     []string `json:"changes,omitempty" doc:"What was done to it, in words; absent if nothing was."`
}

// MessageListParams are the params of v1.message.list.
type MessageListParams struct {
	OfSession
	BeforeSeq *int64 `json:"before_seq,omitempty" v:"min=1" doc:"The messages before this seq, the newest of them; not with after_seq."`
	AfterSeq  *int64 `json:"after_seq,omitempty" v:"min=0" doc:"The messages after this seq, the oldest of them; not with before_seq."`
	Limit     int64  `json:"limit,omitempty" v:"min=1,max=200,default=50" doc:"Most messages of the page."`
}

func (p *MessageListParams) check() *ParamError {
	if p.BeforeSeq != nil && p.AfterSeq != nil {
		return &ParamError{Path: "after_seq", Reason: "must not be given together with before_seq"}
	}
	return nil
}

// MessageListResult is the result of v1.message.list. Each of Messages is a
// [Message].
type MessageListResult struct {
	Messages []json.RawMessage `json:"messages" v:"ref=Message" doc:"In the order of the conversation."`
	More     bool              `json:"more" doc:"There are more in the direction that was asked for."`
}

// MessageGetParams are the params of v1.message.get.
type MessageGetParams struct {
	OfSession
	MessageID string `json:"message_id" v:"uuid" doc:"The message."`
}

// MessageGetResult is the result of v1.message.get. Message is a [Message] with all
// its data.
type MessageGetResult struct {
	Message json.RawMessage `json:"message" v:"ref=Message" doc:"The message, nothing omitted."`
}

// Role says who speaks.
type Role string

// The roles. Results of tools are spoken by the user's side.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

func (Role) enum() []string { return []string{string(RoleUser), string(RoleAssistant)} }

// Message describes a message as clients read it.
type Message struct {
	ID        string            `json:"id" v:"uuid" doc:"The message's id."`
	Seq       int64             `json:"seq" doc:"The entry that stores it."`
	TurnID    string            `json:"turn_id" v:"uuid" doc:"The turn it belongs to."`
	Role      Role              `json:"role" doc:"Who speaks."`
	Content   []json.RawMessage `json:"content" v:"ref=Block" doc:"What is said."`
	Usage     *Usage            `json:"usage,omitempty" doc:"What the model call that made it used."`
	CreatedAt time.Time         `json:"created_at" doc:"When it was stored."`
}

// Usage counts the tokens of model calls and what they cost.
type Usage struct {
	Input        int64   `json:"input" doc:"Tokens sent that no cache had or kept."`
	Output       int64   `json:"output" doc:"Tokens of the answers, reasoning included."`
	CacheRead    int64   `json:"cache_read" doc:"Tokens read from the provider's prompt cache."`
	CacheWrite5m int64   `json:"cache_write_5m" doc:"Tokens written to it for five minutes."`
	CacheWrite1h int64   `json:"cache_write_1h" doc:"Tokens written to it for an hour."`
	Reasoning    int64   `json:"reasoning" doc:"The part of output that was reasoning."`
	CostUSD      float64 `json:"cost_usd" doc:"The price in US dollars."`
}
