package llm

import (
	"regexp"
	"strconv"
	"strings"
)

// overflowTextBytes bounds how much of an error's text is looked at.
const overflowTextBytes = 16 << 10

// DetectOverflow reports whether a provider's error says that the request has more tokens
// than the model takes, and the limit it names, 0 if it names none. The limit is the
// provider's number as it stands: for most servers the window, answer included. A body
// that is refused for its bytes (413) is none, see [DetectOversize], unless the words
// speak of tokens.
//
// status is the HTTP status, or 0 for an error inside a stream; text is the message,
// with the error's type and code in front where it has them. A rate limit is never an
// overflow, whatever it says about tokens: waiting cures it and compaction does not.
func DetectOverflow(status int, text string) (limitTokens int64, ok bool) {
	if len(text) > overflowTextBytes {
		text = text[:overflowTextBytes]
	}
	switch status {
	case 0, 200, 400, 413, 422, 500:
	default:
		return 0, false
	}
	if regexp.MustCompile(notOverflow).MatchString(text) {
		return 0, false
	}
	for _, expr := range overflowTexts() {
		m := regexp.MustCompile(expr).FindStringSubmatch(text)
		if m == nil {
			continue
		}
		ok = true
		if limit := namedLimit(m[1:]); limit > 0 {
			return limit, true
		}
	}
	return 0, ok
}

// DetectOversize reports whether a provider's error says that a request's body has too
// many bytes. It is mostly a proxy in front of the service that says so, in words of its
// own; nothing follows from it for what the model takes in tokens. It is to be asked after
// [DetectOverflow]: some servers use the status for tokens, and then say so.
func DetectOversize(status int, text string) bool {
	if len(text) > overflowTextBytes {
		text = text[:overflowTextBytes]
	}
	if regexp.MustCompile(notOverflow).MatchString(text) {
		return false
	}
	switch status {
	case 413:
		return true
	case 0, 200, 400, 422, 500:
		return regexp.MustCompile(oversize).MatchString(text)
	}
	return false
}

// oversize matches what services say of a body that their proxy let through.
const oversize = `(?i)request_too_large|request_body_too_large|request exceeds the maximum size|(?:payload|request entity|request body|content) too large`

// notOverflow matches rate limits, whose texts also speak of tokens and limits and of
// shortening the prompt.
const notOverflow = `(?i)\brate[ _-]?limit|\bper (?:sec|min|hour|day)|too many requests|quota`

// overflowTexts returns an expression for each known way to say that a request is too
// long. A group holds the limit where the text has it. They are compiled when needed:
// an error is rare, a table of compiled expressions would be global.
func overflowTexts() []string {
	const n = `([\d,]+)`
	texts := []string{
		`prompt is too long(?:: [\d,]+ tokens > ` + n + `)?`,                               // Anthropic
		`exceed context limit(?:: [\d,]+ \+ [\d,]+ > ` + n + `)?`,                          // Anthropic before 4.5, output included
		`input is too long for requested model`,                                            // Bedrock
		`exceeds the context window`,                                                       // OpenAI Responses
		`maximum context length is ` + n,                                                   // OpenAI, vLLM, OpenRouter
		`exceed the configured limit of ` + n,                                              // OpenAI
		`reduce the length of the (?:input )?(?:messages|prompt)`,                          // OpenAI, Groq
		`'?max_(?:completion_)?tokens'? is too large: .*maximum context length`,            // vLLM, output included
		`exceeds the available context size(?: \(` + n + `)?`,                              // llama.cpp
		`exceed_context_size_error`,                                                        // llama.cpp
		`greater than the context length(?: \(.*n_ctx: ` + n + `)?`,                        // LM Studio
		`trying to keep the first [\d,]+ tokens(?:.*context length of only ` + n + `)?`,    // LM Studio
		`context size has been exceeded`,                                                   // LM Studio
		`prompt too long`,                                                                  // Ollama
		`exceeded (?:max )?context length`,                                                 // Ollama
		`input token count.*exceeds the maximum(?: number of tokens allowed \(` + n + `)?`, // Gemini
		`maximum prompt length is ` + n,                                                    // xAI
		`exceeded model token limit(?:: ` + n + `)?`,                                       // Kimi
		`too large for model with ` + n + ` maximum context length`,                        // Mistral
		`longer than the model's context length(?: \(` + n + `)?`,                          // Together
		`range of input length should be(?: \[\d+, ?` + n + `\])?`,                         // Qwen
		`context window exceeds limit`,                                                     // MiniMax
		`prompt exceeds max length`,                                                        // z.ai
		`context[_ ]length[_ ]exceeded`,                                                    // the error code of most
		`model_context_window_exceeded`,
		`token limit exceeded`,
	}
	for i := range texts {
		texts[i] = `(?is)` + texts[i]
	}
	return texts
}

// namedLimit reads the number that a group caught.
func namedLimit(groups []string) int64 {
	for _, g := range groups {
		if limit, err := strconv.ParseInt(strings.ReplaceAll(g, ",", ""), 10, 64); err == nil {
			return limit
		}
	}
	return 0
}
