package session

import (
	"context"

	"go.uber.org/zap"

	"sessiond/llm"
	"sessiond/message"
	"sessiond/prompt"
)

// hideImages repeats a round whose images the provider refused, without them: a request
// that is refused for what stands in the conversation would be refused for good. Which
// of the images it was, providers do not say; so none of those up to now are shown any
// more, and there is nothing left to hide if the round fails the same way again. The
// thinking that came after an image goes too: it is bound to what came before it.
func (a *actor) hideImages(t *turnRun, err error) bool {
	me, ok := llm.AsError(err)
	if !ok || me.Class != llm.ClassMedia {
		return false
	}
	msgs := a.history.state.View().Messages
	if !showsImages(msgs, a.st.ImagesFrom) {
		return false
	}
	a.hideShown(msgs)
	a.log.Warn("the provider refused an image; those up to now are not shown any more",
		zap.String("turn_id", string(t.row.ID)), zap.Error(err), cause(err))
	a.stageTurn()
	a.then(func(ctx context.Context) { a.nextRound(ctx, t) })
	return true
}

// hideShown hides the images of a view. Queued messages, whose seq may be lower, are not in
// it.
func (a *actor) hideShown(msgs []message.Message) {
	for i := range msgs {
		a.st.ImagesFrom = max(a.st.ImagesFrom, msgs[i].Seq+1)
	}
	a.dropThinking()
}

// showsImages reports whether a message from a seq on has an image, in results included.
func showsImages(msgs []message.Message, from int64) bool {
	for i := range msgs {
		if msgs[i].Seq >= from && hasImages(msgs[i].Content) {
			return true
		}
	}
	return false
}

func hasImages(content []message.Block) bool { return imagesIn(content) > 0 }

// countImages counts the images of messages, those in results included.
func countImages(msgs []message.Message) int {
	n := 0
	for i := range msgs {
		n += imagesIn(msgs[i].Content)
	}
	return n
}

func imagesIn(content []message.Block) int {
	n := 0
	for _, b := range content {
		switch b := b.(type) {
		case message.Image:
			n++
		case message.ToolResult:
			n += imagesIn(b.Content)
		case message.Text, message.Thinking, message.ToolUse:
		}
	}
	return n
}

// withoutImages puts words in the place of the images of the messages before a seq. It
// changes msgs, but not what its messages share with others.
func withoutImages(msgs []message.Message, from int64) []message.Message {
	for i := range msgs {
		if m := &msgs[i]; m.Seq < from && hasImages(m.Content) {
			m.Content = dropImages(m.Content)
		}
	}
	return msgs
}

func dropImages(content []message.Block) []message.Block {
	kept := make([]message.Block, len(content))
	for i, b := range content {
		switch given := b.(type) {
		case message.Image:
			b = message.Text{Text: prompt.ImageNotShown}
		case message.ToolResult:
			given.Content = dropImages(given.Content)
			b = given
		case message.Text, message.Thinking, message.ToolUse:
		}
		kept[i] = b
	}
	return kept
}
