package session_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sessiond/session"
	"sessiond/store"
)

// A call about a memory is remembered whatever became of the memory since, also by
// another call, and by whoever asks at the same moment.
func TestKeysOfMemoryCalls(t *testing.T) {
	for _, scope := range []session.MemoryScope{session.MemoryOfSession, session.MemoryOfUser} {
		t.Run(string(scope), func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				t := w.t
				ref := w.create()
				made, err := w.m.CreateMemory(t.Context(), scope, ref, remember("decision", "Port", "8081"), session.Idempotency{})
				if err != nil {
					t.Fatal(err)
				}
				id, content := made.Value.ID, "9090"
				update := func(i session.Idempotency) (session.Replay[session.Memory], error) {
					return w.m.UpdateMemory(t.Context(), alice, id, session.MemoryInput{Content: &content}, i)
				}
				remove := func(i session.Idempotency) (session.Replay[session.Memory], error) {
					return w.m.DeleteMemory(t.Context(), alice, id, i)
				}
				once := func(method string, call func(session.Idempotency) (session.Replay[session.Memory], error)) session.Idempotency {
					i := session.Idempotency{Method: method, Key: "k", Fingerprint: [32]byte{1}}
					first := make([]session.Replay[session.Memory], 8)
					var all sync.WaitGroup
					for n := range first {
						all.Go(func() {
							var err error
							if first[n], err = call(i); err != nil {
								t.Errorf("%s: %v", method, err)
							}
						})
					}
					all.Wait()
					fresh := 0
					for _, r := range first {
						if !r.Replayed {
							fresh++
						}
						if r.Value.ID != id {
							t.Errorf("%s answered with memory %q", method, r.Value.ID)
						}
					}
					if fresh != 1 {
						t.Errorf("%s took effect %d times", method, fresh)
					}
					return i
				}
				updated, removed := once("v1.memory.update", update), once("v1.memory.delete", remove)
				for _, when := range []func(){func() {}, w.restart, w.crash} {
					when()
					got, err := update(updated)
					if err != nil || !got.Replayed || got.Value.Content != content {
						t.Errorf("the update again: %+v, %v", got, err)
					}
					if got, err := remove(removed); err != nil || !got.Replayed {
						t.Errorf("the deletion again: %+v, %v", got, err)
					}
					removed.Fingerprint[0]++
					_, err = remove(removed)
					wantKind(t, "another deletion", err, session.KindIdempotencyConflict)
					removed.Fingerprint[0]--
				}
				_, err = remove(session.Idempotency{Method: "v1.memory.delete", Key: "another", Fingerprint: [32]byte{1}})
				wantKind(t, "a deletion of what is gone", err, session.KindNotFound)
				if got := w.memories(ref, scope); len(got) != 0 {
					t.Errorf("left: %+v", got)
				}
			})
		})
	}
}

// The key of a call about a memory is the owner's: used in one session, it is used in all.
func TestKeysOfMemoryCallsAreOfTheOwner(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		i := session.Idempotency{Method: "v1.memory.delete", Key: "k", Fingerprint: [32]byte{1}}
		for n, ref := range []store.Ref{w.create(), w.create()} {
			made, err := w.m.CreateMemory(t.Context(), session.MemoryOfSession, ref, remember("issue", fmt.Sprint("Issue ", n), "open"), session.Idempotency{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.m.DeleteMemory(t.Context(), alice, made.Value.ID, i)
			if n == 0 {
				if err != nil {
					t.Fatal(err)
				}
				i.Fingerprint[0]++ // other params
				continue
			}
			wantKind(t, "the key in another session", err, session.KindIdempotencyConflict)
		}
	})
}

// Equal calls that wait for the same log to be read have one effect, and one answer.
func TestEqualCallsWhileASessionIsRead(t *testing.T) {
	calls := map[string]func(w *world, ref store.Ref, i session.Idempotency) (bool, error){
		"a memory": func(w *world, ref store.Ref, i session.Idempotency) (bool, error) {
			r, err := w.m.CreateMemory(w.t.Context(), session.MemoryOfSession, ref, remember("decision", "Port", "8081"), i)
			return r.Replayed, err
		},
		"an undo": func(w *world, ref store.Ref, i session.Idempotency) (bool, error) {
			r, err := w.m.UndoCompact(w.t.Context(), ref, i)
			return r.Replayed, err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			withClerk(t, 25_000, func(w *world, c *clerk) {
				ref := w.create()
				w.talk(ref, 8, 700)
				w.mustCompact(ref)
				w.restart()
				w.life.onEntries = func() { time.Sleep(time.Second) } // all calls come before the log is there
				var all sync.WaitGroup
				var fresh atomic.Int32
				for range 3 {
					all.Go(func() {
						replayed, err := call(w, ref, session.Idempotency{Method: "m", Key: "k", Fingerprint: [32]byte{1}})
						if err != nil {
							w.t.Error(err)
						}
						if !replayed {
							fresh.Add(1)
						}
					})
				}
				all.Wait()
				if n := fresh.Load(); n != 1 {
					w.t.Errorf("%d calls say that they were the first", n)
				}
				w.life.onEntries = nil
			})
		})
	}
}
