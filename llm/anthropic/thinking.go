package anthropic

import (
	"fmt"

	"sessiond/llm"
	"sessiond/message"
)

const (
	minBudget = 1024 // the least that manual thinking takes
	roomToSay = 1024 // what a budget leaves for the answer
)

// thinkingMembers returns the members of a request that set how much a model thinks.
// A model is never sent a kind that it refuses; what it can't do is done as nearly as
// it can.
func thinkingMembers(req *llm.Request, about model, maxTokens int64) string {
	switch req.Thinking {
	case llm.ThinkingDefault:
		return ""
	case llm.ThinkingOff:
		switch {
		case about.off:
			return `,"thinking":{"type":"disabled"}`
		case about.betweenTools:
			return `,"thinking":{"type":"between_tools"}`
		}
		return about.effort(llm.ThinkingLow) // it always thinks: as little as it can
	case llm.ThinkingLow, llm.ThinkingMedium, llm.ThinkingHigh, llm.ThinkingXHigh, llm.ThinkingMax:
	}
	switch {
	case about.adaptive:
		return `,"thinking":{"type":"adaptive","display":"summarized"}` + about.effort(req.Thinking)
	case about.manual:
		return manualThinking(req, maxTokens)
	}
	return ""
}

// effort returns the member for the highest effort of the model that is not over the
// level, else for the lowest it has.
func (m model) effort(level llm.ThinkingLevel) string {
	if len(m.efforts) == 0 {
		return ""
	}
	best := m.efforts[0]
	for _, has := range m.efforts {
		if rank(has) <= rank(level) {
			best = has
		}
	}
	return fmt.Sprintf(`,"output_config":{"effort":"%s"}`, best)
}

func rank(level llm.ThinkingLevel) int {
	switch level {
	case llm.ThinkingLow:
		return 1
	case llm.ThinkingMedium:
		return 2
	case llm.ThinkingHigh:
		return 3
	case llm.ThinkingXHigh:
		return 4
	case llm.ThinkingMax:
		return 5
	case llm.ThinkingDefault, llm.ThinkingOff:
	}
	return 0
}

// manualThinking gives a budget, where it fits and the conversation allows it: in the
// middle of a tool loop the last answer has to begin with thinking, or the request is
// refused, so a turn that began without goes on without.
func manualThinking(req *llm.Request, maxTokens int64) string {
	budgets := []int64{0, 2 << 10, 8 << 10, 16 << 10, 32 << 10, 32 << 10} // by rank
	budget := min(budgets[rank(req.Thinking)], maxTokens-roomToSay)
	if budget < minBudget || !startsWithThinking(req.Messages) {
		return ""
	}
	return fmt.Sprintf(`,"thinking":{"type":"enabled","budget_tokens":%d}`, budget)
}

// startsWithThinking reports whether the last answer, if it called tools, begins with
// thinking that will be sent.
func startsWithThinking(messages []message.Message) bool {
	end := len(messages)
	for end > 0 && messages[end-1].Role != message.RoleAssistant {
		end--
	}
	start := end
	for start > 0 && messages[start-1].Role == message.RoleAssistant {
		start--
	}
	var turn []message.Block // neighbours of one role count as one
	for i := range messages[start:end] {
		for _, b := range messages[start+i].Content {
			if sendable(b) {
				turn = append(turn, b)
			}
		}
	}
	if len(turn) == 0 {
		return true
	}
	if _, ok := turn[0].(message.Thinking); ok {
		return true
	}
	for _, b := range turn {
		if _, ok := b.(message.ToolUse); ok {
			return false
		}
	}
	return true
}
