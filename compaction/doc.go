// Package compaction decides what a model sees of a conversation, so that conversations
// of any length go on within a limit and the log is never touched.
//
// # Job
//
// A session's log only grows. What the model is shown is a view of it: a summary message
// for what left, the pinned request, and the newest units verbatim, as a stored shape
// shows them. This package counts that view, decides when and how it has to shrink,
// describes the summary call, checks what comes back, and makes the record that moves
// the boundary.
//
//	log        u1  u2  u3  u4  u5  u6  u7  u8        units: tool rounds, single messages
//	           └──── leaves ────┘   └─ stays ─┘
//	                 │              ▲    boundary: Record.ThroughSeq is the last one before
//	                 ▼              │
//	view   [summary message][pinned]u6  u7  u8
//	        frame, notes in nine    └ Shape: cleared results, cuts, no old thinking
//	        sections, the user's own
//	        words, files, attachments
//
// # The numbers
//
// L is the limit, L′ what a request may hold, F the overhead that nothing can shrink, T
// the threshold where automatic compaction begins, H = T − F, and the landing F + 0.6 H
// is where a compaction has to end; [Budget] has them all. Raw tokens, counted by the
// encoding when a message is stored, decide the shape; calibrated tokens, raw times a
// ratio measured on the provider, decide everything else. The judged size of a request
// leaves out its open round and its pinned request: those must be shown whatever
// happens.
//
// # The life of one compaction
//
//  1. Before every model call the session asks [Planner.Microcompact] and [Planner.Next].
//     They look at the [State] and a [Situation] and answer with a [Step]: send, clear,
//     compact, climb the ladder of levels, or give up.
//  2. Clearing comes first: old tool results become placeholders, if that alone lands.
//  3. Else a plan is made for the lowest level that lands, the summary's cap in reserve:
//     a [Plan] says what leaves, what stays, and who writes.
//  4. The session's memory writes without a call ([Planner.Write]); a model is asked
//     through [Planner.StartCall], [Call.Request] and [Call.Take], at most three requests.
//     What is no summary is refused. If nobody can write and there is no room left, a
//     digest made from the log has to do.
//  5. [Planner.Apply] makes the [Record] and judges it by what was measured. Only applied
//     and degraded ones are stored; then [State.Commit] moves the boundary.
//  6. [State.View] is the next request's conversation.
//
// A refusal by the provider, or a count over L′, raises the [Ladder] by one level and
// the same steps are walked with trigger overflow, up to the last resort: cutting the
// pinned request and the open round themselves.
//
// # Invariants
//
//   - A unit is never split: a tool call and its result leave together or stay together.
//   - What left and what stays is everything; the boundary never goes back but by undo.
//   - The view is a function of the log, the newest active record and the shape. The
//     same state gives the same bytes, after a restart too.
//   - A thinking block is shown whole or not at all; after any change before the head none
//     is shown.
//   - The user's own words are copied from the log into every summary (section 6), and
//     never written by a model. Nothing that a tool returned stands there.
//   - No text that others wrote, such as a memory, a message or a result, can pass for a
//     section of a summary, a message of the ledger or a turn of a transcript. Sections
//     are kept as data; only what a model wrote as a summary is taken apart by its looks.
//   - Memory writes a summary only if each message that leaves was told by a model's
//     notes, stands for an entry that is shown, or is told by the digest beside.
//   - A record takes effect once: it names the generation it follows.
//   - Arguments are never changed; what is returned may share memory with them.
//
// # Concurrency and failure
//
// Everything is a pure function of its arguments: no clock, no randomness, no I/O, no
// goroutine. A [Planner] may be shared. A [State] has one owner; plans, calls, records
// and views made from it stay valid while it grows. Nothing here fails but by returning
// an error that says what does not fit together; a summariser that fails changes
// nothing.
//
// # What must survive a restart
//
// The bodies of entries: [Measure] with each message, [Injection], [Clearing], [Record],
// [Undone]. The session's row: [Ladder], [Breaker], [Calibration], [Growth]. All are
// plain JSON. Opening a session counts no text.
package compaction
