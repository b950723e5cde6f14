package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// holdMemories makes commits that change memories wait for release.
func (w *world) holdMemories() (release func()) {
	held := make(chan struct{})
	w.mem.Intercept(func(ctx context.Context, c *store.Commit, apply func() error) error {
		if len(c.Memories) > 0 {
			<-held
		}
		return w.gate.intercept(ctx, c, apply)
	})
	return func() { close(held) }
}

// saved makes the model save a memory and returns it.
func (w *world) saved(c *clerk, ref store.Ref, scope session.MemoryScope) session.Memory {
	w.t.Helper()
	c.say(calls("memory_save", fmt.Sprintf(`{"scope":%q,"category":"issue","title":"Bug","content":"off by one"}`, scope)), says("ok"))
	w.send(ref, "remember")
	synctest.Wait()
	got := w.memories(ref, scope)
	if len(got) != 1 {
		w.t.Fatalf("saved are %+v", got)
	}
	return got[0]
}

// fill gives the owner memories up to a number, as a client's and as a model's in turn.
func (w *world) fill(n int) (oldest []message.MemoryID) {
	w.t.Helper()
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := len(w.memories(store.Ref{Owner: alice}, session.MemoryOfUser)); i < n; i++ {
		row := store.Memory{
			ID: message.NewMemoryID(), Owner: alice, Category: "learning", Importance: "medium", Title: fmt.Sprint("T", i),
			Content: "tabs", Source: []string{"client", "model"}[i%2], CreatedAt: at, UpdatedAt: at.Add(time.Duration(i) * time.Second),
		}
		if err := w.mem.PutMemory(w.t.Context(), &row, nil); err != nil {
			w.t.Fatal(err)
		}
		if len(oldest) < 2 {
			oldest = append(oldest, row.ID)
		}
	}
	return oldest
}

// A model saves no more for the owner than there may be, however many calls it makes at
// once; what there is can be changed and deleted also then, and also if there is more.
func TestTheOwnersMemoriesAreBounded(t *testing.T) {
	for _, have := range []int{session.MaxUserMemories - 3, session.MaxUserMemories + 10} {
		t.Run(fmt.Sprint(have), func(t *testing.T) {
			withClerk(t, 100_000, func(w *world, c *clerk) {
				t := w.t
				oldest := w.fill(have)
				ref := w.create()
				many := make([]llmtest.Call, 10)
				for i := range many {
					many[i] = llmtest.Call{Name: "memory_save", Input: `{"scope":"user","category":"learning","title":"S","content":"tabs"}`}
				}
				c.say(counted(llmtest.Calls("", many...)), says("done"))
				w.send(ref, "remember")
				refused := 0
				for _, r := range w.results(ref) {
					if strings.Contains(r, "already") {
						refused++
					}
				}
				want := max(have, session.MaxUserMemories)
				if got := len(w.memories(store.Ref{Owner: alice}, session.MemoryOfUser)); got != want || refused != have+10-want {
					t.Errorf("there are %d memories, want %d; %d calls were refused", got, want, refused)
				}
				_, err := w.m.CreateMemory(t.Context(), session.MemoryOfUser, store.Ref{Owner: alice}, remember(compaction.MemoryIssue, "One", "more"), session.Idempotency{})
				wantKind(t, "one more of a client's", err, session.KindQuotaExceeded)
				content := "spaces"
				if _, err := w.m.UpdateMemory(t.Context(), alice, oldest[0], session.MemoryInput{Content: &content}, session.Idempotency{}); err != nil {
					t.Errorf("a client's change of the oldest: %v", err)
				}
				c.say(calls("memory_update", fmt.Sprintf(`{"id":%q,"content":"spaces"}`, oldest[1])), calls("memory_delete", fmt.Sprintf(`{"id":%q}`, oldest[1])), says("done"))
				w.send(ref, "change it")
				results := w.results(ref)
				if last := strings.Join(results[len(results)-2:], "\n"); !strings.Contains(last, "Changed.") || !strings.Contains(last, "Deleted.") {
					t.Errorf("the model's change: %s", last)
				}
			}, withMemory)
		})
	}
}

