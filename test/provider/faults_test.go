package provider_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/llm/llmtest/fakellm"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// fault is what the fake does and what is to come of it.
type fault struct {
	name  string
	steps []fakellm.Step

	status  store.TurnStatus
	kind    session.TurnErrorKind // of a failed turn
	words   []string              // in the error's message
	answers []string              // that are stored
	waits   []time.Duration       // for retries
	calls   int                   // of the model that are made
}

const long = "a sentence that is long enough to come in several pieces"

func faults() []fault {
	done := fakellm.Step{Text: "done"}
	seconds := func(n ...float64) (waits []time.Duration) {
		for _, s := range n {
			waits = append(waits, time.Duration(s*float64(time.Second)))
		}
		return waits
	}
	repeated := func(name string, f fakellm.Step, waits ...float64) fault {
		f.Times = len(waits)
		return fault{
			name: name, steps: []fakellm.Step{f, done}, status: store.TurnCompleted,
			answers: []string{"done"}, waits: seconds(waits...), calls: len(waits) + 1,
		}
	}
	final := func(name string, f fakellm.Step, kind session.TurnErrorKind, words ...string) fault {
		return fault{name: name, steps: []fakellm.Step{f}, status: store.TurnFailed, kind: kind, words: words, calls: 1}
	}
	answered := func(name string, f fakellm.Step, answers ...string) fault {
		return fault{name: name, steps: []fakellm.Step{f}, status: store.TurnCompleted, answers: answers, calls: 1}
	}
	const upstream = session.TurnUpstreamFailed
	all := []fault{
		repeated("rate limit", fakellm.Step{Fault: fakellm.FaultRateLimit}, 0.5),
		repeated("rate limit that asks for a wait", fakellm.Step{Fault: fakellm.FaultRateLimit, RetryAfterSeconds: 3}, 3, 3),
		repeated("overloaded", fakellm.Step{Fault: fakellm.FaultOverloaded}, 0.5, 1, 2, 2),
		repeated("server error", fakellm.Step{Fault: fakellm.FaultServerError}, 0.5),
		repeated("bad gateway", fakellm.Step{Fault: fakellm.FaultBadGateway}, 0.5),
		final("rate limit for longer than is waited", fakellm.Step{Fault: fakellm.FaultRateLimit, RetryAfterSeconds: 60}, upstream, "rate", "429"),
		final("spend limit", fakellm.Step{Fault: fakellm.FaultSpendLimit}, upstream, "billing", "429"),
		final("auth", fakellm.Step{Fault: fakellm.FaultAuth}, upstream, "auth", "401"),
		final("invalid", fakellm.Step{Fault: fakellm.FaultInvalid}, upstream, "The script refuses this request."),
		final("image, though there is none", fakellm.Step{Fault: fakellm.FaultImage}, upstream, "media", "image"),
		final("overflow", fakellm.Step{Fault: fakellm.FaultOverflow, LimitTokens: 5000}, session.TurnContextOverflow, "5000"),
		answered("empty answer", fakellm.Step{}),
		answered("slow answer", fakellm.Step{Text: long, PauseMS: 1000}, long),
		answered("answer cut by the output limit", fakellm.Step{Text: "half a sen", Stop: fakellm.StopMaxTokens}, "half a sen"),
		answered("answer cut by the window", fakellm.Step{Text: "half a sen", Stop: fakellm.StopContextWindow}, "half a sen"),
		answered("call cut by the output limit", fakellm.Step{
			Text: "I shall", Calls: []fakellm.Call{{Name: "read", Input: []byte(`{"path":"a.txt"}`)}}, CutBytes: 8,
		}, "I shall"),
		answered("nothing but a cut call", fakellm.Step{
			Calls: []fakellm.Call{{Name: "read", Input: []byte(`{"path":"a.txt"}`)}}, CutBytes: 8,
		}),
		{
			name: "refusal", steps: []fakellm.Step{{Text: "I'd rather not.", Stop: fakellm.StopRefusal}},
			status: store.TurnFailed, kind: session.TurnRefused, words: []string{"declined"}, answers: []string{"I'd rather not."}, calls: 1,
		},
		{
			name: "a provider that never comes back", steps: []fakellm.Step{{Fault: fakellm.FaultOverloaded, Times: 32}},
			status: store.TurnFailed, kind: upstream, words: []string{"overload", "verloaded"},
			// 0.5 + 1 + 29 × 2 is the most that fits in a minute.
			waits: seconds(append([]float64{0.5, 1}, repeat(2, 29)...)...), calls: 32,
		},
	}
	for _, f := range []fakellm.Fault{fakellm.FaultError, fakellm.FaultEOF, fakellm.FaultAbort, fakellm.FaultSilence} {
		for name, after := range map[string]int{"before anything": 0, "after the first words": 4} {
			all = append(all, repeated(string(f)+" "+name, fakellm.Step{Text: long, Fault: f, After: after}, 0.5, 1))
		}
	}
	return all
}

