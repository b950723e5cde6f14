// Package configs holds the server's settings: their types, their defaults,
// and the one strict loader that reads them from a YAML file and from the
// environment.
//
// A value comes from, in rising order: [Default], the file, the environment.
// A file's value may name environment variables as ${NAME}; the environment
// overrides the setting a.b.c through SESSIOND_A__B__C. A file's key a_b may be
// written aB.
//
// Loading is all or nothing. An unknown key, a value of the wrong kind, a value
// out of range and a combination that would be unsafe are each a [*SettingError],
// and [Load] returns every one it found, not only the first: whoever starts the
// server mends them in one go. What only the users of a setting can judge they
// judge in a [Check]. A setting that nothing reads does not exist here,
// so an accepted file never promises what the server does not do.
//
// A [Config] is a plain value, valid when it came from [Default] or [Load] and
// safe to share as long as nobody writes to it. What must not be shown in full
// has its own type ([DatabaseURL], [Digest]) which hides itself from fmt, JSON
// and YAML. The package opens no file but the one it is told to, never logs, and
// knows nothing of the packages that use the settings.
package configs

import "time"

// Config is every setting of the server. The tag yaml is the last part of a
// setting's path (Server.Limits.Tools is server.limits.tools), the tag min
// the least value it may have.
type Config struct {
	// Listen is the TCP address host:port of the HTTP edge. Port 0 takes a free one.
	Listen string `yaml:"listen"`
	// DatabaseURL picks the store: sqlite:PATH, or postgres://….
	DatabaseURL DatabaseURL `yaml:"database_url"`
	Log         Log         `yaml:"log"`
	LLM         LLM         `yaml:"llm"`
	Worker      Worker      `yaml:"worker"`
	Context     Context     `yaml:"context"`
	Memory      Memory      `yaml:"memory"`
	Server      Server      `yaml:"server"`
	Auth        Auth        `yaml:"auth"`
}

// Log says what is logged and how.
type Log struct {
	Level  LogLevel  `yaml:"level"`
	Format LogFormat `yaml:"format"`
}

// LLM says which model answers.
type LLM struct {
	Provider Provider `yaml:"provider"`
	// Model is the model of a session that names none; empty leaves the choice to the provider.
	Model string `yaml:"model"`
	// Models are the models a session may name; empty allows only Model.
	Models []Model `yaml:"models"`
	// SummaryModel writes the summaries of compactions; empty: the session's own model.
	SummaryModel string `yaml:"summary_model"`
	// BaseURL is where the provider's API begins; empty is the provider's own.
	BaseURL string `yaml:"base_url"`
	// APIKey is the provider's key; empty takes the provider's usual variable, see [LLM.Resolved].
	APIKey Secret `yaml:"api_key"`
	// Dialect names how an OpenAI-compatible server speaks; empty recognises it by BaseURL.
	Dialect string `yaml:"dialect"`
	// MaxOutputTokens bounds one answer of the model.
	MaxOutputTokens int `yaml:"max_output_tokens" min:"1"`
	// Thinking is how much a model reasons in a session that does not say.
	Thinking Thinking `yaml:"thinking"`
	// RetryMaxDelay is the longest wait before a failed model call is repeated; a
	// provider that asks for a longer one fails the turn.
	RetryMaxDelay time.Duration `yaml:"retry_max_delay" min:"1s"`
	// RetryBudget is how long one turn may spend waiting for retries; 0 repeats nothing.
	RetryBudget time.Duration `yaml:"retry_budget" min:"0s"`
	// Pricing adds to the built-in prices, or replaces them, by model.
	Pricing map[string]Price `yaml:"pricing"`
}

// Model is a model that sessions may name. In a file it is its name alone, or a group.
type Model struct {
	Name string `yaml:"name"`
	// WindowTokens is the most that a request and its answer may hold together, where
	// the provider does not tell; 0: it is asked, or learned from its refusals.
	WindowTokens int `yaml:"window_tokens"`
	// MaxOutputTokens bounds one answer of this model, where that is less than
	// LLM.MaxOutputTokens; 0: as the provider says.
	MaxOutputTokens int `yaml:"max_output_tokens"`
}

