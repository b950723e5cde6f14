// Package store is the contract between sessions and the database that keeps them.
//
// # Job
//
// A session is one row of settings and state, an append-only log of entries, the
// turns that the log tells of, and what it remembers. All of a session's changes go
// through [Sessions.Create] and [Sessions.Commit]; each is one transaction, and when
// it returns nil the change is on disk. Implementations may put the commits of
// different sessions into one transaction, but answer none before its flush.
//
// Beside sessions there are an owner's memories, idempotency keys, tickets, and
// learned limits. What a search looks through is derived from the log; it alone may
// be lost in a crash, and is then given again.
//
// # Invariants
//
//   - Entries are numbered 1, 2, 3 … without a gap and never change.
//   - A commit names the head it was made against; if the stored head differs, it
//     fails with [ErrConflict] and changes nothing. So of two processes that believe
//     to own a session only one can write.
//   - At most one turn of a session is running. This is a constraint of the
//     database, not only a habit of the caller.
//   - An idempotency key is recorded in the transaction of its effect.
//   - Bodies and texts come back with the bytes that went in; nil and empty, also of
//     lists, are the same and read as nil.
//   - Times are kept to the microsecond, rounded down, and come back in UTC.
//   - What has an ExpiresAt has expired from that moment on. An expired key is as
//     good as absent, also to a commit that records it again; a commit's clock is its
//     Session.UpdatedAt.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. A method whose context ends may return
// early with the context's error, and the outcome of a commit is then unknown: the
// caller reloads, and leaves the commit unchanged, since it may still be on its way. Errors other than those named here mean the database is in
// trouble; none of them leaves half a change behind.
//
// What the bodies mean, which entries follow which, and what a state document holds
// is the business of package session.
package store

import (
	"context"
	"errors"
	"time"

	"sessiond/message"
)

// The errors callers branch on; implementations wrap them with what was attempted.
var (
	// ErrNotFound: no such row, or not this owner's.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the session's head is not the one the commit was made against, or
	// the commit would make a second turn run.
	ErrConflict = errors.New("conflict")
	// ErrKeyExists: the idempotency key is already recorded.
	ErrKeyExists = errors.New("idempotency key exists")
	// ErrClosed: the store was closed; nothing was done.
	ErrClosed = errors.New("store is closed")
)

// Store is everything a database keeps for the server.
type Store interface {
	Sessions
	Log
	Turns
	Keys
	Tickets
	Memories
	Limits
	Search

	// Ping reports whether the database answers.
	Ping(ctx context.Context) error
	// Close waits for commits under way and releases everything.
	Close() error
}

// Ref names a session together with the owner it must belong to. Every query of a
// client carries one, so that a foreign session is not found rather than refused.
type Ref struct {
	Owner string
	ID    message.SessionID
}

// Sessions creates, changes and finds session rows.
type Sessions interface {
	// Create stores a new session with its first entries and turns.
	// Errors: ErrKeyExists; ErrConflict if the id is taken.
	Create(ctx context.Context, c *Commit) error
	// Commit applies one change; see [Commit]. Errors: ErrConflict, ErrKeyExists,
	// ErrNotFound (no such session, or deleted).
	Commit(ctx context.Context, c *Commit) error
	// Session reads one row; a deleted one is ErrNotFound.
	Session(ctx context.Context, ref Ref) (*Session, error)
	// ListSessions returns an owner's sessions, newest activity first (ties by id,
	// descending), deleted ones left out.
	ListSessions(ctx context.Context, q ListQuery) ([]Session, error)
	// DeleteSession removes the log, the turns, the memories, the keys and the searched
	// texts of a session and keeps a tombstone, so that deleting again finds it. It
	// reports whether this call deleted it. ErrNotFound if the owner never had it.
	DeleteSession(ctx context.Context, ref Ref, at time.Time) (deleted bool, err error)
	// Unfinished returns the sessions with a running or queued turn and those that are
	// compacting, oldest activity first, for every owner.
	Unfinished(ctx context.Context) ([]Ref, error)
}

// Log reads entries.
type Log interface {
	// Entries returns the entries that q selects in the order of seq, ascending
	// unless q.Descending. It stops after q.Limit entries, or before the entry that
	// would make the bodies exceed q.MaxBytes, but returns at least one. A session
	// that is not the owner's has no entries; that is no error.
	Entries(ctx context.Context, q EntryQuery) ([]Entry, error)
	// MessageEntry finds the entry that stores a message by the message's id.
	// ErrNotFound.
	MessageEntry(ctx context.Context, ref Ref, id message.ID) (*Entry, error)
}

// Turns reads turns; they are written by commits.
type Turns interface {
	// Turn reads one turn. ErrNotFound.
	Turn(ctx context.Context, ref Ref, id message.TurnID) (*Turn, error)
	// ListTurns returns turns newest first (by CreatedSeq), those with
	// CreatedSeq < beforeSeq if it is > 0.
	ListTurns(ctx context.Context, ref Ref, beforeSeq int64, limit int) ([]Turn, error)
	// OpenTurns returns the running turn and the queued ones in order of CreatedSeq.
	OpenTurns(ctx context.Context, ref Ref) ([]Turn, error)
}

