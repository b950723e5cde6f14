package session_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/session"
)

// gaugeProblem says what is wrong with a gauge in itself.
func gaugeProblem(g session.Gauge) string {
	p := g.Progress
	over := p.ContextTokens >= p.Threshold
	switch {
	case p.Threshold <= 0:
		return "has no threshold"
	case math.IsNaN(p.Percent) || math.IsInf(p.Percent, 0):
		return fmt.Sprintf("has a progress of %v", p.Percent)
	case over != (p.Percent >= 100):
		return fmt.Sprintf("says %v %% at %d of %d", p.Percent, p.ContextTokens, p.Threshold)
	case over != (p.RoundsUntil == -1) || p.RoundsUntil < -1 || p.RoundsUntil > 999:
		return fmt.Sprintf("says %d rounds at %d of %d", p.RoundsUntil, p.ContextTokens, p.Threshold)
	case p.NextRound < p.ContextTokens:
		return fmt.Sprintf("expects %d after %d", p.NextRound, p.ContextTokens)
	}
	return ""
}

// After every step the gauge is what the next request has, and makes sense; whoever
// watches is told the last one.
func TestB14TheGaugeAfterEveryStep(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create(withFixedTool("query"))
		rec := w.subscribe(ref)
		c.watch(func(req *llm.Request) {
			if isSummary(req) {
				return
			}
			if got, sent := w.get(ref).Gauge.ContextTokens, countRequest(req); got != sent {
				t.Errorf("a request of %d tokens was sent, the gauge says %d", sent, got)
			}
		})
		for i := range 12 {
			for range 3 {
				c.say(calls("query", "{}"))
			}
			c.say(says("done"))
			w.send(ref, words(fmt.Sprint("message ", i), 100))
			w.answerCalls(ref, func(session.PendingCall) string { return words("row", 450) })
			if got, want := w.get(ref).Gauge, w.context(ref).Progress; got != want {
				t.Errorf("after turn %d the session says %+v, the context %+v", i, got, want)
			}
			w.pass(300 * time.Millisecond)
		}
		if len(w.compactions(ref)) == 0 {
			t.Fatal("nothing was compacted")
		}
		told := rec.measures()
		for i, p := range told {
			if why := gaugeProblem(p.Gauge); why != "" {
				t.Errorf("progress %d %s", i, why)
			}
		}
		if len(told) == 0 || told[len(told)-1].Gauge != w.get(ref).Gauge {
			t.Error("the last gauge was not told")
		}
	})
}

func (r *recorder) measures() []*session.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*session.Progress(nil), r.progress...)
}

// Right after a compaction the gauge shows what is left, as an estimate, after a restart
// too; the next call measures it. What the summariser read is never shown.
func TestB63TheGaugeAfterACompaction(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.summary = scaled(50, notes(100))
		ref := w.create()
		w.talk(ref, 12, 250)
		if g := w.get(ref).Gauge; g.Estimated {
			t.Errorf("after an answer: %+v", g)
		}
		got, err := w.compact(ref, session.CompactOptions{Wait: true})
		if err != nil || got.Outcome != compaction.OutcomeApplied {
			t.Fatalf("the result is %+v, %v", got, err)
		}
		check := func(when string) {
			t.Helper()
			if g := w.get(ref).Gauge; !g.Estimated || g.ContextTokens != got.TokensAfter || g.ContextTokens >= got.TokensBefore {
				t.Errorf("%s: %+v after a compaction from %d to %d", when, g, got.TokensBefore, got.TokensAfter)
			}
		}
		check("at once")
		w.restart()
		check("after a restart (B64)")
		w.completed(ref, "next")
		if g := w.get(ref).Gauge; g.Estimated {
			t.Errorf("after the next answer: %+v", g)
		}
	})
}

