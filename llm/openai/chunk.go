package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"sessiond/message"
)

// chunk is one event of a stream, or a whole answer of a server that does not stream.
// What servers spell in different ways stays raw until it is looked at, so that one
// odd member does not lose the rest.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        delta           `json:"delta"`
	Message      *delta          `json:"message"` // instead of Delta in an answer that is not streamed
	FinishReason string          `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
	Usage        *usage          `json:"usage"` // Kimi
}

type delta struct {
	Content          looseText         `json:"content"`
	Refusal          string            `json:"refusal"`
	ReasoningContent looseText         `json:"reasoning_content"`
	Reasoning        looseText         `json:"reasoning"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []callDelta       `json:"tool_calls"`
}

type callDelta struct {
	Index    *int      `json:"index"`
	ID       looseText `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string, an object or null
	} `json:"function"`
}

// looseText is a string, a number, null, or a list of parts of which the text counts.
type looseText string

func (t *looseText) UnmarshalJSON(raw []byte) error {
	*t = looseText(textOf(raw))
	return nil
}

// textOf reads the text out of a JSON value that is meant to be one.
func textOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	case '[':
		var parts []struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &parts) == nil {
			var b strings.Builder
			for _, p := range parts {
				b.WriteString(p.Text)
			}
			return b.String()
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return string(raw)
	}
	return ""
}

// usage is the union of the layouts. The prompt includes what was cached.
type usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`

	PromptDetails struct {
		CachedTokens     int64 `json:"cached_tokens"`
		CacheWriteTokens int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`

	CachedTokens         int64   `json:"cached_tokens"`           // Kimi
	PromptCacheHitTokens int64   `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cost                 float64 `json:"cost"`                    // OpenRouter, in US dollars
}

// normal turns the provider's count into one whose parts add up. Cache writes have one
// lifetime here and count as the short one.
func (u *usage) normal() message.Usage {
	prompt := max(u.PromptTokens, 0)
	read := min(max(u.PromptDetails.CachedTokens, u.CachedTokens, u.PromptCacheHitTokens, 0), prompt)
	write := min(max(u.PromptDetails.CacheWriteTokens, 0), prompt-read)
	// Some leave the reasoning out of the completion but not out of the total.
	output := max(u.CompletionTokens, u.TotalTokens-prompt, 0)
	return message.Usage{
		Input:        prompt - read - write,
		Output:       output,
		CacheRead:    read,
		CacheWrite5m: write,
		Reasoning:    min(max(u.CompletionDetails.ReasoningTokens, 0), output),
		CostUSD:      max(u.Cost, 0),
	}
}