// What a client does between a model's call and its effect is not undone by it.
func TestToolsDoNotUndoWhatAClientDid(t *testing.T) {
	content := "the client's own words"
	for name, tt := range map[string]struct {
		tool   string
		remove bool
	}{
		"changed, then changed": {tool: "memory_update"}, "changed, then deleted": {tool: "memory_update", remove: true},
		"deleted, then changed": {tool: "memory_delete"}, "deleted, then deleted": {tool: "memory_delete", remove: true},
	} {
		for _, scope := range []session.MemoryScope{session.MemoryOfSession, session.MemoryOfUser} {
			t.Run(string(scope)+" "+name, func(t *testing.T) {
				withClerk(t, 25_000, func(w *world, c *clerk) {
					t := w.t
					ref := w.create()
					mem := w.saved(c, ref, scope)
					release := w.holdMemories()
					c.say(calls(tt.tool, fmt.Sprintf(`{"id":%q,"title":"Fixed"}`, mem.ID)), says("done"))
					w.send(ref, "change it")
					synctest.Wait() // the tool has read the memory, its change is not on disk
					done := make(chan error, 1)
					go func() {
						var err error
						if tt.remove {
							_, err = w.m.DeleteMemory(context.WithoutCancel(t.Context()), alice, mem.ID, session.Idempotency{})
						} else {
							_, err = w.m.UpdateMemory(context.WithoutCancel(t.Context()), alice, mem.ID, session.MemoryInput{Content: &content}, session.Idempotency{})
						}
						done <- err
					}()
					synctest.Wait()
					release()
					err := <-done
					synctest.Wait()
					got := w.memories(ref, scope)
					if tt.remove || tt.tool == "memory_delete" {
						if len(got) != 0 {
							t.Errorf("it is there again: %+v", got)
						}
						if tt.tool == "memory_delete" {
							wantKind(t, "the client's call", err, session.KindNotFound)
						}
						return
					}
					if err != nil || len(got) != 1 || got[0].Content != content || got[0].Title != "Fixed" || got[0].Source != session.SourceClient {
						t.Errorf("%v; there is %+v", err, got)
					}
				}, withMemory)
			})
		}
	}
}

// A client's change that comes first is seen by the tool.
func TestToolsSeeWhatAClientDidBefore(t *testing.T) {
	for _, scope := range []session.MemoryScope{session.MemoryOfSession, session.MemoryOfUser} {
		t.Run(string(scope), func(t *testing.T) {
			withClerk(t, 25_000, func(w *world, c *clerk) {
				t := w.t
				ref := w.create()
				mem := w.saved(c, ref, scope)
				content := "the client's own words"
				c.watch(func(*llm.Request) { // while the model writes its call
					if _, err := w.m.UpdateMemory(context.WithoutCancel(t.Context()), alice, mem.ID, session.MemoryInput{Content: &content}, session.Idempotency{}); err != nil {
						t.Error(err)
					}
				})
				c.say(calls("memory_update", fmt.Sprintf(`{"id":%q,"content":"the model's"}`, mem.ID)), calls("memory_delete", fmt.Sprintf(`{"id":%q}`, mem.ID)), says("done"))
				w.send(ref, "change it")
				results := w.results(ref)
				if last := strings.Join(results[len(results)-2:], "\n"); strings.Count(last, "only the user") != 2 {
					t.Errorf("the model was told %s", last)
				}
				if got := w.memories(ref, scope); len(got) != 1 || got[0].Content != content {
					t.Errorf("there is %+v", got)
				}
			}, withMemory)
		})
	}
}

// A tool that holds up an owner's memories lets them go whatever becomes of its turn.
func TestWhoHoldsTheOwnersMemoriesLetsThemGo(t *testing.T) {
	for name, end := range map[string]func(w *world, ref store.Ref) error{
		"stopped": func(w *world, ref store.Ref) error { w.stop(ref, "", false); return nil },
		"deleted": func(w *world, ref store.Ref) error { return w.m.Delete(context.WithoutCancel(w.t.Context()), ref) },
		"refused": func(w *world, _ store.Ref) error { w.gate.next(refuse); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			withClerk(t, 25_000, func(w *world, c *clerk) {
				t := w.t
				ref := w.create()
				mem := w.saved(c, ref, session.MemoryOfUser)
				release := w.holdMemories()
				c.say(calls("memory_update", fmt.Sprintf(`{"id":%q,"title":"Fixed"}`, mem.ID)), says("done"))
				w.send(ref, "change it")
				synctest.Wait()
				ended := make(chan error, 1)
				go func() { ended <- end(w, ref) }()
				synctest.Wait()
				release()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				content := "the client's own words"
				got, err := w.m.UpdateMemory(t.Context(), alice, mem.ID, session.MemoryInput{Content: &content}, session.Idempotency{})
				if err != nil || got.Value.Content != content {
					t.Errorf("a client's change: %+v, %v", got, err)
				}
			}, withMemory)
		})
	}
}

// A memory of the session that the model saved or changed is not shown beside the call
// that did, however old it was before.
func TestWhatTheModelSavedIsNotRepeated(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		mem := w.saved(c, ref, session.MemoryOfSession)
		shown := func(text string) int {
			reqs := w.chats()
			return shownIn(reqs[len(reqs)-1], text)
		}
		if n := shown("off by one"); n != 0 {
			t.Errorf("the new memory is shown %d times beside its call", n)
		}
		w.compacted(ref, "message")
		w.send(ref, "next")
		if n := shown("off by one"); n != 1 {
			t.Errorf("once the call has left the memory is shown %d times", n)
		}
		c.say(calls("memory_update", fmt.Sprintf(`{"id":%q,"content":"off by two"}`, mem.ID)), says("done"))
		w.send(ref, "change it")
		if n := shown("off by two"); n != 0 {
			t.Errorf("the change is shown %d times beside its call", n)
		}
		w.compacted(ref, "message")
		w.send(ref, "next")
		if n := shown("off by two"); n != 1 {
			t.Errorf("once that call has left the memory is shown %d times", n)
		}
	}, func(o *session.Options) { o.MemoryTools = true })
}
