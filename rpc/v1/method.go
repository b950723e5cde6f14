package v1

import (
	"encoding/json"
	"reflect"
)

// The methods.
const (
	MethodServerInfo         = "v1.server.info"
	MethodSessionCreate      = "v1.session.create"
	MethodSessionGet         = "v1.session.get"
	MethodSessionList        = "v1.session.list"
	MethodSessionUpdate      = "v1.session.update"
	MethodSessionClose       = "v1.session.close"
	MethodSessionOpen        = "v1.session.open"
	MethodSessionDelete      = "v1.session.delete"
	MethodSessionFork        = "v1.session.fork"
	MethodSessionCompact     = "v1.session.compact"
	MethodSessionUndoCompact = "v1.session.undo_compact"
	MethodSessionContext     = "v1.session.context"
	MethodSessionSubscribe   = "v1.session.subscribe"
	MethodSessionUnsubscribe = "v1.session.unsubscribe"
	MethodSessionLog         = "v1.session.log"
	MethodMessageSend        = "v1.message.send"
	MethodMessageList        = "v1.message.list"
	MethodMessageGet         = "v1.message.get"
	MethodTurnStop           = "v1.turn.stop"
	MethodTurnGet            = "v1.turn.get"
	MethodTurnList           = "v1.turn.list"
	MethodToolSubmitResult   = "v1.tool.submit_result"
	MethodToolClaim          = "v1.tool.claim"
	MethodMemoryList         = "v1.memory.list"
	MethodMemoryCreate       = "v1.memory.create"
	MethodMemoryUpdate       = "v1.memory.update"
	MethodMemoryDelete       = "v1.memory.delete"
	MethodDiscover           = "rpc.discover"
)

// Scope says what a connection's credentials allow, and what a method asks of them.
// Each includes the ones before it.
type Scope int

// The scopes. A read ticket may subscribe to progress only; a chat or read ticket
// sees no prompts, and nothing of sessions other than its own.
const (
	ScopeNone Scope = iota // any accepted connection
	ScopeRead
	ScopeChat
	ScopeFull
)

// String returns the scope's name as tickets spell it.
func (s Scope) String() string {
	switch s {
	case ScopeNone:
		return "none"
	case ScopeRead:
		return "read"
	case ScopeChat:
		return "chat"
	case ScopeFull:
		return "full"
	}
	return "unknown"
}

// Allows reports whether credentials of scope s may call a method that asks for
// needed.
func (s Scope) Allows(needed Scope) bool { return s >= needed }

// Method is one row of the method table.
type Method struct {
	Name    string
	Summary string
	Scope   Scope
	// Writes: the method changes something and so takes a key.
	Writes bool
	// SessionParam: the method is about the session named by its params.
	SessionParam bool
	Params       reflect.Type
	Result       reflect.Type
	// Errors are the kinds of failure the method can answer with, besides invalid
	// params and internal errors.
	Errors []Kind
}

// Every call may meet the first kinds; the others come with what a method does.
func everyCall(more ...Kind) []Kind {
	return append([]Kind{KindTooManyInFlight, KindRateLimited, KindShuttingDown}, more...)
}

func ownersCall(more ...Kind) []Kind {
	return everyCall(append([]Kind{KindForbidden, KindOverloaded}, more...)...)
}

func sessionCall(more ...Kind) []Kind {
	return ownersCall(append([]Kind{KindNotFound}, more...)...)
}

func sessionWrite(more ...Kind) []Kind {
	return sessionCall(append([]Kind{KindIdempotencyConflict}, more...)...)
}

// method fills in what follows from the types.
func method[P, R any](name, summary string, scope Scope, errors []Kind) Method {
	params := reflect.TypeFor[P]()
	return Method{
		Name:         name,
		Summary:      summary,
		Scope:        scope,
		Writes:       params.Implements(reflect.TypeFor[interface{ IdempotencyKey() string }]()),
		SessionParam: params.Implements(reflect.TypeFor[interface{ Session() string }]()),
		Params:       params,
		Result:       reflect.TypeFor[R](),
		Errors:       errors,
	}
}

// methodTable is the contract's list of methods, in the order in which they are
// described.
func methodTable() []Method {
	table := []Method{
		method[ServerInfoParams, ServerInfoResult](MethodServerInfo,
			"Tells what the server is, which limits it has and which models it offers.", ScopeNone, everyCall()),
	}
	table = append(table, sessionMethods()...)
	table = append(table, contextMethods()...)
	table = append(table, streamMethods()...)
	table = append(table, conversationMethods()...)
	table = append(table, memoryMethods()...)
	return append(table, method[DiscoverParams, json.RawMessage](MethodDiscover,
		"Returns this description.", ScopeNone, everyCall()))
}

