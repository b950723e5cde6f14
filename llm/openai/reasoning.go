package openai

import (
	"encoding/json"
	"strings"

	"sessiond/message"
)

// The members in which servers send reasoning and take it back.
const (
	memberReasoningContent = "reasoning_content" // DeepSeek, Kimi, llama.cpp, vLLM
	memberReasoning        = "reasoning"         // OpenRouter, Ollama, LM Studio, vLLM since 0.12
	memberDetails          = "reasoning_details" // OpenRouter: signed pieces
)

// reasoning collects what has to go back to the server that sent it.
type reasoning struct {
	member  string // where the text came
	text    strings.Builder
	details []map[string]json.RawMessage
}

// add takes the reasoning of one delta and returns its text. A server that sends the
// same text in two members means it once.
func (r *reasoning) add(d *delta) string {
	r.addDetails(d.ReasoningDetails)
	member, text := memberReasoningContent, string(d.ReasoningContent)
	if text == "" {
		member, text = memberReasoning, string(d.Reasoning)
	}
	if text != "" && r.member == "" {
		r.member = member
	}
	r.text.WriteString(text)
	return text
}

// addDetails joins pieces of one detail: those next to each other of the same type and
// number whose text goes on.
func (r *reasoning) addDetails(pieces []json.RawMessage) {
	for _, raw := range pieces {
		var piece map[string]json.RawMessage
		if json.Unmarshal(raw, &piece) != nil || piece == nil {
			continue
		}
		if n := len(r.details); n > 0 && goesOn(r.details[n-1], piece) {
			join(r.details[n-1], piece)
			continue
		}
		r.details = append(r.details, piece)
	}
}

func goesOn(last, piece map[string]json.RawMessage) bool {
	switch textOf(piece["type"]) {
	case "reasoning.text", "reasoning.summary":
		return string(last["type"]) == string(piece["type"]) && string(last["index"]) == string(piece["index"])
	}
	return false
}

func join(last, piece map[string]json.RawMessage) {
	for name, value := range piece {
		switch name {
		case "text", "summary":
			last[name] = message.AppendString(nil, textOf(last[name])+textOf(value))
		default:
			if string(value) != "null" {
				last[name] = value
			}
		}
	}
}

// raw is the value kept with the thinking block: an object whose members an assistant
// message gets when it is sent back.
func (r *reasoning) raw() []byte {
	raw := []byte{'{'}
	if r.member != "" {
		raw = append(raw, `"`+r.member+`":`...)
		raw = message.AppendString(raw, r.text.String())
	}
	if details, err := json.Marshal(r.details); err == nil && len(r.details) > 0 {
		if len(raw) > 1 {
			raw = append(raw, ',')
		}
		raw = append(raw, `"`+memberDetails+`":`...)
		raw = append(raw, details...)
	}
	if len(raw) == 1 {
		return nil
	}
	return append(raw, '}')
}
