package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/store"
)

// userMemoryBook says when what the sessions of an owner know of the owner's memories is
// out of date.
type userMemoryBook struct {
	mu       sync.Mutex
	versions map[string]int64
}

func (b *userMemoryBook) changed(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.versions == nil {
		b.versions = make(map[string]int64)
	}
	b.versions[owner]++
}

func (b *userMemoryBook) version(owner string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.versions[owner] + 1 // 0 is what nobody has read yet
}

// ownersMemory is what a session knows of its owner's memories.
type ownersMemory struct {
	version int64
	text    string // as the model is shown it; empty: nothing to show
}

// The bounds of what is shown of an owner's memories: all that are critical or high, as
// far as these tokens go, then so many of medium importance.
const (
	userMemoryTokens = 1_000
	userMemoryMedium = 10
)

// readUserMemory reads and chooses what is shown of an owner's memories.
func (m *Manager) readUserMemory(ctx context.Context, owner string) (ownersMemory, error) {
	known := ownersMemory{version: m.userMemories.version(owner)}
	rows, err := m.store.ListMemories(ctx, store.MemoryQuery{Ref: store.Ref{Owner: owner}, Limit: MaxUserMemories})
	if err != nil {
		return known, fmt.Errorf("read the owner's memories: %w", err)
	}
	known.text = m.userMemoryText(rows)
	return known, nil
}

// userMemoryText writes the memories that are shown, most important first and newest
// first among equals.
func (m *Manager) userMemoryText(rows []store.Memory) string {
	var b strings.Builder
	left, medium := userMemoryTokens, 0
	for _, importance := range importances()[:3] {
		for i := range rows {
			if rows[i].Importance != importance {
				continue
			}
			line := fmt.Sprintf("- [%s, %s] %s: %s\n", importance, rows[i].Category, oneLine(rows[i].Title), strings.TrimSpace(rows[i].Content))
			if importance == string(ImportanceMedium) {
				if medium++; medium > userMemoryMedium {
					return b.String()
				}
			} else if left -= m.opts.Counter.Count(line); left < 0 {
				break
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

// withUserMemory runs f once it is known what the owner has to remember.
func (a *actor) withUserMemory(ctx context.Context, f func(ctx context.Context)) {
	if a.owners.version == a.m.userMemories.version(a.ref.Owner) {
		f(ctx)
		return
	}
	a.spawn(func() {
		known, err := a.m.readUserMemory(ctx, a.ref.Owner)
		a.post(ctx, userMemoryRead{known, err, f})
	})
}

type userMemoryRead struct {
	known ownersMemory
	err   error
	then  func(ctx context.Context)
}

func (c userMemoryRead) apply(ctx context.Context, a *actor) {
	if ctx.Err() != nil {
		return
	}
	if c.err != nil { // the conversation goes on with what was known
		a.log.Warn("the owner's memories can't be read", zap.Error(c.err))
		c.known.text = a.owners.text
	}
	a.owners = c.known
	c.then(ctx)
}

// memoryAttachments are the memories that are shown beside the conversation. through is
// where the boundary would be; 0: where it is.
func (a *actor) memoryAttachments(through int64, add func(kind compaction.AttachmentKind, key, text string)) {
	cfg := a.m.planner.Config().Attachments
	left := cfg.SessionMemoryTokens
	shown := 0
	for i := range a.memories {
		row := &a.memories[i]
		if shown >= cfg.SessionMemoryEntries || !a.showsMemory(row, through) {
			continue
		}
		text := memoryText(row)
		if left -= a.countOnce(string(compaction.AttachSessionMemory)+string(row.ID), text); left < 0 {
			break
		}
		shown++
		add(compaction.AttachSessionMemory, string(row.ID), text)
	}
	for _, id := range slices.Sorted(maps.Keys(a.st.Context.Memory.Deleted)) {
		add(compaction.AttachSessionMemory, string(id), message.Wrap("session_memory", "This memory was deleted: "+a.st.Context.Memory.Deleted[id]))
	}
	if a.owners.text != "" {
		add(compaction.AttachUserMemory, "", message.Wrap("user_memory", a.owners.text))
	}
}

// noteDeleted remembers that a memory was deleted that the view shows, so that the model
// is told; once the view no longer shows it there is nothing to tell.
func (a *actor) noteDeleted(change memoryChange, row *store.Memory) {
	deleted := make(map[message.MemoryID]string)
	for id, title := range a.st.Context.Memory.Deleted {
		if a.history.state.ShownVersion(compaction.AttachSessionMemory, string(id)) != "" {
			deleted[id] = title
		}
	}
	if change == memoryDeleted && a.history.state.ShownVersion(compaction.AttachSessionMemory, string(row.ID)) != "" {
		deleted[row.ID] = oneLine(row.Title)
	}
	a.st.Context.Memory.Deleted = deleted
}

// showsMemory reports whether a memory of the session is shown: what a client wrote is,
// and what was learned from messages that the view no longer holds.
func (a *actor) showsMemory(row *store.Memory, through int64) bool {
	if row.Source == string(SourceClient) {
		return true
	}
	seq := row.Seq
	if len(row.SourceSeqs) > 0 {
		seq = slices.Max(row.SourceSeqs)
	}
	return a.history.state.HasLeft(seq, through)
}

func memoryText(row *store.Memory) string {
	return message.Wrap("session_memory", oneLine(row.Title)+"\n"+row.Content, message.Attr{Name: "category", Value: row.Category})
}

// sessionMemory is what a compaction may be written from.
func (a *actor) sessionMemory() compaction.Memory {
	m := compaction.Memory{WatermarkSeq: a.st.Context.Memory.Watermark}
	for i := range a.memories {
		row := &a.memories[i]
		m.Entries = append(m.Entries, compaction.MemoryEntry{
			ID: string(row.ID), Category: compaction.MemoryCategory(row.Category), Title: row.Title, Content: row.Content,
		})
	}
	return m
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
