package llm

import "context"

// Describer is implemented by a [Model] that can say what the models it serves can do.
type Describer interface {
	// Capabilities asks the provider about a model, or remembers what it said. On an
	// error it still returns the best that is known without the provider, so that a
	// caller can log the error and go on. It may block for one HTTP request.
	Capabilities(ctx context.Context, model string) (Capabilities, error)
}

// Capabilities is what can be known about a model before it is used. Zero numbers
// mean unknown.
type Capabilities struct {
	WindowTokens    int64 // the most a request may hold
	MaxOutputTokens int64 // the most an answer may hold
	MaxBodyBytes    int64 // the most bytes that a request may have when it is encoded
	Images          bool

	// ThinkingBound: thinking blocks are valid only after the exact prefix they were
	// made after, so a change of anything before them means dropping them all.
	ThinkingBound bool

	// CacheMinTokens is the shortest prefix that an explicit cache mark keeps.
	CacheMinTokens int64

	// TokenRatio is what this model counts for one token of o200k_base, to start a
	// calibration with.
	TokenRatio float64
}
