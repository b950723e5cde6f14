package main

import (
	"context"
	"io"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sessiond/configs"
	"sessiond/llm"
	v1 "sessiond/rpc/v1"
	"sessiond/server"
	"sessiond/session"
	"sessiond/store"
	"sessiond/store/postgres"
	"sessiond/store/sqlite"
)

// openStore opens the database that a URL names and brings it up to date.
func openStore(ctx context.Context, url string) (store.Store, error) {
	if strings.HasPrefix(url, "sqlite:") {
		return asStore(sqlite.Open(ctx, url, sqlite.Options{ForServer: true}))
	}
	return asStore(postgres.Open(ctx, url, postgres.Options{}))
}

// asStore keeps the nil of a driver that did not open from becoming a store that looks
// like one.
func asStore[S store.Store](st S, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return st, nil
}

func sessionOptions(cfg configs.Config, names []string) session.Options {
	return session.Options{
		SystemPrompt: cfg.Worker.SystemPrompt, Models: names, MaxOutputTokens: cfg.LLM.MaxOutputTokens,
		MaxRoundsPerTurn: cfg.Worker.MaxRoundsPerTurn, MaxTokensPerTurn: int64(cfg.Worker.MaxTokensPerTurn),
		Thinking: llm.ThinkingLevel(cfg.LLM.Thinking), RetryMaxDelay: cfg.LLM.RetryMaxDelay, RetryBudget: cfg.LLM.RetryBudget,
		MaxTurnDuration: cfg.Worker.MaxTurnDuration, ToolTimeout: cfg.Worker.ToolTimeout, IdleUnload: cfg.Worker.IdleUnload,
		MailboxCommands: cfg.Server.Limits.Mailbox, MaxQueuedMessages: cfg.Server.Limits.QueuedMessages,
		MaxRunningTurns: cfg.Server.Limits.RunningTurns, UnlimitedOwner: server.LocalOwner,
	}
}

func wireLimits(l configs.Limits) v1.Limits {
	return v1.Limits{
		FrameBytes: int64(l.FrameBytes), Batch: int64(l.Batch), CallsInFlight: int64(l.CallsInFlight),
		Subscriptions: int64(l.Subscriptions), Nesting: int64(l.Nesting), IDBytes: int64(l.IDBytes),
		Mailbox: int64(l.Mailbox), QueuedMessages: int64(l.QueuedMessages), ToolResultBytes: int64(l.ToolResultBytes),
		PromptBytes: int64(l.PromptBytes), Tools: int64(l.Tools), ToolsBytes: int64(l.ToolsBytes),
		TitleBytes: int64(l.TitleBytes), MetadataBytes: int64(l.MetadataBytes), InstructionBytes: int64(l.InstructionBytes),
		MemoryTitleBytes: session.MaxMemoryTitleBytes, MemoryContentBytes: session.MaxMemoryContentBytes,
		SessionMemories: session.MaxSessionMemories, UserMemories: session.MaxUserMemories,
		PingMS: l.Ping.Milliseconds(), PongMS: l.Pong.Milliseconds(), WriteMS: l.Write.Milliseconds(),
		CallsPerMinute: int64(l.CallsPerMinute), RunningTurns: int64(l.RunningTurns),
	}
}

// newLogger writes to w: lines for people, or one JSON object a line for machines.
func newLogger(cfg configs.Log, w io.Writer) *zap.Logger {
	enc := zap.NewProductionEncoderConfig()
	enc.TimeKey = "time"
	enc.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	encoder := zapcore.NewJSONEncoder(enc)
	if cfg.Format == configs.FormatConsole {
		enc.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		enc.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(enc)
	}
	level, err := zapcore.ParseLevel(string(cfg.Level))
	if err != nil {
		level = zapcore.InfoLevel // the loader refuses other names
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level))
}
