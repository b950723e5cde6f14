package provider_test

import (
	"testing"

	"sessiond/llm/llmtest/fakellm"
	"sessiond/session"
)

// A call with half a surrogate pair is stored as the model wrote it and sent back mended.
// That is told once, and again only when there is more of it.
func TestRepairsAreToldOnce(t *testing.T) {
	forBoth(t, session.Options{}, func(w *world) {
		ref := w.create(withTool("read"))
		const input = `{"path":"\ud800"}`
		broken := fakellm.Step{Calls: []fakellm.Call{{Name: "read", Input: []byte(input)}}}
		for i, want := range []int{1, 1, 2} {
			if i != 1 {
				w.script(broken)
			}
			w.script(fakellm.Step{Text: "done"}, fakellm.Step{Text: "done"})
			w.send(ref, "go")
			w.answerCalls(ref)
			w.send(ref, "on")
			if n := w.logs.FilterMessage("a request was repaired").Len(); n != want {
				w.t.Errorf("after part %d repairs were told %d times, want %d", i, n, want)
			}
		}
		if said := w.said(ref); said[1] != "assistant: read"+input {
			w.t.Errorf("stored is %q", said[1])
		}
		if _, rejected := w.fakes.Seen(); len(rejected) > 0 {
			w.t.Errorf("rejected: %s", rejected)
		}
	})
}
