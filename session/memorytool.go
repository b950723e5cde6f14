package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/message"
	"sessiond/store"
)

// The tools with which a model keeps the memory.
const (
	toolMemorySave   = "memory_save"
	toolMemoryUpdate = "memory_update"
	toolMemoryDelete = "memory_delete"
	toolMemorySearch = "memory_search"
)

func memoryTools() []llm.Tool {
	const fields = `"category":{"type":"string","enum":["decision","context","progress","issue","learning"]},"title":{"type":"string"},"content":{"type":"string"}`
	return []llm.Tool{
		{
			Name: toolMemorySave,
			Description: "Remember something beyond what the conversation can hold. scope session: for this session; " +
				"scope user: for all sessions of this user, such as lasting preferences.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"scope":{"type":"string","enum":["session","user"]},` + fields + `},"required":["category","title","content"]}`),
		}, {
			Name:        toolMemoryUpdate,
			Description: "Change a memory that you saved.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"},` + fields + `},"required":["id"]}`),
		}, {
			Name:        toolMemoryDelete,
			Description: "Delete a memory that you saved and that no longer holds.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`),
		}, {
			Name:        toolMemorySearch,
			Description: "Find memories of this session and this user by words; an empty query lists the newest.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`),
		},
	}
}

// memoryArgs is the input of the memory tools.
type memoryArgs struct {
	Scope    MemoryScope                `json:"scope"`
	ID       message.MemoryID           `json:"id"`
	Category *compaction.MemoryCategory `json:"category"`
	Title    *string                    `json:"title"`
	Content  *string                    `json:"content"`
	Query    string                     `json:"query"`
}

// memoryWrite is what a tool wants to be changed.
type memoryWrite struct {
	change memoryChange
	row    store.Memory
}

// startMemoryTool runs a memory tool of the model's. The session's memories are the
// actor's, who changes them at once. The owner's are in the database, where clients and
// other sessions change them too: from reading one until its change is on disk nobody else
// in this process may.
func (a *actor) startMemoryTool(t *turnRun, c *toolCall) {
	var args memoryArgs
	if err := json.Unmarshal(c.use.Input, &args); err != nil {
		a.endBuiltin(t, c, "", fmt.Errorf("the input does not fit the schema: %w", err))
		return
	}
	own := slices.IndexFunc(a.memories, func(row store.Memory) bool { return row.ID == args.ID })
	switch {
	case c.use.Name == toolMemorySearch:
		memories := a.memories
		a.inBackground(t, c, func(ctx context.Context, done *builtinDone) {
			done.text, done.err = a.m.searchMemories(ctx, a.ref.Owner, memories, args.Query)
		})
	case c.use.Name == toolMemorySave && args.Scope == MemoryOfUser:
		a.withOwnersMemories(t, c, func(ctx context.Context) (string, *memoryWrite, error) {
			return a.m.saveUserMemory(ctx, a.ref.Owner, args)
		})
	case c.use.Name == toolMemorySave:
		text, err := a.saveMemory(t, args)
		a.endBuiltin(t, c, text, err)
	case own >= 0:
		text, write, err := changeOwn(c.use.Name, a.memories[own], args, a.now())
		if err == nil {
			learn(&write.row, a.newestMessage())
			a.changeMemory(write.change, write.row, t.row.ID)
		}
		a.endBuiltin(t, c, text, err)
	default:
		a.withOwnersMemories(t, c, func(ctx context.Context) (string, *memoryWrite, error) {
			row, err := a.m.store.Memory(ctx, a.ref.Owner, args.ID)
			if err != nil || row.SessionID != "" {
				return "", nil, fmt.Errorf("there is no memory %q", args.ID)
			}
			return changeOwn(c.use.Name, *row, args, a.m.now())
		})
	}
}

// withOwnersMemories runs what changes a memory of the owner's.
func (a *actor) withOwnersMemories(t *turnRun, c *toolCall, f func(ctx context.Context) (string, *memoryWrite, error)) {
	a.inBackground(t, c, func(ctx context.Context, done *builtinDone) {
		unlock, err := a.m.userWrites.lock(ctx, a.ref.Owner)
		if err != nil {
			done.err = errors.New("the memories can't be changed just now")
			return
		}
		done.unlock = unlock
		done.text, done.write, done.err = f(ctx)
	})
}

