package openaifake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	maxMessages  = 100_000
	maxToolCalls = 128
	maxIDBytes   = 40
)

// pairing follows tool calls and their answers through the messages.
type pairing struct {
	at       int // index of the assistant message that called, -1 if none is open
	ids      []string
	answered map[string]bool
}

func (s *Server) checkMessages(top map[string]json.RawMessage, p *parsed) *apiError {
	raw, given := top["messages"]
	if !given {
		return invalid("messages", "messages", "missing_required_parameter", "Missing required parameter: 'messages'.")
	}
	list, err := array(raw, "messages", maxMessages)
	if err != nil {
		return err
	}
	pair := &pairing{at: -1}
	before := "" // the last user or assistant role
	for i, raw := range list {
		at := fmt.Sprintf("messages[%d]", i)
		m, err := s.checkMessage(raw, at, p)
		if err != nil {
			return err
		}
		if err := pair.next(i, m); err != nil {
			return err
		}
		if s.opts.Alternate && (m.Role == "user" || m.Role == "assistant") {
			if m.Role == before || before == "" && m.Role != "user" {
				return invalid("alternate", "messages", "",
					"Conversation roles must alternate user/assistant/user/assistant/...")
			}
			before = m.Role
		}
		if m.Role == "tool" { // after results either may speak
			before = m.Role
		}
		if s.opts.RequireReasoning && len(m.Calls) > 0 && m.Reasoning == nil {
			return invalid("8.15", "", kindInvalid, "The `reasoning_content` in the thinking mode must be passed back to the API.")
		}
		p.messages = append(p.messages, *m)
	}
	return pair.close()
}

// next checks that results stand where they belong (rule 8.2).
func (pair *pairing) next(i int, m *Message) *apiError {
	if m.Role != "tool" {
		if err := pair.close(); err != nil {
			return err
		}
		if len(m.Calls) > 0 {
			pair.at, pair.answered, pair.ids = i, map[string]bool{}, nil
			for _, c := range m.Calls {
				pair.ids = append(pair.ids, c.ID)
			}
		}
		return nil
	}
	switch {
	case pair.at < 0:
		return invalid("8.2", fmt.Sprintf("messages.[%d].role", i), "",
			"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.") //nolint:misspell // their spelling
	case !slices.Contains(pair.ids, m.ToolCallID):
		return invalid("8.2", fmt.Sprintf("messages.[%d].tool_call_id", i), "",
			"Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", m.ToolCallID)
	case pair.answered[m.ToolCallID]:
		return invalid("8.2", fmt.Sprintf("messages.[%d].tool_call_id", i), "",
			"Invalid parameter: Duplicate value for 'tool_call_id' of '%s'.", m.ToolCallID)
	}
	pair.answered[m.ToolCallID] = true
	return nil
}

// close ends a tool round: every call must have its answer.
func (pair *pairing) close() *apiError {
	if pair.at < 0 {
		return nil
	}
	var missing []string
	for _, id := range pair.ids {
		if !pair.answered[id] {
			missing = append(missing, id)
		}
	}
	at := pair.at
	pair.at = -1
	if len(missing) == 0 {
		return nil
	}
	return invalid("8.2", fmt.Sprintf("messages.[%d].role", at), "",
		"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
		strings.Join(missing, ", "))
}

func (s *Server) checkMessage(raw json.RawMessage, at string, p *parsed) (*Message, *apiError) {
	m, ok := members(raw)
	if !ok {
		return nil, wrongType(at, "an object", raw)
	}
	role, _ := text(m["role"])
	known := []string{"role", "content", "name"}
	switch role {
	case "user", "system", "developer":
	case "assistant":
		known = append(known, "tool_calls", "refusal", "audio")
		if s.opts.RequireReasoning || s.opts.AllowReasoning {
			known = append(known, "reasoning_content", "reasoning", "reasoning_details")
		}
	case "tool":
		known = append(known, "tool_call_id")
	default:
		return nil, invalid("messages", at+".role", "invalid_value",
			"Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
	}
	if name, bad := unknownMember(m, known); bad {
		return nil, invalid("unknown", at+"."+name, "unknown_parameter", "Unknown parameter: '%s.%s'.", at, name)
	}
	out := &Message{Role: role}
	p.units = append(p.units, unit{key: "role " + role, tokens: messageTokens})
	if err := s.checkCalls(m["tool_calls"], at+".tool_calls", out, p); err != nil {
		return nil, err
	}
	if err := s.checkContent(m["content"], at+".content", out, p); err != nil {
		return nil, err
	}
	if role == "tool" {
		id, ok := text(m["tool_call_id"])
		if !ok || id == "" {
			return nil, invalid("8.2", at+".tool_call_id", "missing_required_parameter", "Missing required parameter: '%s.tool_call_id'.", at)
		}
		out.ToolCallID = id
		p.units = append(p.units, unit{key: "answers " + id})
	}
	if reasoning, ok := text(m["reasoning_content"]); ok {
		out.Reasoning = &reasoning
		p.units = append(p.units, s.textUnits("reasoning", reasoning)...)
	}
	return out, nil
}

// checkCalls reads the calls of an assistant message.
func (s *Server) checkCalls(raw json.RawMessage, at string, out *Message, p *parsed) *apiError {
	if raw == nil {
		return nil
	}
	list, err := array(raw, at, maxToolCalls)
	if err != nil {
		return err
	}
	for i, raw := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		c, err := checkCall(raw, at)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(out.Calls, func(o Call) bool { return o.ID == c.ID }) {
			return invalid("8.2", at+".id", "invalid_value", "Duplicate tool call id '%s'.", c.ID)
		}
		out.Calls = append(out.Calls, *c)
		p.units = append(p.units, s.textUnits("call "+c.ID+" "+c.Name, c.Arguments)...)
	}
	return nil
}

