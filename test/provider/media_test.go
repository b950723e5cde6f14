package provider_test

import (
	"testing"
	"testing/synctest"

	"sessiond/llm/llmtest/fakellm"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// An image that only the provider can tell is broken: its header is in order, but for a
// checksum. It is refused once; then the session goes on without it.
func TestABrokenImageIsOutlived(t *testing.T) {
	forBoth(t, patient(), func(w *world) {
		ref := w.create()
		w.script(fakellm.Step{Text: "I see nothing."})
		content := append(text("look"), message.Image{
			MimeType: "image/png", Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAAAAAAA",
		})
		sent, err := w.m.Send(w.t.Context(), ref, content, session.WhenBusyQueue, session.Idempotency{})
		if err != nil {
			w.t.Fatal(err)
		}
		synctest.Wait()
		if got := w.turn(ref, sent.Value.TurnID); got.Status != store.TurnCompleted || got.Rounds != 1 {
			w.t.Errorf("the turn is %s after %d rounds: %+v", got.Status, got.Rounds, got.Error)
		}
		w.m.Close()
		w.begin()
		w.script(fakellm.Step{Text: "Yes."})
		turn := w.send(ref, "are you there?")
		if got := w.turn(ref, turn); got.Status != store.TurnCompleted {
			w.t.Errorf("the next turn is %s: %+v", got.Status, got.Error)
		}
		if _, rejected := w.fakes.Seen(); len(rejected) != 1 {
			w.t.Errorf("%d requests were rejected, want 1: %q", len(rejected), rejected)
		}
	})
}
