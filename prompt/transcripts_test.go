package prompt_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sessiond/llm"
	"sessiond/llm/llmtest/openaifake"
	"sessiond/message"
	"sessiond/prompt"
)

// Real conversations are clean: nothing is repaired, and the strict fake takes every
// request that is made of them.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("../../shared/transcripts/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no transcripts next to the repository")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			tools, msgs := transcript(t, file)
			fake := openaifake.New(openaifake.Options{Answer: func(*openaifake.Request) openaifake.Step { return openaifake.Text("ok") }})
			c := clientOf(t, fake, "openai")
			var ends []int // of what is sent for each answer
			for i := range msgs {
				if msgs[i].Role == message.RoleUser {
					ends = append(ends, i+1)
				}
			}
			for i, n := range ends {
				// What is sent only grows, and a repair looks back only: the whole, the
				// half and the beginning stand for all.
				if i != 0 && i != len(ends)/2 && i != len(ends)-1 {
					continue
				}
				req, repairs := prompt.Build(llm.Request{Model: "gpt-4.1", Tools: tools, Messages: msgs[:n]})
				if len(repairs) > 0 {
					t.Fatalf("%d messages: %v", n, repairs)
				}
				if _, err := c.Stream(t.Context(), req, func(llm.Delta) {}); err != nil {
					t.Fatalf("%d messages: %v", n, err)
				}
			}
			if rejected := fake.Rejected(); len(ends) == 0 || len(rejected) > 0 {
				t.Errorf("%d requests, rejected %v", len(ends), rejected)
			}
		})
	}
}

// transcript reads a recorded conversation. A tool that said nothing has a result
// without content.
func transcript(tb testing.TB, file string) ([]llm.Tool, []message.Message) {
	tb.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	var head struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage `json:"input_schema"`
		}
	}
	if err := json.Unmarshal(lines[0], &head); err != nil {
		tb.Fatal(err)
	}
	var tools []llm.Tool
	for _, tool := range head.Tools {
		tools = append(tools, llm.Tool{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema})
	}
	var msgs []message.Message
	for _, line := range lines[1:] {
		var m struct {
			Role    message.Role
			Content []struct {
				Type, Text, Name string
				ID               message.ToolUseID
				ToolUseID        message.ToolUseID `json:"tool_use_id"`
				Input, Content   json.RawMessage
				IsError          bool `json:"is_error"`
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			tb.Fatal(err)
		}
		out := message.Message{Role: m.Role}
		for _, b := range m.Content {
			switch b.Type {
			case "text":
				out.Content = append(out.Content, message.Text{Text: b.Text})
			case "tool_use":
				out.Content = append(out.Content, message.ToolUse{ID: b.ID, Name: b.Name, Input: b.Input})
			case "tool_result":
				out.Content = append(out.Content, message.ToolResult{ToolUseID: b.ToolUseID, IsError: b.IsError, Content: recordedResult(tb, b.Content)})
			default:
				tb.Fatalf("block of type %q", b.Type)
			}
		}
		msgs = append(msgs, out)
	}
	return tools, msgs
}

func recordedResult(tb testing.TB, raw json.RawMessage) []message.Block {
	tb.Helper()
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if len(bytes.TrimSpace([]byte(text))) == 0 {
			return nil
		}
		return []message.Block{message.Text{Text: text}}
	}
	content, err := message.DecodeBlocks(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}
