package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

// emit adds finished lines; an answer that is being written ends its line before.
func (v *View) emit(lines ...Line) {
	v.endLine()
	v.lines = append(v.lines, lines...)
	v.begun = true
}

// aside adds finished lines that have nothing to do with the answer that is being written,
// and wait until a line of it ends.
func (v *View) aside(lines ...Line) {
	if v.open == "" {
		v.emit(lines...)
		return
	}
	v.held = append(v.held, lines...)
}

// note adds a dim line.
func (v *View) note(text string) { v.emit(line(Dim, text)) }

// said shows what the user said, set off from what was before.
func (v *View) said(text string) {
	if v.begun {
		v.emit(Line{})
	}
	mark := mark
	for row := range strings.SplitSeq(harmless(text), "\n") {
		v.emit(Line{Indent: Width(mark), Spans: []Span{{Accent, mark + row}}})
		mark = strings.Repeat(" ", Width(mark))
	}
}

// message takes a stored message: the user's, the model's, or one of results, which were
// told one by one.
func (v *View) message(e v1.Entry, m *Message) {
	v.counted.add(e.Seq)
	switch {
	case m.Role == v1.RoleAssistant:
		v.finish(m)
	case m.isResults():
	case e.Type == v1.EventMessageQueued:
		v.confirm(m.shown())
		v.expect(m.TurnID)
		v.queue = append(v.queue, queued{m.ID, m.TurnID, m.shown()})
	default:
		v.confirm(m.shown())
		v.expect(m.TurnID)
		v.said(m.shown())
	}
}

// confirm takes a message that is stored now out of those that are not.
func (v *View) confirm(text string) {
	i := slices.IndexFunc(v.outgoing, func(o outgoing) bool { return o.text == text })
	if i >= 0 {
		v.outgoing = slices.Delete(v.outgoing, i, i+1)
	}
}

// expect notes a turn that is to end, unless it did.
func (v *View) expect(turnID string) {
	if turnID != "" && !v.ended[turnID] {
		v.turns[turnID] = true
	}
}

// wasSent takes the answer to a message, which may come before or after the events of its
// turn.
func (v *View) wasSent(e Sent) {
	v.outgoing = slices.DeleteFunc(v.outgoing, func(o outgoing) bool { return o.n == e.N })
	if e.SessionID == v.session.ID { // else it was deleted in the meantime
		v.expect(e.Result.TurnID)
	}
}

func (v *View) turnStarted(turnID string, d *v1.TurnStartedData) {
	v.expect(turnID)
	v.armed = false
	i := slices.IndexFunc(v.queue, func(q queued) bool { return q.messageID == d.MessageID })
	if i >= 0 {
		v.said(v.queue[i].text)
		v.queue = slices.Delete(v.queue, i, i+1)
	}
}

func (v *View) dropped(d *v1.MessageDroppedData) {
	i := slices.IndexFunc(v.queue, func(q queued) bool { return q.messageID == d.MessageID })
	if i < 0 {
		return
	}
	v.note("Not answered: " + Head(v.queue[i].text, labelWidth))
	v.endTurn(v.queue[i].turnID)
	v.queue = slices.Delete(v.queue, i, i+1)
}

func (v *View) endTurn(turnID string) {
	delete(v.turns, turnID)
	v.ended[turnID] = true
}

func (v *View) turnCompleted(turnID string, d *v1.TurnCompletedData) {
	v.endTurn(turnID)
	v.foreign, v.stopping = false, false
	v.breakOff("(broken off)")
	v.calls = nil
	switch d.Status {
	case v1.OutcomeCompleted:
	case v1.OutcomeStopped:
		v.note("(stopped)")
	case v1.OutcomeFailed, v1.OutcomeInterrupted:
		v.wrong(fmt.Errorf("the turn %s", turnProblem(d)))
		v.emit(line(Bad, "The turn "+turnProblem(d)))
	}
	switch d.StopReason {
	case v1.StopMaxTokens:
		v.emit(line(Warn, "(the answer is as long as answers may be, and was cut)"))
	case v1.StopContextWindow:
		v.emit(line(Warn, "(the answer was cut: the model's window is full)"))
	}
}

func turnProblem(d *v1.TurnCompletedData) string {
	verb := "failed"
	if d.Status == v1.OutcomeInterrupted {
		verb = "was interrupted"
	}
	if d.Error == nil {
		return verb + "."
	}
	return strings.TrimSuffix(fmt.Sprintf("%s (%s): %s", verb, d.Error.Kind, d.Error.Message), ": ")
}

// failed shows an action that did not succeed.
func (v *View) failed(e Failed) {
	name := nameOf(e.Action)
	v.wrong(fmt.Errorf("%s: %w", name, e.Err))
	if s, ok := e.Action.(Send); ok {
		v.outgoing = slices.DeleteFunc(v.outgoing, func(o outgoing) bool { return o.n == s.N })
		name = "Not sent (" + Head(s.Text, labelWidth) + ")"
	}
	if _, ok := e.Action.(Stop); ok {
		v.stopping = false
	}
	if v.starting {
		v.err, v.left = v.problem, true
		return
	}
	v.aside(line(Bad, name+": "+reason(e.Err)))
}

// wrong notes a failure, the first for good.
func (v *View) wrong(err error) {
	if v.problem == nil {
		v.problem = err
	}
}

// reason says why something failed, for people.
func reason(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		if kind := e.Kind(); kind != "" {
			return fmt.Sprintf("%s (%s)", e.Message, kind)
		}
		return e.Message
	}
	return err.Error()
}

// updated tells that a session was closed or opened by somebody.
func (v *View) updated(d *v1.SessionUpdatedData) {
	if d.Title != nil {
		v.session.Title = *d.Title
	}
	if d.Status == nil {
		return
	}
	v.note("The session is " + string(*d.Status) + " now.")
}

// remembered tells what is kept beside the log.
func (v *View) remembered(d *v1.MemoryChangedData) {
	what := "a memory"
	if d.Memory != nil {
		what = "“" + d.Memory.Title + "”"
	}
	switch d.Change {
	case v1.MemoryCreated:
		v.emit(cut(span(Dim, "◆ remembered: "+what)))
	case v1.MemoryUpdated:
		v.emit(cut(span(Dim, "◆ remembered anew: "+what)))
	case v1.MemoryDeleted:
		v.emit(cut(span(Dim, "◆ no longer remembered: "+what)))
	}
}
