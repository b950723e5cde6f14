package session_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"sessiond/session"
)

// tally counts how many bytes were counted.
type tally struct {
	quarter
	bytes *atomic.Int64
}

func (c tally) Count(text string) int {
	c.bytes.Add(int64(len(text)))
	return c.quarter.Count(text)
}

// Opening a session counts no text, however long its log is; a round counts what is new.
func TestOpeningCountsNothing(t *testing.T) {
	var counted atomic.Int64
	withClerk(t, 16_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create(withFixedTool("query"), func(s *session.Settings) {
			s.SystemPrompt, s.AgentPrompt = words("be brief", 300), words("never push", 300)
		})
		for i := range 60 {
			c.say(calls("query", "{}"), says(words("answer", 200)))
			w.send(ref, words(fmt.Sprint("message ", i), 100))
			w.answerCalls(ref, func(session.PendingCall) string { return words("row", 500) })
		}
		if len(w.compactions(ref)) == 0 {
			t.Fatal("nothing was compacted")
		}
		w.restart()
		counted.Store(0)
		before := w.context(ref)
		if n := counted.Load(); n != 0 {
			t.Errorf("%d bytes were counted to open the session", n)
		}
		c.say(says("ok"))
		w.send(ref, "hi")
		if n := counted.Load(); n > 400 {
			t.Errorf("%d bytes were counted for a message and an answer of a few", n)
		}
		if after := w.context(ref); after.ContextTokens <= before.ContextTokens || after.ContextTokens > before.ContextTokens+40 {
			t.Errorf("%d tokens after %d", after.ContextTokens, before.ContextTokens)
		}
	}, func(o *session.Options) { o.Counter = tally{bytes: &counted} })
}
