package cost_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"sessiond/cost"
	"sessiond/llm"
	"sessiond/message"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestBill(t *testing.T) {
	rates := llm.Rates{Input: 4, CacheRead: 0.2, CacheWrite5m: 5, CacheWrite1h: 8, Output: 20} // claude-opus-5-5
	const million = 1_000_000
	tests := []struct {
		name                     string
		usage                    message.Usage
		cost, uncached, saved, r float64
	}{
		{"nothing", message.Usage{}, 0, 0, 0, 0},
		{"no cache", message.Usage{Input: million, Output: million, Reasoning: million}, 24, 24, 0, 0},
		{"all read", message.Usage{CacheRead: million}, 0.2, 4, 3.8, 1},
		{"all written", message.Usage{CacheWrite5m: million, CacheWrite1h: million}, 13, 8, -5, 0},
		{"a round", message.Usage{Input: 100, CacheRead: 700_000, CacheWrite5m: 200_000, CacheWrite1h: 99_900, Output: 1000}, 0.0004 + 0.14 + 1 + 0.7992 + 0.02, 4.02, 2.0604, 0.7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.usage.CostUSD = 7 // what somebody else made of it
			b := cost.Of(tt.usage, rates)
			if !near(b.Usage.CostUSD, tt.cost) || !near(b.UncachedUSD, tt.uncached) || !near(b.SavedUSD(), tt.saved) || !near(b.HitRate(), tt.r) {
				t.Errorf("%+v, saved %v, hit rate %v", b, b.SavedUSD(), b.HitRate())
			}
		})
	}
	if b := cost.Of(message.Usage{Input: million}, llm.Rates{}); b.Usage.CostUSD != 0 || b.UncachedUSD != 0 || b.Usage.Input != million {
		t.Errorf("without a price: %+v", b)
	}
}

func usages() *rapid.Generator[message.Usage] {
	return rapid.Custom(func(t *rapid.T) message.Usage {
		n := rapid.Int64Range(0, 300_000)
		return message.Usage{
			Input: n.Draw(t, "input"), CacheRead: n.Draw(t, "read"), CacheWrite5m: n.Draw(t, "5m"), CacheWrite1h: n.Draw(t, "1h"), Output: n.Draw(t, "output"),
		}
	})
}

// Without a cache every token of the input costs the same, so what was saved is what each
// kind costs less or more than that; and it does not matter in which order bills add up.
func TestBillsAddUp(t *testing.T) {
	prices, err := llm.NewPrices(nil)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var all, back cost.Bill
		var saved float64
		calls := rapid.SliceOfN(usages(), 0, 6).Draw(t, "calls")
		model := rapid.SampledFrom([]string{"claude-sonnet-5-5", "claude-haiku-5-5", "gpt-5", "unknown"}).Draw(t, "model")
		for i, u := range calls {
			r, _ := prices.Rates(model, u)
			all = all.Add(cost.Of(u, r))
			v := calls[len(calls)-1-i]
			rv, _ := prices.Rates(model, v)
			back = cost.Of(v, rv).Add(back)
			saved += 1e-6 * (float64(u.CacheRead)*(r.Input-r.CacheRead) + float64(u.CacheWrite5m)*(r.Input-r.CacheWrite5m) + float64(u.CacheWrite1h)*(r.Input-r.CacheWrite1h))
		}
		if !near(all.SavedUSD(), saved) || !near(all.UncachedUSD, back.UncachedUSD) || !near(all.Usage.CostUSD, back.Usage.CostUSD) {
			t.Fatalf("%+v, backwards %+v, saved %v", all, back, saved)
		}
		if rate := all.HitRate(); rate < 0 || rate > 1 {
			t.Fatalf("hit rate %v", rate)
		}
		raw, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		var stored cost.Bill
		if err := json.Unmarshal(raw, &stored); err != nil || stored != all {
			t.Fatalf("stored %s: %v", raw, err)
		}
	})
}
