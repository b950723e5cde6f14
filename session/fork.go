package session

import (
	"context"
	"fmt"
	"time"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/store"
)

// Fork copies a session's log up to a seq into a new session: new ids, the same seqs.
// at is moved back to a point where no tool round is open; 0 means the end of the last
// finished turn. A turn unfinished there is closed as interrupted in the copy; queued
// messages whose turn is not in it count as dropped. Thinking is left out: it is bound
// to the conversation it was made in. The todo list and the memories are as they were at
// that point. Errors: not_found, invalid_param,
// idempotency_conflict, shutting_down.
func (m *Manager) Fork(ctx context.Context, ref store.Ref, at int64, title *string, i Idempotency) (Replay[*View], error) {
	if known, found, err := lookUp[viewResult](ctx, m, ref, i); found || err != nil {
		return m.withView(ctx, ref.Owner, known, err)
	}
	source, err := m.Get(ctx, ref)
	if err != nil {
		return Replay[*View]{}, err
	}
	if at > source.HeadSeq {
		return Replay[*View]{}, errInvalid("at_seq", fmt.Sprintf("the log ends at %d", source.HeadSeq))
	}
	name := source.Title
	if title != nil {
		name = *title
	}
	f, err := m.fork(ctx, ref, at, name)
	if err != nil {
		return Replay[*View]{}, err
	}
	r, err := m.create(ctx, f.commit, newView(&f.commit.Session, f.settings, f.state, m.now()), ref, i)
	return m.withView(ctx, ref.Owner, r, err)
}

// fork reads a session and makes the copy.
func (m *Manager) fork(ctx context.Context, ref store.Ref, at int64, title string) (*fork, error) {
	row, err := m.store.Session(ctx, ref)
	if err != nil {
		return nil, notFoundAs(err, "session")
	}
	settings, st, err := decodeRow(row)
	if err != nil {
		return nil, err
	}
	entries, err := m.store.Entries(ctx, store.EntryQuery{Ref: ref, BeforeSeq: row.HeadSeq + 1})
	if err != nil {
		return nil, fmt.Errorf("fork: read log: %w", err)
	}
	if len(entries) == 0 {
		return nil, errNotFound("session") // deleted in the meantime
	}
	memories, err := m.store.ListMemories(ctx, store.MemoryQuery{Ref: ref, Limit: MaxSessionMemories})
	if err != nil {
		return nil, fmt.Errorf("fork: read memory: %w", err)
	}
	n := forkPoint(entries, at)
	p, err := readPast(ref.Owner, entries, n, memories, st.Context.Memory.Marks)
	if err != nil {
		return nil, fmt.Errorf("fork session %s: %w", ref.ID, err)
	}
	f, err := newFork(row, settings, title, entries[:n], m.now())
	if err == nil {
		f.restore(p, &st)
		err = f.tellDeleted(p, m.measure)
	}
	if err != nil {
		return nil, fmt.Errorf("fork session %s: %w", ref.ID, err)
	}
	f.finish()
	return f, nil
}

func (m *Manager) now() time.Time { return m.opts.Now().UTC().Truncate(time.Microsecond) }

// forkPoint returns how many entries a fork at a seq takes.
func forkPoint(entries []store.Entry, at int64) int {
	whole, finished := 1, 1 // the last ends of a unit and of a turn
	calls := 0              // of the open tool round
	for i := range entries {
		n := i + 1
		if at != 0 && entries[i].Seq > at {
			break
		}
		switch EntryKind(entries[i].Kind) { //nolint:exhaustive // the others neither open nor close anything
		case EntryToolCalled:
			calls++
		case EntryMessageAdded:
			calls = 0 // either an answer, whose calls follow, or the results that end a round
		case EntryTurnCompleted:
			finished = n
		}
		if calls == 0 && !splits(entries, n) {
			whole = n
		}
	}
	if at == 0 {
		return finished
	}
	return whole
}

// splits reports whether a cut before entries[n] would part what belongs together: an
// answer from its calls, a message from the start of its turn.
func splits(entries []store.Entry, n int) bool {
	if n >= len(entries) {
		return false
	}
	before, after := &entries[n-1], &entries[n]
	if before.TurnID == "" || before.TurnID != after.TurnID || EntryKind(before.Kind) != EntryMessageAdded {
		return false
	}
	return EntryKind(after.Kind) == EntryToolCalled || EntryKind(after.Kind) == EntryTurnStarted
}

