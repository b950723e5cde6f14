// Package v1 is the wire contract of the session server: the methods clients may
// call, the notifications they receive, the errors they must expect, and the JSON
// form of everything in between.
//
// # One source
//
// A [Registry] holds the method table. Each [Method] names the Go types of its
// params and its result; struct tags on their fields carry the rules. From these
// types come the strict decoder ([Decode]), the encoder ([Registry.Append]) and the
// published description ([Registry.OpenRPC]), so that none of them can say something
// else than the others.
//
// # Struct tags
//
//	json:"name"            the member's name; omitempty or a default makes it optional
//	doc:"…"                one sentence for people, printed into the description
//	v:"rule,rule=value"    the rules, see below
//
// Rules on strings: max=N counts bytes of UTF-8; nonempty; uuid, toolname, base64 name
// a format; clean replaces control characters by U+FFFD; key is an idempotency key. On
// integers min=N and max=N are the bounds. On lists max bounds the number of items,
// maxbytes the size of the list as it was sent, and unique=member forbids two items
// with the same member. On content max counts the texts and data, nonempty wants a block
// and no empty text. On raw JSON: object
// wants an object, schema wants a JSON Schema of type object, max counts bytes as
// sent, ref=Name says which published schema describes it. On any field default=V is
// what an absent member means. A bound may be the JSON name of a field of [Limits]
// instead of a number. The values of an enumeration belong to its Go type.
//
// # Invariants
//
// Decoding accepts nothing that the description forbids: params by name, no unknown
// member, no member twice, no null, no number for a string. (It refuses a little more,
// where JSON Schema has no words: sizes in bytes, bad base64, members that depend on
// each other.) Whatever is refused is a [*ParamError] with the path of the member. Raw
// JSON (metadata, input schemas) keeps the bytes it came with, in both directions.
//
// # Concurrency and failure
//
// A Registry is immutable after [NewRegistry] and safe for concurrent use; everything
// else is plain data. Nothing here blocks, logs, or panics on any input.
//
// # What it does not do
//
// It knows no connection, session or store, and checks nothing that needs one:
// whether a model is allowed, a session exists or a ticket suffices is decided where
// that is known.
package v1
