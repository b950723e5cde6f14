// Package prompt turns what a model is to be told into a request that every provider
// accepts.
//
// A conversation can hold what no provider takes: a tool call whose result was lost in
// a crash, a result whose call a compaction took away, an empty block, an identifier of
// another provider. None of that may end a session, so [Build] repairs it: each rule of
// the providers is code here, and each repair is reported with the number of the rule,
// so that it can be logged and its cause mended. A clean conversation comes back as it
// is.
//
// [Mark] says where a provider's cache is to keep such a request, so that the next one
// reads what this one wrote.
//
// # Invariants
//
// What Build returns needs no repair. It is made from its argument alone: no clock, no
// randomness, nothing remembered. The argument is never changed; the result may share
// memory with it.
//
// What a message becomes depends on the messages up to the end of its own turn and
// never on later ones, with one exception: images that are too many for one request, or
// too heavy, go oldest first, several at a time. So a conversation that grows keeps its beginning byte for byte, which
// prompt caches and signed thinking are bound to; where the exception changes the
// beginning, the thinking after the change goes too.
//
// A turn here is a run of messages of one role: providers join neighbours.
//
// # Concurrency
//
// Everything is a pure function.
package prompt
