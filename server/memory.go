package server

import (
	"context"
	"time"

	"sessiond/compaction"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
	"sessiond/store"
)

func memoryList(ctx context.Context, c *connection, in call[v1.MemoryListParams]) (any, error) {
	limit := int(in.params.Limit)
	q := store.MemoryQuery{Ref: store.Ref{Owner: in.ref.Owner, ID: message.SessionID(in.params.SessionID)}, Limit: limit + 1}
	if in.params.Cursor != "" {
		var at memoryCursor
		if err := decodeCursor(in.params.Cursor, &at); err != nil {
			return nil, err
		}
		q.BeforeUpdatedAt, q.BeforeID = at.UpdatedAt, at.ID
	}
	memories, err := c.server.sessions.Memories(ctx, session.MemoryScope(in.params.Scope), q)
	if err != nil {
		return nil, err
	}
	var out v1.MemoryListResult
	if len(memories) > limit {
		memories = memories[:limit]
		last := memories[limit-1]
		out.NextCursor = encodeCursor(memoryCursor{last.UpdatedAt, last.ID})
	}
	for i := range memories {
		out.Memories = append(out.Memories, wireMemory(&memories[i]))
	}
	return out, nil
}

func memoryCreate(ctx context.Context, c *connection, in call[v1.MemoryCreateParams]) (any, error) {
	p := in.params
	ref := store.Ref{Owner: in.ref.Owner, ID: message.SessionID(p.SessionID)}
	given := session.MemoryInput{
		Category: (*compaction.MemoryCategory)(&p.Category), Importance: (*session.Importance)(p.Importance),
		Title: &p.Title, Content: &p.Content,
	}
	return memoryResult(c.server.sessions.CreateMemory(ctx, session.MemoryScope(p.Scope), ref, given, in.idem))
}

func memoryUpdate(ctx context.Context, c *connection, in call[v1.MemoryUpdateParams]) (any, error) {
	p := in.params
	given := session.MemoryInput{
		Category: (*compaction.MemoryCategory)(p.Category), Importance: (*session.Importance)(p.Importance),
		Title: p.Title, Content: p.Content,
	}
	return memoryResult(c.server.sessions.UpdateMemory(ctx, in.ref.Owner, message.MemoryID(p.MemoryID), given, in.idem))
}

func memoryDelete(ctx context.Context, c *connection, in call[v1.MemoryDeleteParams]) (any, error) {
	was, err := c.server.sessions.DeleteMemory(ctx, in.ref.Owner, message.MemoryID(in.params.MemoryID), in.idem)
	if err != nil {
		return nil, err
	}
	return v1.MemoryDeleteResult{Replayed: was.Replayed}, nil
}

func memoryResult(r session.Replay[session.Memory], err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v1.MemoryResult{Memory: wireMemory(&r.Value), Replayed: r.Replayed}, nil
}

func wireMemory(m *session.Memory) v1.Memory {
	return v1.Memory{
		ID: string(m.ID), Scope: v1.MemoryScope(m.Scope), SessionID: string(m.SessionID),
		Category: v1.MemoryCategory(m.Category), Importance: v1.Importance(m.Importance),
		Title: m.Title, Content: m.Content, Source: v1.MemorySource(m.Source), SourceSeqs: m.SourceSeqs,
		CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
	}
}

// memoryCursor is the place in a list of memories after its last row.
type memoryCursor struct {
	UpdatedAt time.Time        `json:"u"`
	ID        message.MemoryID `json:"i"`
}
