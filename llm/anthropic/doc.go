// Package anthropic is an [llm.Model] for the Anthropic Messages API and for servers
// that speak it. Transport, credentials and the framing of the event stream are the
// official SDK's; the bytes of requests and the reading of answers are our own.
//
// # Invariants
//
// The same request gives the same bytes, and a request that only adds messages begins
// with the same blocks: the provider's prompt cache and the signatures of thinking
// blocks are bound to them. Tool inputs, tool schemas and thinking are sent as the
// bytes that came. Thinking of other providers is left out, since nobody else can
// read it; so are blocks and messages that are left empty.
//
// An answer counts as finished only when message_stop was seen. A tool call that the
// output limit cut off is never in it.
//
// # Failure
//
// Every failure is an [llm.Error], except the end of the caller's context. A server
// that sends nothing, not even a ping, for Options.IdleTimeout has failed. Nothing is
// retried here. Errors carry the provider's message, cut to a bounded length and
// never with the key in it.
//
// # Concurrency
//
// A [Client] may be used from any number of goroutines. It remembers only what the
// models endpoint said.
package anthropic
