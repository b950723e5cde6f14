package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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

// runMemoryTool runs a memory tool of the model's. It may read the database: of the
// owner's memories a session knows only what is shown.
func (m *Manager) runMemoryTool(ctx context.Context, a memoryAccess, use message.ToolUse) (string, *memoryWrite, error) {
	var args memoryArgs
	if err := json.Unmarshal(use.Input, &args); err != nil {
		return "", nil, fmt.Errorf("the input does not fit the schema: %w", err)
	}
	if use.Name == toolMemorySearch {
		text, err := m.searchMemories(ctx, a, args.Query)
		return text, nil, err
	}
	if use.Name == toolMemorySave {
		return m.saveMemory(a, args)
	}
	row, err := m.ownMemory(ctx, a, args.ID)
	if err != nil {
		return "", nil, err
	}
	if use.Name == toolMemoryDelete {
		return "Deleted.", &memoryWrite{memoryDeleted, *row}, nil
	}
	in := MemoryInput{Category: args.Category, Title: args.Title, Content: args.Content}
	if err := in.change(row); err != nil {
		return "", nil, err
	}
	row.UpdatedAt = m.now()
	return "Changed.", &memoryWrite{memoryUpdated, *row}, nil
}

// memoryAccess is what a memory tool needs of its session.
type memoryAccess struct {
	ref      store.Ref
	memories []store.Memory
}

// memoryWrite is what a tool wants to be changed.
type memoryWrite struct {
	change memoryChange
	row    store.Memory
}

func (m *Manager) saveMemory(a memoryAccess, args memoryArgs) (string, *memoryWrite, error) {
	now := m.now()
	row := store.Memory{ID: message.NewMemoryID(), Owner: a.ref.Owner, Source: string(SourceModel), CreatedAt: now, UpdatedAt: now}
	switch args.Scope {
	case MemoryOfUser:
		row.Importance = string(ImportanceMedium) // the most that a model may give; a client can raise it
	case MemoryOfSession, "":
		row.SessionID = a.ref.ID
		if len(a.memories) >= MaxSessionMemories {
			return "", nil, errTooManyMemories(MaxSessionMemories)
		}
	default:
		return "", nil, fmt.Errorf("scope is %q, not session or user", args.Scope)
	}
	in := MemoryInput{Category: args.Category, Title: args.Title, Content: args.Content}
	if err := in.change(&row); err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("Saved as %s.", row.ID), &memoryWrite{memoryCreated, row}, nil
}

// ownMemory finds a memory that a model may change: one that a model wrote.
func (m *Manager) ownMemory(ctx context.Context, a memoryAccess, id message.MemoryID) (*store.Memory, error) {
	at := slices.IndexFunc(a.memories, func(row store.Memory) bool { return row.ID == id })
	var row *store.Memory
	if at >= 0 {
		found := a.memories[at]
		row = &found
	} else {
		found, err := m.store.Memory(ctx, a.ref.Owner, id)
		if err != nil || found.SessionID != "" {
			return nil, fmt.Errorf("there is no memory %q", id)
		}
		row = found
	}
	if row.Source == string(SourceClient) {
		return nil, fmt.Errorf("the memory %q was written by the user; only the user changes it", id)
	}
	return row, nil
}

// The bounds of what a search returns.
const (
	memoryHits      = 10
	memoryHitsRunes = 1_000
)

func (m *Manager) searchMemories(ctx context.Context, a memoryAccess, query string) (string, error) {
	owners, err := m.store.ListMemories(ctx, store.MemoryQuery{Ref: store.Ref{Owner: a.ref.Owner}, Limit: MaxUserMemories})
	if err != nil {
		return "", fmt.Errorf("the memories can't be read just now")
	}
	words := strings.Fields(strings.ToLower(query))
	var b strings.Builder
	hits := 0
	for _, row := range slices.Concat(a.memories, owners) {
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
