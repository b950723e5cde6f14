package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// TestB80PrefixesAreStable: whatever is done, a request of a session begins with the one
// before it, block by block, and where it may not, only there:
//
//   - the model, the tools and the system prompt are those that the client last gave;
//   - where these changed, and after a clearing, all thoughts may be gone, and results that
//     were cleared look otherwise: nothing else does;
//   - behind a compaction and an undo the messages are others.
//
// And a thought is shown only after exactly what it was thought after (B49): providers bind
// it to that.
func TestB80PrefixesAreStable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, walkOps-1), 5, 40).Draw(rt, "ops")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 900), len(ops), len(ops)).Draw(rt, "sizes")
		var problem string
		inWorld(t, clerkOptions(8_000), func(w *world) {
			k := &walker{world: w, clerk: w.clerk(), thoughts: make(map[string][]string), model: "small", system: "Be brief."}
			k.walk(ops, sizes)
			problem = k.problem()
		})
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// snapshot is a chat request with what may change its beginning.
type snapshot struct {
	blocks        []string
	model, system string // as the client gave them
	changes       []shapeChange
	doing         string // for messages
}

// headBlocks are the blocks before the messages: model, tools and system prompt.
const headBlocks = 3

// shapeChange is an entry on disk that changes how a conversation is shown.
type shapeChange struct {
	kind session.EntryKind
	ids  []message.ToolUseID // of results that it clears or cuts
	all  bool                // it may change any message
}

// walker plays operations on one session.
type walker struct {
	*world
	*clerk
	ref           store.Ref
	all           []snapshot
	doing         string
	model, system string
	thoughts      map[string][]string // thought → the request it was thought after
}

const walkOps = 19

func (k *walker) walk(ops, sizes []int) {
	k.ref = k.create(withTools("read"), func(s *session.Settings) { s.AgentPrompt = "rules" })
	k.answer(k.think(says("ok")))
	k.watch(func(req *llm.Request) {
		if !isSummary(req) {
			k.all = append(k.all, snapshot{blocksOf(req), k.model, k.system, k.changes(k.ref), k.doing})
		}
	})
	for i, op := range ops {
		k.doing = fmt.Sprintf("op %d: %d, size %d", i, op, sizes[i])
		k.play(op, sizes[i])
		synctest.Wait()
	}
}

func (k *walker) play(op, size int) {
	switch op {
	case 0, 1, 2:
		k.send(k.ref, words("message", size))
	case 3, 4, 5:
		k.read(1+size%3, size)
	case 6: // more than stay when a conversation has rested
		k.read(7, size%100)
		k.pass(61 * time.Minute)
	case 7:
		k.say(k.think(calls("todo_write", fmt.Sprintf(`{"todos":[{"content":"step %d","status":"pending"}]}`, size))))
		k.send(k.ref, "plan")
	case 8:
		k.change(k.ref, session.Update{TodoList: &[]session.Todo{{Content: fmt.Sprint("client's step ", size), Status: "pending"}}})
	case 9:
		prompt := fmt.Sprint("rules ", size)
		k.change(k.ref, session.Update{AgentPrompt: &prompt})
	case 10:
		if _, err := k.compact(k.ref, session.CompactOptions{Wait: true}); err != nil {
			k.t.Error(err)
		}
		if size%3 == 0 { // it may be too large by now
			_, _ = k.m.UndoCompact(k.t.Context(), k.ref, session.Idempotency{})
		}
	case 11:
		k.pass(61 * time.Minute)
	case 12:
		k.model = []string{"small", "large"}[size%2]
		k.change(k.ref, session.Update{Model: &k.model})
	case 13:
		k.system = fmt.Sprint("Be brief ", size%3)
		k.change(k.ref, session.Update{SystemPrompt: &k.system})
	case 14:
		k.restart()
	case 15:
		k.crash()
	case 16:
		k.sendBlocks(k.ref, message.Text{Text: "look"}, pixel())
	case 17, 18:
		k.remember(size)
	}
}

// read has the model read files, one after the other.
func (k *walker) read(files, size int) {
	for i := range files {
		k.say(k.think(calls("read", fmt.Sprintf(`{"path":"f%d"}`, (size+i)%7))))
	}
	k.send(k.ref, "read")
	k.answerCalls(k.ref, func(session.PendingCall) string { return words("content", size) })
}

