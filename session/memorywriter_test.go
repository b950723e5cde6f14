package session_test

import (
	"fmt"
	"strings"
	"testing"

	"sessiond/compaction"
	"sessiond/llm/llmtest"
	"sessiond/session"
	"sessiond/store"
)

// extractedThenCompacted talks until the first compaction and returns it, with the request
// after it. Once the memory was brought up to date, meanwhile runs.
func extractedThenCompacted(w *world, c *clerk, k *keeper, ref store.Ref, meanwhile func()) (session.Compaction, string) {
	w.t.Helper()
	c.answer(says(words("answer", 150)))
	for i := range 40 {
		w.send(ref, words(fmt.Sprint("message ", i), 150))
		if made := w.compactions(ref); len(made) > 0 {
			if meanwhile != nil {
				w.t.Fatal("it was compacted before the memory was brought up to date")
			}
			w.send(ref, "and then")
			reqs := w.chats()
			return made[0], rendered(reqs[len(reqs)-1])
		}
		if len(k.calls()) > 0 && meanwhile != nil {
			meanwhile()
			meanwhile = nil
		}
	}
	w.t.Fatal("no compaction")
	return session.Compaction{}, ""
}

func facts(n, tokens int, seqs ...int64) llmtest.Step {
	var ops []compaction.MemoryOp
	for i := range n {
		ops = append(ops, compaction.MemoryOp{Op: compaction.MemoryAdd, Category: compaction.MemoryDecision, Title: fmt.Sprintf("Fact-%02d", i), Content: words("c", tokens), Seqs: seqs})
	}
	return says(operations(ops...))
}

// Of what an extraction wrote all is in the summary, or a model writes it.
func TestEntriesBeyondTheSummarysRoom(t *testing.T) {
	for n, want := range map[int]compaction.Writer{3: compaction.WriterMemory, 20: compaction.WriterModel} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			withClerk(t, 8_000, func(w *world, c *clerk) {
				k := w.keeper(c)
				k.answer(facts(n, 50, 2))
				ref := w.create()
				made, next := extractedThenCompacted(w, c, k, ref, nil)
				if made.Writer != want {
					w.t.Fatalf("%s wrote", made.Writer)
				}
				for i := range n {
					if want == compaction.WriterMemory && strings.Count(next, fmt.Sprintf("Fact-%02d", i)) != 1 {
						w.t.Errorf("Fact-%02d is shown %d times", i, strings.Count(next, fmt.Sprintf("Fact-%02d", i)))
					}
				}
			}, withMemory)
		})
	}
}

// An extraction that finds nothing, or only deletes, has covered nothing; what a client
// wrote down covers nothing either.
func TestAnExtractionThatFindsNothingCoversNothing(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		k := w.keeper(c)
		for range 9 {
			k.answer(says(`{"operations":[]}`))
		}
		ref := w.create()
		if _, err := w.m.CreateMemory(w.t.Context(), session.MemoryOfSession, ref, remember(compaction.MemoryContext, "Tea", "green"), session.Idempotency{}); err != nil {
			w.t.Fatal(err)
		}
		made, next := extractedThenCompacted(w, c, k, ref, nil)
		if made.Writer != compaction.WriterModel || !strings.Contains(next, "notes ") {
			w.t.Errorf("%s wrote", made.Writer)
		}
		for range 20 {
			w.send(ref, words("more", 150))
		}
		asked := k.calls()
		if len(asked) < 2 || shownIn(asked[len(asked)-1], "message 0") == 0 {
			w.t.Error("what nothing was found in is not read again")
		}
	}, withMemory)
}

// An entry that goes, or that a client or the model changes, takes what it was learned from out of
// what the memory stands for.
func TestALostEntryNoLongerCovers(t *testing.T) {
	text := "something else"
	change := map[string]func(w *world, c *clerk, m session.Memory) error{
		"deleted by a client": func(w *world, _ *clerk, m session.Memory) error {
			_, err := w.m.DeleteMemory(w.t.Context(), alice, m.ID, session.Idempotency{})
			return err
		},
		"changed by a client": func(w *world, _ *clerk, m session.Memory) error {
			_, err := w.m.UpdateMemory(w.t.Context(), alice, m.ID, session.MemoryInput{Content: &text}, session.Idempotency{})
			return err
		},
		"changed by the model": func(w *world, c *clerk, m session.Memory) error {
			c.say(calls("memory_update", fmt.Sprintf(`{"id":%q,"content":%q}`, m.ID, text)), says("changed"))
			w.send(store.Ref{Owner: alice, ID: m.SessionID}, "change it")
			c.answer(says(words("answer", 150)))
			return nil
		},
	}
	for name, f := range change {
		for _, told := range []struct {
			of   int64
			want compaction.Writer
		}{{0, compaction.WriterModel}, {2, compaction.WriterMemory}} { // of 0: of all that was read
			t.Run(fmt.Sprint(name, " of #", told.of), func(t *testing.T) {
				withClerk(t, 8_000, func(w *world, c *clerk) {
					k := w.keeper(c)
					var seqs []int64
					if told.of > 0 {
						seqs = []int64{told.of}
					}
					k.answer(facts(3, 20, seqs...))
					ref := w.create()
					made, _ := extractedThenCompacted(w, c, k, ref, func() {
						mem := w.memories(ref, session.MemoryOfSession)
						if len(mem) != 3 {
							w.t.Fatalf("%d memories", len(mem))
						}
						if err := f(w, c, mem[0]); err != nil {
							w.t.Fatal(err)
						}
						w.restart()
					})
					if made.Writer != told.want {
						w.t.Errorf("%s wrote", made.Writer)
					}
				}, withMemory)
			})
		}
	}
}

