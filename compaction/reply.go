package compaction

import (
	"strings"
)

// Reply is what came back from a summary call. Only text that the model wrote as its
// answer counts; its thinking is no summary.
type Reply struct {
	Text      string
	ToolCalls int
	// CutByLength: the model stopped because its output or its window was full.
	CutByLength bool
	// Failure is the class of an error, empty if there was an answer. See [ClassOverflow].
	Failure string
}

// The classes of a summary that could not be had, besides those of the provider's
// errors, which are passed through.
const (
	ClassOverflow  = "overflow" // the request was too large for the summariser
	ClassEmpty     = "empty"
	ClassToolCall  = "tool_call"
	ClassCutOff    = "cut_off"
	ClassErrorText = "error_text" // the text of an error instead of a summary
	ClassSections  = "sections"   // a required section is missing or empty
)

// accept returns the summary in a reply, or the class of what is wrong with it. With an
// instruction of the user's own, the text may have any form.
func accept(r Reply, custom bool) (body, class string) {
	switch {
	case r.Failure != "":
		return "", r.Failure
	case r.ToolCalls > 0:
		return "", ClassToolCall
	}
	body = strings.TrimSpace(unwrapSummary(stripScratch(r.Text)))
	switch {
	case body == "" && r.CutByLength:
		return "", ClassCutOff
	case body == "":
		return "", ClassEmpty
	case looksLikeCall(body):
		return "", ClassToolCall
	case r.CutByLength:
		return "", ClassCutOff
	case looksLikeError(body):
		return "", ClassErrorText
	}
	if custom {
		return body, ""
	}
	sections := parseSections(body)
	if !inForm(sections) {
		return "", ClassSections
	}
	return joinSections(withoutLedger(sections)), ""
}

// stripScratch removes what a model writes for itself before an answer. A scratch block
// that never ends takes everything after it.
func stripScratch(text string) string {
	for _, tag := range []string{"think", "thinking", "analysis", "scratchpad", "reasoning"} {
		for {
			start := indexFold(text, "<"+tag+">")
			if start < 0 {
				break
			}
			end := indexFold(text[start:], "</"+tag+">")
			if end < 0 {
				text = text[:start]
				break
			}
			text = text[:start] + text[start+end+len("</"+tag+">"):]
		}
		// A reply may begin inside the block, its opening having been part of the prompt.
		if end := indexFold(text, "</"+tag+">"); end >= 0 {
			text = text[end+len("</"+tag+">"):]
		}
	}
	return text
}

// unwrapSummary returns what stands between summary tags, if the whole text is wrapped.
func unwrapSummary(text string) string {
	for _, tag := range []string{"summary", summaryTag} {
		t := strings.TrimSpace(text)
		if open := "<" + tag + ">"; len(t) >= len(open) && strings.EqualFold(t[:len(open)], open) {
			t = t[len(open):]
			if end := indexFold(t, "</"+tag+">"); end >= 0 {
				t = t[:end]
			}
			return t
		}
	}
	return text
}

// indexFold finds an ASCII word in any case.
func indexFold(text, word string) int {
	for i := 0; i+len(word) <= len(text); i++ {
		next := strings.IndexByte(text[i:], word[0])
		if next < 0 {
			return -1
		}
		if i += next; i+len(word) <= len(text) && strings.EqualFold(text[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}

// looksLikeCall reports whether a line of the text, code aside, begins like the markup
// of a tool call in one of the known dialects.
func looksLikeCall(text string) bool {
	marks := []string{
		"<tool_call", "<tool_use", "<function_call", "<function=", "<invoke ", "<|tool_call", "<|python_tag|>",
		"<｜tool", "[tool_calls]", "[tool_call]", "<antml", "<parameter ",
	}
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		for _, m := range marks {
			if len(line) >= len(m) && strings.EqualFold(line[:len(m)], m) {
				return true
			}
		}
	}
	return false
}

// maxErrorTextBytes bounds what is taken for the text of an error: those are short.
const maxErrorTextBytes = 600

// looksLikeError reports whether a short text is an error or a refusal that came as an
// answer.
func looksLikeError(text string) bool {
	if len(text) > maxErrorTextBytes {
		return false
	}
	if strings.HasPrefix(text, "{") && indexFold(text, `"error"`) >= 0 {
		return true
	}
	for _, start := range []string{
		"error:", "error code", "error 4", "error 5", "api error", "internal server error", "service unavailable", "bad gateway", "request failed",
		"prompt is too long", "rate limit", "overloaded", "an error occurred", "i'm sorry, but", "i am sorry, but",
		"i'm unable to", "i cannot ", "i can't ", "sorry, i ",
	} {
		if len(text) >= len(start) && strings.EqualFold(text[:len(start)], start) {
			return true
		}
	}
	return false
}
