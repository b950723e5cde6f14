package demo

import (
	"strings"
	"unicode"

	"sessiond/llm"
	"sessiond/message"
)

// scene is what the rules look at: the newest request of the user and where the
// conversation stands with it.
type scene struct {
	words   string          // the user's newest request
	images  []message.Image // that came with it
	zh      bool            // answer in Chinese
	results []result        // of the round that was just run, if the model is to go on
	said    string          // what the model said when it asked for them
	newest  string          // all text of the last message, whoever wrote it
}

// result is one tool result with the name of the tool it came from.
type result struct {
	tool    string
	content []message.Block
	failed  bool
}

func read(req *llm.Request) scene {
	last := req.Messages[len(req.Messages)-1]
	s := scene{newest: message.JoinText(last.Content)}
	if words, ok := ownWords(&last); !ok || words == "" {
		s.results, s.said = readRound(req.Messages)
	}
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := &req.Messages[i]
		words, ok := ownWords(m)
		if !ok {
			continue
		}
		s.words = words
		for _, b := range m.Content {
			if img, isImage := b.(message.Image); isImage {
				s.images = append(s.images, img)
			}
		}
		break
	}
	s.zh = chinese(s.words)
	return s
}

// noticePrefix begins the message that stands for compacted history. It is no part of
// a contract: should it change, the demo would merely quote it as a request.
const noticePrefix = "[Context notice"

// ownWords returns what the user said in a message and whether the message is a
// request at all. What was put into it by machine starts with a tag and follows; a
// message that brings only tool results, such text or the server's notice asks for
// nothing.
func ownWords(m *message.Message) (words string, request bool) {
	if m.Role != message.RoleUser {
		return "", false
	}
	fallback, results := "", false
	for _, b := range m.Content {
		switch b := b.(type) {
		case message.ToolResult:
			results = true
		case message.Text:
			text := strings.TrimSpace(b.Text)
			if strings.HasPrefix(text, noticePrefix) {
				return "", false
			}
			if text != "" && !strings.HasPrefix(text, "<") {
				return text, true
			}
			if fallback == "" {
				fallback = text
			}
		case message.Image, message.Thinking, message.ToolUse:
		}
	}
	return fallback, !results
}

// readRound returns the tool results of the last message and the text that the
// assistant wrote with the calls.
func readRound(messages []message.Message) (results []result, said string) {
	names := make(map[message.ToolUseID]string)
	if len(messages) > 1 {
		asked := &messages[len(messages)-2]
		said = asked.PlainText()
		for _, call := range asked.ToolUses() {
			names[call.ID] = call.Name
		}
	}
	for _, b := range messages[len(messages)-1].Content {
		if r, ok := b.(message.ToolResult); ok {
			results = append(results, result{tool: names[r.ToolUseID], content: r.Content, failed: r.IsError})
		}
	}
	return results, said
}

func chinese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}
