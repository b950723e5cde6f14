package session

import (
	"cmp"
	"fmt"
	"slices"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/store"
)

// memoryMark is one bringing up to date of a session's memory.
type memoryMark struct {
	Through int64 `json:"through"` // the last message that the memory covers since
	// From and To are the first and the last entry of the log that tell what changed; From
	// is the greater if nothing did.
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// keptMarks is how many extractions are remembered. A fork from before them reads the log
// again.
const keptMarks = 16

func (s *memoryState) mark(m memoryMark) {
	marks := append(slices.Clone(s.Marks), m)
	s.Marks = marks[max(0, len(marks)-keptMarks):]
}

// past reads from a log what was true at the end of a copy of it: the row and the memories
// of a session tell only what is true now.
type past struct {
	last   int64 // the copy's newest entry
	end    int64 // the newest message of its conversation
	owner  string
	now    map[message.MemoryID]store.Memory
	marks  []memoryMark // extractions that read nothing but what is in the copy
	queued map[message.ID]int64

	newest   int64                      // message of the conversation, up to where the log was read
	messages map[int64]bool             // those of the copy
	writing  map[message.ToolUseID]bool // open calls of todo_write

	todos       []Todo
	todo        *todoState
	todoChanged bool // after the end

	memories map[message.MemoryID]store.Memory
	deleted  map[message.MemoryID]string // titles of those that were deleted before the end
	told     map[message.MemoryID]bool   // those the log tells of
	future   map[message.MemoryID]bool   // those with a later change that the copy does not have
}

// readPast reads what was true after the first n entries of a log. now are the memories as
// they are, marks what is known of when they were brought up to date.
func readPast(owner string, entries []store.Entry, n int, now []store.Memory, marks []memoryMark) (*past, error) {
	p := &past{
		last: entries[n-1].Seq, owner: owner, now: make(map[message.MemoryID]store.Memory),
		queued: make(map[message.ID]int64), messages: make(map[int64]bool), writing: make(map[message.ToolUseID]bool),
		memories: make(map[message.MemoryID]store.Memory), deleted: make(map[message.MemoryID]string),
		told: make(map[message.MemoryID]bool), future: make(map[message.MemoryID]bool),
	}
	for _, row := range now {
		p.now[row.ID] = row
	}
	for i := range entries {
		if i == n {
			p.end = p.newest
			p.marks = slices.DeleteFunc(slices.Clone(marks), func(m memoryMark) bool { return !p.messages[m.Through] })
		}
		if err := p.read(&entries[i]); err != nil {
			return nil, err
		}
	}
	if n == len(entries) {
		p.end, p.marks = p.newest, marks
	}
	for id, row := range p.now {
		if !p.told[id] && newestSource(&row) <= p.last { // a fork's, which has them from its source
			p.memories[id] = row
		}
	}
	return p, nil
}

func (p *past) read(e *store.Entry) error {
	switch EntryKind(e.Kind) { //nolint:exhaustive // the others change none of this
	case EntryMessageAdded:
		p.message(e.Seq)
	case EntryMessageQueued:
		p.queued[e.MessageID] = e.Seq
	case EntryTurnStarted:
		return foldBody(e, func(b turnStartedBody) error {
			if seq, ok := p.queued[b.MessageID]; ok && b.Queued {
				p.message(seq)
			}
			return nil
		})
	case EntryToolCalled:
		return foldBody(e, func(b toolCalledBody) error {
			if b.Name == toolTodoWrite {
				p.writing[b.ToolUseID] = true
			}
			return nil
		})
	case EntryToolResolved:
		return foldBody(e, func(b toolResolvedBody) error { delete(p.writing, b.ToolUseID); return nil })
	case EntryUpdated:
		return foldBody(e, func(b updatedBody) error { p.updated(e.Seq, &b); return nil })
	case EntryMemoryChanged:
		return foldBody(e, func(b memoryBody) error { p.changed(e.Seq, &b); return nil })
	}
	return nil
}

func (p *past) message(seq int64) {
	p.newest = seq
	p.messages[seq] = true
}

// updated takes a change of the todo list. While a call of todo_write is open nobody else
// changes it.
func (p *past) updated(seq int64, b *updatedBody) {
	switch {
	case !slices.Contains(b.Fields, fieldTodoList):
	case seq > p.last:
		p.todoChanged = true
	default:
		p.todo, p.todos = &todoState{}, nil
		if len(p.writing) > 0 {
			p.todo.BySeq = p.newest
		}
		if b.TodoList != nil {
			p.todos = *b.TodoList
		}
	}
}

// changed takes a change of a memory. What an extraction learned after the end of the copy,
// only from what is in it, belongs to the copy.
func (p *past) changed(seq int64, b *memoryBody) {
	if b.Memory != nil && b.Memory.Scope == MemoryOfUser {
		return
	}
	p.told[b.ID] = true
	learned := slices.ContainsFunc(p.marks, func(m memoryMark) bool { return m.From <= seq && seq <= m.To })
	if seq > p.last && (!learned || p.future[b.ID]) {
		p.future[b.ID] = true
		return
	}
	old := p.memories[b.ID]
	delete(p.memories, b.ID)
	if b.Change == memoryDeleted {
		p.deleted[b.ID] = old.Title
		return
	}
	if row, same := p.now[b.ID]; same && row.UpdatedAt.Equal(b.Memory.UpdatedAt) {
		p.memories[b.ID] = row
		return
	}
	place := p.newest
	if old.Seq > 0 {
		place = old.Seq
	}
	p.memories[b.ID] = b.row(p.owner, place)
}

// row is the memory that an entry tells of, standing at a seq unless its sources say where.
func (b *memoryBody) row(owner string, seq int64) store.Memory {
	m := b.Memory
	return store.Memory{
		ID: m.ID, Owner: owner, SessionID: m.SessionID, Category: string(m.Category), Importance: string(m.Importance),
		Title: m.Title, Content: m.Content, Source: string(m.Source), SourceSeqs: m.SourceSeqs, Seq: seq,
		CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
	}
}

// restore gives the copy what its source had at its end.
func (f *fork) restore(p *past, source *state) {
	f.state.ImagesFrom, f.state.BodyBytes = min(source.ImagesFrom, p.last+1), source.BodyBytes
	if p.todoChanged {
		f.settings.TodoList, f.state.Context.Todo = p.todos, p.todo
	} else {
		f.state.Context.Todo = source.Context.Todo.upTo(p.last)
	}
	rows := make([]store.Memory, 0, len(p.memories))
	for _, row := range p.memories {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b store.Memory) int { return cmp.Or(a.UpdatedAt.Compare(b.UpdatedAt), cmp.Compare(a.ID, b.ID)) })
	for _, row := range rows {
		row.ID, row.SessionID = f.memoryID(row.ID), f.commit.Session.ID
		f.commit.Memories = append(f.commit.Memories, store.MemoryChange{Put: &row})
	}
	lost := source.Context.Memory.Lost
	if lost != 0 && !p.messages[lost] { // nobody knows what was lost by then
		lost = p.end
	}
	f.state.Context.Memory.Lost = lost
	for _, m := range p.marks {
		if m.To > p.last { // its entries are not in the copy's log
			m.From, m.To = 1, 0
		}
		f.state.Context.Memory.mark(m)
		f.state.Context.Memory.Watermark = m.Through
	}
}

// tellDeleted notes the memories that were deleted and that the copy may still show, so
// that the model is told.
func (f *fork) tellDeleted(p *past, measure func(*message.Message, []message.ToolUse) compaction.Measure) error {
	if len(p.deleted) == 0 {
		return nil
	}
	folded := folder{
		state: compaction.NewState(), measure: measure,
		queued: make(map[message.ID]compaction.Item), resolved: make(map[int64]resolution),
	}
	for i := range f.commit.Entries {
		if err := folded.fold(&f.commit.Entries[i]); err != nil {
			return fmt.Errorf("find what the copy shows: %w", err)
		}
	}
	deleted := make(map[message.MemoryID]string)
	for id, title := range p.deleted {
		id = f.memoryID(id)
		if folded.state.SummaryTells(string(id)) || folded.state.ShownVersion(compaction.AttachSessionMemory, string(id)) != "" {
			deleted[id] = oneLine(title)
		}
	}
	f.state.Context.Memory.Deleted = deleted
	return nil
}
