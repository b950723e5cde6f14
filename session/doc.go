// Package session keeps conversations: it owns their state, runs their turns with a
// model, hands tool calls out and takes the results, and tells subscribers.
//
// # One owner per session
//
// A loaded session is an actor: one goroutine that owns the session's state. Callers
// go through the [Manager], which finds or loads the actor and puts a command in its
// bounded mailbox; when the mailbox is full the caller is told [KindOverloaded] at
// once. The actor never waits: not for the database, not for a model, not for a
// subscriber. What takes time runs in a goroutine that posts its outcome back.
//
//	caller ──command──▶ mailbox ──▶ actor ──▶ batch ──▶ store.Commit
//	                                 ▲  │                   │
//	               round, tool timer │  │ model call        │ flushed
//	                     ────────────┘  ▼                   ▼
//	                                  round      publish, reply, next step
//
// # Durable first
//
// A command changes the actor's state and adds entries to the current batch. One
// batch at a time is being committed; what comes meanwhile gathers in the next one.
// Replies, events and the start of a model call wait until their batch is flushed, so
// nobody hears of anything that a crash could take back. If a commit fails the actor
// can no longer trust its state: it answers everything that waits with an error, ends,
// and the next call loads the session from the database.
//
// # Turns
//
// A turn is a user's message and everything up to the answer without open tool calls.
// Its rounds alternate between a model call and the tool calls of its answer. A turn
// runs without any connection. Messages that come while it runs are queued, one turn
// each. After a restart [Manager.Recover] takes up every open turn: pending calls of
// remote tools stay pending, a round that was only streaming is repeated. A model call
// that failed for a reason that passes is repeated after a pause, within a budget.
//
// # Before a model call
//
// Every message is measured when it is stored. Before each call, also between tool
// rounds, the actor shows what is new beside the conversation (prepare.go), clears old
// results, and asks package compaction whether the request fits; where a summary has to
// be written (summary.go) the turn waits for it and everything else goes on. A provider's
// refusal raises the level of what is left out and repeats the call (refusal.go). All that
// decides is in the log or on the session's row, so that a restart sends the same bytes.
// Clients ask for a compaction and take it back (compact.go).
//
// What is worth more than a conversation is remembered: by clients, by the model's tools,
// and by a call in the background before a compaction (memory.go, extract.go), which can
// then do without a summary call. recall.go searches what left the view. forkpast.go reads
// from a log what was true at some point of it.
//
// # What it does not do
//
// It knows no wire format, no connection and no driver.
package session
