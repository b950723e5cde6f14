package main

import (
	"context"
	"fmt"

	"sessiond/internal/client"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

// command reports whether what is to be sent is the command that compacts the session, and
// with which instruction.
func (s *sender) command() (instruction string, ok bool) {
	if len(s.files) > 0 {
		return "", false
	}
	return session.CompactInstruction([]message.Block{message.Text{Text: s.text}})
}

// compact has the session compacted and prints how that ended. It makes the call and does
// not send the message: a compaction with nothing to do leaves no entry to wait for.
func (s *sender) compact(ctx context.Context, conn *client.Conn, instruction string) error {
	params := map[string]any{"session_id": s.follow.SessionID, "key": s.key}
	if instruction != "" {
		params["custom_instruction"] = instruction
	}
	var r v1.CompactionResult
	if err := conn.Call(ctx, v1.MethodSessionCompact, params, &r); err != nil {
		return err
	}
	reason := ""
	if r.Reason != "" {
		reason = ": " + r.Reason
	}
	switch r.Outcome {
	case v1.CompactionApplied, v1.CompactionDegraded:
		s.print(fmt.Sprintf("[compacted from %d to %d tokens (%s%s); summary by %s]\n%s\n",
			*r.TokensBefore, *r.TokensAfter, r.Outcome, reason, r.Writer, r.Summary))
		return nil
	case v1.CompactionNoop:
		s.print(fmt.Sprintf("[not compacted%s]\n", reason))
		return nil
	case v1.CompactionNoProgress, v1.CompactionFailed, v1.CompactionAborted:
	}
	return &finalError{fmt.Sprintf("the compaction ended as %s%s", r.Outcome, reason)}
}
