package session

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/prompt"
	"sessiond/store"
)

// history is the conversation with all that decides how the model is shown it. What was
// stored before the session was loaded is read only when it is needed, so that looking
// at a session does not load its log.
type history struct {
	upTo    int64 // the log up to here was there when the session was loaded
	loading bool
	state   *compaction.State // nil until it was read
	tail    []compaction.Item // added before that
	waiting []func(ctx context.Context)
	memo    prompt.Memo    // of the requests made from it
	repairs map[string]int // the most that one request needed, by rule
}

func (h *history) ready() bool { return h.state != nil }

// noteRepaired reports whether a request needed more repairs of a rule than any before.
func (h *history) noteRepaired(rule string, count int) bool {
	if count <= h.repairs[rule] {
		return false
	}
	if h.repairs == nil {
		h.repairs = make(map[string]int)
	}
	h.repairs[rule] = count
	return true
}

// add puts a message at the end of the conversation.
func (h *history) add(it compaction.Item) {
	if !h.ready() {
		h.tail = append(h.tail, it)
		return
	}
	mustAppend(h.state, it)
}

func (h *history) set(s *compaction.State) {
	for _, it := range h.tail {
		mustAppend(s, it)
	}
	h.state, h.tail, h.loading = s, nil, false
}

// mustAppend appends an item whose measure was made for its message, which is the only
// thing that can be wrong with one.
func mustAppend(s *compaction.State, it compaction.Item) {
	if err := s.Append(it); err != nil {
		panic("session: " + err.Error())
	}
}

// hasCall reports whether the conversation has a tool call with an id. Only when ready.
func (h *history) hasCall(id message.ToolUseID) bool { return h.state.Conversation().HasCall(id) }

// result finds the result of a tool call in the conversation. Only when ready.
func (h *history) result(id message.ToolUseID) (message.ToolResult, bool) {
	return h.state.Conversation().Result(id)
}

// withContext runs f once the conversation is there, and it is known what the owner has to
// remember and what the model can take, and the one that writes summaries: at once if
// they are.
func (a *actor) withContext(ctx context.Context, model string, f func(ctx context.Context)) {
	for _, m := range []string{model, a.m.opts.SummaryModel} {
		if m != "" && !a.m.models.known(m) {
			a.spawn(func() {
				a.m.models.ask(ctx, m)
				a.post(ctx, modelKnown{model, f})
			})
			return
		}
	}
	a.withUserMemory(ctx, func(ctx context.Context) { a.withHistory(ctx, f) })
}

// modelKnown goes on with what waited for the answer about a model.
type modelKnown struct {
	model string // of the session; there may be another to ask about
	then  func(ctx context.Context)
}

func (c modelKnown) apply(ctx context.Context, a *actor) {
	if ctx.Err() == nil {
		a.withContext(ctx, c.model, c.then)
	}
}

// withHistory runs f once the conversation is there: at once if it is.
func (a *actor) withHistory(ctx context.Context, f func(ctx context.Context)) {
	if a.history.ready() {
		f(ctx)
		return
	}
	a.history.waiting = append(a.history.waiting, f)
	if a.history.loading {
		return
	}
	a.history.loading = true
	upTo := a.history.upTo
	a.spawn(func() {
		s, memories, err := a.m.readState(ctx, a.ref, upTo)
		a.post(ctx, historyRead{s, memories, err})
	})
}

type historyRead struct {
	state    *compaction.State
	memories []store.Memory
	err      error
}

func (c historyRead) apply(ctx context.Context, a *actor) {
	if ctx.Err() != nil {
		return // the server stops, which is why it may not have been read
	}
	if c.err != nil {
		a.log.Error("the conversation can't be read; the session is reloaded", zap.Error(c.err))
		a.end(failed)
		return
	}
	a.setHistory(c.state, c.memories)
	if a.turn != nil {
		a.batch().dirty = true // its message was stored while what it adds to was not known
	}
	waiting := a.history.waiting
	a.history.waiting = nil
	for _, f := range waiting {
		f(ctx)
	}
}

