package chat

import (
	"time"

	v1 "sessiond/rpc/v1"
)

// Event is something that has happened, as a [Link] reports it.
//
//sumtype:decl
type Event interface{ event() }

// The events. Those that end an action are marked.
type (
	// Connected is the first connection.
	Connected struct {
		URL  string
		Info v1.ServerInfoResult
	}
	// Lost is that the connection ended; it is being made again.
	Lost struct{ Err error }
	// Resumed is that the session is followed, for the first time or again.
	Resumed struct {
		Session   v1.Session
		OpenItems []v1.OpenItem
		Again     bool  // the connection had been lost
		Missed    int64 // entries that were caught up with
	}
	// Reset is that the session's log is not the one that was shown: it is told from its
	// beginning.
	Reset struct{}
	// Ended is that there will be no connection any more.
	Ended struct{ Err error }

	// Opened is that another session is shown from now on, or none, if it has no id.
	Opened struct {
		Session  v1.Session
		Messages []Message // its newest
		Earlier  bool      // there are others before them
		Boundary int64     // the first message that the model is shown; 0: not known, or all
		Copied   bool      // it is a copy of the one so far: its messages were shown
		Gone     bool      // the one so far is gone, and there is none
	}
	// Logged is an entry of the log.
	Logged struct{ Entry v1.Entry }
	// Streamed is a piece of an answer.
	Streamed struct{ Delta v1.Delta }
	// Busied is what the session is busy with.
	Busied struct{ Activity v1.Activity }
	// Progressed is how full the context is.
	Progressed struct{ Progress v1.Progress }
	// Noticed is what the server tells everybody.
	Noticed struct{ Notice v1.ServerNotice }

	// Sent ends a Send.
	Sent struct {
		N         int
		SessionID string
		Result    v1.MessageSendResult
	}
	// Compacted ends a Compact or an Undo.
	Compacted struct {
		Result v1.CompactionResult
		Undo   bool
	}
	// ContextTold ends a ShowContext.
	ContextTold struct {
		Context v1.SessionContextResult
		Session v1.Session
	}
	// SessionsTold ends a ListSessions.
	SessionsTold struct {
		Sessions []v1.Session
		More     bool
		Now      time.Time
	}
	// MemoriesTold ends a ListMemories.
	MemoriesTold struct {
		Memories []v1.Memory
		More     bool
	}
	// Stopped ends a Stop.
	Stopped struct{ Stopped bool }
	// Done ends an Open, a Fork or a New.
	Done struct{}
	// Failed ends any action.
	Failed struct {
		Action Action
		Err    error
	}
)

func (Connected) event()    {}
func (Lost) event()         {}
func (Resumed) event()      {}
func (Reset) event()        {}
func (Ended) event()        {}
func (Opened) event()       {}
func (Logged) event()       {}
func (Streamed) event()     {}
func (Busied) event()       {}
func (Progressed) event()   {}
func (Noticed) event()      {}
func (Sent) event()         {}
func (Compacted) event()    {}
func (ContextTold) event()  {}
func (SessionsTold) event() {}
func (MemoriesTold) event() {}
func (Stopped) event()      {}
func (Done) event()         {}
func (Failed) event()       {}
