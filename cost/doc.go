// Package cost says what model calls cost, what the provider's prompt cache saved of it,
// and what it could have saved.
//
// A [Bill] is money: usage by kind, what it cost, and what it would have cost without a
// cache. [Hits] follows the calls of one conversation and compares what was read from the
// cache with what could have been read had every request begun with the whole one before
// it, wherever nothing was changed on purpose. [FirstDifference] names the part in which two
// requests part ways, and a [Watch] says when too little was read, and because of which part.
// A [Shrink] is what a compaction or a clearing does to the cost of the calls that follow.
//
// It is a package of its own because it judges sequences of calls, from outside: llm states
// what one call is and what a token costs, prompt builds one request. Whoever runs calls
// uses it: sessions while they happen, replays afterwards.
//
// # Invariants
//
// Everything is a value or a pure function: no clock, nothing remembered. Bills, Hits,
// Watches and Sketches can be stored as JSON and gone on with. What a cache can read is never more than the
// input, and never less than what it did read.
//
// # Concurrency
//
// Everything may be used from anywhere.
package cost
