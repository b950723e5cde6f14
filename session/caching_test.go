package session_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"sessiond/llm"
	"sessiond/session"
)

// Whether a summary call repeats the chat is decided by what reading the cache costs with
// the model in use, and by whether anything can be in it.
func TestASummaryIsAskedForInTheCheaperWay(t *testing.T) {
	priced := func(read float64) func(*session.Options) {
		return func(o *session.Options) {
			prices, err := llm.NewPrices(map[string]llm.Price{"m": {Rates: llm.Rates{Input: 2, CacheRead: read}}})
			if err != nil {
				t.Fatal(err)
			}
			o.Models, o.Prices = []string{"m"}, prices
		}
	}
	none := func(*session.Options) {}
	// readsHalf is a provider that caches without being told to.
	readsHalf := func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		resp, err := says("ok")(ctx, req, emit)
		resp.Usage.CacheRead = resp.Usage.Input / 2
		resp.Usage.Input -= resp.Usage.CacheRead
		return resp, err
	}
	for name, tt := range map[string]struct {
		marked, price func(*session.Options)
		itself        bool
		repeats       bool
	}{
		"reading is cheap":          {withCaching, priced(0.2), false, true},
		"reading is dear":           {withCaching, priced(2), false, false},
		"the price is not known":    {withCaching, none, false, true},
		"nothing is marked":         {none, priced(0.2), false, false},
		"nothing needs to be":       {none, priced(0.2), true, true},
		"nor marked, and it's dear": {none, priced(2), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			withClerk(t, 25_000, func(w *world, c *clerk) {
				if tt.itself {
					c.answer(readsHalf)
				}
				ref := w.create(withTools("query"))
				w.talk(ref, 20, 300)
				w.mustCompact(ref)
				_, summaries := w.requests()
				if got := len(summaries[0].Messages) > 1; got != tt.repeats {
					w.t.Errorf("repeated: %v, want %v", got, tt.repeats)
				}
			}, tt.marked, tt.price)
		})
	}
}

// A memory that could write the next summary is not brought up to date for it, and what
// comes of each call is counted.
func TestExtractionsAreCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	withClerk(t, 8_000, func(w *world, c *clerk) {
		k := w.keeper(c)
		k.answer(says("no operations"), says(operations()))
		ref := w.create()
		c.answer(says(words("answer", 150)))
		for i := range 40 {
			w.send(ref, words(fmt.Sprint("message ", i), 150))
		}
		made := w.compactions(ref)
		if n := len(k.calls()); n == 0 || n > len(made)+3 {
			w.t.Errorf("%d extractions for %d compactions", n, len(made))
		}
		begun, ended := counterSum(w.t, reg, "sessiond_memory_extractions_begun_total"), counterSum(w.t, reg, "sessiond_memory_extractions_total")
		if begun != float64(len(k.calls())) || ended != begun {
			w.t.Errorf("%v were begun and %v ended, of %d", begun, ended, len(k.calls()))
		}
	}, withMemory, func(o *session.Options) { o.Registerer = reg })
}

// counterSum adds up a counter over its labels.
func counterSum(tb testing.TB, reg *prometheus.Registry, name string) float64 {
	tb.Helper()
	families, err := reg.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue()
		}
	}
	return sum
}
