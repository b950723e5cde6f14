package session_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/prompt"
	"sessiond/session"
	"sessiond/store"
)

// Faults of what is shown and counted, under their numbers in docs/compaction.md.

// Thinking is shown as it came or not at all: with its signature, never in part, and not
// after a compaction, another model or a restart with either.
func TestB49ThinkingIsWholeOrAbsent(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		block := message.Thinking{Provider: "scripted", Text: "deep  thought\n", Raw: []byte(`{"type":"thinking","thinking":"deep  thought\n","signature":"a/+ b="}`)}
		think := counted(answerOf(block, message.Text{Text: "ok"}))
		c.answer(think)
		c.watch(func(req *llm.Request) {
			for i := range req.Messages {
				for _, b := range req.Messages[i].Content {
					if th, ok := b.(message.Thinking); ok && !cmp.Equal(th, block) {
						t.Errorf("thinking was changed: %+v", th)
					}
				}
			}
		})
		thoughts := func() int { return strings.Count(strings.Join(w.shown(ref(w), true), ""), `"signature"`) }
		w.conversed()
		if thoughts() != 20 {
			t.Errorf("%d thoughts are shown", thoughts())
		}
		w.restart()
		if thoughts() != 20 {
			t.Errorf("%d thoughts are shown after a restart", thoughts())
		}
		w.mustCompact(ref(w))
		if thoughts() != 0 {
			t.Errorf("%d thoughts are shown after a compaction", thoughts())
		}
		w.completed(ref(w), "next")
		if thoughts() != 1 {
			t.Errorf("%d thoughts are shown after the next answer", thoughts())
		}
		model := "large"
		w.change(ref(w), session.Update{Model: &model})
		w.completed(ref(w), "next")
		if thoughts() != 1 {
			t.Errorf("%d thoughts are shown after another model's answer", thoughts())
		}
	})
}

// ref is the only session of a world.
func ref(w *world) store.Ref {
	w.t.Helper()
	all, err := w.m.List(w.t.Context(), store.ListQuery{Owner: alice, Limit: 2})
	if err != nil || len(all) != 1 {
		w.t.Fatalf("%d sessions, %v", len(all), err)
	}
	return store.Ref{Owner: alice, ID: all[0].ID}
}

// Empty results and messages of nothing but a picture make valid requests, compacted or
// not.
func TestB50NothingEmptyIsSent(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.say(calls("query", "{}"), says("done"))
		ref := w.create(withTools("query"))
		w.send(ref, "Ask.")
		w.answerCalls(ref, func(session.PendingCall) string { return "" })
		if _, err := w.m.Send(t.Context(), ref, []message.Block{noise(16, 16)}, session.WhenBusyQueue, session.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.talk(ref, 8, 200)
		w.mustCompact(ref)
		w.completed(ref, "next")
		chats, summaries := w.requests()
		for i, req := range append(chats, summaries...) {
			if repairs := prompt.Check(req); len(repairs) > 0 {
				t.Errorf("request %d: %v", i, repairs)
			}
		}
	})
}

// noise is a picture that can't be made smaller by compression.
func noise(width, height int) message.Image {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; i+8 <= len(img.Pix); i += 8 {
		binary.LittleEndian.PutUint64(img.Pix[i:], r.Uint64())
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		panic(err) // in memory
	}
	return message.Image{MimeType: "image/png", Data: base64.StdEncoding.EncodeToString(out.Bytes())}
}

// However many results and texts there are, a request has four marks for the cache at most,
// each on a block that can carry one, with lifetimes that never rise.
func TestB51FourMarksAtMost(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		marked := 0
		c.watch(func(req *llm.Request) {
			if n := len(req.CacheMarks); n > 4 {
				t.Errorf("a request has %d marks", n)
			}
			for i, m := range req.CacheMarks {
				marked++
				if i > 0 && m.TTL > req.CacheMarks[i-1].TTL {
					t.Errorf("the marks live for %v", req.CacheMarks)
				}
				if m.Message == llm.CachePreamble {
					continue
				}
				block := req.Messages[m.Message].Content[m.Block]
				if _, thought := block.(message.Thinking); thought {
					t.Error("a thought is marked")
				}
				if text, ok := block.(message.Text); ok && strings.TrimSpace(text.Text) == "" {
					t.Error("a blank text is marked")
				}
			}
		})
		ref := w.create(withTools("query"), func(s *session.Settings) { s.AgentPrompt = "rules" })
		for i := range 6 {
			three := make([]llmtest.Call, 3)
			for k := range three {
				three[k] = llmtest.Call{Name: "query", Input: fmt.Sprintf(`{"n":%d}`, k)}
			}
			for range 4 {
				c.say(thinking(counted(llmtest.Calls("some", three...))))
			}
			c.say(thinking(says("done")))
			w.send(ref, words(fmt.Sprint("message ", i), 200))
			w.answerCalls(ref, func(session.PendingCall) string { return words("row", 120) })
		}
		if marked == 0 || len(w.compactions(ref)) == 0 {
			t.Errorf("%d marks, %d compactions", marked, len(w.compactions(ref)))
		}
	}, withCaching)
}

