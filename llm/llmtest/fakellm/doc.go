// Package fakellm serves the strict fakes of both APIs at one address: the Messages API
// below /anthropic, Chat Completions below /openai/v1. One script of plain JSON drives
// both, so that the same demonstration or test can be run with either.
//
// # Script
//
// A script is JSON lines; each line is a [Step], which answers one request that broke no
// rule. Both APIs play the whole script, each at its own pace: a step that names an API
// is left out by the other. When a script is used up the last words of the user are
// repeated. docs/fakes.md describes the members.
//
// # Concurrency
//
// All methods are safe for concurrent use. The server starts no goroutines.
package fakellm