// Keys finds recorded idempotency keys; they are written by commits.
type Keys interface {
	// Key finds a record that has not expired at now. ErrNotFound.
	Key(ctx context.Context, scope KeyScope, now time.Time) (*KeyRecord, error)
	// PurgeKeys removes the records that expired before now and returns how many.
	PurgeKeys(ctx context.Context, now time.Time) (int64, error)
}

// Tickets keeps one-time browser tickets.
type Tickets interface {
	// PutTicket stores a ticket.
	PutTicket(ctx context.Context, t *Ticket) error
	// TakeTicket returns and removes a ticket; of two callers one gets it. A ticket
	// that expired before now is removed and ErrNotFound.
	TakeTicket(ctx context.Context, hash [32]byte, now time.Time) (*Ticket, error)
	// PurgeTickets removes the tickets that expired before now.
	PurgeTickets(ctx context.Context, now time.Time) (int64, error)
}

// Status is what a session is doing, as a column that lists can select by.
type Status string

// The statuses. A deleted session is only a tombstone.
const (
	StatusIdle        Status = "idle"
	StatusRunning     Status = "running"
	StatusWaitingTool Status = "waiting_tool"
	StatusCompacting  Status = "compacting"
	StatusClosed      Status = "closed"
	StatusDeleted     Status = "deleted"
)

// Session is one row. Settings and State are JSON documents of package session:
// settings are what clients set and what changes Version; state is everything else
// that decides anything after a restart.
type Session struct {
	ID        message.SessionID
	LogID     string
	Owner     string
	Title     string
	Status    Status
	Version   int64 // counts changes of title and settings, from 1
	HeadSeq   int64 // seq of the newest entry
	Settings  []byte
	State     []byte
	CreatedAt time.Time
	UpdatedAt time.Time // of the newest activity
	ClosedAt  time.Time // zero unless closed
}

// Entry is one line of a log. Body is JSON, opaque here.
type Entry struct {
	Seq       int64
	Kind      string
	TurnID    message.TurnID // empty if it belongs to none
	MessageID message.ID     // of the message the entry stores, else empty; unique in a session
	Body      []byte
	Tokens    int64
	At        time.Time
}

// TurnStatus is where a turn stands.
type TurnStatus string

// The states of a turn: queued → running → one of the last four, or queued → dropped.
const (
	TurnQueued      TurnStatus = "queued"
	TurnRunning     TurnStatus = "running"
	TurnCompleted   TurnStatus = "completed"
	TurnStopped     TurnStatus = "stopped"
	TurnFailed      TurnStatus = "failed"
	TurnInterrupted TurnStatus = "interrupted"
	TurnDropped     TurnStatus = "dropped"
)

// Turn is one row of the turns table.
type Turn struct {
	ID          message.TurnID
	MessageID   message.ID // the user message that began it
	CreatedSeq  int64      // seq of the entry that stored that message
	StartedSeq  int64      // seq of turn.started; 0 while queued
	Status      TurnStatus
	Rounds      int
	Resumes     int    // how often a round was repeated after a restart
	Detail      []byte // JSON of package session: usage by purpose, error
	CreatedAt   time.Time
	StartedAt   time.Time // zero while queued
	CompletedAt time.Time // zero while open
}

// Commit is one change of one session: its new row, the entries after PrevHead, the
// turns and memories that changed, and the idempotency keys of the calls it answers.
//
// Session.HeadSeq = PrevHead + len(Entries), and Entries are numbered accordingly;
// there may be none. Settings can be large and seldom change: a commit whose
// Session.Settings is nil keeps the stored ones. ID, LogID, Owner and CreatedAt
// never change.
type Commit struct {
	Session  Session
	PrevHead int64 // ignored by Create
	Entries  []Entry
	Turns    []Turn // inserted or replaced by id
	Memories []MemoryChange
	Keys     []KeyRecord
}

// KeyScope is what makes an idempotency key unique.
type KeyScope struct {
	Owner     string
	Method    string
	SessionID message.SessionID // empty for calls that belong to no session
	Key       string
}

// KeyRecord is the remembered result of one call.
type KeyRecord struct {
	KeyScope
	Fingerprint [32]byte  // of the params; equal ones get the result again
	Result      []byte    // JSON
	ExpiresAt   time.Time // zero: as long as the session
}

// Ticket lets one browser connect once as an owner.
type Ticket struct {
	Hash       [32]byte // SHA-256 of the ticket
	Owner      string
	Origin     string
	Scope      string
	SessionIDs []message.SessionID // empty: every session of the owner
	ExpiresAt  time.Time
}

// ListQuery selects a page of an owner's sessions.
type ListQuery struct {
	Owner  string
	Status Status // empty: all
	// Only sessions after this point in the list's order; zero: from the start.
	BeforeUpdatedAt time.Time
	BeforeID        message.SessionID
	Limit           int // ≥ 1
}

// EntryQuery selects a part of a log.
type EntryQuery struct {
	Ref
	AfterSeq   int64    // only seq > AfterSeq
	BeforeSeq  int64    // only seq < BeforeSeq; 0: no bound
	Kinds      []string // empty: all
	Descending bool
	Limit      int // 0: no limit
	MaxBytes   int // of the bodies; 0: no limit
}
