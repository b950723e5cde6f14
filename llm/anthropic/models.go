package anthropic

import (
	"strings"

	"sessiond/llm"
)

// model is what is known about a model, for callers and for writing its requests.
type model struct {
	llm.Capabilities
	adaptive, manual, off, betweenTools bool                // accepted kinds of thinking
	efforts                             []llm.ThinkingLevel // accepted efforts, lowest first
}

const (
	million = 1_000_000
	k128    = 128_000
	k200    = 200_000
	k64     = 64_000

	// maxBodyBytes is what the service takes of a request, encoded (rule 1.25).
	maxBodyBytes = 32_000_000

	// Token ratios to o200k_base, by generation of the tokenizer.
	ratioNew = 1.6
	ratioOld = 1.25
)

// tabled returns what the documentation says about a model. It stands in where the
// models endpoint does not answer, and for what that endpoint does not tell. Of a
// model that is not there nothing is assumed but that its thinking is bound to its
// prefix.
func tabled(name string) model {
	name = llm.BaseModel(name)
	all := []llm.ThinkingLevel{llm.ThinkingLow, llm.ThinkingMedium, llm.ThinkingHigh, llm.ThinkingXHigh, llm.ThinkingMax}
	m := model{
		Capabilities: llm.Capabilities{
			WindowTokens: million, MaxOutputTokens: k128, MaxBodyBytes: maxBodyBytes, Images: true, ThinkingBound: true, CacheMinTokens: 1024, TokenRatio: ratioNew,
		},
		adaptive: true, efforts: all,
	}
	older := func() {
		m.ThinkingBound, m.TokenRatio, m.manual, m.off = false, ratioOld, true, true
	}
	switch name {
	case "claude-fable-5-2", "claude-fable-5-1", "claude-mythos-5-2", "claude-mythos-5-1", "claude-opus-5-5":
	case "claude-sonnet-5-5":
		m.betweenTools = true
	case "claude-haiku-5-5":
		m.off = true
	case "claude-fable-5", "claude-mythos-5":
		m.ThinkingBound, m.CacheMinTokens = false, 512
	case "claude-opus-5":
		m.ThinkingBound, m.CacheMinTokens, m.off = false, 512, true
	case "claude-sonnet-5", "claude-opus-4-8":
		m.ThinkingBound, m.off = false, true
	case "claude-opus-4-7":
		m.ThinkingBound, m.off, m.CacheMinTokens = false, true, 2048
	case "claude-opus-4-6", "claude-sonnet-4-6":
		older()
		m.efforts = []llm.ThinkingLevel{llm.ThinkingLow, llm.ThinkingMedium, llm.ThinkingHigh, llm.ThinkingMax}
		if name == "claude-opus-4-6" {
			m.CacheMinTokens = 4096
		}
	case "claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5":
		older()
		m.WindowTokens, m.MaxOutputTokens, m.adaptive, m.efforts = k200, k64, false, nil
		if name != "claude-sonnet-4-5" {
			m.CacheMinTokens = 4096
		}
	default:
		return unknownModel(name)
	}
	return m
}

func unknownModel(name string) model {
	m := model{Capabilities: llm.Capabilities{ThinkingBound: true, Images: true}}
	if strings.HasPrefix(name, "claude-") {
		m.WindowTokens, m.MaxOutputTokens, m.MaxBodyBytes, m.TokenRatio = k200, k64, maxBodyBytes, ratioNew
	}
	return m
}
