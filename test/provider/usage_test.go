package provider_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sessiond/llm/llmtest/anthropicfake"
	"sessiond/llm/llmtest/fakellm"
	"sessiond/llm/llmtest/openaifake"
	"sessiond/message"
	"sessiond/session"
)

// price is what a million tokens of the tests' models cost, as their providers publish
// it.
type price struct{ input, cacheRead, output float64 }

func prices() map[fakellm.API]price {
	return map[fakellm.API]price{fakellm.Anthropic: {0.10, 0.01, 0.50}, fakellm.OpenAI: {2.5, 1.25, 10}}
}

// fakeUsage is what the fake says that each answered request cost, priced here.
func (w *world) fakeUsage() []message.Usage {
	var out []message.Usage
	for _, r := range w.fakes.Anthropic.Requests() {
		if r.Usage != (anthropicfake.Usage{}) {
			out = append(out, message.Usage{
				Input: int64(r.Usage.InputTokens), Output: int64(r.Usage.OutputTokens), CacheRead: int64(r.Usage.CacheReadTokens),
			})
		}
	}
	for _, r := range w.fakes.OpenAI.Requests() {
		if r.Usage != (openaifake.Usage{}) {
			out = append(out, message.Usage{
				Input: r.Usage.PromptTokens - r.Usage.CachedTokens, CacheRead: r.Usage.CachedTokens, Output: r.Usage.CompletionTokens,
			})
		}
	}
	p := prices()[w.api]
	for i := range out {
		u := &out[i]
		u.CostUSD = (float64(u.Input)*p.input + float64(u.CacheRead)*p.cacheRead + float64(u.Output)*p.output) / 1e6
	}
	return out
}

func sum(usage ...message.Usage) message.Usage {
	var total message.Usage
	for _, u := range usage {
		total = total.Add(u)
	}
	return total
}

// Usage and cost of every round, turn and session are what the provider counted, at its
// prices; an attempt that was refused cost nothing.
func TestUsage(t *testing.T) {
	forBoth(t, patient(), func(w *world) {
		ref := w.create(withTool("read"), func(s *session.Settings) { s.SystemPrompt = strings.Repeat("Be thorough. ", 600) })
		rec := w.subscribe(ref)
		w.script(
			fakellm.Step{Text: "Let me see.", Calls: []fakellm.Call{{Name: "read", Input: []byte(`{"path":"a.txt"}`)}}},
			fakellm.Step{Fault: fakellm.FaultOverloaded},
			fakellm.Step{Text: "It says hello."},
			fakellm.Step{Text: "Nothing more to say."},
		)
		first := w.send(ref, "what does a.txt say?")
		w.answerCalls(ref)
		pass(time.Minute)
		second := w.send(ref, "and?")

		want := w.fakeUsage()
		if len(want) != 3 {
			w.t.Fatalf("%d requests were answered", len(want))
		}
		if w.api == fakellm.OpenAI && want[1].CacheRead == 0 {
			w.t.Error("nothing was read from the cache")
		}
		var rounds []message.Usage
		for _, m := range w.messages(ref) {
			if m.Usage != nil {
				rounds = append(rounds, *m.Usage)
			}
		}
		same(w, "rounds", want, rounds)
		turn := w.turn(ref, first)
		same(w, "first turn", sum(want[:2]...), turn.Usage)
		same(w, "first turn by purpose", map[string]message.Usage{"chat": turn.Usage}, turn.UsageByPurpose)
		same(w, "second turn", want[2], w.turn(ref, second).Usage)
		same(w, "session", sum(want...), w.get(ref).Usage)
		if cost := w.get(ref).Usage.CostUSD; cost <= 0 {
			w.t.Errorf("all of it cost %v", cost)
		}
		w.toldUsage(rec, sum(want[:2]...), want[2])
		w.m.Close()
		w.begin()
		same(w, "session after a restart", sum(want...), w.get(ref).Usage)
	})
}

// same compares with a tolerance for the order in which costs were added.
func same[V any](w *world, what string, want, got V) {
	w.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		w.t.Errorf("usage of %s (-want +got):\n%s", what, diff)
	}
}

// toldUsage checks what the ends of the turns told.
func (w *world) toldUsage(rec *recorder, want ...message.Usage) {
	w.t.Helper()
	var got []message.Usage
	for _, e := range rec.events {
		if e.Kind != session.EntryTurnCompleted {
			continue
		}
		var body struct {
			Usage   message.Usage `json:"usage"`
			CostUSD float64       `json:"cost_usd"`
		}
		decode(w, e.Data, &body)
		if math.Abs(body.CostUSD-body.Usage.CostUSD) > 1e-12 {
			w.t.Errorf("a turn cost %v and %v", body.CostUSD, body.Usage.CostUSD)
		}
		got = append(got, body.Usage)
	}
	same(w, "ends of turns", want, got)
}