// What the memory has no room for takes along what it stood for.
func TestWhatTheMemoryHasNoRoomForNoLongerCovers(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		k := w.keeper(c)
		k.answer(facts(compaction.MaxMemoryEntries+1, 5))
		ref := w.create()
		made, _ := extractedThenCompacted(w, c, k, ref, nil)
		if n := len(w.memories(ref, session.MemoryOfSession)); n != compaction.MaxMemoryEntries || made.Writer != compaction.WriterModel {
			w.t.Errorf("%d memories, %s wrote", n, made.Writer)
		}
	}, withMemory)
}

// The model that deletes an entry takes along what it stood for.
func TestTheModelDeletesWhatCovered(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		k := w.keeper(c)
		k.answer(facts(2, 20))
		ref := w.create()
		made, _ := extractedThenCompacted(w, c, k, ref, func() {
			mem := w.memories(ref, session.MemoryOfSession)
			c.say(calls("memory_delete", fmt.Sprintf(`{"id":%q}`, mem[0].ID)), says("deleted"))
			w.send(ref, "delete it")
			c.answer(says(words("answer", 150)))
			if n := len(w.memories(ref, session.MemoryOfSession)); n != 1 {
				w.t.Fatalf("%d memories are left", n)
			}
		})
		if made.Writer != compaction.WriterModel {
			w.t.Errorf("%s wrote", made.Writer)
		}
	}, withMemory)
}

// Where clearing old results will be enough no memory is written, however near the
// threshold is.
func TestNoExtractionWhereClearingIsEnough(t *testing.T) {
	for _, tool := range []struct {
		name  string
		fixed bool
	}{{"read", false}, {"ask", true}} {
		t.Run(tool.name, func(t *testing.T) {
			withClerk(t, 25_000, func(w *world, c *clerk) {
				k := w.keeper(c)
				var change []func(*session.Settings)
				if tool.fixed {
					change = append(change, withFixedTool("ask"))
				} else {
					change = append(change, func(s *session.Settings) {
						s.Tools = append(s.Tools, session.Tool{Name: "read", Description: "read", InputSchema: []byte(`{"type":"object"}`)})
					})
				}
				ref := w.create(change...)
				for range 6 {
					c.say(calls(tool.name, `{"path":"a"}`), says("ok"))
					w.send(ref, "look")
					w.answerCalls(ref, func(session.PendingCall) string { return words("result", 1_700) })
				}
				if tokens := w.get(ref).Gauge.ContextTokens; tokens < 9_600 || tokens >= 12_000 {
					w.t.Fatalf("%d tokens", tokens)
				}
				if n := len(k.calls()); (n > 0) != tool.fixed {
					w.t.Errorf("%d extractions", n)
				}
			}, withMemory)
		})
	}
}

// An extraction of which a part could not be done stands for nothing: what was to be told
// there would be told nowhere.
func TestAnExtractionThatIsHalfDoneCoversNothing(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		k := w.keeper(c)
		ref := w.create()
		mine, err := w.m.CreateMemory(w.t.Context(), session.MemoryOfSession, ref, remember("decision", "Mine", "words of mine"), session.Idempotency{})
		if err != nil {
			w.t.Fatal(err)
		}
		half := says(operations(
			compaction.MemoryOp{Op: compaction.MemoryUpdate, ID: string(mine.Value.ID), Content: "words of mine, and the port is 8081"},
			compaction.MemoryOp{Op: compaction.MemoryAdd, Category: compaction.MemoryProgress, Title: "Newer", Content: "the work goes on"},
		))
		k.answer(half, half, half)
		made, _ := extractedThenCompacted(w, c, k, ref, nil)
		if made.Writer != compaction.WriterModel {
			w.t.Errorf("%s wrote", made.Writer)
		}
	}, withMemory)
}
