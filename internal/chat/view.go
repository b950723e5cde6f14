package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	v1 "sessiond/rpc/v1"
)

// View is what a chat shows and waits for. Make it with [NewView].
type View struct {
	zone *time.Location

	lines []Line // finished, not yet taken
	open  string // the last line of an answer, while it is written
	held  []Line // come when it ends
	// cr: the last character written was a carriage return, which a line feed may follow.
	cr    bool
	begun bool // something was said

	session  v1.Session
	progress *v1.Progress
	tools    map[string]bool // that clients run
	counted  counted

	answer   answer
	calls    []call     // tool calls without a result
	queue    []queued   // messages that wait for their turn
	outgoing []outgoing // what was typed and is not stored yet
	sent     int        // the number of the newest of them

	turns    map[string]bool // those that are expected to end
	ended    map[string]bool // those that did
	foreign  bool            // something runs that began before we came
	activity v1.Activity
	waiting  int   // actions that have not ended
	due      int64 // the generation that an entry is about to tell of; 0: none

	down     error // why there is no connection at the moment
	notice   string
	stopping bool
	armed    bool // Ctrl-C was pressed; once more leaves
	left     bool
	greeted  bool  // there was a connection
	starting bool  // the session that was asked for is not open yet
	err      error // why the chat could not go on
	problem  error // the first failure of a turn or a command
	listed   []string
}

// queued is a message that waits for its turn.
type queued struct{ messageID, turnID, text string }

// outgoing is a message that the server has not confirmed.
type outgoing struct {
	n    int
	text string
}

// NewView returns a view that shows times in a zone.
func NewView(zone *time.Location) *View {
	return &View{zone: zone, turns: make(map[string]bool), ended: make(map[string]bool)}
}

// Start returns what is to be done first: to open a session, if one is named.
func (v *View) Start(sessionID string) []Action {
	if sessionID == "" {
		return nil
	}
	v.starting = true
	return v.want(Open{sessionID})
}

// want counts actions that are to end.
func (v *View) want(actions ...Action) []Action {
	v.waiting += len(actions)
	return actions
}

// Apply takes an event.
func (v *View) Apply(e Event) {
	switch e := e.(type) {
	case Connected:
		v.connected(e)
	case Lost:
		v.down = e.Err
	case Resumed:
		v.resumed(e)
	case Reset:
		v.reset()
		v.emit(line(Warn, "The log of this session is another one now; here it is from its beginning."))
	case Ended:
		v.err, v.left = e.Err, true
	case Opened:
		v.opened(e)
	case Logged:
		v.logged(e.Entry)
	case Streamed:
		v.streamed(e.Delta)
	case Busied:
		v.activity = e.Activity
	case Progressed:
		v.progress = &e.Progress
	case Noticed:
		if e.Notice.Kind == v1.NoticeShuttingDown {
			v.notice = "the server is going away"
		}
	case Sent, Compacted, ContextTold, SessionsTold, MemoriesTold, Stopped, Done, Failed:
		v.waiting--
		v.answered(e)
	}
}

// answered takes the event that ends an action.
func (v *View) answered(e Event) {
	switch e := e.(type) {
	case Sent:
		v.wasSent(e)
	case Compacted:
		v.wasCompacted(&e.Result, e.Undo)
	case ContextTold:
		v.progress = &e.Context.Progress
		v.aside(contextLines(&e.Context, &e.Session)...)
	case SessionsTold:
		v.listed = v.listed[:0]
		for i := range e.Sessions {
			v.listed = append(v.listed, e.Sessions[i].ID)
		}
		v.aside(sessionLines(e, v.session.ID, v.zone)...)
	case MemoriesTold:
		v.aside(memoryLines(e)...)
	case Stopped:
		v.stopping = false
		if !e.Stopped {
			v.aside(line(Dim, "Nothing was running."))
		}
	case Failed:
		v.failed(e)
	case Done, Connected, Lost, Resumed, Reset, Ended, Opened, Logged, Streamed, Busied, Progressed, Noticed:
	}
}

func (v *View) connected(e Connected) {
	v.greeted = true
	model := ""
	for _, m := range e.Info.Models {
		if m.Default {
			model = " · " + m.Name
		}
	}
	v.emit(line(Dim, fmt.Sprintf("%s %s at %s%s · /help lists the commands", e.Info.Name, e.Info.Version, e.URL, model)))
}

func (v *View) resumed(e Resumed) {
	v.down, v.notice = nil, ""
	if e.Session.ID != v.session.ID {
		return
	}
	v.adopt(&e.Session)
	if e.Session.Status == v1.SessionIdle || e.Session.Status == v1.SessionClosed {
		v.foreign = false
		clear(v.turns)
	}
	if e.Again {
		missed := "nothing was missed"
		if e.Missed > 0 {
			missed = fmt.Sprintf("%s caught up with", plural(e.Missed, "entry", "entries"))
		}
		v.aside(line(Dim, fmt.Sprintf("The connection was lost and is back: resumed at entry %d, %s.", e.Session.HeadSeq, missed)))
	}
	for i := range e.OpenItems {
		v.catchUp(&e.OpenItems[i])
	}
}

// adopt takes over what is known of the session now.
func (v *View) adopt(s *v1.Session) {
	v.session = *s
	v.progress = &s.Progress
	v.tools = make(map[string]bool, len(s.Tools))
	for i := range s.Tools {
		v.tools[s.Tools[i].Name] = true
	}
}

