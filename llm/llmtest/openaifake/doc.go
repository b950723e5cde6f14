// Package openaifake is a strict fake of OpenAI's Chat Completions.
//
// A [Server] is an http.Handler with POST /v1/chat/completions (streamed and whole),
// GET /v1/models and GET /v1/models/{id}. It rejects what the real interface rejects,
// with the same status and shape of error, so that a client that passes it sends valid
// requests; where real servers differ it takes the strictest, and [Options] has the
// switches for what only some of them demand. Each rule has a hand-written body in the
// tests. It shares no code with the clients it judges: everything is checked on the
// bytes that came in.
//
// # What it simulates
//
// The prompt cache is automatic: a prefix of at least 1,024 tokens is kept for the model
// and the request's prompt_cache_key, reads are counted in steps of 128 tokens, and an entry
// that is not used for [Options.CacheTTL] on [Options.Now] is gone. Tools stand before
// messages. [Options.NoCache] turns it off.
//
// A prompt over the model's window is refused, or silently cut, or answered with
// nothing, as compatible servers do: see [Options.OnOverflow].
//
// # What it answers
//
// Requests that pass take the next [Step] of the script, then [Options.Answer]. A step
// can number and name its tool calls in every way servers do, and fail in every way
// they and the network are known to fail.
//
// Tokens are counted by a plain rule, four bytes each, or by [Options.CountText].
//
// All methods are safe for concurrent use. The server starts no goroutines.
package openaifake
