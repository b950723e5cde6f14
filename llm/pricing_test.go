package llm_test

import (
	"math"
	"strings"
	"testing"

	"sessiond/llm"
	"sessiond/message"
)

func TestCost(t *testing.T) {
	prices, err := llm.NewPrices(map[string]llm.Price{
		"mine":            {Rates: llm.Rates{Input: 1, Output: 2}},
		"claude-sonnet-5": {Rates: llm.Rates{Input: 100}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const million = 1_000_000
	one := message.Usage{Input: million, Output: million, CacheRead: million, CacheWrite5m: million, CacheWrite1h: million}
	tests := []struct {
		name, model string
		usage       message.Usage
		want        float64
		known       bool
	}{
		{"every kind", "claude-opus-5-5", one, 4 + 20 + 0.2 + 5 + 8, true},
		{"reads by model", "claude-opus-5", message.Usage{CacheRead: million}, 0.5, true},
		{"dated", "claude-haiku-4-5-20251001", message.Usage{Input: million}, 1, true},
		{"dated, other spelling", "gpt-5-2025-08-07", message.Usage{Input: million}, 1.25, true},
		{"latest", "claude-opus-4-8-latest", message.Usage{Output: million}, 25, true},
		{"a longer name is another model", "claude-opus-5-7", one, 0, false},
		{"unknown", "llama", one, 0, false},
		{"own", "mine", one, 3, true},
		{"overridden", "claude-sonnet-5", message.Usage{Input: million, Output: million}, 100, true},
		{"short prompt", "claude-haiku-5-5", message.Usage{Input: 60_000, CacheRead: 40_000, Output: million}, 0.006 + 0.0004 + 0.5, true},
		{"long prompt", "claude-haiku-5-5", message.Usage{Input: 60_001, CacheRead: 40_000, Output: million}, 0.0300005 + 0.002 + 2.5, true},
		{"reasoning is part of the output", "mine", message.Usage{Output: million, Reasoning: million}, 2, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, known := prices.Cost(tt.model, tt.usage)
			if math.Abs(got-tt.want) > 1e-9 || known != tt.known {
				t.Errorf("got %v, %v, want %v, %v", got, known, tt.want, tt.known)
			}
		})
	}
	if got, known := (*llm.Prices)(nil).Cost("mine", one); got != 0 || known {
		t.Errorf("no prices: %v, %v", got, known)
	}
}

func TestBadPrices(t *testing.T) {
	for _, bad := range []llm.Price{
		{Rates: llm.Rates{Input: -1}},
		{Rates: llm.Rates{Output: math.NaN()}},
		{Long: &llm.LongPrice{Rates: llm.Rates{CacheRead: math.Inf(1)}}},
	} {
		if _, err := llm.NewPrices(map[string]llm.Price{"bad-one": bad}); err == nil || !strings.Contains(err.Error(), "bad-one") {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

// What the cache costs of each provider follows from the price of input (rule 5.11; the
// prices of OpenAI's older models know no price for writing).
func TestCachePricesFollowTheRules(t *testing.T) {
	prices, err := llm.NewPrices(nil)
	if err != nil {
		t.Fatal(err)
	}
	readShare := map[string]float64{
		"claude-fable-5-2": 0.025, "claude-mythos-5-2": 0.025, "claude-fable-5-1": 0.025, "claude-mythos-5-1": 0.025,
		"claude-opus-5-5": 0.05, "claude-sonnet-5-5": 0.05,
		"claude-fable-5": 0.1, "claude-opus-5": 0.1, "claude-opus-4-8": 0.1, "claude-opus-4-7": 0.1, "claude-opus-4-6": 0.1,
		"claude-opus-4-5": 0.1, "claude-sonnet-5": 0.1, "claude-sonnet-4-6": 0.1, "claude-sonnet-4-5": 0.1,
		"claude-haiku-5-5": 0.1, "claude-haiku-4-5": 0.1,
	}
	for model, read := range readShare {
		for _, tokens := range []int64{1, 100_001} { // a long prompt may cost more
			r, known := prices.Rates(model, message.Usage{Input: tokens})
			want := llm.Rates{Input: r.Input, CacheRead: read * r.Input, CacheWrite5m: 1.25 * r.Input, CacheWrite1h: 2 * r.Input, Output: 5 * r.Input}
			got := []float64{r.CacheRead - want.CacheRead, r.CacheWrite5m - want.CacheWrite5m, r.CacheWrite1h - want.CacheWrite1h, r.Output - want.Output}
			for _, off := range got {
				if !known || r.Input <= 0 || math.Abs(off) > 1e-9 {
					t.Fatalf("%s, %d tokens: %+v, want %+v", model, tokens, r, want)
				}
			}
		}
	}
}
