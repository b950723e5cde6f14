package server

import (
	"context"
	"time"

	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
	"sessiond/store"
)

func sessionCreate(ctx context.Context, c *connection, in call[v1.SessionCreateParams]) (any, error) {
	p := in.params
	settings := session.Settings{
		Model: p.Model, SystemPrompt: p.SystemPrompt, AgentPrompt: p.AgentPrompt,
		Tools: domainTools(p.Tools), Limits: domainLimits(p.Settings), Metadata: p.Metadata,
	}
	if p.Agent != nil {
		settings.Agent = &session.Agent{Name: p.Agent.Name, SystemPrompt: p.Agent.SystemPrompt}
	}
	r, err := c.server.sessions.Create(ctx, in.ref.Owner, p.Title, settings, in.idem)
	return c.sessionResult(r, err)
}

func (c *connection) sessionResult(r session.Replay[*session.View], err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v1.SessionResult{Session: c.wireSession(r.Value), Replayed: r.Replayed}, nil
}

func sessionGet(ctx context.Context, c *connection, in call[v1.SessionGetParams]) (any, error) {
	v, err := c.server.sessions.Get(ctx, in.ref)
	if err != nil {
		return nil, err
	}
	if c.hides() || len(v.PendingCalls) > 0 { // what is shown depends on who asks, and when
		return v1.SessionGetResult{Session: c.wireSession(v)}, nil
	}
	raw := v.Encoded(func() []byte {
		raw, encErr := c.server.registry.Append(nil, v1.SessionGetResult{Session: c.wireSession(v)})
		if encErr != nil {
			err = encErr
		}
		return raw
	})
	return rawJSON(raw), err
}

func sessionList(ctx context.Context, c *connection, in call[v1.SessionListParams]) (any, error) {
	limit := int(in.params.Limit)
	q := store.ListQuery{Owner: in.ref.Owner, Status: statusOf(in.params.Status), Limit: limit + 1}
	if in.params.Cursor != "" {
		var at sessionCursor
		if err := decodeCursor(in.params.Cursor, &at); err != nil {
			return nil, err
		}
		q.BeforeUpdatedAt, q.BeforeID = at.UpdatedAt, at.ID
	}
	views, err := c.server.sessions.List(ctx, q)
	if err != nil {
		return nil, err
	}
	var out v1.SessionListResult
	if len(views) > limit {
		views = views[:limit]
		last := views[limit-1]
		out.NextCursor = encodeCursor(sessionCursor{last.UpdatedAt, last.ID})
	}
	for _, v := range views {
		out.Sessions = append(out.Sessions, c.wireSession(v))
	}
	return out, nil
}

func sessionUpdate(ctx context.Context, c *connection, in call[v1.SessionUpdateParams]) (any, error) {
	p := in.params
	u := session.Update{
		IfVersion: p.IfVersion, Title: p.Title, Model: p.Model, SystemPrompt: p.SystemPrompt, AgentPrompt: p.AgentPrompt,
	}
	if p.Tools != nil {
		tools := domainTools(p.Tools)
		u.Tools = &tools
	}
	if p.TodoList != nil {
		todos := domainTodos(p.TodoList)
		u.TodoList = &todos
	}
	if p.Settings != nil {
		limits := domainLimits(p.Settings)
		u.Limits = &limits
	}
	if p.Metadata != nil {
		u.Metadata = &p.Metadata
	}
	r, err := c.server.sessions.Update(ctx, in.ref, u, in.idem)
	return c.sessionResult(r, err)
}

func sessionClose(ctx context.Context, c *connection, in call[v1.SessionCloseParams]) (any, error) {
	r, err := c.server.sessions.CloseSession(ctx, in.ref, in.idem)
	return c.sessionResult(r, err)
}

func sessionOpen(ctx context.Context, c *connection, in call[v1.SessionOpenParams]) (any, error) {
	r, err := c.server.sessions.OpenSession(ctx, in.ref, in.idem)
	return c.sessionResult(r, err)
}

func sessionDelete(ctx context.Context, c *connection, in call[v1.SessionDeleteParams]) (any, error) {
	if err := c.server.sessions.Delete(ctx, in.ref); err != nil {
		return nil, err
	}
	return v1.SessionDeleteResult{}, nil
}

func sessionFork(ctx context.Context, c *connection, in call[v1.SessionForkParams]) (any, error) {
	var at int64
	if in.params.AtSeq != nil {
		at = *in.params.AtSeq
	}
	var title *string
	if in.params.Title != "" {
		title = &in.params.Title
	}
	r, err := c.server.sessions.Fork(ctx, in.ref, at, title, in.idem)
	return c.sessionResult(r, err)
}

// sessionCursor is the place in a list of sessions after its last row.
type sessionCursor struct {
	UpdatedAt time.Time         `json:"u"`
	ID        message.SessionID `json:"i"`
}
