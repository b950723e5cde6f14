package server

import (
	"context"
	"time"

	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

func toolSubmitResult(ctx context.Context, c *connection, in call[v1.ToolSubmitResultParams]) (any, error) {
	r, err := c.server.sessions.SubmitToolResult(ctx, in.ref, session.ToolResult{
		ToolUseID: message.ToolUseID(in.params.ToolUseID), Content: domainBlocks(in.params.Content),
		IsError: in.params.IsError, ClaimToken: in.params.ClaimToken,
	}, in.idem)
	if err != nil {
		return nil, err
	}
	return v1.ToolSubmitResultResult{Accepted: r.Value.Accepted, Replayed: r.Replayed}, nil
}

func toolClaim(ctx context.Context, c *connection, in call[v1.ToolClaimParams]) (any, error) {
	lease := time.Duration(in.params.LeaseMS) * time.Millisecond
	r, err := c.server.sessions.ClaimToolCall(ctx, in.ref, message.ToolUseID(in.params.ToolUseID), lease, in.params.ClaimToken, in.idem)
	if err != nil {
		return nil, err
	}
	return v1.ToolClaimResult{ClaimToken: r.Value.Token, LeaseUntil: r.Value.LeaseUntil, Replayed: r.Replayed}, nil
}
