// Package message holds what a conversation is made of: messages, their content
// blocks, the identifiers that name them, and the token usage they cost.
//
// It is a leaf: data, its JSON form and its validity rules, nothing else. No I/O,
// no clock beyond the one inside a UUIDv7, no logging. Values are plain data; they
// may be shared between goroutines as long as nobody changes them, and the rest of
// the program treats every message as immutable once it is stored.
//
// # JSON
//
// The JSON form is both the stored and the wire form, so that a stored body can be
// sent without being encoded again. It is written by Append functions and not by
// json.Marshal, because encoding/json compacts what a Marshaler returns and so would
// change the bytes of a tool's input, and those bytes are part of what a provider's
// prompt cache and thinking signatures are bound to.
package message