func checkCall(raw json.RawMessage, at string) (*Call, *apiError) {
	m, ok := members(raw)
	if !ok {
		return nil, wrongType(at, "an object", raw)
	}
	id, _ := text(m["id"])
	switch kind, _ := text(m["type"]); {
	case id == "":
		return nil, invalid("8.2", at+".id", "missing_required_parameter", "Missing required parameter: '%s.id'.", at)
	case len(id) > maxIDBytes:
		return nil, invalid("8.2", at+".id", "string_above_max_length",
			"Invalid '%s.id': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", at, maxIDBytes, len(id))
	case kind != "function":
		return nil, invalid("8.2", at+".type", "invalid_value", "Invalid value: '%s'. Supported values are: 'function' and 'custom'.", kind)
	}
	f, ok := members(m["function"])
	if !ok {
		return nil, invalid("8.2", at+".function", "missing_required_parameter", "Missing required parameter: '%s.function'.", at)
	}
	name, _ := text(f["name"])
	if err := checkName(name, at+".function.name"); err != nil {
		return nil, err
	}
	arguments, ok := text(f["arguments"])
	if !ok {
		return nil, wrongType(at+".function.arguments", "a string", f["arguments"])
	}
	// OpenAI does not look inside; servers that render a chat template from them do.
	if _, ok := members(json.RawMessage(arguments)); !ok {
		return nil, invalid("1.16", at+".function.arguments", "invalid_value", "Invalid '%s.function.arguments': not a JSON object.", at)
	}
	return &Call{ID: id, Name: name, Arguments: arguments}, nil
}

// checkContent reads a message's content: a string, or parts; null only where an
// assistant calls tools.
func (s *Server) checkContent(raw json.RawMessage, at string, out *Message, p *parsed) *apiError {
	if raw == nil || string(raw) == "null" {
		if out.Role == "assistant" && len(out.Calls) > 0 {
			return nil
		}
		return invalid("messages", at, "", "Invalid value for 'content': expected a string, got null.")
	}
	if words, ok := text(raw); ok {
		out.Text = words
		p.units = append(p.units, s.textUnits("text", words)...)
		return nil
	}
	parts, err := array(raw, at, maxMessages)
	if err != nil {
		return err
	}
	for i, raw := range parts {
		if err := s.checkPart(raw, fmt.Sprintf("%s[%d]", at, i), out, p); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) checkPart(raw json.RawMessage, at string, out *Message, p *parsed) *apiError {
	part, ok := members(raw)
	if !ok {
		return wrongType(at, "an object", raw)
	}
	switch kind, _ := text(part["type"]); kind {
	case "text":
		words, ok := text(part["text"])
		if !ok {
			return wrongType(at+".text", "a string", part["text"])
		}
		out.Text += words
		p.units = append(p.units, s.textUnits("text", words)...)
		return nil
	case "image_url":
		if out.Role != "user" {
			return invalid("messages", strings.TrimSuffix(at, "]"), "",
				"Invalid '%s'. Image URLs are only allowed for messages with role 'user', but this message with role '%s' contains an image URL.", at, out.Role)
		}
		image, _ := members(part["image_url"])
		url, ok := text(image["url"])
		if !ok {
			return invalid("messages", at+".image_url", "missing_required_parameter", "Missing required parameter: '%s.image_url.url'.", at)
		}
		out.Images++
		return checkImage(url, at, p)
	default:
		return invalid("messages", at, "invalid_value",
			"Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.", kind)
	}
}
