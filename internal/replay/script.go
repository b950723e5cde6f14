package replay

import (
	"encoding/json"
	"strings"
	"sync"

	"sessiond/message"
)

// Script is what the models of a replay say when a request does not tell where its
// conversation stands, because the server shows the model only a part of it: whoever
// plays a conversation gives the cue for the next answer. A request for a summary is
// answered with one. It is safe for concurrent use.
type Script struct {
	count func(text string) int
	facts factFinder
	// numbers finds what an entry of a session's memory can be made from.
	numbers memoryNumbers

	mu   sync.Mutex
	cues map[string][]message.Block
}

// NewScript returns a script whose summaries are as long as count counts.
func NewScript(count func(text string) int) *Script {
	return &Script{count: count, facts: newFactFinder(), numbers: newMemoryNumbers(), cues: make(map[string][]message.Block)}
}

// cue sets what the model of a conversation answers until the next cue, however often
// it is asked; nil is nothing.
func (s *Script) cue(id string, answer []message.Block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cues[id] = answer
}

// answer implements source.
func (s *Script) answer(id string, body []byte) []message.Block {
	if strings.HasPrefix(systemText(body), memoryKeeper) {
		return []message.Block{message.Text{Text: s.operations(lastText(body))}}
	}
	if words := summaryWords(lastText(body)); words > 0 {
		return []message.Block{message.Text{Text: s.summary(words, s.facts.in(string(body)))}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cues[id]
}

// systemText returns the system prompt of a request to the Messages API.
func systemText(body []byte) string {
	var req struct {
		System []struct {
			Text string `json:"text"`
		} `json:"system"`
	}
	if json.Unmarshal(body, &req) != nil || len(req.System) == 0 {
		return ""
	}
	return req.System[0].Text
}

// lastText returns the last text of a request in either API's form.
func lastText(body []byte) string {
	var req struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(body, &req) != nil || len(req.Messages) == 0 {
		return ""
	}
	content := req.Messages[len(req.Messages)-1].Content
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) == nil && len(blocks) > 0 {
		return blocks[len(blocks)-1].Text
	}
	return ""
}