func repeat(x float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// Each fault ends the turn in the state it should, after the retries that it deserves;
// nothing stored is lost and the session goes on.
func TestFaults(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			forBoth(t, patient(), func(w *world) {
				ref := w.create(withTool("read"))
				rec := w.subscribe(ref)
				w.script(f.steps...)
				before := w.modelCalls()
				turn := w.send(ref, "go")
				pass(time.Hour) // also longer than any silence is borne
				if n := w.modelCalls() - before; n != f.calls {
					w.t.Errorf("%d model calls, want %d", n, f.calls)
				}
				w.judge(ref, turn, rec, f)
				w.sound(ref)
			})
		})
	}
}

// modelCalls is how many requests for an answer the fake saw.
func (w *world) modelCalls() int {
	n := 0
	for _, r := range w.fakes.Anthropic.Requests() {
		if r.Path == "/v1/messages" {
			n++
		}
	}
	for _, r := range w.fakes.OpenAI.Requests() {
		if strings.HasSuffix(r.Path, "/chat/completions") {
			n++
		}
	}
	return n
}

func (w *world) judge(ref store.Ref, id message.TurnID, rec *recorder, f fault) {
	w.t.Helper()
	turn := w.turn(ref, id)
	if turn.Status != f.status {
		w.t.Errorf("the turn is %s: %+v", turn.Status, turn.Error)
	}
	if (f.kind == "") != (turn.Error == nil) || turn.Error != nil && turn.Error.Kind != f.kind {
		w.t.Fatalf("the turn's error is %+v, want %s", turn.Error, f.kind)
	}
	for _, word := range f.words {
		if !strings.Contains(turn.Error.Message, word) {
			w.t.Errorf("the error says %q, nothing of %q", turn.Error.Message, word)
		}
	}
	want := []string{"user: go"}
	for _, a := range f.answers {
		want = append(want, "assistant: "+a)
	}
	if diff := cmp.Diff(want, w.said(ref)); diff != "" {
		w.t.Errorf("conversation (-want +got):\n%s", diff)
	}
	w.judgeTold(rec, turn, f)
}

// judgeTold checks what a subscriber heard: every wait, the end as it is stored, no call
// of a tool, and no text of an attempt that broke under the id of another.
func (w *world) judgeTold(rec *recorder, turn *session.Turn, f fault) {
	w.t.Helper()
	var activities []activity
	for i, wait := range f.waits {
		activities = append(activities, activity{session.ActivityRetrying, i + 2, wait}, activity{name: session.ActivityNone})
	}
	if diff := cmp.Diff(activities, rec.activities, cmp.AllowUnexported(activity{})); diff != "" {
		w.t.Errorf("activities (-want +got):\n%s", diff)
	}
	shown := make(map[message.ID]string)
	for _, d := range rec.deltas {
		if d.From == 0 && shown[d.MessageID] != "" && d.Block == 0 {
			w.t.Errorf("message %s begins twice", d.MessageID)
		}
		if d.Kind == string(llm.DeltaText) {
			shown[d.MessageID] += d.Text
		}
	}
	ends := 0
	for i, e := range rec.events {
		if i > 0 && e.Seq != rec.events[i-1].Seq+1 {
			w.t.Errorf("event %d follows event %d", e.Seq, rec.events[i-1].Seq)
		}
		switch e.Kind { //nolint:exhaustive // the others are of no interest
		case session.EntryToolCalled:
			w.t.Errorf("a tool was called: %s", e.Data)
		case session.EntryTurnCompleted:
			ends++
			var body struct {
				Status store.TurnStatus
				Error  *session.TurnError
			}
			if err := json.Unmarshal(e.Data, &body); err != nil {
				w.t.Fatal(err)
			}
			if diff := cmp.Diff(turn.Error, body.Error); diff != "" || body.Status != turn.Status {
				w.t.Errorf("told as %s: %s", body.Status, diff)
			}
		}
	}
	if ends != 1 {
		w.t.Errorf("the turn ended %d times", ends)
	}
	for _, m := range rec.events {
		if text, ok := shown[messageOf(m)]; ok && !strings.Contains(string(m.Data), text) {
			w.t.Errorf("%q was shown of %s", text, m.Data)
		}
	}
}

// messageOf is the id of the message that an event adds, or empty.
func messageOf(e *session.Event) message.ID {
	var body struct{ Message struct{ ID message.ID } }
	if e.Kind != session.EntryMessageAdded || json.Unmarshal(e.Data, &body) != nil {
		return ""
	}
	return body.Message.ID
}
