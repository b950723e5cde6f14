package message

import (
	"github.com/google/uuid"
)

// Identifiers are UUIDv7 in their canonical text form, but for [ToolUseID], whose
// text may come from a provider. Each kind has its own type so that the compiler
// refuses a turn where a message is wanted.
type (
	// SessionID names a session.
	SessionID string
	// ID names a message.
	ID string
	// TurnID names a turn.
	TurnID string
	// ToolUseID names one tool call and its result; unique inside a session.
	ToolUseID string
	// MemoryID names a memory.
	MemoryID string
)

// NewSessionID returns a fresh identifier.
func NewSessionID() SessionID { return SessionID(newUUID()) }

// NewID returns a fresh message identifier.
func NewID() ID { return ID(newUUID()) }

// NewTurnID returns a fresh turn identifier.
func NewTurnID() TurnID { return TurnID(newUUID()) }

// NewMemoryID returns a fresh memory identifier.
func NewMemoryID() MemoryID { return MemoryID(newUUID()) }

// NewToolUseID returns a fresh tool call identifier of the shape that every
// provider accepts: letters, digits and underscores only.
func NewToolUseID() ToolUseID {
	u := uuid.Must(uuid.NewV7())
	buf := make([]byte, 0, 5+32)
	buf = append(buf, "call_"...)
	for _, b := range u {
		buf = append(buf, hexDigits[b>>4], hexDigits[b&15])
	}
	return ToolUseID(buf)
}

// maxToolUseIDBytes bounds a provider's id that is kept as it is; OpenAI-compatible
// servers document 40 to 64.
const maxToolUseIDBytes = 64

// Portable reports whether every provider accepts the id as it is: 1 to 64 letters,
// digits, underscores and hyphens (Anthropic's pattern is the narrowest).
func (id ToolUseID) Portable() bool {
	if id == "" || len(id) > maxToolUseIDBytes {
		return false
	}
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// newUUID fails only if the system's random source does, which leaves no way on.
func newUUID() string { return uuid.Must(uuid.NewV7()).String() }