// fork is a copy being made.
type fork struct {
	commit   *store.Commit
	settings *Settings
	state    state
	turns    map[message.TurnID]message.TurnID
	messages map[message.ID]message.ID
	memories map[message.MemoryID]message.MemoryID
	rows     map[message.TurnID]*store.Turn // by the new id
	order    []message.TurnID
}

func newFork(source *store.Session, have *Settings, title string, entries []store.Entry, now time.Time) (*fork, error) {
	last := entries[len(entries)-1].Seq
	settings := *have
	settings.ForkedFrom = &ForkedFrom{SessionID: source.ID, Seq: last}
	f := &fork{
		settings: &settings,
		turns:    make(map[message.TurnID]message.TurnID), messages: make(map[message.ID]message.ID),
		memories: make(map[message.MemoryID]message.MemoryID),
		rows:     make(map[message.TurnID]*store.Turn),
		commit: &store.Commit{Session: store.Session{
			ID: message.NewSessionID(), LogID: string(message.NewSessionID()), Owner: source.Owner, Title: title,
			Status: store.StatusIdle, Version: 1, CreatedAt: now, UpdatedAt: now,
		}},
	}
	for i := range entries {
		if err := f.copy(&entries[i]); err != nil {
			return nil, err
		}
	}
	f.closeOpen(now)
	return f, nil
}

// finish makes the commit whole.
func (f *fork) finish() {
	f.commit.Session.Settings = encode(f.settings)
	f.commit.Session.State = encode(f.state)
	f.commit.Session.HeadSeq = int64(len(f.commit.Entries))
	for _, id := range f.order {
		f.commit.Turns = append(f.commit.Turns, *f.rows[id])
	}
}

// copy adds one entry under its old seq.
func (f *fork) copy(old *store.Entry) error {
	e := *old
	e.TurnID = f.turnID(old.TurnID)
	e.MessageID = f.messageID(old.MessageID)
	var err error
	switch EntryKind(old.Kind) { //nolint:exhaustive // the bodies of the others name nothing of this session
	case EntryCreated:
		e.Body = encode(createdBody{Title: f.commit.Session.Title, Model: f.settings.Model, ForkedFrom: f.settings.ForkedFrom})
	case EntryMessageAdded, EntryMessageQueued:
		err = f.copyMessage(&e)
	case EntryMessageDropped:
		err = rewrite(&e, func(b *droppedBody) { b.MessageID = f.messageID(b.MessageID) })
		f.end(e.TurnID, store.TurnDropped, old.At)
	case EntryTurnStarted:
		err = f.copyStarted(&e)
	case EntryTurnCompleted:
		var b turnCompletedBody
		if b, err = decodeBody[turnCompletedBody](old); err == nil {
			f.end(e.TurnID, b.Status, old.At)
			f.rows[e.TurnID].Detail = encode(&turnDetail{Error: b.Error})
		}
	case EntryContextInjected, EntryContextCleared, EntryCompactionCompleted, EntryCompactionUndone:
		err = f.copyContext(&e)
	case EntryMemoryChanged:
		err = rewrite(&e, f.renameMemory)
	}
	if err != nil {
		return err
	}
	f.commit.Entries = append(f.commit.Entries, e)
	return nil
}

func (f *fork) copyMessage(e *store.Entry) error {
	m, measure, err := decodeMeasured(e)
	if err != nil {
		return err
	}
	m.ID, m.TurnID = f.messageID(m.ID), f.turnID(m.TurnID)
	content := m.Content[:0:0]
	for _, b := range m.Content {
		if _, thinking := b.(message.Thinking); !thinking {
			content = append(content, b)
		}
	}
	if measure != nil {
		left := measure.WithoutThinking(m.Content)
		measure = &left
	}
	m.Content = content
	if e.Body = encodeMessageBody(m, message.Form{}); measure != nil {
		e.Body = withMeasure(e.Body, measure)
	}
	if _, known := f.rows[m.TurnID]; !known { // the first message of a turn is its user's
		row := &store.Turn{ID: m.TurnID, MessageID: m.ID, CreatedSeq: e.Seq, Status: store.TurnQueued, CreatedAt: e.At}
		f.rows[m.TurnID] = row
		f.order = append(f.order, m.TurnID)
	} else if m.Role == message.RoleAssistant {
		f.rows[m.TurnID].Rounds++
	}
	return nil
}