// setHistory takes the conversation and the session's memory into use.
func (a *actor) setHistory(s *compaction.State, memories []store.Memory) {
	a.memories = memories
	s.HideThinking(a.st.ThinkingFrom)
	a.history.set(s)
}

// readState reads the conversation of a log up to a seq, with all that was decided
// about how it is shown, and the session's memory. A queued message stands where its turn
// was started.
func (m *Manager) readState(ctx context.Context, ref store.Ref, upTo int64) (*compaction.State, []store.Memory, error) {
	memories, err := m.store.ListMemories(ctx, store.MemoryQuery{Ref: ref, Limit: MaxSessionMemories})
	if err != nil {
		return nil, nil, fmt.Errorf("read the session's memory: %w", err)
	}
	entries, err := m.store.Entries(ctx, store.EntryQuery{
		Ref: ref, BeforeSeq: upTo + 1,
		Kinds: []string{
			string(EntryMessageAdded), string(EntryMessageQueued), string(EntryTurnStarted), string(EntryToolResolved),
			string(EntryContextInjected), string(EntryContextCleared),
			string(EntryCompactionCompleted), string(EntryCompactionUndone),
		},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the conversation: %w", err)
	}
	f := folder{
		state: compaction.NewState(), measure: m.measure,
		queued: make(map[message.ID]compaction.Item), resolved: make(map[int64]resolution),
	}
	for i := range entries {
		if err := f.fold(&entries[i]); err != nil {
			return nil, nil, err
		}
	}
	return f.state, memories, nil
}

// folder makes a state from the entries of a log.
type folder struct {
	state    *compaction.State
	measure  func(m *message.Message, calls []message.ToolUse) compaction.Measure
	queued   map[message.ID]compaction.Item
	resolved map[int64]resolution
	calls    []message.ToolUse // of the newest message
}

func (f *folder) fold(e *store.Entry) error {
	switch EntryKind(e.Kind) { //nolint:exhaustive // the others decide nothing of what is shown
	case EntryToolResolved:
		_, res, err := decodeResolved(e)
		f.resolved[e.Seq] = res
		return err
	case EntryTurnStarted:
		body, err := decodeBody[turnStartedBody](e)
		if err != nil {
			return err
		}
		if it, ok := f.queued[body.MessageID]; ok {
			f.append(it)
			delete(f.queued, body.MessageID)
		}
		return nil
	case EntryMessageAdded, EntryMessageQueued:
		return f.message(e)
	case EntryContextInjected:
		return foldBody(e, func(in compaction.Injection) error { f.state.Inject(in); return nil })
	case EntryContextCleared:
		return foldBody(e, func(c compaction.Clearing) error { f.state.Clear(&c); return nil })
	case EntryCompactionCompleted:
		return foldBody(e, func(b compactedBody) error { return f.state.Commit(b.Record) })
	case EntryCompactionUndone:
		return foldBody(e, func(b undoneBody) error { return f.state.Undo(&b.Undone) })
	}
	return nil
}

func foldBody[T any](e *store.Entry, fold func(T) error) error {
	body, err := decodeBody[T](e)
	if err != nil {
		return err
	}
	if err := fold(body); err != nil {
		return fmt.Errorf("entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return nil
}

func (f *folder) message(e *store.Entry) error {
	stored, measure, err := decodeMeasured(e)
	if err != nil {
		return err
	}
	full, err := fill(stored, func(seq int64) (resolution, bool) { r, ok := f.resolved[seq]; return r, ok })
	if err != nil {
		return err
	}
	if measure == nil || len(measure.Blocks) != len(full.Content) { // stored before messages were measured
		counted := f.measure(full, f.calls)
		measure = &counted
	}
	it := compaction.Item{Message: full, Measure: *measure}
	if EntryKind(e.Kind) == EntryMessageQueued {
		f.queued[full.ID] = it
		return nil
	}
	f.append(it)
	return nil
}

func (f *folder) append(it compaction.Item) {
	mustAppend(f.state, it)
	f.calls = it.Message.ToolUses()
}