// Price is what a million tokens of each kind cost, in US dollars.
type Price struct {
	Input        float64 `yaml:"input"`
	CacheRead    float64 `yaml:"cache_read"`
	CacheWrite5m float64 `yaml:"cache_write_5m"`
	CacheWrite1h float64 `yaml:"cache_write_1h"`
	Output       float64 `yaml:"output"`
}

// Worker bounds the turns a session runs.
type Worker struct {
	// SystemPrompt is the system prompt of a session that brings none; empty stands
	// for the built-in one.
	SystemPrompt string `yaml:"system_prompt"`
	// EnableStrategicCacheBreakpoints marks requests for providers whose prompt cache is
	// told where to keep.
	EnableStrategicCacheBreakpoints bool `yaml:"enable_strategic_cache_breakpoints"`
	// MaxRoundsPerTurn is the number of model calls after which a turn is ended.
	MaxRoundsPerTurn int `yaml:"max_rounds_per_turn" min:"1"`
	// MaxTokensPerTurn is the sum of input and output tokens after which a turn is ended; 0 sets no limit.
	MaxTokensPerTurn int `yaml:"max_tokens_per_turn" min:"0"`
	// MaxTurnDuration is the time after which a turn is ended; waiting for tools does not count.
	MaxTurnDuration time.Duration `yaml:"max_turn_duration" min:"1s"`
	// ToolTimeout is how long a tool call waits for its result unless the tool says otherwise.
	ToolTimeout time.Duration `yaml:"tool_timeout" min:"1s"`
	// IdleUnload is how long a session with nothing to do stays in memory.
	IdleUnload time.Duration `yaml:"idle_unload" min:"1s"`
}

// Memory says what is remembered of conversations beside their logs.
type Memory struct {
	// Extraction has a model note what matters before a session is compacted, so that the
	// summary can be made from its notes without a call.
	Extraction bool `yaml:"extraction"`
	// Tools offers the model tools to keep memories itself.
	Tools bool `yaml:"tools"`
}

// Server is the HTTP and WebSocket edge.
type Server struct {
	// AllowedOrigins are the browser origins (scheme://host[:port]) that may
	// connect; empty allows only the server's own.
	AllowedOrigins []string `yaml:"allowed_origins"`
	// AllowedHosts are the names, without port, a Host header may carry; "*" allows
	// any, an empty list the loopback names and the host of Listen.
	AllowedHosts []string `yaml:"allowed_hosts"`
	// Console serves the web page at /.
	Console bool   `yaml:"console"`
	Limits  Limits `yaml:"limits"`
}

