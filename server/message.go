package server

import (
	"context"

	"sessiond/ingest"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

func messageSend(ctx context.Context, c *connection, in call[v1.MessageSendParams]) (any, error) {
	files := make([]ingest.File, len(in.params.Attachments))
	for i, a := range in.params.Attachments {
		files[i] = ingest.File(a)
	}
	content := domainBlocks(in.params.Content)
	if instruction, _ := session.CompactInstruction(content); instruction != "" && c.hides() {
		return nil, kindError(v1.KindForbidden, "a ticket may not give an instruction to a compaction", 0)
	}
	r, err := c.server.sessions.SendFiles(ctx, in.ref, content, files, session.WhenBusy(in.params.WhenBusy), in.idem)
	if err != nil {
		return nil, err
	}
	told := make([]v1.SentFile, len(r.Value.Files))
	for i, f := range r.Value.Files {
		told[i] = v1.SentFile{Name: f.Name, Tokens: int64(f.Tokens), ShownTokens: int64(f.Shown), Changes: f.Changes}
	}
	return v1.MessageSendResult{
		MessageID: string(r.Value.MessageID), Seq: r.Value.Seq, TurnID: string(r.Value.TurnID),
		Queued: r.Value.Queued, Command: r.Value.Command, Files: told, Replayed: r.Replayed,
	}, nil
}

func messageList(ctx context.Context, c *connection, in call[v1.MessageListParams]) (any, error) {
	q := session.MessageQuery{Limit: int(in.params.Limit)}
	switch {
	case in.params.AfterSeq != nil:
		q.Ascending, q.AfterSeq = true, *in.params.AfterSeq
	case in.params.BeforeSeq != nil:
		q.BeforeSeq = *in.params.BeforeSeq
	}
	msgs, more, err := c.server.sessions.Messages(ctx, in.ref, q)
	if err != nil {
		return nil, err
	}
	out := v1.MessageListResult{More: more}
	for _, m := range msgs {
		out.Messages = append(out.Messages, message.Append(nil, m, message.Form{OmitOverBytes: session.OmitOverBytes}))
	}
	return out, nil
}

func messageGet(ctx context.Context, c *connection, in call[v1.MessageGetParams]) (any, error) {
	m, err := c.server.sessions.Message(ctx, in.ref, message.ID(in.params.MessageID))
	if err != nil {
		return nil, err
	}
	return v1.MessageGetResult{Message: message.Append(nil, m, message.Form{})}, nil
}
