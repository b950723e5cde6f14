package server

import (
	"context"

	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

func sessionCompact(ctx context.Context, c *connection, in call[v1.SessionCompactParams]) (any, error) {
	p := in.params
	if p.CustomInstruction != "" && c.hides() {
		return nil, kindError(v1.KindForbidden, "a ticket may not give an instruction to a compaction", 0)
	}
	o := session.CompactOptions{Instruction: p.CustomInstruction, DryRun: p.DryRun, Wait: p.Wait}
	r, err := c.server.sessions.Compact(ctx, in.ref, o, in.idem)
	return compactionResult(r, err)
}

func sessionUndoCompact(ctx context.Context, c *connection, in call[v1.SessionUndoCompactParams]) (any, error) {
	r, err := c.server.sessions.UndoCompact(ctx, in.ref, in.idem)
	return compactionResult(r, err)
}

func sessionContext(ctx context.Context, c *connection, in call[v1.SessionContextParams]) (any, error) {
	if in.params.IncludeView && c.hides() {
		return nil, kindError(v1.KindForbidden, "a ticket may not see the view", 0)
	}
	info, err := c.server.sessions.Context(ctx, in.ref, in.params.IncludeView)
	if err != nil {
		return nil, err
	}
	out := wireContext(info)
	if in.params.IncludeView {
		out.View = make([]rawJSON, len(info.View))
		for i := range info.View {
			if out.View[i], err = c.server.wireViewMessage(&info.View[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// compactionResult leaves out what is not known yet of one that was only taken on.
func compactionResult(r session.Replay[*session.Compaction], err error) (any, error) {
	if err != nil {
		return nil, err
	}
	v := r.Value
	out := v1.CompactionResult{Queued: v.Queued, Replayed: r.Replayed}
	if v.Queued {
		return out, nil
	}
	out.Outcome, out.Reason = v1.CompactionOutcome(v.Outcome), string(v.Reason)
	out.Trigger, out.Writer = v1.CompactionTrigger(v.Trigger), v1.SummaryWriter(v.Writer)
	out.Generation, out.Level = new(v.Generation), new(int64(v.Level))
	out.BoundarySeq, out.PinnedSeq = new(v.BoundarySeq), v.PinnedSeq
	out.TokensBefore, out.TokensAfter = new(int64(v.TokensBefore)), new(int64(v.TokensAfter))
	out.Summary, out.InstructionUsed = v.Summary, new(v.InstructionUsed)
	out.Survived = &v1.Survived{
		UserMessages: int64(v.Survived.UserMessages), UserMessagesCut: int64(v.Survived.UserMessagesCut),
		UserMessagesCounted: int64(v.Survived.UserMessagesCounted), Files: int64(v.Survived.Files),
	}
	if v.Usage != nil {
		out.Usage = new(v1.Usage(*v.Usage))
	}
	out.CostUSD, out.HitRate, out.UncachedUSD, out.SavedUSD = v.CostUSD, v.HitRate, v.UncachedUSD, v.SavedUSD
	out.CacheEffectUSD, out.DurationMS = v.CacheEffectUSD, new(v.DurationMS)
	if v.Plan != nil {
		out.Plan = &v1.CompactionPlan{
			FromSeq: v.Plan.FromSeq, ThroughSeq: v.Plan.ThroughSeq, Messages: int64(v.Plan.Messages),
			Landing: int64(v.Plan.Landing), Lands: v.Plan.Lands,
		}
	}
	return out, nil
}

func wireContext(info *session.ContextInfo) v1.SessionContextResult {
	b := info.Budget
	out := v1.SessionContextResult{
		Model: info.Model, Progress: wireProgress(info.Progress), CompactionPaused: wirePause(info.Paused),
		ContextTokens: int64(info.ContextTokens), Judged: int64(info.Judged), Parts: make([]v1.ContextPart, len(info.Parts)),
		ContextTokensLimit: int64(b.Limit), InputLimit: int64(b.Input), MaxOutputTokens: int64(b.Output), BufferTokens: int64(b.Buffer),
		Overhead: int64(b.Overhead), Threshold: int64(b.Threshold), Headroom: int64(b.Headroom), Landing: int64(b.Landing),
		High: int64(b.High), Edge: int64(b.Edge), SummaryCap: int64(b.SummaryCap), LedgerCap: int64(b.LedgerCap),
		Share: int64(b.Share), PinnedTokens: int64(b.PinnedMax),
		Level: int64(info.Level), Generation: info.Generation, BoundarySeq: info.BoundarySeq, PinnedSeq: info.PinnedSeq,
		Ratio: info.Ratio, Encoding: info.Encoding, Cleared: make([]string, len(info.Cleared)),
	}
	for i, p := range info.Parts {
		out.Parts[i] = v1.ContextPart{Name: p.Name, Tokens: int64(p.Tokens)}
	}
	for i, id := range info.Cleared {
		out.Cleared[i] = string(id)
	}
	return out
}

// wireViewMessage encodes a message as the model is shown it, which may be none of the
// log's.
func (s *Server) wireViewMessage(m *message.Message) (rawJSON, error) {
	form := message.Form{OmitOverBytes: session.OmitOverBytes}
	out := v1.ViewMessage{ID: string(m.ID), Seq: m.Seq, Role: v1.Role(m.Role), Content: make([]rawJSON, len(m.Content))}
	for i, b := range m.Content {
		list := message.AppendBlocks(nil, []message.Block{b}, form)
		out.Content[i] = list[1 : len(list)-1]
	}
	return s.registry.Append(nil, out)
}

func wireProgress(g session.Gauge) v1.Progress {
	return v1.Progress{
		CurrentContextTokens: int64(g.ContextTokens), CompressionThreshold: int64(g.Threshold), CompressionProgress: g.Percent,
		EstimatedNextRoundTokens: int64(g.NextRound), RoundsUntilCompression: int64(g.RoundsUntil), Estimated: g.Estimated,
	}
}

func wirePause(p *session.Pause) *v1.CompactionPause {
	if p == nil {
		return nil
	}
	return &v1.CompactionPause{Reason: v1.PauseReason(p.Reason), Until: optionalTime(p.Until)}
}