// remember has the client write, change or delete a memory of the session.
func (k *walker) remember(size int) {
	known := k.memories(k.ref, session.MemoryOfSession)
	in := remember(compaction.MemoryDecision, fmt.Sprint("decision ", size), words("because", size/4))
	var err error
	switch {
	case len(known) == 0 || size%3 == 0:
		_, err = k.m.CreateMemory(k.t.Context(), session.MemoryOfSession, k.ref, in, session.Idempotency{})
	case size%3 == 1:
		_, err = k.m.UpdateMemory(k.t.Context(), alice, known[size%len(known)].ID, in, session.Idempotency{})
	default:
		_, err = k.m.DeleteMemory(k.t.Context(), alice, known[size%len(known)].ID, session.Idempotency{})
	}
	if err != nil {
		k.t.Error(err)
	}
}

// think has an answer begin with a thought that is told apart from all others.
func (k *walker) think(step llmtest.Step) llmtest.Step {
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		text := fmt.Sprint("thought ", len(k.all))
		k.thoughts[text] = blocksOf(req)
		return llmtest.Thinking(text).Then(step)(ctx, req, emit)
	}
}

func (k *walker) problem() string {
	for i := range k.all {
		one := &k.all[i]
		for at, block := range one.blocks {
			if text := thoughtIn(block); text != "" && !slices.Equal(k.thoughts[text], one.blocks[:at]) {
				return fmt.Sprintf("request %d (%s) shows %q after something else than it was thought after", i, one.doing, text)
			}
		}
		head := []string{one.model, k.all[0].blocks[1], one.system}
		if !slices.Equal(one.blocks[:headBlocks], head) {
			return fmt.Sprintf("request %d (%s) begins with %q and not with %q", i, one.doing, one.blocks[:headBlocks], head)
		}
		if i > 0 {
			if what := k.all[i-1].endsIn(one); what != "" {
				return fmt.Sprintf("request %d (%s) %s", i, one.doing, what)
			}
		}
	}
	return ""
}

// endsIn says where a request ceases to be the one before it although it may not.
func (s *snapshot) endsIn(next *snapshot) string {
	changes := next.changes[len(s.changes):]
	cleared := make(map[message.ToolUseID]bool)
	for _, c := range changes {
		if c.all {
			return ""
		}
		for _, id := range c.ids {
			cleared[id] = true
		}
	}
	before, after := s.blocks[headBlocks:], next.blocks[headBlocks:]
	if len(changes) > 0 || !slices.Equal(s.blocks[:headBlocks], next.blocks[:headBlocks]) {
		before, after = unlessChanged(before, cleared), unlessChanged(after, cleared)
	}
	if at := firstDifference(before, after); at >= 0 {
		return fmt.Sprintf("differs from the one before, after %v, at block %d: %.80q", changes, at, before[at])
	}
	return ""
}

// unlessChanged are the blocks of messages without thoughts, and without what cleared
// results say.
func unlessChanged(blocks []string, cleared map[message.ToolUseID]bool) []string {
	var out []string
	for _, block := range blocks {
		if id := resultIn(block); cleared[id] {
			block = "cleared " + string(id)
		}
		if thoughtIn(block) == "" {
			out = append(out, block)
		}
	}
	return out
}

// thoughtIn returns the text of a thought's block, or "".
func thoughtIn(block string) string {
	_, rest, ok := strings.Cut(block, `"text":"thought `)
	if !ok || !strings.Contains(block, `"type":"thinking"`) {
		return ""
	}
	number, _, _ := strings.Cut(rest, `"`)
	return "thought " + number
}

// resultIn returns the call that a block has the result of, or "".
func resultIn(block string) message.ToolUseID {
	_, list, _ := strings.Cut(block, " ")
	var blocks []struct {
		Type string            `json:"type"`
		ID   message.ToolUseID `json:"tool_use_id"`
	}
	if json.Unmarshal([]byte(list), &blocks) != nil || len(blocks) != 1 || blocks[0].Type != "tool_result" {
		return ""
	}
	return blocks[0].ID
}

// changes is what is on disk about how a conversation is shown.
func (w *world) changes(ref store.Ref) []shapeChange {
	entries, err := w.mem.Entries(context.WithoutCancel(w.t.Context()), store.EntryQuery{Ref: ref, Kinds: []string{
		string(session.EntryContextCleared), string(session.EntryCompactionCompleted), string(session.EntryCompactionUndone),
	}})
	if err != nil {
		w.t.Error(err)
	}
	out := make([]shapeChange, len(entries))
	for i, e := range entries {
		out[i] = shapeChange{kind: session.EntryKind(e.Kind), all: true}
		if out[i].kind == session.EntryContextCleared {
			c := decodeAs[compaction.Clearing](w.t, e.Body)
			out[i].ids, out[i].all = c.IDs(), len(c.Pinned) > 0
		}
	}
	return out
}

// watch has f called with each request, before it is answered.
func (c *clerk) watch(f func(*llm.Request)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watching = append(slices.Clip(c.watching), f)
}
