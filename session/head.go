package session

import (
	"strings"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/message"
)

// head is what stands before the conversation in every request made with some settings,
// and what it costs. It is made once for each version of the settings.
type head struct {
	of         *Settings
	system     string
	tools      []llm.Tool
	digest     string // of the model, the system prompt and the tools
	systemCost int    // raw tokens
	toolsCost  int
	registered compaction.Tools
	agent      *compaction.Attachment // the text of AGENT.md, or nil
}

// headOf returns the head of the requests that are made with settings.
func (a *actor) headOf(s *Settings) *head {
	if a.heads.of == s {
		return &a.heads
	}
	h := head{of: s, system: s.systemPrompt(a.m.opts.SystemPrompt), tools: s.modelTools(a.m.builtinTools())}
	parts := []string{s.Model, h.system}
	for _, tool := range h.tools {
		parts = append(parts, tool.Name, tool.Description, string(tool.InputSchema))
	}
	h.digest = digestOf(parts...)
	h.systemCost = a.countOnce("system", h.system)
	h.toolsCost = a.countOnce("tools", toolsText(h.tools))
	h.registered = a.m.planner.Tools(s.registrations())
	if s.AgentPrompt != "" {
		text := message.Wrap("agent_prompt", s.AgentPrompt)
		h.agent = &compaction.Attachment{
			Kind: compaction.AttachAgentPrompt, Version: digestOf(text), Text: text,
			Tokens: a.countOnce(string(compaction.AttachAgentPrompt), text),
		}
	}
	a.heads = h
	return &a.heads
}

// registrations are what compaction has to know of the tools.
func (s *Settings) registrations() []compaction.Tool {
	tools := make([]compaction.Tool, len(s.Tools))
	for i, t := range s.Tools {
		tools[i] = compaction.Tool{Name: t.Name, Cleanable: t.Cleanable, Reads: t.Reads}
	}
	return tools
}

// toolsText is what the tools cost, as one text. Providers add words of their own, which
// the calibration finds out.
func toolsText(tools []llm.Tool) string {
	var b strings.Builder
	for _, t := range tools {
		b.WriteString(t.Name)
		b.WriteByte('\n')
		b.WriteString(t.Description)
		b.WriteByte('\n')
		b.Write(t.InputSchema)
		b.WriteByte('\n')
	}
	return b.String()
}
