// Package anthropicfake is a strict fake of the Anthropic Messages API.
//
// A [Server] is an http.Handler with POST /v1/messages (streamed and whole), POST
// /v1/messages/count_tokens, GET /v1/models and GET /v1/models/{id}. It rejects what
// the real API rejects, with the same status and shape of error, so that a client
// that passes it sends valid requests; each rule has a hand-written body in the tests.
// It shares no code with the clients it judges: everything is checked on the bytes
// that came in.
//
// # What it simulates
//
// Thinking blocks are signed over the exact prefix they were made after: system
// prompt, tools, earlier messages, earlier blocks of the same message, normalised so
// that cache markers and the short form of text make no difference. On models with
// preserved thinking a block whose prefix changed is refused, unless
// [Options.LaxThinking] is set. Blocks that were edited, forged or partly dropped are
// refused everywhere.
//
// The prompt cache follows the documented rules: entries are written at markers only,
// when the answer begins; a marker finds entries up to 20 positions back, each block
// being one; a prefix is found only if its bytes are the same, markers aside; lifetimes
// are 5 minutes or an hour on [Options.Now] and begin anew with a read; short prefixes
// are not kept; tools come before system and system before messages, and settings count
// from where they take effect. Usage reports it, under the request's own markers or in
// another [CacheMode].
//
// Where the rules leave something open the simulation takes what costs more: a marker
// within what is read writes nothing that could be read later, and a spelling that means
// the same is another prefix.
//
// # What it answers
//
// Requests that pass take the next [Step] of the script, then [Options.Answer]. Steps
// can also fail in every way the API and the network are known to fail.
//
// Tokens are counted by a plain rule, four bytes each, or by [Options.CountText].
//
// All methods are safe for concurrent use. The server starts no goroutines.
package anthropicfake
