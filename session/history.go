package session

import (
	"context"

	"go.uber.org/zap"

	"sessiond/message"
	"sessiond/prompt"
	"sessiond/store"
)

// history is the conversation as the model is shown it, in conversation order. What
// was stored before the session was loaded is read only when it is needed, so that
// looking at a session does not load its log.
type history struct {
	upTo    int64 // the log up to here was there when the session was loaded
	ready   bool
	loading bool
	head    []*message.Message // from the log, once ready
	tail    []*message.Message // added since
	waiting []func(ctx context.Context)
	memo    prompt.Memo                // of the requests made from it
	ids     map[message.ToolUseID]bool // of all tool calls, once ready
	repairs map[string]int             // the most that one request needed, by rule
}

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

func (h *history) add(m *message.Message) {
	h.tail = append(h.tail, m)
	if h.ready {
		h.note(m)
	}
}

func (h *history) note(m *message.Message) {
	for _, use := range m.ToolUses() {
		h.ids[use.ID] = true
	}
}

func (h *history) set(head []*message.Message) {
	h.head, h.ready, h.loading = head, true, false
	h.ids = make(map[message.ToolUseID]bool)
	for _, m := range head {
		h.note(m)
	}
	for _, m := range h.tail {
		h.note(m)
	}
}

// messages returns a fresh slice of the whole conversation, but for messages that were
// left empty when a fork dropped their thinking: no provider takes those. Only when
// ready.
func (h *history) messages() []message.Message {
	all := make([]message.Message, 0, len(h.head)+len(h.tail))
	for _, part := range [][]*message.Message{h.head, h.tail} {
		for _, m := range part {
			if len(m.Content) > 0 {
				all = append(all, *m)
			}
		}
	}
	return all
}

// result finds the result of a tool call in the conversation. Only when ready.
func (h *history) result(id message.ToolUseID) (message.ToolResult, bool) {
	for _, part := range [][]*message.Message{h.head, h.tail} {
		for _, m := range part {
			for _, b := range m.Content {
				if r, ok := b.(message.ToolResult); ok && r.ToolUseID == id {
					return r, true
				}
			}
		}
	}
	return message.ToolResult{}, false
}

// withHistory runs f once the conversation is there: at once if it is.
func (a *actor) withHistory(ctx context.Context, f func(ctx context.Context)) {
	if a.history.ready {
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
		msgs, err := readConversation(ctx, a.m.store, a.ref, upTo)
		a.post(ctx, historyRead{msgs, err})
	})
}

type historyRead struct {
	messages []*message.Message
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
	a.history.set(c.messages)
	waiting := a.history.waiting
	a.history.waiting = nil
	for _, f := range waiting {
		f(ctx)
	}
}

// readConversation reads the messages of a log up to a seq in conversation order,
// tool results filled in. A queued message stands where its turn was started.
func readConversation(ctx context.Context, st store.Log, ref store.Ref, upTo int64) ([]*message.Message, error) {
	entries, err := st.Entries(ctx, store.EntryQuery{
		Ref: ref, BeforeSeq: upTo + 1,
		Kinds: []string{
			string(EntryMessageAdded), string(EntryMessageQueued), string(EntryTurnStarted), string(EntryToolResolved),
		},
	})
	if err != nil {
		return nil, err
	}
	return conversation(entries)
}

func conversation(entries []store.Entry) ([]*message.Message, error) {
	msgs := []*message.Message{}
	queued := make(map[message.ID]*message.Message)
	resolved := make(map[int64]resolution)
	lookup := func(seq int64) (resolution, bool) { r, ok := resolved[seq]; return r, ok }
	for i := range entries {
		e := &entries[i]
		switch EntryKind(e.Kind) { //nolint:exhaustive // the others are not part of the conversation
		case EntryToolResolved:
			_, res, err := decodeResolved(e)
			if err != nil {
				return nil, err
			}
			resolved[e.Seq] = res
		case EntryTurnStarted:
			body, err := decodeBody[turnStartedBody](e)
			if err != nil {
				return nil, err
			}
			if m, ok := queued[body.MessageID]; ok {
				msgs = append(msgs, m)
				delete(queued, body.MessageID)
			}
		case EntryMessageAdded, EntryMessageQueued:
			m, err := decodeMessage(e)
			if err != nil {
				return nil, err
			}
			if EntryKind(e.Kind) == EntryMessageQueued {
				queued[m.ID] = m
				continue
			}
			if m, err = fill(m, lookup); err != nil {
				return nil, err
			}
			msgs = append(msgs, m)
		}
	}
	return msgs, nil
}
