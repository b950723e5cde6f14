package configs

import "time"

// Default returns the settings of a server that was told nothing: loopback, an
// SQLite file under ./data, the demo model. The lists are empty, never nil.
func Default() Config {
	return Config{
		Listen:      "127.0.0.1:8080",
		DatabaseURL: "sqlite:./data/sessiond.db",
		Log:         Log{Level: LevelInfo, Format: FormatConsole},
		LLM: LLM{
			Provider:        ProviderAuto,
			Models:          []Model{},
			MaxOutputTokens: 8192,
			Thinking:        "off",
			RetryMaxDelay:   time.Minute,
			RetryBudget:     5 * time.Minute,
			Pricing:         map[string]Price{},
		},
		Worker: Worker{
			EnableStrategicCacheBreakpoints: true,
			MaxRoundsPerTurn:                200,
			MaxTokensPerTurn:                0,
			MaxTurnDuration:                 30 * time.Minute,
			ToolTimeout:                     5 * time.Minute,
			IdleUnload:                      10 * time.Minute,
		},
		Context: defaultContext(),
		Memory:  Memory{Extraction: true, Tools: true},
		Server: Server{
			AllowedOrigins: []string{},
			AllowedHosts:   []string{},
			Console:        true,
			Limits:         defaultLimits(),
		},
		Auth: Auth{Tokens: []Token{}},
	}
}

func defaultLimits() Limits {
	const kib, mib = 1 << 10, 1 << 20
	return Limits{
		FrameBytes:       8 * mib,
		Batch:            50,
		CallsInFlight:    64,
		Subscriptions:    64,
		Nesting:          64,
		IDBytes:          256,
		Mailbox:          64,
		QueuedMessages:   16,
		ToolResultBytes:  4 * mib,
		PromptBytes:      256 * kib,
		Tools:            128,
		ToolsBytes:       1 * mib,
		TitleBytes:       256,
		MetadataBytes:    16 * kib,
		InstructionBytes: 8 * kib,
		Ping:             20 * time.Second,
		Pong:             45 * time.Second,
		Write:            10 * time.Second,
		CallsPerMinute:   300,
		RunningTurns:     64,
	}
}