func newMemory(owner string, now time.Time) store.Memory {
	return store.Memory{ID: message.NewMemoryID(), Owner: owner, Source: string(SourceModel), CreatedAt: now, UpdatedAt: now}
}

func (args *memoryArgs) input() MemoryInput {
	return MemoryInput{Category: args.Category, Title: args.Title, Content: args.Content}
}

func saved(id message.MemoryID) string { return fmt.Sprintf("Saved as %s.", id) }

// saveMemory saves a memory of the session.
func (a *actor) saveMemory(t *turnRun, args memoryArgs) (string, error) {
	if args.Scope != MemoryOfSession && args.Scope != "" {
		return "", fmt.Errorf("scope is %q, not session or user", args.Scope)
	}
	if len(a.memories) >= MaxSessionMemories {
		return "", errTooManyMemories(MaxSessionMemories)
	}
	row := newMemory(a.ref.Owner, a.now())
	row.SessionID = a.ref.ID
	learn(&row, a.newestMessage())
	if err := args.input().change(&row); err != nil {
		return "", err
	}
	a.changeMemory(memoryCreated, row, t.row.ID)
	return saved(row.ID), nil
}

// saveUserMemory makes a memory of the owner's.
func (m *Manager) saveUserMemory(ctx context.Context, owner string, args memoryArgs) (string, *memoryWrite, error) {
	if err := m.roomForUserMemory(ctx, owner); err != nil {
		return "", nil, err
	}
	row := newMemory(owner, m.now())
	row.Importance = string(ImportanceMedium) // the most that a model may give; a client can raise it
	if err := args.input().change(&row); err != nil {
		return "", nil, err
	}
	return saved(row.ID), &memoryWrite{memoryCreated, row}, nil
}

// changeOwn changes or deletes a memory, if a model may: one that a client wrote stays.
func changeOwn(tool string, row store.Memory, args memoryArgs, now time.Time) (string, *memoryWrite, error) {
	if row.Source == string(SourceClient) {
		return "", nil, fmt.Errorf("the memory %q was written by the user; only the user changes it", row.ID)
	}
	if tool == toolMemoryDelete {
		return "Deleted.", &memoryWrite{memoryDeleted, row}, nil
	}
	if err := args.input().change(&row); err != nil {
		return "", nil, err
	}
	row.Source, row.UpdatedAt = string(SourceModel), now
	return "Changed.", &memoryWrite{memoryUpdated, row}, nil
}

// The bounds of what a search returns.
const (
	memoryHits      = 10
	memoryHitsRunes = 1_000
)

// searchMemories looks through a session's memories and its owner's.
func (m *Manager) searchMemories(ctx context.Context, owner string, memories []store.Memory, query string) (string, error) {
	owners, err := m.store.ListMemories(ctx, store.MemoryQuery{Ref: store.Ref{Owner: owner}, Limit: MaxUserMemories})
	if err != nil {
		return "", fmt.Errorf("the memories can't be read just now")
	}
	words := strings.Fields(strings.ToLower(query))
	var b strings.Builder
	hits := 0
	for _, row := range slices.Concat(memories, owners) {
		text := strings.ToLower(row.Title + "\n" + row.Content)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			if hits++; hits > memoryHits {
				b.WriteString("There are more; narrow the query.\n")
				break
			}
			scope := MemoryOfSession
			if row.SessionID == "" {
				scope = MemoryOfUser
			}
			b.WriteString(message.Wrap("memory", oneLine(row.Title)+"\n"+cutBytes(row.Content, 4*memoryHitsRunes),
				message.Attr{Name: "id", Value: string(row.ID)}, message.Attr{Name: "scope", Value: string(scope)},
				message.Attr{Name: "category", Value: row.Category}) + "\n")
		}
	}
	if hits == 0 {
		return "No memory has these words.", nil
	}
	return b.String(), nil
}
