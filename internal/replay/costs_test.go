package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
)

func rates(message.Usage) llm.Rates {
	return llm.Rates{Input: 10, CacheRead: 1, CacheWrite5m: 12.5, CacheWrite1h: 20, Output: 50}
}

// request is one of a hundred thousand tokens of which a share was read.
func request(p Purpose, read int64, before ...Event) Request {
	const all = 100_000
	return Request{Purpose: p, Before: before, Usage: [modes]message.Usage{
		Uncached:  {Input: all, Output: 1_000},
		Automatic: {CacheRead: read / 2, CacheWrite5m: all - read/2, Output: 1_000},
		Marked:    {CacheRead: read, CacheWrite5m: all - read, Output: 1_000},
	}}
}

func course(id string, cleared int, requests ...Request) *Course {
	c := &Course{Report: &Report{Result: Result{ID: id}, Cleared: make(map[v1.ClearReason]int)}, Requests: requests}
	for i := range c.Requests {
		c.Requests[i].When = morning.Add(time.Duration(i) * time.Minute)
	}
	if cleared > 0 {
		c.Cleared[v1.ClearPressure] = cleared
	}
	return c
}

func TestCostsOfACourse(t *testing.T) {
	flat, shared := request(PurposeSummary, 0), request(PurposeSummary, 80_000)
	shared.Repeats = true
	c := course("c", 0, request(PurposeChat, 0), request(PurposeChat, 100_000), flat, shared, request(PurposeMemory, 0))
	type sum struct {
		InputUSD, USD    float64
		Parts            map[Purpose]int
		Repeated         int
		Input, Read, All int64
	}
	of := func(m Mode) sum {
		k := c.Costs(m, rates)
		return sum{k.InputUSD, k.Usage.CostUSD, k.Parts, k.Repeated, k.Usage.Input, k.Usage.CacheRead, int64(k.Total())}
	}
	parts := map[Purpose]int{PurposeChat: 2, PurposeSummary: 2, PurposeMemory: 1}
	want := [modes]sum{
		Uncached: {5, 5.25, parts, 1, 500_000, 0, 5},
		// What nothing goes on from is not marked: 2 × 1.00 in full, 1.25 + .05 + .625 + .04 + .75.
		Automatic: {4.715, 4.965, parts, 1, 200_000, 90_000, 5},
		Marked:    {1.25 + 0.1 + 1.25 + 0.08 + 0.25 + 1.25, 4.43, parts, 1, 0, 180_000, 5},
	}
	for m, w := range want {
		got := of(Mode(m))
		if diff := cmp.Diff(w, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
			t.Errorf("mode %d differs (-want +got):\n%s", m, diff)
		}
	}
}

func TestHitsAfterEvents(t *testing.T) {
	c := course("c", 1,
		request(PurposeChat, 0), request(PurposeChat, 90_000),
		request(PurposeChat, 10_000, EventMicrocompact), request(PurposeSummary, 50_000), request(PurposeChat, 80_000),
		request(PurposeChat, 20_000, EventCompaction), request(PurposeChat, 60_000, EventCompaction),
		request(PurposeChat, 70_000), request(PurposeChat, 75_000), request(PurposeChat, 76_000),
	)
	for i := range c.Requests[8:] { // a pause of two hours
		c.Requests[8+i].When = c.Requests[8+i].When.Add(2 * time.Hour)
	}
	one := func(read int64) Served { return Served{1, read, 100_000} }
	want := Afterwards{one(10_000), one(80_000), one(20_000), one(60_000), one(70_000)}
	if diff := cmp.Diff(want, c.After(EventMicrocompact, Marked)); diff != "" {
		t.Errorf("after the microcompact (-want +got):\n%s", diff)
	}
	want = Afterwards{{2, 80_000, 200_000}, one(70_000)}
	if diff := cmp.Diff(want, c.After(EventCompaction, Marked)); diff != "" {
		t.Errorf("after the compactions (-want +got):\n%s", diff)
	}
	if got := c.After(EventClearing, Marked); got != (Afterwards{}) {
		t.Errorf("after nothing: %v", got)
	}
	if got := c.After(EventMicrocompact, Uncached).Rest(); got.Rate() != 0 || got.Requests != 4 {
		t.Errorf("without caching: %v", got)
	}
}