// NUL, bytes that are no text, and the six characters of an escape come back as they went
// in, through a compaction too.
func TestB54NULAndEscapesSurvive(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		const odd = "a\x00b \\u0000 \U0001F469\u200D\U0001F680 \u0001 e\u0301"
		c.say(calls("query", `{"k\u0000":"\\u0000"}`), says("done"))
		ref := w.create(withTools("query"))
		w.send(ref, "Look: "+odd)
		w.answerCalls(ref, func(session.PendingCall) string { return odd })
		check := func(when string) {
			t.Helper()
			shown := strings.Join(w.shown(ref, true), "\n")
			quoted := string(message.AppendString(nil, odd))
			if n := strings.Count(shown, quoted[1:len(quoted)-1]); n != 2 {
				t.Errorf("%s the text is shown %d times, want 2:\n%s", when, n, shown)
			}
		}
		check("at once")
		w.restart()
		check("after a restart")
		w.talk(ref, 10, 250)
		w.mustCompact(ref)
		if !strings.Contains(w.context(ref).View[0].PlainText(), odd) {
			t.Error("the user's words are not in the ledger as they were")
		}
	})
}

// More than twenty pictures, one of them large: every request is valid.
func TestB55ManyPictures(t *testing.T) {
	withClerk(t, 200_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		small, large := noise(8, 8), noise(2_162, 4)
		for i := range 22 {
			img := small
			if i == 3 {
				img = large
			}
			r, err := w.m.Send(t.Context(), ref, []message.Block{message.Text{Text: "look"}, img}, session.WhenBusyQueue, session.Idempotency{})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if turn := w.lastTurn(ref, r.Value); turn.Status != store.TurnCompleted {
				t.Errorf("turn %d ended as %s", i, turn.Status)
			}
		}
		chats, _ := w.requests()
		for i, req := range chats {
			if repairs := prompt.Check(req); len(repairs) > 0 {
				t.Errorf("request %d: %v", i, repairs)
			}
		}
	})
}

// A large picture costs what the provider's formula says: nothing is compacted for it, and
// the model sees it.
func TestB59APictureIsNoText(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		img := noise(900, 900)
		if len(img.Data) < 3<<20 {
			t.Fatalf("the picture has %d bytes", len(img.Data))
		}
		ref := w.create()
		if _, err := w.m.Send(t.Context(), ref, []message.Block{message.Text{Text: "What is it?"}, img}, session.WhenBusyQueue, session.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		chats, summaries := w.requests()
		if len(chats) != 1 || len(summaries) != 0 || w.get(ref).Generation != 0 {
			t.Fatalf("%d chats and %d summaries", len(chats), len(summaries))
		}
		if _, ok := chats[0].Messages[0].Content[1].(message.Image); !ok {
			t.Error("the model was not shown the picture")
		}
		if n := w.context(ref).ContextTokens; n > 3_000 {
			t.Errorf("the context is said to have %d tokens", n)
		}
	})
}

// What a cache held is part of what was sent, once, whichever way a provider tells it.
func TestB61CachedTokensAreCountedOnce(t *testing.T) {
	ways := map[string]func(n int64) message.Usage{
		"all fresh": func(n int64) message.Usage { return message.Usage{Input: n, Output: 7} },
		"read and written": func(n int64) message.Usage {
			return message.Usage{Input: 3, CacheRead: n - 13, CacheWrite5m: 4, CacheWrite1h: 6, Output: 7}
		},
	}
	gauges := make(map[string]session.Gauge)
	for name, usage := range ways {
		withClerk(t, 8_000, func(w *world, c *clerk) {
			c.answer(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
				return llmtest.Text("ok").WithUsage(usage(int64(countRequest(req))))(ctx, req, emit)
			})
			ref := w.create()
			w.talk(ref, 5, 200)
			gauges[name] = w.get(ref).Gauge
			if r := w.context(ref).Ratio; r != 1 {
				w.t.Errorf("%s: the ratio is %v", name, r)
			}
		})
	}
	if diff := cmp.Diff(gauges["all fresh"], gauges["read and written"]); diff != "" {
		t.Errorf("the gauges differ:\n%s", diff)
	}
}

// The size of a context is that of its newest call, not what a turn used in all.
func TestB62ATurnsUsageIsNoContext(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		for range 11 {
			c.say(calls("query", "{}"))
		}
		ref := w.create(withTools("query"))
		sent := w.send(ref, words("Ask.", 5_000))
		w.answerCalls(ref, func(session.PendingCall) string { return "row" })
		used := w.lastTurn(ref, sent).Usage.Input
		if got := w.get(ref).Gauge.ContextTokens; used < 60_000 || got > 7_000 {
			t.Errorf("the turn used %d tokens, the context is said to have %d", used, got)
		}
		if n := len(w.compactions(ref)); n != 0 {
			t.Errorf("%d compactions", n)
		}
	})
}
