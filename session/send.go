package session

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/store"
)

// WhenBusy says what becomes of a message that is sent while a turn runs.
type WhenBusy string

// The choices. Queue is the default.
const (
	WhenBusyQueue     WhenBusy = "queue"
	WhenBusyReject    WhenBusy = "reject"
	WhenBusyInterrupt WhenBusy = "interrupt" // stops the running turn
)

// SendResult tells where a sent message was stored.
type SendResult struct {
	MessageID message.ID     `json:"message_id"`
	Seq       int64          `json:"seq"`
	TurnID    message.TurnID `json:"turn_id"`
	Queued    bool           `json:"queued"`
	Files     []SentFile     `json:"files,omitempty"`
	// Command: the message was a command; nothing but Seq, of its entry, is set.
	Command bool `json:"command,omitempty"`
}

// Send stores a user's message and returns as soon as it is on disk; its turn starts
// by itself, now or when the messages before it have had theirs.
// Errors: not_found, invalid_param, session_closed, busy, queue_full, quota_exceeded, idempotency_conflict,
// overloaded, shutting_down.
func (m *Manager) Send(ctx context.Context, ref store.Ref, content []message.Block, busy WhenBusy, i Idempotency) (Replay[SendResult], error) {
	if blank(content) {
		return Replay[SendResult]{}, errInvalid("content", "says nothing: every block is blank")
	}
	return keyedCall(ctx, m, ref, i, func(p promise[Replay[SendResult]]) command {
		return sendCommand{keyed{i}, content, m.measureContent(content), nil, busy, p}
	})
}

// blank reports whether content is nothing but white space: no provider takes such a
// message.
func blank(content []message.Block) bool {
	for _, b := range content {
		if t, ok := b.(message.Text); !ok || strings.TrimSpace(t.Text) != "" {
			return false
		}
	}
	return true
}

type sendCommand struct {
	keyed
	content []message.Block
	measure compaction.Measure
	files   []SentFile
	busy    WhenBusy
	reply   promise[Replay[SendResult]]
}

func (c sendCommand) apply(ctx context.Context, a *actor) {
	if replayed(a, c.keyed, c.reply) {
		return
	}
	if !a.row.ClosedAt.IsZero() {
		c.reply.fail(errClosed())
		return
	}
	busy := a.busy()
	switch {
	case busy && c.busy == WhenBusyReject:
		c.reply.fail(&Error{Kind: KindBusy, Message: "a turn or a compaction is running"})
		return
	case busy && c.busy != WhenBusyInterrupt && len(a.queue) >= a.m.opts.MaxQueuedMessages:
		c.reply.fail(&Error{
			Kind: KindQueueFull, Message: fmt.Sprintf("%d messages are waiting already", len(a.queue)),
			Data: map[string]any{"queued": len(a.queue)},
		})
		return
	}
	if err := a.quotaReached(); err != nil && !busy {
		c.reply.fail(err)
		return
	}
	if instruction, ok := CompactInstruction(c.content); ok {
		c.applyCompact(ctx, a, instruction)
		return
	}
	m := &message.Message{
		ID: message.NewID(), TurnID: message.NewTurnID(), Role: message.RoleUser,
		Content: c.content, CreatedAt: a.now(),
	}
	a.titleFrom(m)
	if busy {
		a.enqueue(ctx, m, c.measure, c.busy == WhenBusyInterrupt)
	} else {
		seq := a.appendMessage(EntryMessageAdded, m, m, c.measure)
		a.openTurn(store.Turn{ID: m.TurnID, MessageID: m.ID, CreatedSeq: seq, CreatedAt: m.CreatedAt}, false)
	}
	queued := a.turn == nil || a.turn.row.ID != m.TurnID
	finish(a, c.keyed, c.reply, SendResult{MessageID: m.ID, Seq: m.Seq, TurnID: m.TurnID, Queued: queued, Files: c.files})
}

// enqueue stores a message whose turn comes later. interrupt puts it first and stops
// the running turn or the compactions that were asked for, so that its turn comes now.
func (a *actor) enqueue(ctx context.Context, m *message.Message, measure compaction.Measure, interrupt bool) {
	seq := a.appendMessage(EntryMessageQueued, m, m, measure)
	q := queuedTurn{
		row: store.Turn{
			ID: m.TurnID, MessageID: m.ID, CreatedSeq: seq, Status: store.TurnQueued, CreatedAt: m.CreatedAt,
		},
		item: compaction.Item{Message: m, Measure: measure},
	}
	if interrupt {
		a.queue = append([]queuedTurn{q}, a.queue...)
		a.interrupt(ctx)
		return
	}
	a.stage(q.row)
	a.queue = append(a.queue, q)
}

// interrupt stops what runs, so that the next message has its turn.
func (a *actor) interrupt(ctx context.Context) {
	a.dropAsked()
	if a.turn != nil {
		a.endTurn(store.TurnStopped, nil)
		return
	}
	a.abortCompaction()
	a.goOn(ctx)
}

// A title made from a message is short; what clients set may be longer, up to as many
// bytes as these runes can have.
const (
	maxTitleRunes = 64
	ellipsis      = "…"
)

// titleFrom gives a session without a title the first line of its first message.
func (a *actor) titleFrom(m *message.Message) {
	if a.row.Title != "" {
		return
	}
	title := makeTitle(m.PlainText())
	if title == "" {
		return
	}
	a.row.Title = title
	a.append(EntryUpdated, "", "", encode(updatedBody{Version: a.row.Version, Fields: []string{"title"}, Title: &title}), nil)
}

// makeTitle returns the first non-blank line of text, its white space folded, cut at
// a word where one ends near the limit.
func makeTitle(text string) string {
	for line := range strings.Lines(text) {
		line = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || unicode.IsSpace(r) {
				return ' '
			}
			return r
		}, line)
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			continue
		}
		if utf8.RuneCountInString(line) <= maxTitleRunes {
			return line
		}
		cut := string([]rune(line)[:maxTitleRunes-utf8.RuneCountInString(ellipsis)])
		if i := strings.LastIndexByte(cut, ' '); i > len(cut)*2/3 {
			cut = cut[:i]
		}
		return cut + ellipsis
	}
	return ""
}