// many are so many chats that read a share of their input.
func many(n int, read int64) []Request {
	var out []Request
	for range n {
		out = append(out, request(PurposeChat, read))
	}
	return out
}

func compacted(writers ...v1.SummaryWriter) []Compacted {
	var out []Compacted
	for _, w := range writers {
		out = append(out, Compacted{Compaction: v1.Compaction{Outcome: v1.CompactionApplied, Trigger: v1.TriggerAuto, Writer: w}})
	}
	return out
}

func TestTargets(t *testing.T) {
	good := func() *Comparison {
		return &Comparison{
			Prices:     rates,
			Ours:       []*Course{course("a", 0, many(10, 95_000)...), course("b", 1, many(10, 90_000)...)},
			WithMemory: []*Course{course("a", 0, many(11, 95_000)...), course("b", 1, many(11, 91_000)...)},
		}
	}
	tests := []struct {
		name   string
		limit  int
		change func(c *Comparison)
		want   []string
	}{
		{"all is well", 25_000, func(*Comparison) {}, nil},
		{"without memory", 64_000, func(c *Comparison) { c.WithMemory = nil }, nil},
		{"less than must be where nothing was cleared", 25_000, func(c *Comparison) {
			c.Ours[0] = course("a", 0, many(10, 80_000)...)
		}, []string{"c: ours: the input costs 67.0 % less than without caching where nothing was cleared, less than 69.0 %"}},
		{"that is enough at a small limit where something was", 25_000, func(c *Comparison) {
			c.Ours = []*Course{course("b", 1, many(10, 80_000)...)}
			c.WithMemory = nil
		}, nil},
		{"not at a large one", 64_000, func(c *Comparison) {
			c.Ours = []*Course{course("b", 1, many(10, 80_000)...)}
			c.WithMemory = nil
		}, []string{"c: ours: the input costs 67.0 % less than without caching over all conversations, less than 69.0 %"}},
		{"cold after a microcompact", 25_000, func(c *Comparison) {
			c.WithMemory[0].Requests[3].Before = []Event{EventMicrocompact}
			c.WithMemory[0].Requests[4].Usage[Marked] = message.Usage{Input: 100_000}
		}, []string{"d: ours, with memory: requests 2 to 5 after a microcompact were read from the cache by 71.2 %, less than 75.0 %"}},
		{"dearer than the automatic marker", 25_000, func(c *Comparison) {
			c.Ours[1].Requests[0].Usage[Marked] = message.Usage{CacheWrite1h: 600_000}
			c.WithMemory = nil
		}, []string{
			"c: ours: the input costs 22.5 % less", "c: ours: the input costs 15.5100 USD, more than 14.3625 with the automatic marker alone",
		}},
		{"too many calls for memory", 25_000, func(c *Comparison) {
			c.WithMemory[0] = course("a", 0, many(18, 95_000)...)
		}, []string{"d: ours, with memory: 29 calls, more than 1.4 times the 20 without"}},
		{"too many summaries take a call", 25_000, func(c *Comparison) {
			c.WithMemory[1].Compactions = compacted(v1.WriterModel, v1.WriterModel, v1.WriterMemory)
		}, []string{"d: ours, with memory: 1 of 3 automatic summaries took no call, less than 50.0 %"}},
		{"half of them may", 25_000, func(c *Comparison) {
			c.WithMemory[1].Compactions = compacted(v1.WriterModel, v1.WriterMemory)
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := good()
			tt.change(c)
			got := c.Faults(tt.limit)
			if len(got) != len(tt.want) {
				t.Fatalf("faults: %q", got)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("fault %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestConversationsAboveTheAutomaticMarker(t *testing.T) {
	dear := request(PurposeChat, 0)
	dear.Usage[Marked] = message.Usage{CacheWrite1h: 100_000}
	c := &Comparison{Prices: rates, Ours: []*Course{
		course("cheap", 0, request(PurposeChat, 90_000)), course("same", 0, request(PurposeChat, 0)),
		course("dear", 0, dear, request(PurposeChat, 0)), course("dearest", 0, dear), course("empty", 0),
	}}
	want := []Above{{"dearest", 0.6}, {"dear", 0.3}}
	if diff := cmp.Diff(want, c.Above(Ours), cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
		t.Errorf("the dear ones differ (-want +got):\n%s", diff)
	}
}

// What is saved is told beside either way to ask for summaries without a cache, and where
// nothing was cleared, it is told of how many conversations nothing was done to at all.
func TestSavingsBesideFlatSummaries(t *testing.T) {
	compactedOnce := course("b", 0, request(PurposeChat, 90_000), request(PurposeSummary, 0))
	compactedOnce.Compactions = compacted(v1.WriterModel)
	c := &Comparison{
		Prices:   rates,
		Ours:     []*Course{course("a", 0, request(PurposeChat, 90_000)), compactedOnce, course("c", 1, request(PurposeChat, 0))},
		FlatBase: []*Course{course("a", 0, request(PurposeChat, 0)), course("b", 0, request(PurposeChat, 0)), course("c", 1, request(PurposeChat, 0))},
	}
	if diff := cmp.Diff([]Strategy{NoCaching, NoCachingFlat, AutomaticMark, Ours}, c.Strategies()); diff != "" {
		t.Errorf("strategies differ (-want +got):\n%s", diff)
	}
	// The input: .09 + .125, the same and 1.25 for the summary, 1.25; one of 1 USD each in full.
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	for name, tt := range map[string]struct{ got, want Saving }{
		"of the same, all":       {c.Saved(Ours, false), Saving{3, 1, 2.93, 4}},
		"of the same, uncleared": {c.Saved(Ours, true), Saving{2, 1, 1.68, 3}},
		"of flat, all":           {c.SavedOfFlat(Ours, false), Saving{3, 1, 2.93, 3}},
		"of flat, uncleared":     {c.SavedOfFlat(Ours, true), Saving{2, 1, 1.68, 2}},
		"flat itself":            {c.SavedOfFlat(NoCachingFlat, false), Saving{3, 2, 3, 3}},
	} {
		if diff := cmp.Diff(tt.want, tt.got, near); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A chat is cold after a pause if that, and nothing else, kept it from reading what the
// chat before had.
func TestPausesThatLeaveChatsCold(t *testing.T) {
	for name, tt := range map[string]struct {
		pause time.Duration
		read  int64
		event []Event
		want  time.Duration
	}{
		"cold":               {5 * time.Minute, 40_000, nil, 5 * time.Minute},
		"sooner":             {5*time.Minute - time.Second, 40_000, nil, 0},
		"warm all the same":  {2 * time.Hour, 100_000, nil, 0},
		"changed on purpose": {2 * time.Hour, 0, []Event{EventMicrocompact}, 0},
	} {
		before, after := request(PurposeChat, 0), request(PurposeChat, tt.read, tt.event...)
		before.When, after.When = morning, morning.Add(tt.pause)
		if got := after.PauseAfter(&before); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestPercentiles(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	for share, want := range map[float64]float64{0: 1, 0.5: 3, 0.6: 3, 0.61: 4, 0.95: 5, 1: 5} {
		if got := Percentile(values, share); got != want {
			t.Errorf("of %v: %v, want %v", share, got, want)
		}
	}
	if got := Percentile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	if diff := cmp.Diff([]float64{5, 1, 4, 2, 3}, values); diff != "" {
		t.Errorf("the values were changed: %s", diff)
	}
}

// What the fake counted and what came as answers has to be the same.
func TestCacheFakeNoticesWhatIsMissing(t *testing.T) {
	f := NewCacheFake(FakeOptions{Script: NewScript(counter(t).Count)}, "claude-haiku-4-5", time.Now)
	if got := f.CacheMinTokens(); got != 4_096 {
		t.Errorf("it keeps prefixes from %d tokens on", got)
	}
	if got := NewCacheFake(FakeOptions{Script: NewScript(counter(t).Count)}, "gpt-6-sol", time.Now).CacheMinTokens(); got != 1_024 {
		t.Errorf("as an unknown model it keeps prefixes from %d tokens on", got)
	}
	if _, err := f.take("c", []noted{{}}); err == nil {
		t.Error("a call is noted that the fake never saw")
	}
	if got, err := f.take("c", nil); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
}
