package compaction

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config is the group context: of the settings, with every number that decides what
// the model sees. The zero value is not usable; start from [DefaultConfig].
type Config struct {
	// ContextTokensLimit (L) bounds the input of a request.
	ContextTokensLimit int
	// AutoCompactBufferTokens is what the trigger stays below the limit; 0 leaves it
	// to the rule min(13,000, 0.52 × L′).
	AutoCompactBufferTokens int
	// LandingRatio is how much of the headroom may be in use after a compaction.
	LandingRatio float64
	Retention    Retention
	Microcompact MicrocompactConfig
	ToolResult   ToolResultConfig
	Recovery     Recovery
	Attachments  AttachmentsConfig
	// SummaryMaxTokens caps what the model writes; 0 stands for 0.15 × H, at most 8,000.
	SummaryMaxTokens int
	// SummaryUserLedger caps the user's own words; 0 stands for 0.10 × H, at most 20,000.
	SummaryUserLedger int
	// EWMAAlpha is the weight of the newest growth.
	EWMAAlpha float64
}

// Retention says what stays verbatim: back from the end until MinTokens and
// MinTexts are reached, or MaxTokens is. All three are wishes; the budget clamps them.
type Retention struct {
	MinTokens int
	MinTexts  int // messages with a text block that is not blank
	MaxTokens int
}

// MicrocompactConfig says when old results of cleanable tools make room by themselves.
type MicrocompactConfig struct {
	Idle  time.Duration // the last assistant message is older than this
	Keep  int           // newest results that stay
	Tools []string      // names of cleanable tools, in any case
}

// ToolResultConfig is the budget of one tool result.
type ToolResultConfig struct {
	MaxTokens   int
	HeadPercent int // of MaxTokens, shown from the start of a longer one
	TailPercent int // and from its end
}

// Recovery bounds the files that are shown again after a compaction.
type Recovery struct {
	MaxFiles         int
	MaxTokens        int
	MaxTokensPerFile int
}

// AttachmentsConfig bounds what of the session's memory is shown.
type AttachmentsConfig struct {
	SessionMemoryTokens  int
	SessionMemoryEntries int
}

// The bounds of a limit, configured or learned, and the default rule of the buffer.
const (
	// MinLimitTokens is the smallest context_tokens_limit that is accepted.
	MinLimitTokens = 4_000
	// MinWindowTokens is the smallest window that is believed when it is learned from
	// an error.
	MinWindowTokens = 4_096

	maxBufferTokens = 13_000
	bufferPerMille  = 520
)

// DefaultConfig returns the product's contract.
func DefaultConfig() Config {
	return Config{
		ContextTokensLimit: 25_000,
		LandingRatio:       0.6,
		Retention:          Retention{MinTokens: 10_000, MinTexts: 5, MaxTokens: 40_000},
		Microcompact: MicrocompactConfig{
			Idle: 60 * time.Minute, Keep: 5, Tools: []string{"read", "write", "grep", "find", "script"},
		},
		ToolResult:  ToolResultConfig{MaxTokens: 10_000, HeadPercent: 60, TailPercent: 20},
		Recovery:    Recovery{MaxFiles: 5, MaxTokens: 10_000, MaxTokensPerFile: 2_000},
		Attachments: AttachmentsConfig{SessionMemoryTokens: 5_000, SessionMemoryEntries: 5},
		EWMAAlpha:   0.3,
	}
}

// KeyError is a bad value of one setting.
type KeyError struct {
	Key string // below the group context:, as it is written in a file
	Why string
}

func (e *KeyError) Error() string { return e.Key + ": " + e.Why }

// Validate returns every bad value as a [*KeyError], joined.
func (c *Config) Validate() error {
	var errs []error
	refuse := func(bad bool, key, format string, args ...any) {
		if bad {
			errs = append(errs, &KeyError{Key: key, Why: fmt.Sprintf(format, args...)})
		}
	}
	refuse(c.ContextTokensLimit < MinLimitTokens, "context_tokens_limit", "must be at least %d", MinLimitTokens)
	refuse(c.AutoCompactBufferTokens < 0, "auto_compact_buffer_tokens", "must not be negative")
	refuse(c.AutoCompactBufferTokens >= max(c.ContextTokensLimit, 1), "auto_compact_buffer_tokens",
		"must be less than context_tokens_limit (%d)", c.ContextTokensLimit)
	refuse(!(c.LandingRatio >= 0.3 && c.LandingRatio <= 0.95), "landing_ratio", "must be from 0.3 to 0.95")
	refuse(c.Retention.MinTokens < 0, "retention.min_tokens", "must not be negative")
	refuse(c.Retention.MinTexts < 0, "retention.min_text_block_messages", "must not be negative")
	refuse(c.Retention.MaxTokens < max(c.Retention.MinTokens, 1), "retention.max_tokens", "must be at least 1 and not below retention.min_tokens")
	refuse(c.Microcompact.Idle <= 0, "microcompact.idle", "must be more than 0")
	refuse(c.Microcompact.Keep < 0, "microcompact.keep", "must not be negative")
	for i, name := range c.Microcompact.Tools {
		refuse(strings.TrimSpace(name) == "", fmt.Sprintf("microcompact.tools[%d]", i), "is blank")
	}
	r := c.ToolResult
	refuse(r.MaxTokens < minResultTokens, "tool_result.max_tokens", "must be at least %d", minResultTokens)
	refuse(r.HeadPercent < 0 || r.HeadPercent > 100, "tool_result.head", "must be from 0 to 100 %%")
	refuse(r.TailPercent < 0 || r.TailPercent > 100, "tool_result.tail", "must be from 0 to 100 %%")
	refuse(r.HeadPercent+r.TailPercent < 1 || r.HeadPercent+r.TailPercent > 100, "tool_result.head",
		"must make 1 to 100 %% together with tool_result.tail")
	refuse(c.Recovery.MaxFiles < 0, "recovery.max_files", "must not be negative")
	refuse(c.Recovery.MaxTokens < 0, "recovery.max_tokens", "must not be negative")
	refuse(c.Recovery.MaxTokensPerFile < 0, "recovery.max_tokens_per_file", "must not be negative")
	refuse(c.Attachments.SessionMemoryTokens < 0, "attachments.session_memory_tokens", "must not be negative")
	refuse(c.Attachments.SessionMemoryEntries < 0, "attachments.session_memory_entries", "must not be negative")
	refuse(c.SummaryMaxTokens < 0, "summary.max_tokens", "must not be negative")
	refuse(c.SummaryUserLedger < 0, "summary.user_ledger", "must not be negative")
	refuse(!(c.EWMAAlpha > 0 && c.EWMAAlpha <= 1), "ewma.alpha", "must be more than 0 and at most 1")
	return errors.Join(errs...)
}
