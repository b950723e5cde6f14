package llm

import "time"

// ThinkingLevel says how much a model should reason before it answers. A model that
// lacks a level takes the nearest one it has; one that can't be kept from thinking
// thinks as little as it can under [ThinkingOff].
type ThinkingLevel string

// The levels. The zero value leaves it to the provider.
const (
	ThinkingDefault ThinkingLevel = ""
	ThinkingOff     ThinkingLevel = "off"
	ThinkingLow     ThinkingLevel = "low"
	ThinkingMedium  ThinkingLevel = "medium"
	ThinkingHigh    ThinkingLevel = "high"
	ThinkingXHigh   ThinkingLevel = "xhigh"
	ThinkingMax     ThinkingLevel = "max"
)

// Valid reports whether the level is one of the constants.
func (l ThinkingLevel) Valid() bool {
	switch l {
	case ThinkingDefault, ThinkingOff, ThinkingLow, ThinkingMedium, ThinkingHigh, ThinkingXHigh, ThinkingMax:
		return true
	}
	return false
}

// ToolChoice says whether a model may call tools. The zero value lets it decide.
// Anything else costs the prompt cache of the messages, so it is for second tries.
type ToolChoice string

// The choices.
const (
	ToolChoiceAuto ToolChoice = ""
	ToolChoiceNone ToolChoice = "none" // tools stay declared, none may be called
)

// CachePreamble as [CacheMark.Message] stands for the tools and the system prompt.
const CachePreamble = -1

// The lifetimes that a cache mark can ask for.
const (
	CacheShort = 5 * time.Minute
	CacheLong  = time.Hour
)

// CacheMark asks a provider with an explicit prompt cache to keep the request up to
// and including one block, a [CachePreamble] mark all that stands before the messages. At
// most four, in order of place, lifetimes never rising along the request. Marks never
// fail a request: clients leave out what breaks these rules or stands on what can't
// carry one (thinking, an empty text), and all of them where the provider knows no marks.
type CacheMark struct {
	Message int           // index into Request.Messages, or CachePreamble
	Block   int           // index into its content; meaningless for CachePreamble
	TTL     time.Duration // CacheShort or CacheLong
}
