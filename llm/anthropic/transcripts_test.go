package anthropic_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessiond/internal/testenv"
	"sessiond/llm"
	fake "sessiond/llm/llmtest/anthropicfake"
	"sessiond/message"
)

// transcript is a recorded conversation of a real agent.
type transcript struct {
	system   string
	tools    []llm.Tool
	messages []message.Message
}

func readTranscript(t *testing.T, path string) transcript {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out transcript
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 64<<20)
	for first := true; scan.Scan(); first = false {
		if first {
			var head struct {
				System string
				Tools  []struct {
					Name, Description string
					InputSchema       json.RawMessage `json:"input_schema"`
				}
			}
			if err := json.Unmarshal(scan.Bytes(), &head); err != nil {
				t.Fatal(err)
			}
			out.system = head.System
			for _, tool := range head.Tools {
				out.tools = append(out.tools, llm.Tool{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema})
			}
			continue
		}
		out.messages = append(out.messages, readEntry(t, scan.Bytes()))
	}
	return out
}

func readEntry(t *testing.T, line []byte) message.Message {
	t.Helper()
	var w struct {
		Role    message.Role
		Content []struct {
			Type, Text, ID, Name string
			Input                json.RawMessage
			ToolUseID            message.ToolUseID `json:"tool_use_id"`
			Content              json.RawMessage
			IsError              bool `json:"is_error"`
		}
	}
	if err := json.Unmarshal(line, &w); err != nil {
		t.Fatal(err)
	}
	m := message.Message{Role: w.Role}
	for _, b := range w.Content {
		switch b.Type {
		case "text":
			m.Content = append(m.Content, message.Text{Text: b.Text})
		case "tool_use":
			m.Content = append(m.Content, message.ToolUse{ID: message.ToolUseID(b.ID), Name: b.Name, Input: b.Input})
		case "tool_result":
			var text string
			if json.Unmarshal(b.Content, &text) != nil {
				var blocks []struct{ Text string }
				if err := json.Unmarshal(b.Content, &blocks); err != nil {
					t.Fatal(err)
				}
				for _, inner := range blocks {
					text += inner.Text
				}
			}
			if strings.TrimSpace(text) == "" {
				text = "(no output)"
			}
			m.Content = append(m.Content, message.ToolResult{ToolUseID: b.ToolUseID, IsError: b.IsError, Content: []message.Block{message.Text{Text: text}}})
		}
	}
	return m
}

// maxReplayed bounds a conversation here: every request repeats all before it, and the
// rules that can break do so early.
const maxReplayed = 80

// Real conversations, answered as they were and with thinking before every call, are
// sent without a broken rule.
func TestTranscripts(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(testenv.Transcripts(t), "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			replay(t, readTranscript(t, path))
		})
	}
}

func replay(t *testing.T, tr transcript) {
	t.Helper()
	s := fake.New(fake.Options{ThinkBeforeTools: true, WindowTokens: 10_000_000})
	c := dial(t, s)
	req := &llm.Request{Model: "claude-opus-5-5", System: tr.system, Tools: tr.tools, MaxOutputTokens: 8000, Thinking: llm.ThinkingMedium}
	for i, m := range tr.messages[:min(len(tr.messages), maxReplayed)] {
		if m.Role != message.RoleAssistant {
			req.Messages = append(req.Messages, m)
			continue
		}
		var blocks []fake.Block
		for _, b := range m.Content {
			switch b := b.(type) {
			case message.Text:
				blocks = append(blocks, fake.Text(b.Text))
			case message.ToolUse:
				blocks = append(blocks, fake.ToolUse(string(b.ID), b.Name, string(b.Input)))
			case message.Image, message.Thinking, message.ToolResult:
			}
		}
		s.Script(fake.Say(blocks...))
		resp, err := c.Stream(t.Context(), req, none)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		req.Messages = append(req.Messages, message.Message{Role: m.Role, Content: resp.Content})
	}
	if n := len(s.Rejected()); n > 0 {
		t.Errorf("%d requests were rejected", n)
	}
}
