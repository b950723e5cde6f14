package session

import (
	"cmp"
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
// far as these tokens go, then so many of medium importance, as far as as many go.
const (
	userMemoryTokens = 1_000
	userMemoryMedium = 10
	// userMemorySeams is what shortened entries may cost more once they are on one line.
	userMemorySeams = 20
)

// userMemoryPages bounds what is read of an owner's memories, in pages of as many as an
// owner may have: there can be more if the bound was once another.
const userMemoryPages = 20

// readUserMemory reads and chooses what is shown of an owner's memories. An important one
// is found however old it is.
func (m *Manager) readUserMemory(ctx context.Context, owner string) (ownersMemory, error) {
	known := ownersMemory{version: m.userMemories.version(owner)}
	q := store.MemoryQuery{Ref: store.Ref{Owner: owner}, Limit: MaxUserMemories}
	var chosen []store.Memory
	for range userMemoryPages {
		rows, err := m.store.ListMemories(ctx, q)
		if err != nil {
			return known, fmt.Errorf("read the owner's memories: %w", err)
		}
		chosen = mayBeShown(append(chosen, rows...))
		if len(rows) < q.Limit {
			break
		}
		last := &rows[len(rows)-1]
		q.BeforeUpdatedAt, q.BeforeID = last.UpdatedAt, last.ID
	}
	known.text = m.userMemoryText(chosen)
	return known, nil
}

// mayBeShown returns those of an owner's memories, newest first, that there may be room
// for; none has fewer than two tokens.
func mayBeShown(rows []store.Memory) []store.Memory {
	count := make(map[Importance]int)
	return slices.DeleteFunc(rows, func(row store.Memory) bool {
		importance := Importance(row.Importance)
		count[importance]++
		switch importance {
		case ImportanceCritical, ImportanceHigh:
			return count[importance] > userMemoryTokens/2
		case ImportanceMedium:
			return count[importance] > userMemoryMedium
		case ImportanceLow:
		}
		return true
	})
}

// userMemoryText writes the memories that are shown, most important first and newest
// first among equals, each on one line, so that none can look like two. Long ones make
// way for the others.
func (m *Manager) userMemoryText(rows []store.Memory) string {
	lines := func(importances ...Importance) (lines []string) {
		for _, importance := range importances {
			for i := range rows {
				if row := &rows[i]; row.Importance == string(importance) {
					lines = append(lines, fmt.Sprintf("- [%s, %s] %s: %s", importance, row.Category, oneLine(row.Title), oneLine(row.Content)))
				}
			}
		}
		return m.planner.Fit(lines, userMemoryTokens-userMemorySeams)
	}
	var b strings.Builder
	for _, line := range slices.Concat(lines(ImportanceCritical, ImportanceHigh), lines(ImportanceMedium)) {
		if line != "" {
			b.WriteString(oneLine(line) + "\n")
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
	if c.err != nil { // the conversation goes on with what was known, and the next round tries again
		a.log.Warn("the owner's memories can't be read", zap.Error(c.err))
		c.known = a.owners
	}
	a.owners = c.known
	c.then(ctx)
}

// memoryAttachments are the memories that are shown beside the conversation. through is
// where the boundary would be; 0: where it is.
func (a *actor) memoryAttachments(through int64) []compaction.Attachment {
	var out []compaction.Attachment
	for _, row := range a.newestMemories() {
		if len(out) < a.m.planner.Config().Attachments.SessionMemoryEntries && a.showsMemory(&row, through) {
			out = append(out, a.attachment(compaction.AttachSessionMemory, string(row.ID), memoryText(&row)))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.st.Context.Memory.Deleted)) {
		kept := a.history.state.KeptVersion(compaction.AttachSessionMemory, string(id), through) != ""
		if kept || through == 0 && a.history.state.SummaryTells(string(id)) {
			text := message.Wrap("session_memory", "This memory was deleted: "+a.st.Context.Memory.Deleted[id])
			out = append(out, a.attachment(compaction.AttachSessionMemory, string(id), text))
		}
	}
	if a.owners.text != "" {
		out = append(out, a.attachment(compaction.AttachUserMemory, "", message.Wrap("user_memory", a.owners.text)))
	}
	return out
}

// newestMemories are the session's memories in the order in which a store lists them: of
// two that changed at once, a restart must not choose another.
func (a *actor) newestMemories() []store.Memory {
	newestFirst := func(a, b store.Memory) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
	}
	if slices.IsSortedFunc(a.memories, newestFirst) {
		return a.memories
	}
	return slices.SortedFunc(slices.Values(a.memories), newestFirst)
}

// noteDeleted remembers that a memory was deleted that the view shows or its summary was
// written from, so that the model is told; once the view has neither the memory nor what
// was told of it there is nothing to tell.
func (a *actor) noteDeleted(change memoryChange, row *store.Memory) {
	inView := func(id message.MemoryID) bool {
		s := a.history.state
		return s.SummaryTells(string(id)) || s.ShownVersion(compaction.AttachSessionMemory, string(id)) != ""
	}
	deleted := make(map[message.MemoryID]string)
	for id, title := range a.st.Context.Memory.Deleted {
		if inView(id) {
			deleted[id] = title
		}
	}
	if change == memoryDeleted && inView(row.ID) {
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

// oneLine makes text fit on one line, with what can't be seen left out.
func oneLine(text string) string { return strings.Join(strings.Fields(message.OneLine(text)), " ") }