// reset forgets what belongs to the session that is shown, but for its name.
func (v *View) reset() {
	v.breakOff("(broken off)")
	v.calls, v.queue, v.activity, v.due = nil, nil, v1.Activity{}, 0
	v.foreign, v.stopping = false, false
	clear(v.turns)
	clear(v.ended)
	v.counted = counted{from: 1, boundary: 1}
}

// opened shows a session in place of the one before.
func (v *View) opened(e Opened) {
	v.reset()
	v.starting = false
	v.session, v.progress, v.tools = v1.Session{}, nil, nil
	if e.Session.ID == "" {
		if e.Gone {
			v.emit(line(Warn, "The session is gone."))
		}
		v.note("A new session begins with your next message.")
		return
	}
	v.adopt(&e.Session)
	v.openCounted(e)
	switch {
	case e.Copied && e.Session.ForkedFrom != nil:
		v.note(fmt.Sprintf("This is a copy now, made at entry %d: session %s", e.Session.ForkedFrom.Seq, e.Session.ID))
	case len(e.Messages) == 0:
		v.emit(line(Dim, fmt.Sprintf("session %s · %s", e.Session.ID, e.Session.Model)))
	default:
		v.past(e)
	}
	switch e.Session.Status {
	case v1.SessionRunning, v1.SessionWaitingTool, v1.SessionCompacting:
		v.foreign = true
	case v1.SessionClosed:
		v.emit(line(Warn, "This session is closed: it can be read and forked."))
	case v1.SessionIdle:
	}
	for _, p := range e.Session.PendingToolCalls {
		v.callTool(call{id: p.ToolUseID, name: p.Name, input: string(p.Input), claimed: p.Status == v1.ToolCallClaimed})
	}
}

// past shows the newest messages of a session that was opened.
func (v *View) past(e Opened) {
	title := e.Session.Title
	if e.Earlier {
		title += " · earlier messages are not shown"
	}
	v.emit(Line{}, Line{Spans: []Span{span(Strong, title), span(Dim, " · "+e.Session.Model)}})
	for i := range e.Messages {
		m := &e.Messages[i]
		switch {
		case m.Role == v1.RoleAssistant:
			v.finish(m)
			for j := range m.Content {
				if b := &m.Content[j]; b.Type == "tool_use" {
					v.calls = append(v.calls, call{id: b.ID, name: b.Name, input: string(b.Input)})
				}
			}
		case m.isResults():
			for j := range m.Content {
				b := &m.Content[j]
				v.resolve(b.ToolUseID, resultText(b.Content), b.IsError)
			}
		default:
			v.said(m.shown())
		}
	}
	v.calls = nil // those without a result come with the session
}

// logged takes an entry of the log.
func (v *View) logged(e v1.Entry) {
	var err error
	switch e.Type { //nolint:exhaustive // what is not listed says nothing that is shown
	case v1.EventMessageAdded, v1.EventMessageQueued:
		err = with(e, func(d *messageData) { v.message(e, &d.Message) })
	case v1.EventMessageDropped:
		err = with(e, v.dropped)
	case v1.EventTurnStarted:
		err = with(e, func(d *v1.TurnStartedData) { v.turnStarted(e.TurnID, d) })
	case v1.EventTurnCompleted:
		err = with(e, func(d *v1.TurnCompletedData) { v.turnCompleted(e.TurnID, d) })
	case v1.EventToolCalled:
		err = with(e, func(d *v1.ToolCalledData) { v.callTool(call{id: d.ToolUseID, name: d.Name, input: string(d.Input)}) })
	case v1.EventToolClaimed:
		err = with(e, func(d *v1.ToolClaimedData) { v.claim(d.ToolUseID) })
	case v1.EventToolResolved:
		err = with(e, func(d *resolvedData) { v.resolve(d.ToolUseID, resultText(d.Content), d.IsError) })
	case v1.EventCommand:
		err = with(e, func(d *v1.CommandData) { v.said(strings.TrimSpace("/" + d.Command + " " + d.Text)) })
	case v1.EventContextCleared:
		err = with(e, v.cleared)
	case v1.EventContextWarning:
		err = with(e, func(d *v1.ContextWarningData) { v.emit(line(Warn, d.Message)) })
	case v1.EventCompactionCompleted:
		err = with(e, func(d *v1.Compaction) { v.compacted(e.Seq, d) })
	case v1.EventCompactionFailed:
		err = with(e, v.compactionFailed)
	case v1.EventCompactionUndone:
		err = with(e, v.undone)
	case v1.EventMemoryChanged:
		err = with(e, v.remembered)
	case v1.EventSessionUpdated:
		err = with(e, v.updated)
	case v1.EventSessionDeleted:
		v.opened(Opened{Gone: true})
	}
	if err != nil {
		v.emit(line(Bad, fmt.Sprintf("entry %d (%s) can't be read: %v", e.Seq, e.Type, err)))
	}
}

// messageData and resolvedData are the contract's types with contents that can be read.
type (
	messageData struct {
		Message Message `json:"message"`
	}
	resolvedData struct {
		ToolUseID string  `json:"tool_use_id"`
		Content   []Block `json:"content"`
		IsError   bool    `json:"is_error"`
	}
)

// with decodes the data of an entry for what takes it.
func with[T any](e v1.Entry, take func(*T)) error {
	var data T
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return err
	}
	take(&data)
	return nil
}
