package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"time"

	"sessiond/message"
	"sessiond/store"
)

// SubmitResult tells that a tool's result was taken.
type SubmitResult struct {
	Accepted bool `json:"accepted"`
}

// ToolResult is what a client hands in for a tool call.
type ToolResult struct {
	ToolUseID  message.ToolUseID
	Content    []message.Block // text and images
	IsError    bool
	ClaimToken string
}

// SubmitToolResult resolves a pending call from any connection of the owner. The same
// content again is answered as a replay. Empty text blocks are left out: no provider
// takes them, and they say nothing. Pictures are checked and scaled down. Errors:
// unsupported_media, content_too_large, not_found, session_closed,
// tool_call_not_found, tool_call_claimed, tool_call_resolved, idempotency_conflict,
// overloaded, shutting_down.
func (m *Manager) SubmitToolResult(ctx context.Context, ref store.Ref, r ToolResult, i Idempotency) (Replay[SubmitResult], error) {
	r.Content = slices.DeleteFunc(slices.Clone(r.Content), func(b message.Block) bool { return b == message.Text{} })
	content, err := m.takeResult(ctx, r.Content)
	if err != nil {
		return Replay[SubmitResult]{}, err
	}
	r.Content = content
	return keyedCall(ctx, m, ref, i, func(p promise[Replay[SubmitResult]]) command {
		return submitCommand{keyed{i}, r, p}
	})
}

type submitCommand struct {
	keyed
	result ToolResult
	reply  promise[Replay[SubmitResult]]
}

func (c submitCommand) apply(ctx context.Context, a *actor) {
	if replayed(a, c.keyed, c.reply) {
		return
	}
	if !a.row.ClosedAt.IsZero() {
		c.reply.fail(errClosed())
		return
	}
	t := a.turn
	if t == nil || t.call(c.result.ToolUseID) == nil {
		a.withHistory(ctx, func(context.Context) { c.applyLate(a) })
		return
	}
	call := t.call(c.result.ToolUseID)
	switch {
	case call.res != nil:
		c.again(a, message.ToolResult{ToolUseID: call.use.ID, Content: call.res.Content, IsError: call.res.IsError})
		return
	case call.claim.live(a.m.opts.Now()) && subtle.ConstantTimeCompare([]byte(call.claim.token), []byte(c.result.ClaimToken)) != 1:
		c.reply.fail(errClaimed(call))
		return
	}
	a.resolve(t, call, ByClient, c.result.Content, c.result.IsError)
	a.closeCalls(t)
	finish(a, c.keyed, c.reply, SubmitResult{Accepted: true})
}

// applyLate answers for a call that is not open any more, or never was.
func (c submitCommand) applyLate(a *actor) {
	if known, ok := a.history.result(c.result.ToolUseID); ok {
		c.again(a, known)
		return
	}
	c.reply.fail(&Error{
		Kind: KindToolCallNotFound, Message: "the session has no such tool call",
		Data: map[string]any{"tool_use_id": string(c.result.ToolUseID)},
	})
}

// again answers a second result for a call.
func (c submitCommand) again(a *actor, known message.ToolResult) {
	same := known.IsError == c.result.IsError &&
		bytes.Equal(message.AppendBlocks(nil, known.Content, message.Form{}), message.AppendBlocks(nil, c.result.Content, message.Form{}))
	if !same {
		c.reply.fail(&Error{
			Kind: KindToolCallResolved, Message: "the call has another result already",
			Data: map[string]any{"tool_use_id": string(c.result.ToolUseID)},
		})
		return
	}
	okOnFlush(a, c.reply, Replay[SubmitResult]{Value: SubmitResult{Accepted: true}, Replayed: true})
}

// ClaimResult is a claim on a tool call.
type ClaimResult struct {
	Token      string    `json:"claim_token"`
	LeaseUntil time.Time `json:"lease_until"`
}

// ClaimToolCall reserves a pending call: while the lease lives only its token
// resolves the call. Claiming again with the token extends the lease. Errors: as
// SubmitToolResult.
func (m *Manager) ClaimToolCall(ctx context.Context, ref store.Ref, id message.ToolUseID, lease time.Duration, token string, i Idempotency) (Replay[ClaimResult], error) {
	return keyedCall(ctx, m, ref, i, func(p promise[Replay[ClaimResult]]) command {
		return claimCommand{keyed{i}, id, lease, token, p}
	})
}

type claimCommand struct {
	keyed
	id    message.ToolUseID
	lease time.Duration
	token string
	reply promise[Replay[ClaimResult]]
}

func (c claimCommand) apply(ctx context.Context, a *actor) {
	if replayed(a, c.keyed, c.reply) {
		return
	}
	if !a.row.ClosedAt.IsZero() {
		c.reply.fail(errClosed())
		return
	}
	var call *toolCall
	if a.turn != nil {
		call = a.turn.call(c.id)
	}
	if call == nil || call.res != nil {
		a.withHistory(ctx, func(context.Context) { c.refuse(a, call) })
		return
	}
	live := call.claim.live(a.m.opts.Now())
	switch {
	case live && subtle.ConstantTimeCompare([]byte(call.claim.token), []byte(c.token)) != 1:
		c.reply.fail(errClaimed(call))
		return
	case !live:
		call.claim.token = rand.Text()
	}
	call.claim.until = a.now().Add(c.lease)
	a.turn.keepClaim(call)
	a.stageTurn()
	a.append(EntryToolClaimed, a.turn.row.ID, "", encode(toolClaimedBody{ToolUseID: c.id, LeaseUntil: call.claim.until}), nil)
	finish(a, c.keyed, c.reply, ClaimResult{Token: call.claim.token, LeaseUntil: call.claim.until})
}

func (c claimCommand) refuse(a *actor, call *toolCall) {
	_, resolved := a.history.result(c.id)
	e := &Error{Kind: KindToolCallNotFound, Message: "the session has no such tool call"}
	if resolved || call != nil {
		e = &Error{Kind: KindToolCallResolved, Message: "the call has its result already"}
	}
	e.Data = map[string]any{"tool_use_id": string(c.id)}
	c.reply.fail(e)
}

func (c claim) live(now time.Time) bool { return c.token != "" && now.Before(c.until) }

func errClaimed(call *toolCall) error {
	return &Error{
		Kind: KindToolCallClaimed, Message: "another client has claimed the call",
		Data: map[string]any{"tool_use_id": string(call.use.ID), "lease_until": call.claim.until},
	}
}
