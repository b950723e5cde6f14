package server

import (
	"time"

	"sessiond/cost"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
	"sessiond/store"
)

// wireSession translates a view. Prompts and tool inputs are left out for tickets that
// may not see them.
func (c *connection) wireSession(v *session.View) v1.Session {
	s := v.Settings
	out := v1.Session{
		ID: string(v.ID), LogID: v.LogID, Title: v.Title, Status: v1.SessionStatus(v.Status), Queued: int64(v.Queued),
		Model: s.Model, Metadata: s.Metadata, Version: v.Version, HeadSeq: v.HeadSeq,
		Tools:     make([]v1.Tool, len(s.Tools)),
		TodoList:  make([]v1.TodoItem, len(s.TodoList)),
		Settings:  wireLimits(s.Limits),
		CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt, ClosedAt: optionalTime(v.ClosedAt),
		PendingToolCalls: c.wirePending(v.PendingCalls),
		Usage:            v1.Usage(v.Usage), Cache: v1.CacheReport(v.Cache),
		Generation: v.Generation, ReactiveLevel: int64(v.ReactiveLevel),
		CompactionPaused: wirePause(v.Paused), Progress: wireProgress(v.Gauge),
	}
	for i, t := range s.Tools {
		out.Tools[i] = v1.Tool(t)
	}
	for i, t := range s.TodoList {
		out.TodoList[i] = v1.TodoItem{Content: t.Content, ActiveForm: t.ActiveForm, Status: v1.TodoStatus(t.Status)}
	}
	if s.ForkedFrom != nil {
		out.ForkedFrom = &v1.ForkPoint{SessionID: string(s.ForkedFrom.SessionID), Seq: s.ForkedFrom.Seq}
	}
	if c.hides() {
		return out
	}
	out.SystemPrompt, out.AgentPrompt = s.SystemPrompt, s.AgentPrompt
	if s.Agent != nil {
		out.Agent = &v1.Agent{Name: s.Agent.Name, SystemPrompt: s.Agent.SystemPrompt}
	}
	return out
}

func (c *connection) wirePending(calls []session.PendingCall) []v1.PendingToolCall {
	out := make([]v1.PendingToolCall, len(calls))
	now := c.server.opts.Now()
	for i, p := range calls {
		out[i] = v1.PendingToolCall{
			ToolUseID: string(p.ToolUseID), TurnID: string(p.TurnID), Name: p.Name,
			Deadline: p.Deadline, Status: v1.ToolCallPending,
		}
		if c.principal.scope >= v1.ScopeChat {
			out[i].Input = p.Input
		}
		if now.Before(p.ClaimedUntil) {
			out[i].Status, out[i].LeaseUntil = v1.ToolCallClaimed, optionalTime(p.ClaimedUntil)
		}
	}
	return out
}

func wireLimits(l session.Limits) v1.Settings {
	return v1.Settings{
		ContextTokensLimit: l.ContextTokensLimit, AutoCompactBufferTokens: l.AutoCompactBufferTokens,
		Thinking: (*v1.Thinking)(l.Thinking), MaxRoundsPerTurn: l.MaxRoundsPerTurn,
	}
}

func domainLimits(s *v1.Settings) session.Limits {
	if s == nil {
		return session.Limits{}
	}
	return session.Limits{
		ContextTokensLimit: s.ContextTokensLimit, AutoCompactBufferTokens: s.AutoCompactBufferTokens,
		Thinking: (*string)(s.Thinking), MaxRoundsPerTurn: s.MaxRoundsPerTurn,
	}
}

func domainTools(tools []v1.Tool) []session.Tool {
	out := make([]session.Tool, len(tools))
	for i, t := range tools {
		out[i] = session.Tool(t)
	}
	return out
}

func domainTodos(items []v1.TodoItem) []session.Todo {
	out := make([]session.Todo, len(items))
	for i, t := range items {
		out[i] = session.Todo{Content: t.Content, ActiveForm: t.ActiveForm, Status: string(t.Status)}
	}
	return out
}

func domainBlocks(content v1.Content) []message.Block {
	out := make([]message.Block, len(content.Blocks))
	for i, b := range content.Blocks {
		if b.Type == v1.BlockImage {
			out[i] = message.Image{MimeType: b.MimeType, Data: b.Data}
			continue
		}
		out[i] = message.Text{Text: b.Text}
	}
	return out
}

func wireTurn(t *session.Turn) v1.Turn {
	usage := v1.Usage(t.Usage)
	bill := cost.Bill{Usage: t.Usage, UncachedUSD: t.UncachedUSD}
	out := v1.Turn{
		ID: string(t.ID), SessionID: string(t.SessionID), MessageID: string(t.MessageID),
		Status: v1.TurnStatus(t.Status), Rounds: int64(t.Rounds), Usage: usage, CostUSD: usage.CostUSD,
		HitRate: bill.HitRate(), UncachedUSD: bill.UncachedUSD, SavedUSD: bill.SavedUSD(),
		CreatedAt: t.CreatedAt, StartedAt: optionalTime(t.StartedAt), CompletedAt: optionalTime(t.CompletedAt),
	}
	if t.Error != nil {
		out.Error = &v1.TurnError{Kind: v1.TurnErrorKind(t.Error.Kind), Message: t.Error.Message}
	}
	if len(t.UsageByPurpose) > 0 {
		out.UsageByPurpose = &v1.UsageByPurpose{
			Chat: usageOf(t, "chat"), Summary: usageOf(t, "summary"), Memory: usageOf(t, "memory"),
		}
	}
	return out
}

// usageOf returns what a turn used for a purpose, nil if nothing.
func usageOf(t *session.Turn, purpose string) *v1.Usage {
	u, ok := t.UsageByPurpose[purpose]
	if !ok {
		return nil
	}
	return new(v1.Usage(u))
}

func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// statusOf is the column value of a status that lists select by.
func statusOf(s v1.SessionStatus) store.Status { return store.Status(s) }
