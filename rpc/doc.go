// Package rpc serves strict JSON-RPC 2.0 over WebSocket and knows no domain:
// what a method means is the business of the [Handler].
//
//	socket -> stream -> decode -> dispatch -> Handler.Handle
//	                      |          |             |
//	                      +- errors -+-- replies --+-> outbox -> writer -> socket
//	                              Conn.Send ------------^
//
// The read loop belongs to sourcegraph/jsonrpc2. It is given an object stream
// that decodes a whole frame in one strict pass, keeps the raw bytes of ids and
// params, and hands the library one constant stub per frame; the library's
// handler then takes the decoded frame from the stream. Replies do not pass
// through the library, which would encode ids anew: they are built around the
// raw id and queued.
//
// # Invariants
//
//   - An id is echoed byte for byte; it is live from the decoding of its request
//     until just before its reply is queued, and never twice at the same time.
//     Ids are compared as they are written: 1 and 1.0 are two ids.
//   - A request with "id": null is a call and answered with id null. Only a
//     request without the member is a notification, and a notification is never
//     answered.
//   - A malformed message is answered and the connection stays open, up to
//     Options.MaxMalformed of them. Members that JSON-RPC does not know are
//     ignored (at most 16). A response object (result or error, no method) is
//     ignored, not answered: the server asks nothing, and answering answers
//     could go on forever between two peers.
//   - Calls, notifications that run and the parts of a batch count towards
//     Options.MaxInFlight. Over it a call is refused and a notification dropped.
//   - A batch is answered in one frame, in the order of its requests, when its
//     last call has ended; until then all its ids are live.
//
// # Concurrency
//
// An idle connection has two goroutines, both of the library: one reads, one
// waits for the end. Every request runs in its own, except those of an [Inliner]
// that are too short for that. The writer exists only while there is something to
// write: whoever finds the outbox without one takes the role, and a request's
// goroutine that has nothing left to do plays it itself.
//
// Nothing ever waits for a slow peer except that peer's own requests. A reply waits
// until the outbox has room for it, first come, first served, and until it is queued
// its call is in flight. Only what is not waited for can find the outbox full and
// end the connection: what [Conn.Send] is given, and the answers to messages that
// start nothing. While the outbox is half full, or a reply waits, the reader holds
// back for a moment, so that a client that pipelines faster than it is answered is
// slowed down and not cut off. A client that does not read at all ends with the
// Options.WriteTimeout of the frame it does not take; until then it costs at most a
// full outbox and Options.MaxInFlight replies.
//
// # Failure
//
// A connection ends by [Conn.Close], by the peer, or by a broken rule. In every
// case the contexts of its requests end at once, replies that wait for room are
// lost, the close frame is written behind what is queued (not for
// CloseSlowConsumer and CloseNoPong, which drop it), the peer gets a moment to
// answer, the socket is closed, and when all requests have returned
// Handler.Closed is called. A panic in a handler costs one
// reply. Errors that are not an [Error] never leave the process: the peer gets an
// incident number, the log the rest.
package rpc
