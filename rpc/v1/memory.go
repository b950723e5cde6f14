package v1

import "time"

// MemoryScope says whose a memory is.
type MemoryScope string

// The scopes.
const (
	MemoryOfSession MemoryScope = "session"
	MemoryOfUser    MemoryScope = "user"
)

func (MemoryScope) enum() []string { return []string{string(MemoryOfSession), string(MemoryOfUser)} }

// MemoryCategory says what a memory is about.
type MemoryCategory string

// The categories.
const (
	MemoryDecision MemoryCategory = "decision"
	MemoryContext  MemoryCategory = "context"
	MemoryProgress MemoryCategory = "progress"
	MemoryIssue    MemoryCategory = "issue"
	MemoryLearning MemoryCategory = "learning"
)

func (MemoryCategory) enum() []string {
	return []string{
		string(MemoryDecision), string(MemoryContext), string(MemoryProgress), string(MemoryIssue), string(MemoryLearning),
	}
}

// Importance says how surely a memory of user scope is shown.
type Importance string

// The importances, most important first.
const (
	ImportanceCritical Importance = "critical"
	ImportanceHigh     Importance = "high"
	ImportanceMedium   Importance = "medium"
	ImportanceLow      Importance = "low"
)

func (Importance) enum() []string {
	return []string{string(ImportanceCritical), string(ImportanceHigh), string(ImportanceMedium), string(ImportanceLow)}
}

// MemorySource says who wrote a memory as it is.
type MemorySource string

// The sources.
const (
	MemoryByClient     MemorySource = "client"
	MemoryByModel      MemorySource = "model"
	MemoryByExtraction MemorySource = "extraction"
)

func (MemorySource) enum() []string {
	return []string{string(MemoryByClient), string(MemoryByModel), string(MemoryByExtraction)}
}

// Memory is something to be remembered beside the log. Times are UTC.
type Memory struct {
	ID         string         `json:"id" v:"uuid" doc:"The memory's id."`
	Scope      MemoryScope    `json:"scope" doc:"Whose it is: a session's, or its owner's in all sessions."`
	SessionID  string         `json:"session_id,omitempty" v:"uuid" doc:"The session; absent for scope user."`
	Category   MemoryCategory `json:"category" doc:"What it is about."`
	Importance Importance     `json:"importance,omitempty" doc:"How surely it is shown; absent for scope session."`
	Title      string         `json:"title" doc:"The title."`
	Content    string         `json:"content" doc:"What is remembered."`
	Source     MemorySource   `json:"source" doc:"Who wrote it as it is."`
	SourceSeqs []int64        `json:"source_seqs,omitempty" doc:"The entries of the session that it was learned from."`
	CreatedAt  time.Time      `json:"created_at" doc:"When it was created."`
	UpdatedAt  time.Time      `json:"updated_at" doc:"When it was last changed."`
}

// MemoryListParams are the params of v1.memory.list.
type MemoryListParams struct {
	Scope     MemoryScope `json:"scope" doc:"Whose memories."`
	SessionID string      `json:"session_id,omitempty" v:"uuid" doc:"Scope session: the session."`
	Limit     int64       `json:"limit,omitempty" v:"min=1,max=100,default=50" doc:"Most memories of the page."`
	Cursor    string      `json:"cursor,omitempty" v:"nonempty,max=512" doc:"The next_cursor of the page before."`
}

func (p *MemoryListParams) check() *ParamError { return checkScope(p.Scope, p.SessionID) }

// checkScope wants a session for the one scope and none for the other.
func checkScope(scope MemoryScope, sessionID string) *ParamError {
	switch {
	case scope == MemoryOfSession && sessionID == "":
		return &ParamError{Path: "session_id", Reason: "is missing: scope session is of one session"}
	case scope == MemoryOfUser && sessionID != "":
		return &ParamError{Path: "session_id", Reason: "must not be given with scope user, which is of all sessions"}
	}
	return nil
}

// MemoryListResult is the result of v1.memory.list.
type MemoryListResult struct {
	Memories   []Memory `json:"memories" doc:"Newest change first."`
	NextCursor string   `json:"next_cursor,omitempty" doc:"Where the next page begins; absent on the last one."`
}

// MemoryCreateParams are the params of v1.memory.create.
type MemoryCreateParams struct {
	Scope      MemoryScope    `json:"scope" doc:"Whose memory it is to be."`
	SessionID  string         `json:"session_id,omitempty" v:"uuid" doc:"Scope session: the session."`
	Category   MemoryCategory `json:"category" doc:"What it is about."`
	Importance *Importance    `json:"importance,omitempty" doc:"Scope user: how surely it is shown; absent: medium."`
	Title      string         `json:"title" v:"nonempty,max=memory_title_bytes,clean" doc:"The title."`
	Content    string         `json:"content" v:"nonempty,max=memory_content_bytes" doc:"What is to be remembered."`
	WithKey
}

func (p *MemoryCreateParams) check() *ParamError {
	if p.Scope == MemoryOfSession && p.Importance != nil {
		return &ParamError{Path: "importance", Reason: "is for scope user"}
	}
	return checkScope(p.Scope, p.SessionID)
}

// MemoryResult is the result of the calls that write a memory.
type MemoryResult struct {
	Memory   Memory `json:"memory" doc:"The memory after the call."`
	Replayed bool   `json:"replayed,omitempty" doc:"The key was used before; this is the first call's result."`
}

// MemoryUpdateParams are the params of v1.memory.update. A nil member leaves what there
// is.
type MemoryUpdateParams struct {
	MemoryID   string          `json:"memory_id" v:"uuid" doc:"The memory."`
	Category   *MemoryCategory `json:"category,omitempty" doc:"What it is about now."`
	Importance *Importance     `json:"importance,omitempty" doc:"Scope user: how surely it is shown now."`
	Title      *string         `json:"title,omitempty" v:"nonempty,max=memory_title_bytes,clean" doc:"The new title."`
	Content    *string         `json:"content,omitempty" v:"nonempty,max=memory_content_bytes" doc:"The new content."`
	WithKey
}

func (p *MemoryUpdateParams) check() *ParamError {
	if p.Category == nil && p.Importance == nil && p.Title == nil && p.Content == nil {
		return &ParamError{Reason: "name nothing that is to change"}
	}
	return nil
}

// MemoryDeleteParams are the params of v1.memory.delete.
type MemoryDeleteParams struct {
	MemoryID string `json:"memory_id" v:"uuid" doc:"The memory."`
	WithKey
}

// MemoryDeleteResult is the result of v1.memory.delete.
type MemoryDeleteResult struct {
	Replayed bool `json:"replayed,omitempty" doc:"The key was used before."`
}

// MemoryChange says what became of a memory.
type MemoryChange string

// The changes.
const (
	MemoryCreated MemoryChange = "created"
	MemoryUpdated MemoryChange = "updated"
	MemoryDeleted MemoryChange = "deleted"
)

func (MemoryChange) enum() []string {
	return []string{string(MemoryCreated), string(MemoryUpdated), string(MemoryDeleted)}
}

// MemoryChangedData is the data of memory.changed.
type MemoryChangedData struct {
	Change   MemoryChange `json:"change" doc:"What became of it."`
	MemoryID string       `json:"memory_id" v:"uuid" doc:"The memory."`
	Memory   *Memory      `json:"memory,omitempty" doc:"The memory after the change; absent if it was deleted, and for tickets."`
}