// copyContext renames what an entry about the context names. The decisions it holds stay:
// the copy is shown as the original was.
func (f *fork) copyContext(e *store.Entry) error {
	switch EntryKind(e.Kind) { //nolint:exhaustive // called for these only
	case EntryContextInjected:
		return rewrite(e, func(in *compaction.Injection) {
			in.TargetID = f.messageID(in.TargetID)
			f.renameAttachment(&in.Attachment)
		})
	case EntryContextCleared:
		return rewrite(e, func(c *clearedBody) { f.renameCleared(c.Cleared) })
	case EntryCompactionCompleted:
		return rewrite(e, func(b *compactedBody) {
			f.state.Context.Generation = b.Record.Generation
			for i := range b.Record.Attachments {
				f.renameAttachment(&b.Record.Attachments[i])
			}
			for i, id := range b.Record.MemoryIDs {
				b.Record.MemoryIDs[i] = string(f.memoryID(message.MemoryID(id)))
			}
			f.renameCleared(b.Record.Before.Cleared)
			f.renameCleared(b.Record.Shape.Cleared)
		})
	case EntryCompactionUndone:
		return rewrite(e, func(b *undoneBody) { f.state.Context.Generation = b.Undone.Generation })
	}
	return nil
}

// renameAttachment renames the memory that an attachment shows, if it shows one.
func (f *fork) renameAttachment(a *compaction.Attachment) {
	if a.Kind == compaction.AttachSessionMemory {
		a.Key = string(f.memoryID(message.MemoryID(a.Key)))
	}
}

func (f *fork) renameMemory(b *memoryBody) {
	if b.Memory != nil && b.Memory.Scope == MemoryOfUser {
		return // the owner's, which is not copied
	}
	b.ID = f.memoryID(b.ID)
	if b.Memory != nil {
		b.Memory.ID, b.Memory.SessionID = b.ID, f.commit.Session.ID
	}
}

func (f *fork) renameCleared(cleared []compaction.Cleared) {
	for i := range cleared {
		cleared[i].TurnID = f.turnID(cleared[i].TurnID)
	}
}

func (f *fork) copyStarted(e *store.Entry) error {
	row := f.rows[e.TurnID]
	if row == nil {
		return fmt.Errorf("entry %d starts turn %s, which has no message", e.Seq, e.TurnID)
	}
	row.Status, row.StartedSeq, row.StartedAt = store.TurnRunning, e.Seq, e.At
	return rewrite(e, func(b *turnStartedBody) { b.MessageID = f.messageID(b.MessageID) })
}

func (f *fork) end(turn message.TurnID, status store.TurnStatus, at time.Time) {
	if row := f.rows[turn]; row != nil {
		row.Status, row.CompletedAt = status, at
	}
}

// closeOpen ends the turns that are open at the end of the copy.
func (f *fork) closeOpen(now time.Time) {
	for _, id := range f.order {
		row := f.rows[id]
		switch row.Status { //nolint:exhaustive // the others are ended
		case store.TurnQueued:
			f.end(id, store.TurnDropped, now)
		case store.TurnRunning:
			f.end(id, store.TurnInterrupted, now)
			f.commit.Entries = append(f.commit.Entries, store.Entry{
				Seq: int64(len(f.commit.Entries)) + 1, Kind: string(EntryTurnCompleted), TurnID: id, At: now,
				Body: encode(turnCompletedBody{Status: store.TurnInterrupted}),
			})
		}
	}
}

func (f *fork) turnID(old message.TurnID) message.TurnID {
	return renamed(f.turns, old, message.NewTurnID)
}

func (f *fork) messageID(old message.ID) message.ID {
	return renamed(f.messages, old, message.NewID)
}

func (f *fork) memoryID(old message.MemoryID) message.MemoryID {
	return renamed(f.memories, old, message.NewMemoryID)
}

func renamed[ID ~string](names map[ID]ID, old ID, fresh func() ID) ID {
	if old == "" {
		return ""
	}
	if id, ok := names[old]; ok {
		return id
	}
	id := fresh()
	names[old] = id
	return id
}

// rewrite changes an entry's body.
func rewrite[T any](e *store.Entry, change func(*T)) error {
	b, err := decodeBody[T](e)
	if err != nil {
		return err
	}
	change(&b)
	e.Body = encode(b)
	return nil
}