// The provider's counts calibrate the encoding's, by the rule; calls for summaries do not.
func TestCalibrationInASession(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		c.summary = scaled(9, notes(100))
		ref := w.create()
		if r := w.context(ref).Ratio; r != 1 {
			t.Errorf("the ratio begins at %v", r)
		}
		step := func(ratio, want float64) {
			t.Helper()
			c.answer(scaled(ratio, says("ok")))
			w.completed(ref, words("message", 300))
			if got := w.context(ref).Ratio; math.Abs(got-want) > 0.005 {
				t.Errorf("after a measurement of %v the ratio is %.3f, want %.3f", ratio, got, want)
			}
		}
		step(1.2, 1.2) // the first one replaces it
		step(1.4, 1.3) // half of the newest
		step(9, 1.3)   // far off: not believed
		step(1.3, 1.3) // and forgotten
		step(2.6, 1.3) // far off
		step(2.7, 2.0) // twice about the same: believed
		step(2.0, 2.0)
		if got, err := w.compact(ref, session.CompactOptions{Wait: true}); err != nil || got.Outcome != compaction.OutcomeApplied {
			t.Fatalf("the result is %+v, %v", got, err)
		}
		if got := w.context(ref).Ratio; math.Abs(got-2) > 0.005 {
			t.Errorf("after a summary call the ratio is %v", got)
		}
		before := w.context(ref).Figures
		w.restart()
		if diff := cmp.Diff(before, w.context(ref).Figures); diff != "" {
			t.Errorf("after a restart (-before +after):\n%s", diff)
		}
		other := "large"
		w.change(ref, session.Update{Model: &other})
		if got := w.context(ref).Ratio; got != 1 {
			t.Errorf("another model begins at %v", got)
		}
		first := "small"
		w.change(ref, session.Update{Model: &first})
		if got := w.context(ref).Ratio; math.Abs(got-2) > 0.005 {
			t.Errorf("the first model is back at %v", got)
		}
	})
}

// Calibrated tokens decide: with a provider that counts twice as much, compaction comes
// at half as many of the encoding's.
func TestCalibratedTokensDecide(t *testing.T) {
	raw := func(ratio float64) (tokens int) {
		withClerk(t, 8_000, func(w *world, c *clerk) {
			c.answer(scaled(ratio, says("ok")))
			ref := w.create()
			for i := 0; len(w.compactions(ref)) == 0; i++ {
				tokens = w.context(ref).ContextTokens
				w.completed(ref, words(fmt.Sprint("message ", i), 100))
			}
			tokens = int(float64(tokens) / w.context(ref).Ratio)
		})
		return tokens
	}
	one, two := raw(1), raw(1.9)
	if got := float64(one) / float64(two); got < 1.7 || got > 2.1 {
		t.Errorf("compaction came at %d and at %d raw tokens", one, two)
	}
}

// Growth is the mean of the differences between rounds; a round across a compaction is
// left out, and one jump does not decide alone.
func TestB67Growth(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		growth := func() int { p := w.get(ref).Gauge; return p.NextRound - p.ContextTokens }
		w.completed(ref, words("message 1", 100))
		threshold := w.context(ref).Threshold
		if got, want := growth(), threshold/20; got != want {
			t.Errorf("the growth begins at %d, want %d", got, want)
		}
		want := float64(threshold) / 20
		step := func(size int) {
			t.Helper()
			before := w.lastRequest()
			w.completed(ref, words("message", size))
			want = 0.3*float64(w.lastRequest()-before) + 0.7*want
			if got := growth(); math.Abs(float64(got)-want) > 2 {
				t.Errorf("after a message of %d tokens the growth is %d, want %.0f", size, got, want)
			}
		}
		step(200)
		step(200)
		step(2_000) // a spike
		step(10)
		if got, err := w.compact(ref, session.CompactOptions{Wait: true}); err != nil || got.Outcome != compaction.OutcomeApplied {
			t.Fatalf("the result is %+v, %v", got, err)
		}
		kept := growth()
		w.completed(ref, "small")
		if got := growth(); got != kept {
			t.Errorf("a round across a compaction changed the growth from %d to %d", kept, got)
		}
	})
}

// lastRequest is the size of the newest chat.
func (w *world) lastRequest() int {
	chats, _ := w.requests()
	return countRequest(chats[len(chats)-1])
}