func sessionMethods() []Method {
	return []Method{
		method[SessionCreateParams, SessionResult](MethodSessionCreate,
			"Creates a session.", ScopeFull, ownersCall(KindIdempotencyConflict)),
		method[SessionGetParams, SessionGetResult](MethodSessionGet,
			"Returns a session.", ScopeRead, sessionCall()),
		method[SessionListParams, SessionListResult](MethodSessionList,
			"Lists the owner's sessions, newest activity first.", ScopeFull, ownersCall()),
		method[SessionUpdateParams, SessionResult](MethodSessionUpdate,
			"Changes a session; a running turn goes on with what it began with.", ScopeFull,
			sessionWrite(KindVersionConflict, KindSessionClosed)),
		method[SessionCloseParams, SessionResult](MethodSessionClose,
			"Closes a session: it refuses writes and may be read and forked.", ScopeFull, sessionWrite()),
		method[SessionOpenParams, SessionResult](MethodSessionOpen,
			"Opens a closed session again.", ScopeFull, sessionWrite()),
		method[SessionDeleteParams, SessionDeleteResult](MethodSessionDelete,
			"Deletes a session and stops what runs in it; deleting it again is no error.", ScopeFull, sessionWrite()),
		method[SessionForkParams, SessionResult](MethodSessionFork,
			"Makes a new session from the beginning of another one.", ScopeFull, sessionWrite()),
	}
}

// A chat ticket may not give an instruction, and none may see the view: the handlers
// refuse what the scope of a method can't tell.
func contextMethods() []Method {
	return []Method{
		method[SessionCompactParams, CompactionResult](MethodSessionCompact,
			"Compacts a session's context now; during a tool round, at the end of it.", ScopeChat,
			sessionWrite(KindSessionClosed, KindBusy)),
		method[SessionUndoCompactParams, CompactionResult](MethodSessionUndoCompact,
			"Shows the model again what the last compaction took away.", ScopeFull,
			sessionWrite(KindSessionClosed, KindBusy, KindContextOverflow)),
		method[SessionContextParams, SessionContextResult](MethodSessionContext,
			"Tells what the model would get now: sizes, limits and, if asked for, the messages.", ScopeRead, sessionCall()),
	}
}

func streamMethods() []Method {
	return []Method{
		method[SubscribeParams, SubscribeResult](MethodSessionSubscribe,
			"Sends what the client missed and then everything new; once more replaces the subscription.", ScopeRead,
			sessionCall(KindSubscriptionLimit, KindLogReset)),
		method[UnsubscribeParams, UnsubscribeResult](MethodSessionUnsubscribe,
			"Ends the connection's subscription to a session, if there is one.", ScopeRead, sessionCall()),
		method[LogParams, LogResult](MethodSessionLog,
			"Returns a page of a session's log.", ScopeFull, sessionCall()),
	}
}

func conversationMethods() []Method {
	return []Method{
		method[MessageSendParams, MessageSendResult](MethodMessageSend,
			"Stores a user's message and has it answered; the answer comes as events.", ScopeChat,
			sessionWrite(KindSessionClosed, KindBusy, KindQueueFull, KindUnsupportedMedia, KindContentTooLarge, KindQuotaExceeded)),
		method[MessageListParams, MessageListResult](MethodMessageList,
			"Returns a page of a session's messages; without a position the newest.", ScopeFull, sessionCall()),
		method[MessageGetParams, MessageGetResult](MethodMessageGet,
			"Returns one message with all its data.", ScopeChat, sessionCall()),
		method[TurnStopParams, TurnStopResult](MethodTurnStop,
			"Stops the running turn; what was shown of the answer is kept.", ScopeChat, sessionWrite()),
		method[TurnGetParams, TurnGetResult](MethodTurnGet,
			"Returns a turn.", ScopeChat, sessionCall()),
		method[TurnListParams, TurnListResult](MethodTurnList,
			"Lists a session's turns, newest first.", ScopeFull, sessionCall()),
		method[ToolSubmitResultParams, ToolSubmitResultResult](MethodToolSubmitResult,
			"Gives a tool call its result; the same result again is no error.", ScopeChat,
			sessionWrite(KindSessionClosed, KindToolCallNotFound, KindToolCallClaimed, KindToolCallResolved, KindUnsupportedMedia, KindContentTooLarge)),
		method[ToolClaimParams, ToolClaimResult](MethodToolClaim,
			"Reserves a tool call for a while, or extends the reservation.", ScopeChat,
			sessionWrite(KindSessionClosed, KindToolCallNotFound, KindToolCallClaimed, KindToolCallResolved)),
	}
}

// These are not about the session named by their params, if there is one: a memory of the
// owner is shown in every session, so no ticket for certain sessions may touch any.
func memoryMethods() []Method {
	return []Method{
		method[MemoryListParams, MemoryListResult](MethodMemoryList,
			"Lists the memories of a session or of the owner, newest change first.", ScopeFull, sessionCall()),
		method[MemoryCreateParams, MemoryResult](MethodMemoryCreate,
			"Writes a memory for a session or for the owner.", ScopeFull, sessionWrite(KindSessionClosed, KindQuotaExceeded)),
		method[MemoryUpdateParams, MemoryResult](MethodMemoryUpdate,
			"Changes a memory, which is the client's from then on.", ScopeFull, sessionWrite(KindSessionClosed)),
		method[MemoryDeleteParams, MemoryDeleteResult](MethodMemoryDelete,
			"Deletes a memory.", ScopeFull, sessionWrite(KindSessionClosed)),
	}
}
