package openai

import (
	"strings"
	"testing"

	"sessiond/llm"
	"sessiond/message"
)

// Whatever a body holds, reading it ends in a failure, an error or an answer that is a
// valid message whose deltas belong to its blocks.
func FuzzRead(f *testing.F) {
	const finished = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	f.Add(finished)
	f.Add(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}}]}` + "\n\n" + finished)
	f.Add(`data: {"choices":[{"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text"}]}}]}` + "\n\n" + finished)
	f.Add(`[{"error":{"message":["x"]}}]`)
	f.Add("event: error\ndata: {\"message\":{}}\n\n")
	d, err := DialectNamed("openrouter")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		blocks := 0
		a := newAnswer(func(d llm.Delta) { blocks = max(blocks, d.Block+1) })
		fail, err := a.read(strings.NewReader(body))
		if blocks > len(a.order) {
			t.Errorf("deltas of %d blocks, the answer has %d", blocks, len(a.order))
		}
		if fail != nil {
			if e := fail.asError(nil); e.Class == "" || len(e.Message) > maxMessageBytes+len("…") {
				t.Errorf("got %+v", e)
			}
			return
		}
		if err != nil {
			return
		}
		m := message.Message{Role: message.RoleAssistant, Content: a.response(&d).Content}
		if err := m.Check(); err != nil {
			t.Error(err)
		}
	})
}
