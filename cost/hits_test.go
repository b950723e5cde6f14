package cost_test

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sessiond/cost"
	"sessiond/llm"
	"sessiond/llm/anthropic"
	"sessiond/llm/llmtest/anthropicfake"
	"sessiond/message"
	"sessiond/prompt"
)

// call is a call so many minutes after the start, of so many tokens of which some were read.
func call(minutes int, tokens, read int64) cost.Call {
	return cost.Call{
		At:    time.Unix(1e9, 0).Add(time.Duration(minutes) * time.Minute),
		Usage: message.Usage{Input: tokens - read, CacheRead: read}, LongTokens: 2000,
	}
}

func changed(c cost.Call, same int64) cost.Call {
	c.Changed, c.SameTokens = true, same
	return c
}

func TestHits(t *testing.T) {
	tests := []struct {
		name        string
		calls       []cost.Call
		read, ideal int64
		low         bool
	}{
		{"none", nil, 0, 0, false},
		{"the first has nothing to read", []cost.Call{call(0, 5000, 0)}, 0, 0, false},
		{"all that was sent before", []cost.Call{call(0, 5000, 0), call(1, 6000, 5000), call(2, 9000, 6000)}, 11000, 11000, false},
		{"less than that", []cost.Call{call(0, 5000, 0), call(1, 6000, 2000)}, 2000, 5000, true},
		{"a little less", []cost.Call{call(0, 5000, 0), call(1, 6000, 4500)}, 4500, 5000, false},
		{"just under five minutes", []cost.Call{call(0, 5000, 0), call(4, 6000, 5000)}, 5000, 5000, false},
		{"after five minutes what is kept for long", []cost.Call{call(0, 5000, 0), call(5, 6000, 2000)}, 2000, 2000, false},
		{"which was not", []cost.Call{call(0, 5000, 0), call(5, 6000, 0)}, 0, 2000, true},
		{"after an hour nothing", []cost.Call{call(0, 5000, 0), call(60, 6000, 0)}, 0, 0, false},
		{"changed on purpose", []cost.Call{call(0, 5000, 0), changed(call(1, 3000, 2000), 2000)}, 2000, 2000, false},
		{"changed on purpose, from the start", []cost.Call{call(0, 5000, 0), changed(call(1, 3000, 0), 0)}, 0, 0, false},
		{"changed on purpose, and more than that", []cost.Call{call(0, 5000, 0), changed(call(1, 3000, 0), 2000)}, 0, 2000, true},
		{"too short to be kept", []cost.Call{call(0, 1000, 0), call(1, 1100, 0), call(2, 1300, 1100)}, 1100, 1100, false},
		{"shorter than the one before", []cost.Call{call(0, 5000, 0), call(1, 4000, 4000)}, 4000, 4000, false},
		{"back to what was sent earlier", []cost.Call{call(0, 9000, 0), changed(call(1, 3000, 2000), 2000), changed(call(2, 9500, 9000), 2000)}, 11000, 11000, false},
		{"what is not reported", []cost.Call{{At: time.Unix(1e9, 0)}, {At: time.Unix(1e9, 0)}}, 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var h cost.Hits
			var input int64
			for _, c := range tt.calls {
				h = stored(t, h.Add(c, cost.MarkedTerms(1024)))
				input += cost.InputTokens(c.Usage)
			}
			if h.InputTokens != input || h.ReadTokens != tt.read || h.IdealTokens != tt.ideal || h.Low() != tt.low {
				t.Errorf("%+v, low %v; want read %d, ideal %d, low %v", h, h.Low(), tt.read, tt.ideal, tt.low)
			}
			if input > 0 && (!near(h.Rate(), float64(tt.read)/float64(input)) || !near(h.IdealRate(), float64(tt.ideal)/float64(input))) {
				t.Errorf("rates %v and %v", h.Rate(), h.IdealRate())
			}
		})
	}
}

// stored is what comes back from where it was kept.
func stored(t *testing.T, h cost.Hits) cost.Hits {
	t.Helper()
	raw, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var out cost.Hits
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	if !out.LastAt.Equal(h.LastAt) {
		t.Errorf("%v came back as %v", h.LastAt, out.LastAt)
	}
	return out
}

func TestIdealIsNeverUnderWhatWasRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h cost.Hits
		at := time.Unix(1e9, 0)
		for range rapid.IntRange(0, 9).Draw(t, "calls") {
			at = at.Add(rapid.SampledFrom([]time.Duration{0, time.Second, llm.CacheShort, llm.CacheLong}).Draw(t, "idle"))
			h = h.Add(cost.Call{
				At: at, Usage: usages().Draw(t, "usage"), LongTokens: rapid.Int64Range(0, 1e6).Draw(t, "long"),
				Changed: rapid.Bool().Draw(t, "changed"), SameTokens: rapid.Int64Range(0, 1e6).Draw(t, "same"),
			}, cost.MarkedTerms(rapid.SampledFrom([]int64{0, 1024}).Draw(t, "minimum")))
		}
		if h.ReadTokens > h.IdealTokens || h.IdealTokens > h.InputTokens || h.Rate() > h.IdealRate() || h.IdealRate() > 1 {
			t.Fatalf("%+v", h)
		}
	})
}

// direct serves a client's requests without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

// The simulated cache reads just what is ideal where requests are marked well, whatever
// the pauses between them; one marker on the last block reads less.
func TestMarkedRequestsAreIdeal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Unix(1e9, 0)
		fake := anthropicfake.New(anthropicfake.Options{Now: func() time.Time { return now }})
		client, err := anthropic.New(anthropic.Options{APIKey: "k", BaseURL: "http://fake", HTTPClient: &http.Client{Transport: direct{fake}}})
		if err != nil {
			rt.Fatal(err)
		}
		const preamble = 1250
		req := &llm.Request{Model: "claude-sonnet-5", System: strings.Repeat("rule ", 1000)}
		var last prompt.LastMark
		var ours, automatic cost.Hits
		bursts, pauses := false, false
		for i := range rapid.IntRange(2, 6).Draw(rt, "requests") {
			if i > 0 {
				req.Messages = append(req.Messages, message.Message{Role: message.RoleAssistant, Content: []message.Block{message.Text{Text: "answer"}}})
			}
			blocks := rapid.SampledFrom([]int{1, 10, 40}).Draw(rt, "blocks")
			bursts = bursts || i > 0 && blocks >= 20
			content := make([]message.Block, blocks)
			for k := range content {
				content[k] = message.Text{Text: "question"}
			}
			req.Messages = append(req.Messages, message.Message{Role: message.RoleUser, Content: content})
			marked, next := prompt.Mark(req, prompt.Caching{Summary: -1, PreambleTokens: preamble, MinTokens: 1024}, last)
			if _, err := client.Stream(rt.Context(), marked, func(llm.Delta) {}); err != nil {
				rt.Fatal(err)
			}
			last = next
			all := fake.Requests()
			sent := all[len(all)-1]
			c := cost.Call{At: now, LongTokens: preamble, Usage: usageOf(sent.UsageUnder(anthropicfake.CacheMarked))}
			ours = ours.Add(c, cost.MarkedTerms(1024))
			c.Usage = usageOf(sent.UsageUnder(anthropicfake.CacheAutomatic))
			automatic = automatic.Add(c, cost.MarkedTerms(1024))
			pause := rapid.SampledFrom([]time.Duration{time.Second, time.Second, 6 * time.Minute, 2 * time.Hour}).Draw(rt, "pause")
			pauses = pauses || pause > llm.CacheShort
			now = now.Add(pause)
		}
		if ours.ReadTokens != ours.IdealTokens || ours.Low() {
			rt.Fatalf("%+v", ours)
		}
		if !bursts && !pauses && automatic.ReadTokens != automatic.IdealTokens {
			rt.Fatalf("a single marker: %+v", automatic)
		}
		if bursts && !pauses && automatic.ReadTokens == automatic.IdealTokens {
			rt.Fatalf("a single marker saw over 20 blocks: %+v", automatic)
		}
	})
}

func usageOf(u anthropicfake.Usage) message.Usage {
	return message.Usage{
		Input: int64(u.InputTokens), CacheRead: int64(u.CacheReadTokens), Output: int64(u.OutputTokens),
		CacheWrite5m: int64(u.CacheWrite5mTokens), CacheWrite1h: int64(u.CacheWrite1hTokens),
	}
}

func TestTolerance(t *testing.T) {
	for read, low := range map[int64]bool{9500: false, 9499: true} {
		h := cost.Hits{InputTokens: 10_000, IdealTokens: 10_000, ReadTokens: read}
		if h.Low() != low || math.IsNaN(h.Rate()) {
			t.Errorf("%d of 10,000: low %v", read, h.Low())
		}
	}
}
