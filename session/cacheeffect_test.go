package session_test

import (
	"bytes"
	"context"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/session"
)

// priced makes the models cost round numbers, in US dollars for a million tokens.
func priced(tb testing.TB) func(*session.Options) {
	tb.Helper()
	return func(o *session.Options) {
		rates := llm.Rates{Input: 10, CacheRead: 1, CacheWrite5m: 12.5, CacheWrite1h: 20}
		prices, err := llm.NewPrices(map[string]llm.Price{"small": {Rates: rates}, "large": {Rates: rates}})
		if err != nil {
			tb.Fatal(err)
		}
		o.Prices = prices
	}
}

// cleared is what a log tells of a clearing.
type cleared struct {
	Before int64    `json:"tokens_before"`
	After  int64    `json:"tokens_after"`
	Effect *float64 `json:"cache_effect_usd"`
}

// using changes what a step says of its input: how many of each ten tokens were read from
// the cache, and how many written to it.
func using(read, written int64, step llmtest.Step) llmtest.Step {
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		resp, err := step(ctx, req, emit)
		if err != nil {
			return nil, err
		}
		out := *resp
		n := out.Usage.Input
		out.Usage.CacheRead, out.Usage.CacheWrite5m = n*read/10, n*written/10
		out.Usage.Input -= out.Usage.CacheRead + out.Usage.CacheWrite5m
		return &out, nil
	}
}

// wholeCalls reports whether an effect, in US dollars, is what the first call saves of a
// number of tokens at one rate, and some more calls at another.
func wholeCalls(effect float64, tokens int64, first, further float64) bool {
	n := (effect*1e6/float64(tokens) - first) / further
	return n > -1e-6 && math.Abs(n-math.Round(n)) < 1e-6
}

// A clearing after a rest finds a cold cache: the next request would have been written
// anyway, and now less of it is. Without a cache it saves at the full price in every call.
func TestTheEffectOfAClearing(t *testing.T) {
	none := func(*session.Options) {}
	for name, tt := range map[string]struct {
		marked         func(*session.Options)
		read, written  int64
		first, further float64
	}{
		"the cache is cold": {withCaching, 5, 5, 12.5, 1},
		"nothing is marked": {none, 0, 0, 10, 10},
		"nothing is cached": {withCaching, 0, 0, 10, 10},
		"it caches itself":  {none, 5, 0, 10, 1},
	} {
		t.Run(name, func(t *testing.T) {
			withClerk(t, 25_000, func(w *world, c *clerk) {
				ref := w.create(withTools("read"))
				for range 8 {
					c.say(using(tt.read, tt.written, calls("read", `{"path":"a"}`)))
				}
				w.send(ref, "Read.")
				w.answerCalls(ref, func(session.PendingCall) string { return words("content", 400) })
				w.pass(61 * time.Minute)
				w.send(ref, "And now?")
				all := w.entries(ref, session.EntryContextCleared)
				if len(all) != 1 {
					w.t.Fatalf("%d clearings", len(all))
				}
				got := decodeAs[cleared](w.t, all[0].Data)
				if got.Effect == nil || !wholeCalls(*got.Effect, got.Before-got.After, tt.first, tt.further) {
					w.t.Errorf("the record says %s", all[0].Data)
				}
				w.restart()
				if again := w.entries(ref, session.EntryContextCleared); !bytes.Equal(again[0].Data, all[0].Data) {
					w.t.Errorf("after a restart %s", again[0].Data)
				}
			}, tt.marked, priced(t))
		})
	}
}

// What a compaction costs depends on whether the cache still held what it replaced.
func TestTheEffectOfACompaction(t *testing.T) {
	effect := func(t *testing.T, pause time.Duration, written int64, marked func(*session.Options)) (effect, tokens float64) {
		t.Helper()
		withClerk(t, 4_000_000, func(w *world, c *clerk) {
			c.answer(using(0, written, says(words("answer", 1500))))
			ref := w.create(func(s *session.Settings) { s.SystemPrompt = words("Rules.", 1500) })
			w.talk(ref, 9, 10)
			w.pass(pause)
			r := w.mustCompact(ref)
			if r.CacheEffectUSD == nil || r.CostUSD == nil || r.HitRate == nil || *r.UncachedUSD-*r.CostUSD != *r.SavedUSD {
				w.t.Fatalf("%+v", r)
			}
			effect, tokens = *r.CacheEffectUSD+*r.CostUSD, float64(r.TokensBefore-r.TokensAfter)
		}, marked, priced(t))
		return effect, tokens
	}
	warm, tokens := effect(t, 0, 10, withCaching)
	beginning, _ := effect(t, 6*time.Minute, 10, withCaching)
	cold, _ := effect(t, 2*time.Hour, 10, withCaching)
	if warm >= beginning || beginning > cold+1e-9 {
		t.Errorf("in a warm cache %v, with its beginning kept %v, in a cold one %v", warm, beginning, cold)
	}
	off, _ := effect(t, 0, 0, func(*session.Options) {})
	if !wholeCalls(off, int64(tokens), 10, 10) {
		t.Errorf("without a cache %v for %v tokens", off, tokens)
	}
}

// What calls had cost without a cache is a metric beside what they cost and what they saved.
func TestCostMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	withClerk(t, 25_000, func(w *world, c *clerk) {
		c.answer(using(6, 4, says("ok")))
		ref := w.create()
		w.talk(ref, 5, 1000)
		got := w.get(ref)
		for name, want := range map[string]float64{
			"sessiond_model_cost_usd_total": got.Usage.CostUSD, "sessiond_model_cost_uncached_usd_total": got.Cache.UncachedUSD,
		} {
			if sum := counterSum(w.t, reg, name); math.Abs(sum-want) > 1e-9 || name != "sessiond_model_cost_usd_total" && sum == 0 {
				w.t.Errorf("%s is %v, and the session says %v", name, sum, want)
			}
		}
	}, withCaching, priced(t), func(o *session.Options) { o.Registerer = reg })
}
