package session

import (
	"fmt"
	"sort"
	"strings"
)

// Kind names what went wrong in a way that callers can branch on. The set is closed;
// the server's table maps each to a code.
type Kind string

// The kinds of errors this package returns. Everything else it returns is internal.
const (
	KindNotFound            Kind = "not_found" // Data: what
	KindBusy                Kind = "busy"
	KindQueueFull           Kind = "queue_full"
	KindVersionConflict     Kind = "version_conflict" // Data: version
	KindIdempotencyConflict Kind = "idempotency_conflict"
	KindSessionClosed       Kind = "session_closed"
	KindLogReset            Kind = "log_reset" // Data: head_seq, log_id
	KindToolCallNotFound    Kind = "tool_call_not_found"
	KindToolCallClaimed     Kind = "tool_call_claimed"
	KindToolCallResolved    Kind = "tool_call_resolved"
	KindOverloaded          Kind = "overloaded"
	KindShuttingDown        Kind = "shutting_down"
	KindUnsupportedMedia    Kind = "unsupported_media" // Data: path
	KindQuotaExceeded       Kind = "quota_exceeded"    // Data: quota
	KindInvalidParam        Kind = "invalid_param"     // Data: path, reason
	KindContentTooLarge     Kind = "content_too_large" // Data: path, tokens and max_tokens or bytes and max_bytes
	KindContextOverflow     Kind = "context_overflow"  // Data: tokens, limit
)

// Error is an expected failure.
type Error struct {
	Kind    Kind
	Message string
	Data    map[string]any // more for the caller; see the kinds
}

func (e *Error) Error() string {
	if len(e.Data) == 0 {
		return fmt.Sprintf("%s: %s", e.Kind, e.Message)
	}
	parts := make([]string, 0, len(e.Data))
	for k, v := range e.Data {
		parts = append(parts, fmt.Sprintf("%s=%v", k, v))
	}
	sort.Strings(parts)
	return fmt.Sprintf("%s: %s (%s)", e.Kind, e.Message, strings.Join(parts, ", "))
}

// Is makes errors.Is(err, &Error{Kind: k}) true for every error of that kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Message == "" && t.Data == nil
}

func errNotFound(what string) error {
	return &Error{Kind: KindNotFound, Message: "no such " + what, Data: map[string]any{"what": what}}
}

func errInvalid(path, reason string) error {
	return &Error{Kind: KindInvalidParam, Message: path + ": " + reason, Data: map[string]any{"path": path, "reason": reason}}
}

func errClosed() error {
	return &Error{Kind: KindSessionClosed, Message: "the session is closed; open it first"}
}

func errShuttingDown() error {
	return &Error{Kind: KindShuttingDown, Message: "the server is shutting down"}
}
