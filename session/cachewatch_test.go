package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// remembering has every chat read what it has in common with the chat before it from a
// cache, block by block, and write the rest, if the cache keeps anything.
func (c *clerk) remembering(keeps func(chat int) bool) llmtest.Step {
	var last []string
	chat := 0
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		resp, err := says(words("answer", 1500))(ctx, req, emit)
		if err != nil {
			return nil, err
		}
		blocks := blocksOf(req)
		same := firstDifference(last, blocks)
		if same < 0 {
			same = len(last)
		}
		read := 0
		if last, chat = blocks, chat+1; keeps(chat) {
			read = min(quarter{}.Count(strings.Join(blocks[:same], "")), int(resp.Usage.Input))
		}
		out := *resp
		out.Usage = message.Usage{CacheRead: int64(read), CacheWrite5m: resp.Usage.Input - int64(read), Output: 7}
		return &out, nil
	}
}

// cacheWarnings are the parts that a log's warnings name.
func (w *world) cacheWarnings(ref store.Ref) []string {
	w.t.Helper()
	var parts []string
	for _, e := range w.entries(ref, session.EntryContextWarning) {
		told := decodeAs[struct {
			Kind    string  `json:"kind"`
			Message string  `json:"message"`
			Part    string  `json:"first_difference"`
			Rate    float64 `json:"hit_rate"`
			Ideal   float64 `json:"ideal_hit_rate"`
		}](w.t, e.Data)
		if told.Kind != "cache" {
			continue
		}
		if told.Rate+0.05 >= told.Ideal || !strings.Contains(told.Message, told.Part) {
			w.t.Errorf("the warning says %s", e.Data)
		}
		parts = append(parts, told.Part)
	}
	return parts
}

// A session is warned, once, of what keeps its requests from being found in the cache, by
// the name of the part; and is not of what has to be or was done once.
func TestACacheWarningNamesThePart(t *testing.T) {
	always := func(int) bool { return true }
	system := func(w *world, ref store.Ref, text string) { w.change(ref, session.Update{SystemPrompt: &text}) }
	for name, tt := range map[string]struct {
		keeps func(chat int) bool
		turn  func(w *world, ref store.Ref, turn int) // before each turn but the first
		want  []string
	}{
		"nothing": {always, func(*world, store.Ref, int) {}, nil},
		"another system prompt in each turn": {always, func(w *world, ref store.Ref, turn int) {
			system(w, ref, words(fmt.Sprint("It is ", turn, " o'clock."), 1500))
		}, []string{"system"}},
		"one other system prompt": {always, func(w *world, ref store.Ref, turn int) {
			if turn == 3 {
				system(w, ref, words("It is late.", 1500))
			}
		}, nil},
		"other tools in each turn": {always, func(w *world, ref store.Ref, turn int) {
			w.change(ref, session.Update{Tools: &[]session.Tool{{Name: fmt.Sprint("tool", turn), InputSchema: []byte(`{"type":"object"}`)}}})
		}, []string{"tools"}},
		"another model in each turn": {always, func(w *world, ref store.Ref, turn int) {
			model := []string{"small", "large"}[turn%2]
			w.change(ref, session.Update{Model: &model})
		}, []string{"model"}},
		"another model": {always, func(w *world, ref store.Ref, turn int) {
			model := []string{"small", "large"}[min(turn/6, 1)]
			w.change(ref, session.Update{Model: &model})
		}, nil},
		"a compaction before each turn": {always, func(w *world, ref store.Ref, turn int) {
			if turn > 2 {
				w.mustCompact(ref)
			}
		}, []string{"message 0"}},
		"one compaction": {always, func(w *world, ref store.Ref, turn int) {
			if turn == 5 {
				w.mustCompact(ref)
			}
		}, nil},
		"the provider keeps nothing": {func(int) bool { return false }, func(*world, store.Ref, int) {}, []string{"nothing that was sent"}},
		"the provider lost it, once": {func(chat int) bool { return chat != 2 }, func(*world, store.Ref, int) {}, nil},
		"a server that starts anew":  {always, func(w *world, _ store.Ref, _ int) { w.restart() }, nil},
		"another prompt at each start": {always, func(w *world, _ store.Ref, turn int) {
			w.opts.SystemPrompt = words(fmt.Sprint("Start ", turn), 1500)
			w.restart()
		}, []string{"system"}},
		"nothing is kept, and the server starts anew": {func(int) bool { return false }, func(w *world, _ store.Ref, _ int) {
			w.restart()
		}, []string{"messages that are not known any more"}},
	} {
		t.Run(name, func(t *testing.T) {
			withClerk(t, 4_000_000, func(w *world, c *clerk) {
				c.answer(c.remembering(tt.keeps))
				ref := w.create()
				for turn := range 12 {
					if turn > 0 {
						tt.turn(w, ref, turn)
					}
					w.completed(ref, fmt.Sprint("message ", turn))
				}
				if diff := cmp.Diff(tt.want, w.cacheWarnings(ref)); diff != "" {
					w.t.Errorf("warned of (-want +got), %+v:\n%s", w.get(ref).Cache, diff)
				}
			}, withCaching)
		})
	}
}

// The hit rate of a session is that of its usage; chats have one of their own, which is
// held against the ideal.
func TestHitRates(t *testing.T) {
	withClerk(t, 4_000_000, func(w *world, c *clerk) {
		c.answer(c.remembering(func(int) bool { return true }))
		ref := w.create()
		w.talk(ref, 6, 10)
		w.mustCompact(ref)
		w.talk(ref, 2, 10)
		got, u := w.get(ref).Cache, w.get(ref).Usage
		all := float64(u.CacheRead) / float64(u.Input+u.CacheRead+u.CacheWrite5m+u.CacheWrite1h)
		if got.HitRate != all || got.ChatHitRate <= got.HitRate || got.ChatHitRate > got.IdealHitRate {
			w.t.Errorf("%+v, and %v of the usage was read", got, all)
		}
	}, withCaching)
}
