package session

import (
	"context"
	"fmt"
	"time"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/store"
)

// maxResumes is how often a turn's round is repeated after a crash; then it is taken
// for what brings the server down and ended as interrupted.
const maxResumes = 3

// minDeadlineAfterRestart gives clients time to come back for their calls.
const minDeadlineAfterRestart = 60 * time.Second

// loaded is a session as read from the store.
type loaded struct {
	row      store.Session
	settings *Settings
	st       state
	queue    []queuedTurn
	turn     *turnRun
	state    *compaction.State // only with a running turn, else nil
	memories []store.Memory    // with the state
}

// read loads a session's row, its queue and its running turn. The conversation is
// read only for a running turn, which needs it at once.
func (m *Manager) read(ctx context.Context, ref store.Ref) (*loaded, error) {
	row, err := m.store.Session(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("load session %s: %w", ref.ID, err)
	}
	l := &loaded{row: *row}
	if l.settings, l.st, err = decodeRow(row); err != nil {
		return nil, err
	}
	l.row.Settings = nil // decoded; saved again only when they change
	turns, err := m.store.OpenTurns(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("load open turns of session %s: %w", ref.ID, err)
	}
	for i := range turns {
		if turns[i].Status == store.TurnRunning {
			err = m.readTurn(ctx, ref, &turns[i], l)
		} else {
			err = m.readQueued(ctx, ref, &turns[i], l)
		}
		if err != nil {
			return nil, fmt.Errorf("load turn %s of session %s: %w", turns[i].ID, ref.ID, err)
		}
	}
	return l, nil
}

func (m *Manager) readQueued(ctx context.Context, ref store.Ref, t *store.Turn, l *loaded) error {
	e, err := m.store.MessageEntry(ctx, ref, t.MessageID)
	if err != nil {
		return err
	}
	msg, measure, err := decodeMeasured(e)
	if err != nil {
		return err
	}
	if measure == nil || len(measure.Blocks) != len(msg.Content) { // stored before messages were measured
		counted := m.measure(msg, nil)
		measure = &counted
	}
	l.queue = append(l.queue, queuedTurn{row: *t, item: compaction.Item{Message: msg, Measure: *measure}})
	return nil
}

func (m *Manager) readTurn(ctx context.Context, ref store.Ref, t *store.Turn, l *loaded) error {
	detail, err := decodeTurnDetail(t)
	if err != nil {
		return err
	}
	run := &turnRun{row: *t, detail: detail, settings: l.settings}
	if detail.Settings != nil {
		run.settings = detail.Settings
	}
	if l.state, l.memories, err = m.readState(ctx, ref, l.row.HeadSeq); err != nil {
		return err
	}
	entries, err := m.store.Entries(ctx, store.EntryQuery{
		Ref: ref, AfterSeq: t.StartedSeq, Kinds: []string{string(EntryToolCalled), string(EntryToolResolved)},
	})
	if err != nil {
		return err
	}
	if run.calls, err = openCallsOf(l.state.Conversation(), t.ID, entries); err != nil {
		return err
	}
	earliest := m.now().Add(minDeadlineAfterRestart)
	for _, c := range run.calls {
		if c.res == nil && c.deadline.Before(earliest) {
			c.deadline = earliest
		}
	}
	for _, c := range run.calls {
		if kept, ok := detail.Claims[c.use.ID]; ok {
			c.claim = claim{token: kept.Token, until: kept.Until}
		}
	}
	l.turn = run
	return nil
}

// openCallsOf finds the open tool round of a turn: there is one if the newest message
// is the turn's answer with calls. entries are the turn's calls and resolutions.
func openCallsOf(conv *compaction.Conversation, turn message.TurnID, entries []store.Entry) ([]*toolCall, error) {
	if conv.Len() == 0 {
		return nil, nil
	}
	last := conv.Message(conv.Len() - 1)
	if last.Role != message.RoleAssistant || last.TurnID != turn {
		return nil, nil
	}
	deadlines := make(map[message.ToolUseID]time.Time)
	results := make(map[message.ToolUseID]resolution)
	for i := range entries {
		e := &entries[i]
		if EntryKind(e.Kind) == EntryToolCalled {
			body, err := decodeBody[toolCalledBody](e)
			if err != nil {
				return nil, err
			}
			deadlines[body.ToolUseID] = body.Deadline
			continue
		}
		id, res, err := decodeResolved(e)
		if err != nil {
			return nil, err
		}
		results[id] = res
	}
	var calls []*toolCall
	for _, use := range last.ToolUses() {
		c := &toolCall{use: use, deadline: deadlines[use.ID]}
		if res, ok := results[use.ID]; ok {
			c.res = &res
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// resume takes up what was open when the session was last in memory.
func (a *actor) resume() {
	t := a.turn
	if a.st.Context.Asked { // it was cut off; nothing changed
		a.st.Context.Asked = false
		a.append(EntryCompactionFailed, "", "", encode(a.aborted()), nil)
	}
	switch {
	case t == nil:
		a.openNextTurn()
	case t.waiting():
		a.resumeCalls(t)
	case t.detail.Parked:
		t.detail.Parked = false
		a.stageTurn()
		a.then(func(ctx context.Context) { a.nextRound(ctx, t) })
	case t.row.Resumes >= maxResumes:
		a.endTurn(store.TurnInterrupted, &TurnError{
			TurnCrash, fmt.Sprintf("this turn was cut off %d times, by a stop of the server or a failure of its database", t.row.Resumes+1),
		})
	default:
		t.row.Resumes++ // on disk before the model is called: if it is what kills us, it counts
		a.stageTurn()
		a.then(func(ctx context.Context) { a.nextRound(ctx, t) })
	}
}

// resumeCalls goes on with an open tool round: remote calls stay pending; a built-in one
// may have done half its work.
func (a *actor) resumeCalls(t *turnRun) {
	for _, c := range t.calls {
		if c.res != nil {
			continue
		}
		if _, remote := t.settings.tool(c.use.Name); !remote {
			a.resolve(t, c, ByCrash, errorText("The server stopped while %s was running; its outcome is unknown.", c.use.Name), true)
			continue
		}
		a.armDeadline(t, c)
	}
	a.closeCalls(t)
}
