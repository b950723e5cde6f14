package provider_test

import (
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

// An answer that the provider pauses goes on in the same turn, from where it stood.
func TestPausedAnswer(t *testing.T) {
	inBubble(t, anthropicAPI(), fakellm.Options{Think: true}, session.Options{Thinking: llm.ThinkingMedium}, func(w *world) {
		ref := w.create()
		w.script(
			fakellm.Step{Thinking: "Hm.", Text: "First,", Stop: fakellm.StopPause},
			fakellm.Step{Text: "second,", Stop: fakellm.StopPause},
			fakellm.Step{Text: "and third."},
		)
		turn := w.turn(ref, w.send(ref, "go"))
		if turn.Status != store.TurnCompleted || turn.Rounds != 3 {
			w.t.Errorf("the turn is %s after %d rounds: %+v", turn.Status, turn.Rounds, turn.Error)
		}
		want := []string{"user: go", "assistant: <Hm.> | First,", "assistant: second,", "assistant: and third."}
		if diff := cmp.Diff(want, w.said(ref)); diff != "" {
			w.t.Errorf("conversation (-want +got):\n%s", diff)
		}
		w.sound(ref)
	})
}

// One that can't be sent back as it came stands as it is: after a restart with another
// system prompt, which thinking and pauses are bound to.
func TestPausedAnswerAfterAChange(t *testing.T) {
	for _, thinking := range []string{"", "Hm."} {
		opts := patient()
		opts.Thinking = llm.ThinkingMedium
		inBubble(t, anthropicAPI(), fakellm.Options{Think: true}, opts, func(w *world) {
			ref := w.create()
			w.script(fakellm.Step{Thinking: thinking, Text: "First,", Stop: fakellm.StopPause}, fakellm.Step{Fault: fakellm.FaultOverloaded})
			id := w.send(ref, "go")
			w.m.Close()
			w.opts.SystemPrompt = "Be somebody else."
			w.begin()
			pass(time.Minute)
			if turn := w.turn(ref, id); turn.Status != store.TurnCompleted {
				w.t.Errorf("the turn is %s: %+v", turn.Status, turn.Error)
			}
			if said := w.said(ref); len(said) != 2 || !strings.HasSuffix(said[1], "First,") {
				w.t.Errorf("conversation: %q", said)
			}
			w.sound(ref)
		})
	}
}

// So does one whose thinking has to go because images before it went.
func TestPausedAnswerAfterManyImages(t *testing.T) {
	inBubble(t, anthropicAPI(), fakellm.Options{Think: true}, session.Options{Thinking: llm.ThinkingMedium}, func(w *world) {
		ref := w.create()
		content := text("look")
		for range 21 {
			content = append(content, message.Image{MimeType: "image/png", Data: picture(w.t)})
		}
		w.script(fakellm.Step{Thinking: "Hm.", Text: "First,", Stop: fakellm.StopPause})
		sent, err := w.m.Send(w.t.Context(), ref, content, session.WhenBusyQueue, session.Idempotency{})
		if err != nil {
			w.t.Fatal(err)
		}
		pass(time.Minute)
		if turn := w.turn(ref, sent.Value.TurnID); turn.Status != store.TurnCompleted || turn.Rounds != 1 {
			w.t.Errorf("the turn is %s after %d rounds: %+v", turn.Status, turn.Rounds, turn.Error)
		}
		if _, rejected := w.fakes.Seen(); len(rejected) > 0 {
			w.t.Errorf("rejected: %s", rejected)
		}
	})
}

// So does one whose continuation is refused for an image that came before it.
func TestPausedAnswerAfterARefusedImage(t *testing.T) {
	inBubble(t, anthropicAPI(), fakellm.Options{}, session.Options{}, func(w *world) {
		ref := w.create()
		content := append(text("look"), message.Image{MimeType: "image/png", Data: picture(w.t)})
		w.script(fakellm.Step{Text: "First,", Stop: fakellm.StopPause}, fakellm.Step{Fault: fakellm.FaultImage})
		sent, err := w.m.Send(w.t.Context(), ref, content, session.WhenBusyQueue, session.Idempotency{})
		if err != nil {
			w.t.Fatal(err)
		}
		pass(time.Minute)
		if turn := w.turn(ref, sent.Value.TurnID); turn.Status != store.TurnCompleted {
			w.t.Errorf("the turn is %s: %+v", turn.Status, turn.Error)
		}
		w.sound(ref)
	})
}

// Thinking that nothing follows is kept for the user and not sent back.
func TestThinkingWithoutAnAnswer(t *testing.T) {
	for _, p := range providers() {
		t.Run(string(p.api), func(t *testing.T) {
			inBubble(t, p, fakellm.Options{Think: true}, session.Options{Thinking: llm.ThinkingMedium}, func(w *world) {
				ref := w.create(withTool("read"))
				w.script(
					fakellm.Step{Thinking: "Nothing to say."},
					fakellm.Step{Thinking: "I need it.", Calls: []fakellm.Call{{Name: "read", Input: []byte(`{"path":"a.txt"}`)}}, CutBytes: 5},
				)
				w.send(ref, "one")
				w.send(ref, "two")
				want := []string{"user: one", "assistant: <Nothing to say.>", "user: two", "assistant: <I need it.>"}
				if diff := cmp.Diff(want, w.said(ref)); diff != "" {
					w.t.Errorf("conversation (-want +got):\n%s", diff)
				}
				w.sound(ref)
			})
		})
	}
}

// Ids that a provider repeats in later answers are the session's own by then.
func TestRepeatedCallIDs(t *testing.T) {
	forBoth(t, session.Options{}, func(w *world) {
		ref := w.create(withTool("read"))
		call := fakellm.Step{Calls: []fakellm.Call{{ID: "call_0", Name: "read"}, {ID: "call_0", Name: "read"}}}
		w.script(call, call, fakellm.Step{Text: "done"})
		turn := w.send(ref, "go")
		if n := w.answerCalls(ref) + w.answerCalls(ref); n != 4 {
			w.t.Errorf("%d calls were answered", n)
		}
		if got := w.turn(ref, turn); got.Status != store.TurnCompleted {
			w.t.Errorf("the turn is %s: %+v", got.Status, got.Error)
		}
		ids := make(map[message.ToolUseID]bool)
		for _, m := range w.messages(ref) {
			for _, use := range m.ToolUses() {
				ids[use.ID] = true
			}
		}
		if len(ids) != 4 {
			w.t.Errorf("%d ids for four calls", len(ids))
		}
		w.sound(ref)
	})
}
