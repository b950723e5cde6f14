package main

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"sessiond/compaction"
	"sessiond/configs"
	"sessiond/session"
	"sessiond/tokens"
)

// checkContext refuses what compaction can't work with.
func checkContext(cfg configs.Config, refuse func(path, why string)) {
	group := contextConfig(cfg.Context)
	for _, bad := range keyErrors(group.Validate()) {
		refuse("context."+bad.Key, bad.Why)
	}
	if cfg.Server.Limits.InstructionBytes > session.MaxInstructionBytes {
		refuse("server.limits.instruction_bytes", fmt.Sprintf("must be at most %d", session.MaxInstructionBytes))
	}
	for i, m := range cfg.LLM.Models {
		if m.WindowTokens != 0 && m.WindowTokens < compaction.MinWindowTokens {
			refuse(fmt.Sprintf("llm.models[%d].window_tokens", i), fmt.Sprintf("must be at least %d", compaction.MinWindowTokens))
		}
		if m.MaxOutputTokens < 0 {
			refuse(fmt.Sprintf("llm.models[%d].max_output_tokens", i), "must not be negative")
		}
	}
}

// keyErrors takes apart what Validate has joined.
func keyErrors(err error) []*compaction.KeyError {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var keys []*compaction.KeyError
	for _, e := range joined.Unwrap() {
		if key, ok := errors.AsType[*compaction.KeyError](e); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

func contextConfig(c configs.Context) compaction.Config {
	return compaction.Config{
		ContextTokensLimit:      c.ContextTokensLimit,
		AutoCompactBufferTokens: c.AutoCompactBufferTokens,
		LandingRatio:            c.LandingRatio,
		Retention: compaction.Retention{
			MinTokens: c.Retention.MinTokens, MinTexts: c.Retention.MinTextBlockMessages, MaxTokens: c.Retention.MaxTokens,
		},
		Microcompact: compaction.MicrocompactConfig(c.Microcompact),
		ToolResult: compaction.ToolResultConfig{
			MaxTokens: c.ToolResult.MaxTokens, HeadPercent: c.ToolResult.Head, TailPercent: c.ToolResult.Tail,
		},
		Recovery:          compaction.Recovery(c.Recovery),
		Attachments:       compaction.AttachmentsConfig(c.Attachments),
		SummaryMaxTokens:  c.Summary.MaxTokens,
		SummaryUserLedger: c.Summary.UserLedger,
		EWMAAlpha:         c.EWMA.Alpha,
	}
}

// withContext adds to options what decides over the contexts of sessions, their memory and
// their cost.
func withContext(options session.Options, cfg configs.Config, m models) (session.Options, error) {
	counter, err := tokens.New(string(cfg.Context.Encoding))
	if err != nil {
		return options, fmt.Errorf("context.encoding: %w", err)
	}
	options.Context, options.Counter, options.Encoding = contextConfig(cfg.Context), counter, counter.Name()
	options.Provider, options.Endpoint = string(m.provider), m.endpoint
	options.Prices, options.Windows = m.prices, windowsOf(cfg.LLM.Models)
	options.ExtractMemory, options.MemoryTools = cfg.Memory.Extraction, cfg.Memory.Tools
	options.CacheBreakpoints = cfg.Worker.EnableStrategicCacheBreakpoints
	options.SummaryModel, options.SummaryTimeout = cfg.LLM.SummaryModel, cfg.Context.Summary.Timeout
	return options, nil
}

// windowsOf returns the windows that the operator has named.
func windowsOf(models []configs.Model) map[string]int {
	windows := make(map[string]int)
	for _, m := range models {
		if m.WindowTokens > 0 {
			windows[m.Name] = m.WindowTokens
		}
	}
	return windows
}

// announceContext says once by which numbers contexts are kept small: of the default
// model, for a request without overhead (F = 0). Sessions and what is learned of a model
// may have others.
func announceContext(o session.Options, log *zap.Logger) error {
	planner, err := compaction.New(o.Context, o.Counter, o.Encoding)
	if err != nil {
		return fmt.Errorf("context: %w", err)
	}
	window := o.Windows[o.Models[0]]
	b := planner.Budget(compaction.Limits{WindowTokens: window, MaxOutputTokens: o.MaxOutputTokens}, 0)
	log.Info("context",
		zap.Int("context_tokens_limit", b.Limit), zap.Int("input_limit", b.Input), zap.Int("window_tokens", window),
		zap.Int("auto_compact_buffer_tokens", b.Buffer), zap.Int("threshold", b.Threshold), zap.Int("landing", b.Landing),
		zap.Int("summary_tokens", b.SummaryCap), zap.Int("user_ledger_tokens", b.LedgerCap),
		zap.String("summary_model", o.SummaryModel), zap.String("encoding", o.Encoding))
	return nil
}
