package chat

import (
	"fmt"

	v1 "sessiond/rpc/v1"
)

// Take returns the lines that were finished since the last call. The first of them may be
// the one that was open then; it has grown by what follows.
func (v *View) Take() []Line {
	if v.left {
		v.endLine()
	}
	lines := v.lines
	v.lines = nil
	return lines
}

// Open is the line of an answer that is being written. It only grows, until it is the next
// line that Take returns.
func (v *View) Open() string { return v.open }

// Live are the lines that tell how things stand: thinking, calls of tools, messages that
// wait. The next call may return others.
func (v *View) Live() []Line {
	var lines []Line
	if a := &v.answer; !a.over && !a.folded && a.thinking.Len() > 0 {
		lines = append(lines, cut(span(Dim, "∴ thinking: "+tail(oneLine(a.thinking.String()), labelWidth))))
	}
	for i := range v.calls {
		lines = append(lines, v.calls[i].live(v.tools[v.calls[i].name]))
	}
	for _, q := range v.queue {
		lines = append(lines, cut(span(Dim, "⧖ queued: "+Head(oneLine(q.text), labelWidth))))
	}
	for _, o := range v.outgoing {
		state := "sending: "
		if v.down != nil {
			state = "is sent when the connection is back: "
		}
		lines = append(lines, cut(span(Dim, "⧖ "+state+Head(oneLine(o.text), labelWidth))))
	}
	return lines
}

// Status says in a few words what is going on, empty if nothing is.
func (v *View) Status() string {
	switch {
	case v.down != nil:
		return "no connection, trying again: " + oneLine(v.down.Error())
	case v.armed && !v.Busy():
		return ""
	case v.stopping:
		return "stopping · Ctrl-C again leaves"
	case v.notice != "":
		return v.notice
	case v.activity.Activity == v1.ActivityCompacting:
		return "compacting · Ctrl-C stops"
	case v.activity.Activity == v1.ActivityRetrying:
		return fmt.Sprintf("the provider failed, try %d in %.1f s · Ctrl-C stops", v.activity.Attempt, float64(v.activity.RetryInMS)/1000)
	case v.activity.Activity == v1.ActivityWaitingTool, len(v.calls) > 0:
		return "waiting for tools · Ctrl-C stops"
	case v.answer.input > 0 && !v.answer.over:
		return fmt.Sprintf("writing a tool call, %s · Ctrl-C stops", plural(int64(v.answer.input), "character", "characters"))
	case v.Busy():
		return "answering · Ctrl-C stops"
	case v.waiting > 0:
		return "asking the server"
	}
	return ""
}

// Hint is what to do next, empty if there is nothing to say.
func (v *View) Hint() string {
	if v.armed && !v.stopping {
		return "Ctrl-C again leaves"
	}
	return ""
}

// Busy reports whether something runs that Ctrl-C stops.
func (v *View) Busy() bool {
	return len(v.turns) > 0 || v.foreign || v.activity.Activity == v1.ActivityCompacting
}

// Idle reports whether everything that was asked for is done.
func (v *View) Idle() bool {
	return v.greeted && v.down == nil && v.waiting == 0 && v.due == 0 && !v.Busy()
}

// Interrupt takes Ctrl-C: it stops what runs; the second time, and when nothing runs, it
// leaves.
func (v *View) Interrupt() []Action {
	switch {
	case v.armed:
		v.left = true
		return nil
	case v.Busy() && v.down == nil:
		v.armed, v.stopping = true, true
		return v.want(Stop{})
	}
	v.armed = true
	return nil
}

// Disarm takes back that Ctrl-C was pressed once, since something else was typed after it.
func (v *View) Disarm() { v.armed = false }

// Leave takes the end of the input.
func (v *View) Leave() { v.left = true }

// Left reports whether the chat is over.
func (v *View) Left() bool { return v.left }

// Err says why the chat could not go on, nil if it could.
func (v *View) Err() error { return v.err }

// Problem is the first failure of a turn or a command, nil if there was none.
func (v *View) Problem() error { return v.problem }

// SessionID is the session that is open, empty if there is none.
func (v *View) SessionID() string { return v.session.ID }

// Farewell is what to say at the end: how to come back, and what goes on without us.
func (v *View) Farewell() string {
	if v.session.ID == "" {
		return ""
	}
	text := "Come back with: sessiond chat --session " + v.session.ID
	if v.Busy() {
		text = "The turn goes on without you. " + text
	}
	return text
}
