package chat

// Action is what a [View] wants done. A [Link] does it and reports how it ended by one of
// the events that end actions.
//
//sumtype:decl
type Action interface{ action() }

// The actions. All but Open, ListSessions, ListMemories and New are about the session that
// is open; Send makes one if there is none.
type (
	// Send sends a message.
	Send struct {
		N    int // counts messages; Sent tells it
		Text string
	}
	// Compact compacts the session.
	Compact struct{ Instruction string }
	// Undo undoes the last compaction.
	Undo struct{}
	// ShowContext asks what the model is shown.
	ShowContext struct{}
	// ListSessions asks for the sessions.
	ListSessions struct{}
	// ListMemories asks for what is remembered, of the session and of its owner.
	ListMemories struct{}
	// Open opens a session.
	Open struct{ SessionID string }
	// New leaves the session; the next message begins another.
	New struct{}
	// Fork makes a copy of the session and opens it.
	Fork struct{}
	// Stop stops what is running.
	Stop struct{ ClearQueue bool }
)

func (Send) action()         {}
func (Compact) action()      {}
func (Undo) action()         {}
func (ShowContext) action()  {}
func (ListSessions) action() {}
func (ListMemories) action() {}
func (Open) action()         {}
func (New) action()          {}
func (Fork) action()         {}
func (Stop) action()         {}

// nameOf returns what people call an action.
func nameOf(a Action) string {
	switch a.(type) {
	case Send:
		return "sending"
	case Compact:
		return "/compact"
	case Undo:
		return "/undo"
	case ShowContext:
		return "/context"
	case ListSessions:
		return "/sessions"
	case ListMemories:
		return "/memory"
	case Open:
		return "/open"
	case New:
		return "/new"
	case Fork:
		return "/fork"
	case Stop:
		return "/stop"
	}
	return "that"
}
