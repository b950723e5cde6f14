package session_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/prompt"
	"sessiond/session"
	"sessiond/store"
)

// pixel is a whole image.
func pixel() message.Image {
	return message.Image{MimeType: "image/png", Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="}
}

func unshowable() llmtest.Step {
	return llmtest.Fail(&llm.Error{Class: llm.ClassMedia, Status: 400, Message: "Could not process image"})
}

func (w *world) sendBlocks(ref store.Ref, content ...message.Block) session.SendResult {
	w.t.Helper()
	r, err := w.m.Send(w.t.Context(), ref, content, session.WhenBusyQueue, session.Idempotency{})
	if err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
	return r.Value
}

// sights counts what a request shows: images, the words in their place, and thoughts.
func sights(req *llm.Request) (images, stubs, thoughts int) {
	var count func(content []message.Block)
	count = func(content []message.Block) {
		for _, b := range content {
			switch b := b.(type) {
			case message.Image:
				images++
			case message.Text:
				stubs += strings.Count(b.Text, prompt.ImageNotShown)
			case message.Thinking:
				thoughts++
			case message.ToolResult:
				count(b.Content)
			case message.ToolUse:
			}
		}
	}
	for i := range req.Messages {
		count(req.Messages[i].Content)
	}
	return images, stubs, thoughts
}

// TestARefusedImageIsHidden: the round is repeated without the images up to there, and
// with what came after them; a later image is shown.
func TestARefusedImageIsHidden(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("look"))
		w.send(ref, "hi")
		w.sendBlocks(ref, message.Text{Text: "look"}, pixel())
		r := session.ToolResult{ToolUseID: w.pending(ref)["look"].ToolUseID, Content: []message.Block{pixel()}}
		if _, err := w.m.SubmitToolResult(t.Context(), ref, r, session.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.restart()
		last := w.sendBlocks(ref, pixel())
		if turn := w.turn(ref, last.TurnID); turn.Status != store.TurnCompleted || turn.Rounds != 1 {
			t.Errorf("the turn is %s after %d rounds", turn.Status, turn.Rounds)
		}
		want := [][3]int{
			{0, 0, 0},
			{1, 0, 1},
			{2, 0, 1}, // with the call's result
			{0, 2, 0}, // again without
			{1, 2, 0}, // after the restart
		}
		reqs := w.model.Requests()
		if len(reqs) != len(want) {
			t.Fatalf("%d requests", len(reqs))
		}
		for i, req := range reqs {
			images, stubs, thoughts := sights(req)
			if got := [3]int{images, stubs, thoughts}; got != want[i] {
				t.Errorf("request %d shows %v, want %v", i, got, want[i])
			}
		}
		if images, _, _ := sights(&llm.Request{Messages: valuesOf(w.messagesBy(ref, message.RoleUser))}); images != 3 {
			t.Errorf("%d images are left in the conversation", images)
		}
		w.sound(ref)
	},
		llmtest.Thinking("hm").Then(llmtest.Text("hello")), llmtest.Calls("", llmtest.Call{Name: "look"}),
		unshowable(), llmtest.Text("I can't see it"), llmtest.Text("a pixel"), llmtest.Text("yes"))
}

func valuesOf(msgs []*message.Message) []message.Message {
	out := make([]message.Message, len(msgs))
	for i, m := range msgs {
		out[i] = *m
	}
	return out
}

// TestARefusalOfImagesIsRepeatedOnce: a second one fails the turn, and one that no image
// can have caused is not repeated; the next message is answered either way.
func TestARefusalOfImagesIsRepeatedOnce(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		for i, turn := range []struct {
			content []message.Block
			calls   int // of the model, in all
		}{
			{[]message.Block{pixel()}, 2},
			{text("and now?"), 3},
		} {
			sent := w.sendBlocks(ref, turn.content...)
			got := w.turn(ref, sent.TurnID)
			if got.Status != store.TurnFailed || got.Error == nil || got.Error.Kind != session.TurnUpstreamFailed {
				t.Errorf("turn %d is %s: %+v", i, got.Status, got.Error)
			}
			if n := len(w.model.Requests()); n != turn.calls {
				t.Errorf("%d model calls after turn %d, want %d", n, i, turn.calls)
			}
		}
		w.usable(ref)
	}, unshowable(), unshowable(), unshowable())
}

// TestAQueuedImageIsNotHidden: it was not among those that were refused.
func TestAQueuedImageIsNotHidden(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		release := make(chan struct{})
		w.model.Add(llmtest.Wait(release).Then(unshowable()), llmtest.Text("what?"), llmtest.Text("a pixel"))
		ref := w.create()
		w.sendBlocks(ref, pixel())
		w.sendBlocks(ref, pixel())
		close(release)
		synctest.Wait()
		reqs := w.model.Requests()
		if len(reqs) != 3 {
			t.Fatalf("%d model calls", len(reqs))
		}
		if images, stubs, _ := sights(reqs[2]); images != 1 || stubs != 1 {
			t.Errorf("the last request shows %d images and %d words in their place", images, stubs)
		}
		w.usable(ref)
	})
}
