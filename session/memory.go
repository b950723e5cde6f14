package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/store"
)

// MemoryScope says whose a memory is.
type MemoryScope string

// The scopes.
const (
	MemoryOfSession MemoryScope = "session"
	MemoryOfUser    MemoryScope = "user" // of the owner, in all sessions
)

// Importance says how surely a memory of user scope is shown: critical and high always,
// medium while there is room, low only when it is searched for.
type Importance string

// The importances, most important first.
const (
	ImportanceCritical Importance = "critical"
	ImportanceHigh     Importance = "high"
	ImportanceMedium   Importance = "medium"
	ImportanceLow      Importance = "low"
)

// MemorySource says who wrote a memory.
type MemorySource string

// The sources.
const (
	SourceClient     MemorySource = "client"
	SourceModel      MemorySource = "model"      // with a tool
	SourceExtraction MemorySource = "extraction" // in the background, see extract.go
)

// Memory is something to be remembered beside the log.
type Memory struct {
	ID         message.MemoryID
	Scope      MemoryScope
	SessionID  message.SessionID // empty for user scope
	Category   compaction.MemoryCategory
	Importance Importance // of user scope, else empty
	Title      string
	Content    string
	Source     MemorySource
	SourceSeqs []int64
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// The bounds of memories.
const (
	MaxMemoryTitleBytes   = 256
	MaxMemoryContentBytes = 8 << 10
	MaxSessionMemories    = 200
	MaxUserMemories       = 500
)

// MemoryInput is a memory as it is given. Of a change, nil leaves what there is.
type MemoryInput struct {
	Category   *compaction.MemoryCategory
	Importance *Importance
	Title      *string
	Content    *string
}

// Memories returns a page of a session's memories, or of its owner's if scope is user,
// the newest update first. Errors: not_found (session scope).
func (m *Manager) Memories(ctx context.Context, scope MemoryScope, q store.MemoryQuery) ([]Memory, error) {
	if scope == MemoryOfUser {
		q.ID = ""
	} else if _, err := m.Get(ctx, q.Ref); err != nil {
		return nil, err
	}
	rows, err := m.store.ListMemories(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list memories: %w", err)
	}
	out := make([]Memory, len(rows))
	for i := range rows {
		out[i] = memoryOf(&rows[i])
	}
	return out, nil
}

// CreateMemory writes a memory for a session, or for its owner. A session's is an event
// of the session; it is stored with it. Errors: not_found, session_closed, invalid_param,
// quota_exceeded, idempotency_conflict, overloaded, shutting_down.
func (m *Manager) CreateMemory(ctx context.Context, scope MemoryScope, ref store.Ref, in MemoryInput, i Idempotency) (Replay[Memory], error) {
	now := m.now()
	row := store.Memory{
		ID: message.NewMemoryID(), Owner: ref.Owner, SessionID: ref.ID, Source: string(SourceClient), CreatedAt: now, UpdatedAt: now,
	}
	if scope == MemoryOfUser {
		row.SessionID = ""
		row.Importance = string(ImportanceMedium)
	}
	if err := in.change(&row); err != nil {
		return Replay[Memory]{}, err
	}
	if scope == MemoryOfUser {
		return ownerCall(ctx, m, ref.Owner, i, func(ctx context.Context) (Replay[Memory], error) {
			return m.createUserMemory(ctx, &row, i)
		})
	}
	return keyedCall(ctx, m, ref, i, func(p promise[Replay[Memory]]) command { return memoryCommand{keyed{i}, row, memoryCreated, in, p} })
}

// UpdateMemory changes a memory of either scope. Its key is the owner's. Errors: as
// CreateMemory.
func (m *Manager) UpdateMemory(ctx context.Context, owner string, id message.MemoryID, in MemoryInput, i Idempotency) (Replay[Memory], error) {
	return ownerCall(ctx, m, owner, i, func(ctx context.Context) (Replay[Memory], error) {
		row, err := m.store.Memory(ctx, owner, id)
		if err != nil {
			return Replay[Memory]{}, notFoundAs(err, "memory")
		}
		if row.SessionID == "" {
			return m.updateUserMemory(ctx, owner, id, in, i)
		}
		return m.changeSessionMemory(ctx, row, memoryUpdated, in, i)
	})
}

// DeleteMemory removes a memory of either scope and returns what it was. Its key is the
// owner's. Errors: not_found, session_closed, idempotency_conflict, overloaded,
// shutting_down.
func (m *Manager) DeleteMemory(ctx context.Context, owner string, id message.MemoryID, i Idempotency) (Replay[Memory], error) {
	return ownerCall(ctx, m, owner, i, func(ctx context.Context) (Replay[Memory], error) {
		row, err := m.store.Memory(ctx, owner, id)
		if err != nil {
			return Replay[Memory]{}, notFoundAs(err, "memory")
		}
		if row.SessionID != "" {
			return m.changeSessionMemory(ctx, row, memoryDeleted, MemoryInput{}, i)
		}
		return m.deleteUserMemory(ctx, row, i)
	})
}

func (m *Manager) changeSessionMemory(ctx context.Context, row *store.Memory, change memoryChange, in MemoryInput, i Idempotency) (Replay[Memory], error) {
	i.ofOwner = true
	return keyedCall(ctx, m, store.Ref{Owner: row.Owner, ID: row.SessionID}, i, func(p promise[Replay[Memory]]) command {
		return memoryCommand{keyed{i}, *row, change, in, p}
	})
}

func errTooManyMemories(most int) error {
	return &Error{
		Kind: KindQuotaExceeded, Message: fmt.Sprintf("there are %d memories already; delete some first", most),
		Data: map[string]any{"quota": "memories"},
	}
}

// change puts what is given into a memory, or says what is wrong with it.
func (in MemoryInput) change(row *store.Memory) error {
	if in.Category != nil {
		row.Category = string(*in.Category)
	}
	if in.Importance != nil {
		if row.SessionID != "" {
			return errInvalid("importance", "is for memories of user scope")
		}
		row.Importance = string(*in.Importance)
	}
	if in.Title != nil {
		row.Title = *in.Title
	}
	if in.Content != nil {
		row.Content = *in.Content
	}
	switch {
	case !slices.Contains(memoryCategories(), row.Category):
		return errInvalid("category", "must be one of "+strings.Join(memoryCategories(), ", "))
	case row.SessionID == "" && !slices.Contains(importances(), row.Importance):
		return errInvalid("importance", "must be one of "+strings.Join(importances(), ", "))
	case strings.TrimSpace(row.Title) == "":
		return errInvalid("title", "is empty")
	case len(row.Title) > MaxMemoryTitleBytes:
		return errInvalid("title", fmt.Sprintf("is longer than %d bytes", MaxMemoryTitleBytes))
	case strings.TrimSpace(row.Content) == "":
		return errInvalid("content", "is empty")
	case len(row.Content) > MaxMemoryContentBytes:
		return errInvalid("content", fmt.Sprintf("is longer than %d bytes", MaxMemoryContentBytes))
	}
	return nil
}

func memoryCategories() []string {
	return []string{
		string(compaction.MemoryDecision), string(compaction.MemoryContext), string(compaction.MemoryProgress),
		string(compaction.MemoryIssue), string(compaction.MemoryLearning),
	}
}

func importances() []string {
	return []string{string(ImportanceCritical), string(ImportanceHigh), string(ImportanceMedium), string(ImportanceLow)}
}

func memoryOf(row *store.Memory) Memory {
	scope := MemoryOfSession
	if row.SessionID == "" {
		scope = MemoryOfUser
	}
	return Memory{
		ID: row.ID, Scope: scope, SessionID: row.SessionID, Category: compaction.MemoryCategory(row.Category),
		Importance: Importance(row.Importance), Title: row.Title, Content: row.Content, Source: MemorySource(row.Source),
		SourceSeqs: row.SourceSeqs, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

// memoryChange says what became of a memory.
type memoryChange string

const (
	memoryCreated memoryChange = "created"
	memoryUpdated memoryChange = "updated"
	memoryDeleted memoryChange = "deleted"
)

// memoryCommand changes a memory of a session for a client.
type memoryCommand struct {
	keyed
	row    store.Memory
	change memoryChange
	input  MemoryInput
	reply  promise[Replay[Memory]]
}

func (c memoryCommand) apply(ctx context.Context, a *actor) {
	a.withHistory(ctx, func(context.Context) { c.carryOut(a) })
}

func (c memoryCommand) carryOut(a *actor) {
	if replayed(a, c.keyed, c.reply) { // not before it was waited: an equal call may have waited too
		return
	}
	if !a.row.ClosedAt.IsZero() {
		c.reply.fail(errClosed())
		return
	}
	row := c.row
	at := slices.IndexFunc(a.memories, func(m store.Memory) bool { return m.ID == row.ID })
	switch {
	case c.change == memoryCreated && len(a.memories) >= MaxSessionMemories:
		c.reply.fail(errTooManyMemories(MaxSessionMemories))
		return
	case c.change != memoryCreated && at < 0:
		c.reply.fail(errNotFound("memory"))
		return
	case c.change == memoryUpdated: // as it is now, not as it was when it was looked up
		row = a.memories[at]
		row.Source, row.UpdatedAt = string(SourceClient), a.now() // whoever changes it stands for what it says now
		if err := c.input.change(&row); err != nil {
			c.reply.fail(err)
			return
		}
	}
	a.changeMemory(c.change, row, "")
	finish(a, c.keyed, c.reply, memoryOf(&row))
}

// memoryBody is the body of memory.changed. A deleted memory is told by its id.
type memoryBody struct {
	Change memoryChange     `json:"change"`
	ID     message.MemoryID `json:"memory_id"`
	Memory *MemoryData      `json:"memory,omitempty"`
}

// MemoryData is a memory as clients see it.
type MemoryData struct {
	ID         message.MemoryID          `json:"id"`
	Scope      MemoryScope               `json:"scope"`
	SessionID  message.SessionID         `json:"session_id,omitempty"`
	Category   compaction.MemoryCategory `json:"category"`
	Importance Importance                `json:"importance,omitempty"`
	Title      string                    `json:"title"`
	Content    string                    `json:"content"`
	Source     MemorySource              `json:"source"`
	SourceSeqs []int64                   `json:"source_seqs,omitempty"`
	CreatedAt  time.Time                 `json:"created_at"`
	UpdatedAt  time.Time                 `json:"updated_at"`
}

// changeMemory stores a change of one of the session's memories, or of the owner's that
// this session made, with the entry that tells of it.
func (a *actor) changeMemory(change memoryChange, row store.Memory, turn message.TurnID) {
	body := memoryBody{Change: change, ID: row.ID}
	b := a.batch()
	if change == memoryDeleted {
		b.memories = setMemory(b.memories, store.MemoryChange{Delete: row.ID})
	} else {
		if row.SessionID != "" && row.Seq == 0 {
			row.Seq = a.newestMessage()
		}
		data := MemoryData(memoryOf(&row))
		body.Memory = &data
		b.memories = setMemory(b.memories, store.MemoryChange{Put: &row})
	}
	a.append(EntryMemoryChanged, turn, "", encode(body), nil)
	if row.SessionID == "" {
		a.onFlush(func(context.Context, error) { a.m.userMemories.changed(a.ref.Owner) })
		return
	}
	a.noteDeleted(change, &row)
	a.noteLost(change, &row)
	a.memories = slices.DeleteFunc(slices.Clone(a.memories), func(m store.Memory) bool { return m.ID == row.ID })
	if change != memoryDeleted {
		a.memories = slices.Insert(a.memories, 0, row)
	}
	a.forgetCounts()
}

// forgetCounts drops the counted tokens of memories that are gone and of which nothing is
// told any more: the session's row must not grow with all that there ever were.
func (a *actor) forgetCounts() {
	maps.DeleteFunc(a.st.Context.Counted, func(what string, _ countedText) bool {
		id, isMemory := strings.CutPrefix(what, string(compaction.AttachSessionMemory))
		if !isMemory || a.st.Context.Memory.Deleted[message.MemoryID(id)] != "" {
			return false
		}
		return !slices.ContainsFunc(a.memories, func(m store.Memory) bool { return string(m.ID) == id })
	})
}

// newestMessage is the seq of the newest message of the conversation, which holds the call
// while a tool runs; 0 if there is none. Only when the conversation is there.
func (a *actor) newestMessage() int64 {
	conv := a.history.state.Conversation()
	if conv.Len() == 0 {
		return 0
	}
	return conv.Message(conv.Len() - 1).Seq
}

// keptSources is how many of the entries a memory was learned from are remembered.
const keptSources = 64

// learn adds entries to those that a memory was learned from. The newest says where the
// memory stands: it is not shown beside the messages that say the same.
func learn(row *store.Memory, seqs ...int64) {
	have := row.SourceSeqs
	if len(have) == 0 && row.Seq > 0 {
		have = []int64{row.Seq} // what was saved without sources stands where it was saved
	}
	have = append(slices.Clone(have), seqs...)
	slices.Sort(have)
	have = slices.Compact(have)
	row.SourceSeqs = have[max(0, len(have)-keptSources):]
}

// setMemory puts a change in the place of an earlier one of the same memory.
func setMemory(changes []store.MemoryChange, c store.MemoryChange) []store.MemoryChange {
	id := func(c *store.MemoryChange) message.MemoryID {
		if c.Put != nil {
			return c.Put.ID
		}
		return c.Delete
	}
	changes = slices.DeleteFunc(changes, func(old store.MemoryChange) bool { return id(&old) == id(&c) })
	return append(changes, c)
}
