package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

func titles(memories []session.Memory) map[string]string {
	all := make(map[string]string)
	for _, m := range memories {
		all[m.Title] = string(m.Source) + ": " + m.Content
	}
	return all
}

// A fork has the memories and the todo list as they were at every entry of the log,
// whatever became of them since. The source is asked at every entry what there is.
func TestAForkIsOfItsTime(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		type moment struct {
			memories map[string]string
			todos    []session.Todo
		}
		at := make(map[int64]moment)
		note := func() {
			at[w.get(ref).HeadSeq] = moment{titles(w.memories(ref, session.MemoryOfSession)), w.get(ref).Settings.TodoList}
		}
		create := func(title string) message.MemoryID {
			made, err := w.m.CreateMemory(t.Context(), session.MemoryOfSession, ref, remember(compaction.MemoryContext, title, "8081"), session.Idempotency{})
			if err != nil {
				t.Fatal(err)
			}
			note()
			return made.Value.ID
		}
		list := func(content string) *[]session.Todo { return &[]session.Todo{{Content: content, Status: "pending"}} }
		note()
		port := create("Port")
		w.send(ref, "one")
		note()
		w.change(ref, session.Update{TodoList: list("the client's")})
		note()
		w.modelSaved(c, ref, "Bug", "off by one")
		note()
		content := "9090"
		if _, err := w.m.UpdateMemory(t.Context(), alice, port, session.MemoryInput{Content: &content}, session.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		note()
		c.say(calls("todo_write", `{"todos":[{"content":"the model's","status":"pending","active_form":"x"}]}`), says("ok"))
		w.send(ref, "two")
		note()
		host := create("Host")
		for _, id := range []message.MemoryID{port, host} {
			if _, err := w.m.DeleteMemory(t.Context(), alice, id, session.Idempotency{}); err != nil {
				t.Fatal(err)
			}
			note()
		}
		w.change(ref, session.Update{TodoList: &[]session.Todo{}})
		note()
		for seq, want := range at {
			f := w.fork(ref, seq)
			if from := w.get(f).Settings.ForkedFrom; from.Seq != seq {
				t.Errorf("the fork at %d is of %d", seq, from.Seq)
			}
			if diff := cmp.Diff(want.memories, titles(w.memories(f, session.MemoryOfSession))); diff != "" {
				t.Errorf("memories of the fork at %d (-source +fork):\n%s", seq, diff)
			}
			if diff := cmp.Diff(want.todos, w.get(f).Settings.TodoList); len(want.todos)+len(w.get(f).Settings.TodoList) > 0 && diff != "" {
				t.Errorf("the todo list of the fork at %d (-source +fork):\n%s", seq, diff)
			}
			// A fork of a fork is as good.
			again := w.fork(f, seq)
			if diff := cmp.Diff(want.memories, titles(w.memories(again, session.MemoryOfSession))); diff != "" {
				t.Errorf("memories of the fork of the fork at %d (-source +fork):\n%s", seq, diff)
			}
		}
	}, withMemory)
}

// modelSaved makes the model save a memory of the session.
func (w *world) modelSaved(c *clerk, ref store.Ref, title, content string) {
	w.t.Helper()
	c.say(calls("memory_save", fmt.Sprintf(`{"category":"issue","title":%q,"content":%q}`, title, content)), says("ok"))
	w.completed(ref, "remember")
}

// The model of a fork is shown the list of then, and not again if its own call shows it.
func TestAForkShowsTheListOfThen(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		w.change(ref, session.Update{TodoList: &[]session.Todo{{Content: "LIST-ONE", Status: "pending"}}})
		w.completed(ref, "one")
		first := w.get(ref).HeadSeq
		c.say(calls("todo_write", `{"todos":[{"content":"LIST-TWO","status":"pending"}]}`), says("ok"))
		w.completed(ref, "two")
		second := w.get(ref).HeadSeq
		w.change(ref, session.Update{TodoList: &[]session.Todo{{Content: "LIST-THREE", Status: "pending"}}})
		w.completed(ref, "three")
		for at, want := range map[int64][]int{first: {1, 0, 0}, second: {1, 1, 0}} {
			w.completed(w.fork(ref, at), "in the fork")
			reqs := w.chats()
			shown := rendered(reqs[len(reqs)-1])
			if got := []int{strings.Count(shown, "LIST-ONE"), strings.Count(shown, "LIST-TWO"), strings.Count(shown, "LIST-THREE")}; !cmp.Equal(got, want) {
				t.Errorf("the fork at %d is shown the lists %v times, want %v", at, got, want)
			}
		}
	})
}

// A fork whose source deleted a memory that is still in view tells so; one from before
// the deletion has the memory.
func TestAForkTellsOfDeletions(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		mem, err := w.m.CreateMemory(t.Context(), session.MemoryOfSession, ref, remember(compaction.MemoryContext, "Port", "8081"), session.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		w.completed(ref, "one")
		before := w.get(ref).HeadSeq
		if _, err := w.m.DeleteMemory(t.Context(), alice, mem.Value.ID, session.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		for at, want := range map[int64]int{before: 0, w.get(ref).HeadSeq: 1} {
			w.completed(w.fork(ref, at), "in the fork")
			reqs := w.chats()
			if got := shownIn(reqs[len(reqs)-1], "This memory was deleted: Port"); got != want {
				t.Errorf("the fork at %d is told %d times of the deletion, want %d", at, got, want)
			}
		}
	})
}

// What a fork's memory covers is not read again, and nothing that it does not cover is
// taken for covered.
func TestAForkKnowsWhatItsMemoryCovers(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		k := w.keeper(c)
		ref := w.create()
		c.answer(says(words("answer", 150)))
		for i := range 60 {
			w.send(ref, words(fmt.Sprintf("message-%02d-", i), 150))
		}
		// firstRead is the first message that the fork's first extraction reads.
		firstRead := func(f store.Ref) string {
			n := len(k.calls())
			for i := 0; len(k.calls()) == n; i++ {
				if i == 40 {
					t.Fatal("the fork's memory is not brought up to date")
				}
				w.send(f, words(fmt.Sprintf("fork-%d-", i), 150))
			}
			return firstMessage(k.calls()[n].Messages[0].PlainText())
		}
		reads := make([]string, len(k.calls())) // where each extraction of the source began
		for i, req := range k.calls() {
			reads[i] = firstMessage(req.Messages[0].PlainText())
		}
		if got := firstRead(w.fork(ref, 0)); got <= reads[len(reads)-1] {
			t.Errorf("a fork of all begins to read at %s, the source's last extraction did at %s", got, reads[len(reads)-1])
		}
		third := seqOf(w, ref, reads[2]) // the memory covers what is before, since the second
		if got := firstRead(w.fork(ref, third+20)); got != reads[2] {
			t.Errorf("a fork of what two extractions covered begins to read at %s, want %s", got, reads[2])
		}
		if got := firstRead(w.fork(ref, 8)); got != "message-00-" {
			t.Errorf("a fork from before any extraction begins to read at %s", got)
		}
	}, withMemory)
}

func firstMessage(prompt string) string {
	i := strings.Index(prompt, "message-")
	if i < 0 {
		return "none"
	}
	return prompt[i : i+len("message-00-")]
}

// seqOf is the seq of the message with a text.
func seqOf(w *world, ref store.Ref, text string) int64 {
	for _, m := range w.messagesBy(ref, "user") {
		if strings.HasPrefix(m.PlainText(), text) {
			return m.Seq
		}
	}
	w.t.Fatalf("no message says %s", text)
	return 0
}
