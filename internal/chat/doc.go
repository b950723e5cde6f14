// Package chat is a conversation with a session, for people at a terminal and for scripts
// at a pipe.
//
//	           Input, Interrupt               Do
//	keyboard ───────────────────▶ View ───────────────▶ Link ◀───▶ server
//	screen   ◀─────────────────── View ◀─────────────── Link
//	           Take, Open, Live…              Apply
//
// # The parts
//
// A [View] is pure: what a person typed and what happened go in, and lines and actions
// come out. It knows no clock, connection or terminal. A [Link] carries out the actions and
// reports what happens: it holds the connection, makes it again when it is lost, and
// follows the log of the session. Between them stands a shell that moves things from one to
// the other: [Pipe] here, the one for terminals in package terminal.
//
// # Invariants
//
// A line that was taken from a view is never changed; what still changes is asked for again
// each time ([View.Open], [View.Live]). What is shown comes from the log: a user's message
// is shown when the server has stored it, so two terminals in one session show the same. No
// character that was received can command the terminal. Each entry is shown once, however
// often the connection was lost; each act happens once, as it carries an idempotency key.
//
// # Concurrency
//
// A View belongs to one goroutine. A Link is safe for concurrent use; its goroutines end
// with [Link.Close]. A shell that does not read the link's events stops the link, and makes
// the server drop deltas, but no event.
//
// # Failure
//
// What fails is a line in the conversation, and the next one may be typed. Only a server
// that can't be reached at the start, or does not want us back, ends the chat.
package chat
