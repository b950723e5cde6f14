package v1

import (
	"encoding/json"
	"time"
)

// ToolCallStatus says where an unresolved tool call stands.
type ToolCallStatus string

// The states of a call without a result.
const (
	ToolCallPending ToolCallStatus = "pending"
	ToolCallClaimed ToolCallStatus = "claimed"
)

func (ToolCallStatus) enum() []string {
	return []string{string(ToolCallPending), string(ToolCallClaimed)}
}

// PendingToolCall is a tool call that waits for its result. Times are UTC.
type PendingToolCall struct {
	ToolUseID  string          `json:"tool_use_id" doc:"The call's id, unique in the session."`
	TurnID     string          `json:"turn_id" v:"uuid" doc:"The turn that waits for it."`
	Name       string          `json:"name" doc:"The tool."`
	Input      json.RawMessage `json:"input,omitempty" v:"object" doc:"The tool's input, byte for byte; absent for read tickets."`
	Deadline   time.Time       `json:"deadline" doc:"When the server gives it an error result."`
	Status     ToolCallStatus  `json:"status" doc:"Whether a client has claimed it."`
	LeaseUntil *time.Time      `json:"lease_until,omitempty" doc:"When the claim ends."`
}

// ToolSubmitResultParams are the params of v1.tool.submit_result.
type ToolSubmitResultParams struct {
	OfSession
	ToolUseID  string  `json:"tool_use_id" v:"nonempty,max=128" doc:"The call."`
	Content    Content `json:"content" v:"max=tool_result_bytes" doc:"The result: a string, or text and image blocks."`
	IsError    bool    `json:"is_error,omitempty" v:"default=false" doc:"The tool failed; the content says how."`
	ClaimToken string  `json:"claim_token,omitempty" v:"nonempty,max=128" doc:"The token of v1.tool.claim; needed while the call is claimed."`
	WithKey
}

// ToolSubmitResultResult is the result of v1.tool.submit_result.
type ToolSubmitResultResult struct {
	Accepted bool `json:"accepted" doc:"The call has this result."`
	Replayed bool `json:"replayed" doc:"It had it before."`
}

// ToolClaimParams are the params of v1.tool.claim.
type ToolClaimParams struct {
	OfSession
	ToolUseID  string `json:"tool_use_id" v:"nonempty,max=128" doc:"The call."`
	LeaseMS    int64  `json:"lease_ms" v:"min=1,max=60000" doc:"How long the claim lives."`
	ClaimToken string `json:"claim_token,omitempty" v:"nonempty,max=128" doc:"The token of a claim that still lives; extends it."`
	WithKey
}

// ToolClaimResult is the result of v1.tool.claim.
type ToolClaimResult struct {
	ClaimToken string    `json:"claim_token" doc:"Resolves the call while the claim lives."`
	LeaseUntil time.Time `json:"lease_until" doc:"When the claim ends."`
	Replayed   bool      `json:"replayed,omitempty" doc:"The key was used before; this is the first call's result."`
}
