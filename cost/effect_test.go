package cost_test

import (
	"testing"
	"time"

	"sessiond/cost"
	"sessiond/llm"
	"sessiond/message"
)

func TestEffect(t *testing.T) {
	rates := llm.Rates{Input: 10, CacheRead: 1, CacheWrite5m: 12.5, CacheWrite1h: 20}
	const k = 1000
	// What a million times the sums cost, spelled out: reads at 1, writes at 12.5 and 20.
	compacted := cost.Shrink{Before: 100 * k, After: 30 * k, Kept: 100 * k, Same: 5 * k, LongBefore: 5 * k, LongAfter: 15 * k, Calls: 1}
	cleared := cost.Shrink{Before: 100 * k, After: 60 * k, Kept: 100 * k, Same: 15 * k, LongBefore: 15 * k, LongAfter: 15 * k, Calls: 1}
	with := func(s cost.Shrink, change func(*cost.Shrink)) cost.Shrink {
		change(&s)
		return s
	}
	tests := []struct {
		name  string
		s     cost.Shrink
		rates llm.Rates
		want  float64 // thousandths of a US dollar: thousands of tokens × rate
	}{
		{"nothing changes", cost.Shrink{Before: 50 * k, After: 50 * k, Kept: 50 * k, Same: 50 * k, Calls: 9}, rates, 0},
		{"compacted, the next call", compacted, rates, 100*1 - (5*1 + 10*20 + 15*12.5)},
		{"compacted, ten calls", with(compacted, func(s *cost.Shrink) { s.Calls = 10 }), rates, 100*1 - (5*1 + 10*20 + 15*12.5) + 9*70*1},
		{"no calls are one", with(compacted, func(s *cost.Shrink) { s.Calls = -1 }), rates, 100*1 - (5*1 + 10*20 + 15*12.5)},
		{"after ten minutes only the beginning is kept", with(compacted, func(s *cost.Shrink) { s.Kept = 5 * k }), rates, (5*1 + 95*12.5) - (5*1 + 10*20 + 15*12.5)},
		{"after an hour all is written anew on either side", with(compacted, func(s *cost.Shrink) { s.Kept = 0 }), rates, (5*20 + 95*12.5) - (15*20 + 15*12.5)},
		{"what was not sent yet is written on either side", with(compacted, func(s *cost.Shrink) { s.Kept = 90 * k }), rates, (90*1 + 10*12.5) - (5*1 + 10*20 + 15*12.5)},
		{"cleared while warm", cleared, rates, 100*1 - (15*1 + 45*12.5)},
		{"cleared while cold", with(cleared, func(s *cost.Shrink) { s.Kept = 0; s.Calls = 3 }), rates, 40*12.5 + 2*40*1},
		{
			"without a cache every token is at full price", with(compacted, func(s *cost.Shrink) { s.Calls = 3 }),
			cost.InForce(rates, message.Usage{Input: 9}), 3 * 70 * 10,
		},
		{"nor is anything rewritten", cleared, cost.InForce(rates, message.Usage{Input: 9}), 40 * 10},
		{"a cache that charges nothing for writing", cleared, cost.InForce(rates, message.Usage{Input: 9, CacheRead: 9}), 100*1 - (15*1 + 45*10)},
		{"a free model", compacted, llm.Rates{}, 0},
		{"more is kept than there is", with(cleared, func(s *cost.Shrink) { s.Kept = 900 * k; s.Same = 900 * k }), rates, 40 * 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.s.EffectUSD(tt.rates, tt.rates); !near(got, tt.want*1e-3) {
				t.Errorf("%.6f USD, want %.6f", got, tt.want*1e-3)
			}
		})
	}
	dear := llm.Rates{Input: 20, CacheRead: 2, CacheWrite5m: 25, CacheWrite1h: 40}
	if got, want := with(cleared, func(s *cost.Shrink) { s.Calls = 2 }).EffectUSD(dear, rates), (2*100*2-(15*1+45*12.5+60*1))*1e-3; !near(got, want) {
		t.Errorf("of long requests, which are dearer, %.6f USD, want %.6f", got, want)
	}
	if got := cost.InForce(rates, message.Usage{CacheWrite1h: 1}); got != rates {
		t.Errorf("with a cache the rates are %+v", got)
	}
}

// What a cache still holds depends on how long ago the last call was.
func TestKept(t *testing.T) {
	terms := cost.MarkedTerms(1024)
	if got := (cost.Hits{}).Kept(time.Unix(1e9, 0), terms); got != 0 {
		t.Errorf("of no call %d are kept", got)
	}
	h := cost.Hits{}.Add(call(0, 5000, 0), terms)
	for minutes, want := range map[int]int64{0: 5000, 4: 5000, 5: 2000, 59: 2000, 60: 0} {
		if got := h.Kept(call(minutes, 0, 0).At, terms); got != want {
			t.Errorf("after %d minutes %d are kept, want %d", minutes, got, want)
		}
	}
}