// Limits bounds what clients may send and hold. The keys are the names under which
// v1.server.info tells clients the same limits, with times as durations here.
type Limits struct {
	// FrameBytes bounds one incoming WebSocket message.
	FrameBytes int `yaml:"frame_bytes" min:"1024"`
	// Batch bounds the calls in one JSON-RPC batch.
	Batch int `yaml:"batch" min:"1"`
	// CallsInFlight bounds the unanswered calls of one connection.
	CallsInFlight int `yaml:"calls_in_flight" min:"1"`
	// Subscriptions bounds the sessions one connection follows.
	Subscriptions int `yaml:"subscriptions" min:"1"`
	// Nesting bounds the depth of incoming JSON.
	Nesting int `yaml:"nesting" min:"8"`
	// IDBytes bounds a JSON-RPC id as written.
	IDBytes int `yaml:"id_bytes" min:"36"`
	// Mailbox bounds the commands waiting for one session.
	Mailbox int `yaml:"mailbox" min:"1"`
	// QueuedMessages bounds the messages waiting for their turn in one session.
	QueuedMessages int `yaml:"queued_messages" min:"1"`
	// ToolResultBytes bounds the content of one tool result.
	ToolResultBytes int `yaml:"tool_result_bytes" min:"1024"`
	// PromptBytes bounds system_prompt and agent_prompt, each.
	PromptBytes int `yaml:"prompt_bytes" min:"1"`
	// Tools bounds the tools of one session.
	Tools int `yaml:"tools" min:"1"`
	// ToolsBytes bounds the JSON of all tools of one session together.
	ToolsBytes int `yaml:"tools_bytes" min:"1"`
	// TitleBytes bounds a session's title.
	TitleBytes int `yaml:"title_bytes" min:"1"`
	// MetadataBytes bounds the JSON of a session's metadata.
	MetadataBytes int `yaml:"metadata_bytes" min:"2"`
	// InstructionBytes bounds the instruction that a client gives to a compaction.
	InstructionBytes int `yaml:"instruction_bytes" min:"1"`
	// Ping is the pause between pings to a connection.
	Ping time.Duration `yaml:"ping" min:"100ms"`
	// Pong is how long a connection may stay silent; longer than Ping.
	Pong time.Duration `yaml:"pong" min:"100ms"`
	// Write is how long one message may take to leave.
	Write time.Duration `yaml:"write" min:"100ms"`
	// CallsPerMinute bounds the calls of one owner, who may use a minute's worth at
	// once; 0 sets no limit. Without authentication nobody is limited.
	CallsPerMinute int `yaml:"calls_per_minute" min:"0"`
	// RunningTurns bounds the turns of one owner that run at once, over all sessions;
	// 0 sets no limit. Without authentication nobody is limited.
	RunningTurns int `yaml:"running_turns" min:"0"`
}

// Auth says who may connect. Without tokens there is no authentication, one
// owner named local, and Listen must be a loopback address.
type Auth struct {
	Tokens []Token `yaml:"tokens"`
}

// Token lets whoever presents it act as Owner. An owner may have several.
type Token struct {
	Owner string `yaml:"owner"`
	// SHA256 is the digest of the token; the token itself is kept nowhere.
	SHA256 Digest `yaml:"sha256"`
}

// OwnerDefault owns what is done with the token in SESSIOND_TOKEN.
const OwnerDefault = "default"

// OwnerLocal owns everything while there is no authentication; no token may
// stand for it.
const OwnerLocal = "local"

// Provider names where the model's answers come from.
type Provider string

// The providers of this version. One that is missing here is refused at start.
const (
	ProviderAuto      Provider = "auto"      // the best provider that can be used as things are
	ProviderAnthropic Provider = "anthropic" // the Messages API
	ProviderOpenAI    Provider = "openai"    // Chat Completions, of OpenAI or any server that speaks it
	ProviderDemo      Provider = "demo"      // built-in answers by rule; needs no key and no network
)

func (Provider) choices() []string {
	return []string{string(ProviderAuto), string(ProviderAnthropic), string(ProviderOpenAI), string(ProviderDemo)}
}

// Thinking is how much a model reasons before it answers.
type Thinking string

func (Thinking) choices() []string {
	return []string{"off", "low", "medium", "high", "xhigh", "max"}
}

// LogLevel is the least severity that is logged.
type LogLevel string

// The log levels, from the most to the least that is written.
const (
	LevelDebug LogLevel = "debug"
	LevelInfo  LogLevel = "info"
	LevelWarn  LogLevel = "warn"
	LevelError LogLevel = "error"
)

func (LogLevel) choices() []string {
	return []string{string(LevelDebug), string(LevelInfo), string(LevelWarn), string(LevelError)}
}

// LogFormat is the shape of a log line.
type LogFormat string

// The log formats.
const (
	FormatConsole LogFormat = "console" // for people
	FormatJSON    LogFormat = "json"    // for machines, one object a line
)

func (LogFormat) choices() []string {
	return []string{string(FormatConsole), string(FormatJSON)}
}
