package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"sessiond/message"
	"sessiond/session"
)

// compare checks that a message in the log is the recorded one: role, kinds of blocks
// and content. Ids of calls may differ; data that events leave out is compared by its
// hash.
func (p *player) compare(got json.RawMessage, want *Message) error {
	var shown struct {
		Role    message.Role      `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(got, &shown); err != nil {
		return err
	}
	shown.Content = slices.DeleteFunc(shown.Content, isThinking) // a recording has none
	if shown.Role != want.Role || len(shown.Content) != len(want.Content) {
		return fmt.Errorf("the log has a %s's message with %d blocks where the recording has %s", shown.Role, len(shown.Content), describe(want))
	}
	for i := range shown.Content {
		a, err := bare(shown.Content[i])
		if err != nil {
			return err
		}
		form := message.Form{OmitOverBytes: session.OmitOverBytes}
		list := message.AppendBlocks(nil, want.Content[i:i+1], form)
		b, err := bare(list[1 : len(list)-1])
		if err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("content[%d] is %.200s, the recording has %.200s", i, a, b)
		}
	}
	return nil
}

func isThinking(block json.RawMessage) bool {
	var b struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(block, &b) == nil && b.Type == "thinking"
}

// bare is a block without its ids, in one spelling.
func bare(block json.RawMessage) ([]byte, error) {
	var v map[string]json.RawMessage
	if err := json.Unmarshal(block, &v); err != nil {
		return nil, err
	}
	delete(v, "id")
	delete(v, "tool_use_id")
	return json.Marshal(v)
}

func describe(m *Message) string {
	kind := "a message"
	switch {
	case m.Results():
		kind = "tool results"
	case len(m.Calls()) > 0:
		kind = "tool calls"
	}
	return fmt.Sprintf("%s of the %s with %d blocks", kind, m.Role, len(m.Content))
}
