package configs

import "time"

// Context says what of a conversation a model is shown, and when it is compacted.
// What a number may be is judged by the package that uses it: see [Check].
type Context struct {
	// ContextTokensLimit bounds the input of a request to the model; a model with a
	// smaller window is given less.
	ContextTokensLimit int `yaml:"context_tokens_limit"`
	// AutoCompactBufferTokens is how far below the limit compaction begins; 0 stands
	// for 13,000, or 52 % of the limit if that is less.
	AutoCompactBufferTokens int `yaml:"auto_compact_buffer_tokens"`
	// LandingRatio is how much of the room below the trigger may be in use after a
	// compaction.
	LandingRatio float64      `yaml:"landing_ratio"`
	Retention    Retention    `yaml:"retention"`
	Microcompact Microcompact `yaml:"microcompact"`
	ToolResult   ToolResult   `yaml:"tool_result"`
	Recovery     Recovery     `yaml:"recovery"`
	Attachments  Attachments  `yaml:"attachments"`
	Summary      Summary      `yaml:"summary"`
	EWMA         EWMA         `yaml:"ewma"`
	// Encoding is what tokens are counted by before a provider has counted them.
	Encoding Encoding `yaml:"encoding"`
}

// Retention is what stays verbatim in a compaction, as far as there is room: back from
// the end until the first two are reached, or the third.
type Retention struct {
	MinTokens            int `yaml:"min_tokens"`
	MinTextBlockMessages int `yaml:"min_text_block_messages"`
	MaxTokens            int `yaml:"max_tokens"`
}

// Microcompact says when old results of tools make room by themselves.
type Microcompact struct {
	// Idle is how old the last answer is by then.
	Idle time.Duration `yaml:"idle"`
	// Keep is the number of the newest results that stay.
	Keep int `yaml:"keep"`
	// Tools are the names of the tools it is about, besides those that a session
	// registers as cleanable.
	Tools []string `yaml:"tools"`
}

// ToolResult is how much is shown of one tool result.
type ToolResult struct {
	MaxTokens int `yaml:"max_tokens"`
	// Head and Tail are the shares of MaxTokens, in percent, that a longer one shows of
	// its beginning and of its end.
	Head int `yaml:"head"`
	Tail int `yaml:"tail"`
}

// Recovery bounds the files that are shown again after a compaction.
type Recovery struct {
	MaxFiles         int `yaml:"max_files"`
	MaxTokens        int `yaml:"max_tokens"`
	MaxTokensPerFile int `yaml:"max_tokens_per_file"`
}

// Attachments bounds what of a session's memory is shown.
type Attachments struct {
	SessionMemoryTokens  int `yaml:"session_memory_tokens"`
	SessionMemoryEntries int `yaml:"session_memory_entries"`
}

// Summary bounds the summary of what has left.
type Summary struct {
	// MaxTokens caps what the model writes; 0 stands for 15 % of the room between the
	// overhead and the trigger, at most 8,000.
	MaxTokens int `yaml:"max_tokens"`
	// UserLedger caps the user's own words in it; 0 stands for 10 % of that room, at
	// most 20,000.
	UserLedger int `yaml:"user_ledger"`
	// Timeout is how long a summary may take with all its calls of the model.
	Timeout time.Duration `yaml:"timeout" min:"1s"`
}

// EWMA says how the growth of a conversation is averaged.
type EWMA struct {
	// Alpha is the weight of the newest round.
	Alpha float64 `yaml:"alpha"`
}

// Encoding names a vocabulary of tokens.
type Encoding string

func (Encoding) choices() []string { return []string{"o200k_base", "cl100k_base"} }

func defaultContext() Context {
	return Context{
		ContextTokensLimit: 25_000,
		LandingRatio:       0.6,
		Retention:          Retention{MinTokens: 10_000, MinTextBlockMessages: 5, MaxTokens: 40_000},
		Microcompact: Microcompact{
			Idle: time.Hour, Keep: 5, Tools: []string{"read", "write", "grep", "find", "script"},
		},
		ToolResult:  ToolResult{MaxTokens: 10_000, Head: 60, Tail: 20},
		Recovery:    Recovery{MaxFiles: 5, MaxTokens: 10_000, MaxTokensPerFile: 2_000},
		Attachments: Attachments{SessionMemoryTokens: 5_000, SessionMemoryEntries: 5},
		Summary:     Summary{Timeout: 3 * time.Minute},
		EWMA:        EWMA{Alpha: 0.3},
		Encoding:    "o200k_base",
	}
}
