package session_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// entry is an event with its data decoded as a client would.
type entry struct {
	*session.Event
	Message   *message.Message
	MessageID message.ID // of message.dropped and turn.started
	Queued    bool
	Call      message.ToolUseID
	Name      string
	By        string
	Content   []message.Block
	IsError   bool
	Status    string
	ErrorKind string
	Fields    []string
	Usage     message.Usage
}

func decode(e *session.Event) (entry, error) {
	var d struct {
		Message   json.RawMessage   `json:"message"`
		MessageID message.ID        `json:"message_id"`
		Queued    bool              `json:"queued"`
		ToolUseID message.ToolUseID `json:"tool_use_id"`
		Name      string            `json:"name"`
		By        string            `json:"by"`
		Content   json.RawMessage   `json:"content"`
		IsError   bool              `json:"is_error"`
		Status    string            `json:"status"`
		Error     *struct {
			Kind string `json:"kind"`
		} `json:"error"`
		Fields []string      `json:"fields"`
		Usage  message.Usage `json:"usage"`
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return entry{}, fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	out := entry{
		Event: e, MessageID: d.MessageID, Queued: d.Queued, Call: d.ToolUseID, Name: d.Name, By: d.By,
		IsError: d.IsError, Status: d.Status, Fields: d.Fields, Usage: d.Usage,
	}
	if d.Error != nil {
		out.ErrorKind = d.Error.Kind
	}
	var err error
	if d.Message != nil {
		if out.Message, err = message.Decode(d.Message); err != nil {
			return entry{}, fmt.Errorf("entry %d: %w", e.Seq, err)
		}
	}
	if d.Content != nil {
		if out.Content, err = message.DecodeBlocks(d.Content); err != nil {
			return entry{}, fmt.Errorf("entry %d: %w", e.Seq, err)
		}
	}
	return out, nil
}

func decodeAll(log []*session.Event) ([]entry, error) {
	entries := make([]entry, len(log))
	for i, e := range log {
		var err error
		if entries[i], err = decode(e); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// tell writes a log in words, a line an entry; turns are called T1, T2 … in the order
// in which they appear.
func tell(log []*session.Event) []string {
	entries, err := decodeAll(log)
	if err != nil {
		return []string{err.Error()}
	}
	turns := make(map[message.TurnID]string)
	names := make(map[message.ToolUseID]string)
	lines := make([]string, len(entries))
	for i, e := range entries {
		line := string(e.Kind)
		if e.TurnID != "" {
			if turns[e.TurnID] == "" {
				turns[e.TurnID] = fmt.Sprintf("T%d", len(turns)+1)
			}
			line = turns[e.TurnID] + " " + line
		}
		if e.Kind == session.EntryToolCalled {
			names[e.Call] = e.Name
		}
		lines[i] = line + e.words(names)
	}
	return lines
}

func (e *entry) words(names map[message.ToolUseID]string) string {
	switch e.Kind { //nolint:exhaustive // stories are about turns; what compaction adds has tests of its own
	case session.EntryMessageAdded, session.EntryMessageQueued:
		s := " " + string(e.Message.Role) + ":"
		for _, b := range e.Message.Content {
			s += " " + blockWords(b, names)
		}
		return s
	case session.EntryTurnCompleted:
		if e.ErrorKind != "" {
			return " " + e.Status + " (" + e.ErrorKind + ")"
		}
		return " " + e.Status
	case session.EntryToolCalled, session.EntryToolClaimed:
		return " " + names[e.Call]
	case session.EntryToolResolved:
		s := fmt.Sprintf(" %s by %s", names[e.Call], e.By)
		if e.IsError {
			s += ", error"
		}
		return s
	case session.EntryUpdated:
		return " " + strings.Join(e.Fields, ",")
	case session.EntryCreated, session.EntryDeleted, session.EntryMessageDropped, session.EntryTurnStarted:
	}
	return ""
}

func blockWords(b message.Block, names map[message.ToolUseID]string) string {
	switch b := b.(type) {
	case message.Text:
		return fmt.Sprintf("%q", b.Text)
	case message.Image:
		return "image"
	case message.Thinking:
		return "thinking"
	case message.ToolUse:
		return b.Name + "()"
	case message.ToolResult:
		if b.Ref != 0 {
			return fmt.Sprintf("%s→#%d", names[b.ToolUseID], b.Ref)
		}
		mark := ""
		if b.IsError {
			mark = "!"
		}
		return fmt.Sprintf("%s%s→%q", names[b.ToolUseID], mark, message.JoinText(b.Content))
	}
	return "?"
}

// story compares a log with what is expected of it, session.created left out, and
// judges everything that must hold of every log.
func (w *world) story(ref store.Ref, want ...string) {
	w.t.Helper()
	synctest.Wait()
	got := tell(w.log(ref))
	if diff := cmp.Diff(append([]string{"session.created"}, want...), got); diff != "" {
		w.t.Errorf("log (-want +got):\n%s", diff)
	}
	w.sound(ref)
}

// sound judges what must hold of every session at rest.
func (w *world) sound(ref store.Ref) {
	w.t.Helper()
	for _, fault := range w.judge(ref) {
		w.t.Error(fault)
	}
}

// judge returns what is wrong with a session: its log, its view, its messages in
// both directions.
func (w *world) judge(ref store.Ref) []string {
	log := w.log(ref)
	entries, err := decodeAll(log)
	if err != nil {
		return []string{err.Error()}
	}
	faults := judgeLog(entries)
	v := w.get(ref)
	if v.HeadSeq != int64(len(log)) {
		faults = append(faults, fmt.Sprintf("the view's head is %d, the log has %d entries", v.HeadSeq, len(log)))
	}
	msgs, waiting := conversationOf(entries)
	if v.Settings.ForkedFrom != nil { // those queued in the source count as dropped
		waiting = waiting[len(waiting)-min(v.Queued, len(waiting)):]
	}
	if v.Queued != len(waiting) {
		faults = append(faults, fmt.Sprintf("the view says %d queued, the log %d", v.Queued, len(waiting)))
	}
	want := encoded(append(msgs, waiting...))
	for _, ascending := range []bool{true, false} {
		for _, limit := range []int{1, 2, 3, 100} {
			got, err := w.page(ref, ascending, limit)
			if err != nil {
				return append(faults, err.Error())
			}
			if diff := cmp.Diff(want, encoded(got)); diff != "" {
				faults = append(faults, fmt.Sprintf("messages, ascending %v, %d a page (-want +got):\n%s", ascending, limit, diff))
			}
		}
	}
	return faults
}

// encoded makes messages cheap to compare.
func encoded(msgs []*message.Message) []string {
	lines := make([]string, len(msgs))
	for i, m := range msgs {
		lines[i] = string(message.Append(nil, m, message.Form{}))
	}
	return lines
}

// page reads all messages in pages and returns them in conversation order.
func (w *world) page(ref store.Ref, ascending bool, limit int) ([]*message.Message, error) {
	var all []*message.Message
	q := session.MessageQuery{Ascending: ascending, Limit: limit}
	for {
		msgs, more, err := w.m.Messages(w.t.Context(), ref, q)
		switch {
		case err != nil:
			return nil, err
		case len(msgs) > limit || more && len(msgs) != limit:
			return nil, fmt.Errorf("a page of %d has %d messages, more is %v", limit, len(msgs), more)
		case ascending:
			all = append(all, msgs...)
		default:
			all = append(slices.Clone(msgs), all...)
		}
		if !more {
			return all, nil
		}
		if q.AfterSeq, q.BeforeSeq = 0, msgs[0].Seq; ascending {
			q.AfterSeq, q.BeforeSeq = msgs[len(msgs)-1].Seq, 0
		}
	}
}

// conversationOf is the conversation a log tells of, in order, and the messages that wait
// for their turn after it: queued messages stand where their turn started, nowhere once
// dropped.
func conversationOf(entries []entry) (msgs, waiting []*message.Message) {
	for _, e := range entries {
		is := func(m *message.Message) bool { return m.ID == e.MessageID }
		switch e.Kind { //nolint:exhaustive // as above
		case session.EntryMessageAdded:
			msgs = append(msgs, e.Message)
		case session.EntryMessageQueued:
			waiting = append(waiting, e.Message)
		case session.EntryTurnStarted:
			if i := slices.IndexFunc(waiting, is); i >= 0 {
				msgs = append(msgs, waiting[i])
			}
			waiting = slices.DeleteFunc(waiting, is)
		case session.EntryMessageDropped:
			waiting = slices.DeleteFunc(waiting, is)
		case session.EntryCreated, session.EntryUpdated, session.EntryDeleted, session.EntryTurnCompleted,
			session.EntryToolCalled, session.EntryToolClaimed, session.EntryToolResolved:
		}
	}
	return msgs, waiting
}

// logJudge walks a log and notes what is wrong.
type logJudge struct {
	faults  []string
	started map[message.ID]bool // messages whose turn has started
	queued  map[message.ID]bool // wait, or waited
	calls   map[message.ToolUseID]*message.ToolResult
	open    []message.ToolUseID // of the open tool round, in order
	running message.TurnID
	ended   map[message.TurnID]bool
	last    *message.Message // added by the entry before
}

// judgeLog returns what is wrong with a log.
func judgeLog(entries []entry) []string {
	j := &logJudge{
		started: map[message.ID]bool{}, queued: map[message.ID]bool{},
		calls: map[message.ToolUseID]*message.ToolResult{}, ended: map[message.TurnID]bool{},
	}
	for i, e := range entries {
		if e.Seq != int64(i+1) {
			j.fault(e, "is in place %d", i+1)
		}
		if (i == 0) != (e.Kind == session.EntryCreated) {
			j.fault(e, "is in place %d", i+1)
		}
		if e.Kind == session.EntryMessageAdded || e.Kind == session.EntryMessageQueued {
			if e.Message == nil {
				j.fault(e, "holds no message")
				continue
			}
			if e.Message.Seq != e.Seq || e.Message.TurnID != e.TurnID {
				j.fault(e, "holds the message of entry %d, turn %s", e.Message.Seq, e.Message.TurnID)
			}
			if err := e.Message.Check(); err != nil {
				j.fault(e, "%v", err)
			}
		}
		j.take(e)
	}
	return j.faults
}

func (j *logJudge) fault(e entry, format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf("entry %d (%s) ", e.Seq, e.Kind)+fmt.Sprintf(format, args...))
}

func (j *logJudge) take(e entry) {
	before := j.last
	j.last = nil
	if e.TurnID != "" && j.ended[e.TurnID] {
		j.fault(e, "comes after its turn's end")
	}
	switch e.Kind { //nolint:exhaustive // as above
	case session.EntryMessageQueued:
		j.queued[e.Message.ID] = true
	case session.EntryMessageDropped:
		if !j.queued[e.MessageID] || j.started[e.MessageID] {
			j.fault(e, "drops what does not wait")
		}
		j.ended[e.TurnID] = true
	case session.EntryTurnStarted:
		if j.running != "" {
			j.fault(e, "starts while another runs")
		}
		if added := before != nil && before.ID == e.MessageID; added == e.Queued || e.Queued != j.queued[e.MessageID] {
			j.fault(e, "its message is not where it should be")
		}
		j.started[e.MessageID] = true
		j.running = e.TurnID
	case session.EntryTurnCompleted:
		if j.running != e.TurnID || len(j.open) > 0 {
			j.fault(e, "ends while %q runs and %d calls are open", j.running, len(j.open))
		}
		j.running = ""
		j.ended[e.TurnID] = true
	case session.EntryMessageAdded:
		j.last = e.Message
		j.added(e)
	case session.EntryToolCalled:
		j.called(e, before)
	case session.EntryToolResolved:
		if r, ok := j.calls[e.Call]; !ok || r != nil {
			j.fault(e, "resolves what is not pending")
		}
		j.calls[e.Call] = &message.ToolResult{ToolUseID: e.Call, Content: e.Content, IsError: e.IsError}
	case session.EntryToolClaimed:
		if r, ok := j.calls[e.Call]; !ok || r != nil {
			j.fault(e, "claims what is not pending")
		}
	case session.EntryCreated, session.EntryUpdated, session.EntryDeleted:
	}
}

// added judges a message that is not queued: it begins a turn, or belongs to the
// running one, or answers the open calls.
func (j *logJudge) added(e entry) {
	m := e.Message
	switch {
	case j.running == "":
		if m.Role != message.RoleUser {
			j.fault(e, "the model speaks outside of a turn")
		}
	case m.TurnID != j.running:
		j.fault(e, "belongs to another turn than the running one")
	case m.Role == message.RoleUser:
		j.results(e)
	case len(j.open) > 0:
		j.fault(e, "an answer while calls are open")
	default:
		for _, use := range m.ToolUses() {
			if _, known := j.calls[use.ID]; known {
				j.fault(e, "the tool use id %s is not new", use.ID)
			}
			j.open = append(j.open, use.ID)
		}
	}
}

func (j *logJudge) results(e entry) {
	if len(j.open) == 0 || len(e.Message.Content) != len(j.open) {
		j.fault(e, "%d results for %d calls", len(e.Message.Content), len(j.open))
		return
	}
	for i, id := range j.open {
		want := j.calls[id]
		got, ok := e.Message.Content[i].(message.ToolResult)
		switch {
		case want == nil:
			j.fault(e, "the call %s was not resolved", id)
		case !ok || got.ToolUseID != id || got.IsError != want.IsError || got.Ref != 0 ||
			!bytes.Equal(message.AppendBlocks(nil, got.Content, message.Form{}), message.AppendBlocks(nil, want.Content, message.Form{})):
			j.fault(e, "result %d is %v, resolved was %v", i, e.Message.Content[i], *want)
		}
	}
	j.open = nil
}

func (j *logJudge) called(e entry, before *message.Message) {
	next := 0
	for next < len(j.open) {
		if _, called := j.calls[j.open[next]]; !called {
			break
		}
		next++
	}
	switch {
	case next == len(j.open) || j.open[next] != e.Call:
		j.fault(e, "calls what the answer did not ask for")
	case next == 0 && before == nil:
		j.fault(e, "the first call does not follow its answer")
	}
	j.calls[e.Call] = nil
}

// sameEvents compares what a subscriber was told with a part of the log.
func sameEvents(tb testing.TB, what string, want, got []*session.Event) {
	tb.Helper()
	if diff := diffEvents(want, got); diff != "" {
		tb.Errorf("%s (-log +told):\n%s", what, diff)
	}
}

func diffEvents(want, got []*session.Event) string {
	flat := func(events []*session.Event) []string {
		out := make([]string, len(events))
		for i, e := range events {
			out[i] = fmt.Sprintf("%s %d %s %s %s %s", e.SessionID, e.Seq, e.At, e.Kind, e.TurnID, e.Data)
		}
		return out
	}
	return cmp.Diff(flat(want), flat(got))
}
