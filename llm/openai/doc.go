// Package openai is an [llm.Model] for every server that speaks OpenAI's Chat
// Completions: OpenAI itself, OpenRouter, DeepSeek, Kimi, Ollama, vLLM, llama.cpp,
// LM Studio and those that imitate them.
//
// The servers agree on the shape of a request and on little else. What is known about
// one is a [Dialect], plain data; the rest of the package reads whatever any of them
// sends: tool calls in every numbering, errors in every shape and place, usage in
// every layout. It is a thin client of net/http; the reasons are in the architecture
// decision "a lean client for OpenAI-compatible servers".
//
// # Invariants
//
// The same request gives the same bytes, and a request that only adds messages gives
// a body whose messages begin with the same bytes, so that the servers' prompt caches
// hit. Tool inputs and schemas are sent as the bytes they came in. An answer counts as
// finished only when the server said so; a tool call that was cut off is never in it.
//
// # Failure
//
// Every failure is an [llm.Error] except the end of the caller's context. A server
// that sends nothing for Options.IdleTimeout has failed. A server that says nothing
// but silently dropped part of the prompt has failed too, as an overflow, as far as it
// can be told from here: by a window that the prompt fills exactly, or an empty answer
// to a prompt that nearly fills it. A prompt of which whole messages were dropped shows
// only in a usage far below what was sent; the session, which counts tokens, sees that.
//
// The API key never stands in an error, even where a server repeats it. Errors carry
// the provider's message, cut to a bounded length, and nothing else of a body.
//
// # Concurrency
//
// A [Client] may be used from any number of goroutines. It remembers only what servers
// said about their models.
package openai
