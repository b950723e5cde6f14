package anthropic

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"sessiond/llm"
	"sessiond/message"
)

// encoder writes the body of a request.
type encoder struct {
	dst   []byte
	marks map[markPlace]time.Duration
}

// encode writes a request for a model. It fails where the request can't be written as
// JSON that means the same: a tool's input or schema that is no JSON object.
func encode(req *llm.Request, about model) ([]byte, error) {
	e := &encoder{marks: placeMarks(req)}
	maxTokens := outputLimit(req, about)
	e.raw(`{"model":`)
	e.text(req.Model)
	e.raw(`,"max_tokens":` + strconv.FormatInt(maxTokens, 10) + `,"stream":true`)
	if err := e.tools(req); err != nil {
		return nil, err
	}
	if req.System != "" {
		e.raw(`,"system":[{"type":"text","text":`)
		e.text(req.System)
		e.mark(preamblePlace())
		e.raw(`}]`)
	}
	if req.ToolChoice == llm.ToolChoiceNone && len(req.Tools) > 0 {
		e.raw(`,"tool_choice":{"type":"none"}`)
	}
	e.raw(thinkingMembers(req, about, maxTokens))
	if err := e.messages(req.Messages); err != nil {
		return nil, err
	}
	return append(e.dst, '}'), nil
}

const defaultOutputTokens = 8192

// outputLimit is what is asked for, at most what the model gives.
func outputLimit(req *llm.Request, about model) int64 {
	limit := int64(req.MaxOutputTokens)
	if limit <= 0 {
		limit = defaultOutputTokens
	}
	if about.MaxOutputTokens > 0 {
		limit = min(limit, about.MaxOutputTokens)
	}
	return limit
}

func (e *encoder) raw(s string)  { e.dst = append(e.dst, s...) }
func (e *encoder) text(s string) { e.dst = message.AppendString(e.dst, s) }

// mark writes the cache marker of a place, if it has one.
func (e *encoder) mark(place markPlace) {
	ttl, ok := e.marks[place]
	if !ok {
		return
	}
	if ttl > llm.CacheShort {
		e.raw(`,"cache_control":{"type":"ephemeral","ttl":"1h"}`)
		return
	}
	e.raw(`,"cache_control":{"type":"ephemeral"}`)
}

func (e *encoder) tools(req *llm.Request) error {
	for i, t := range req.Tools {
		if !isObject(t.InputSchema) {
			return fmt.Errorf("the input schema of tool %s is no JSON object", t.Name)
		}
		if i == 0 {
			e.raw(`,"tools":[`)
		} else {
			e.raw(`,`)
		}
		e.raw(`{"name":`)
		e.text(t.Name)
		if t.Description != "" {
			e.raw(`,"description":`)
			e.text(t.Description)
		}
		e.raw(`,"input_schema":`)
		e.dst = append(e.dst, t.InputSchema...)
		if i == len(req.Tools)-1 && req.System == "" { // else the mark stands on the system prompt
			e.mark(preamblePlace())
		}
		e.raw(`}`)
	}
	if len(req.Tools) > 0 {
		e.raw(`]`)
	}
	return nil
}

func (e *encoder) messages(messages []message.Message) error {
	e.raw(`,"messages":[`)
	first := true
	for i := range messages {
		m := &messages[i]
		start := len(e.dst)
		if !first {
			e.raw(`,`)
		}
		e.raw(`{"role":`)
		e.text(string(m.Role))
		e.raw(`,"content":[`)
		written, err := e.content(m.Content, i)
		if err != nil {
			return err
		}
		if !written { // nothing of it can be sent
			e.dst = e.dst[:start]
			continue
		}
		e.raw(`]}`)
		first = false
	}
	e.raw(`]`)
	return nil
}

// content writes the blocks of message i and reports whether there were any.
func (e *encoder) content(content []message.Block, i int) (bool, error) {
	written := false
	for j, b := range content {
		if !sendable(b) {
			continue
		}
		if written {
			e.raw(`,`)
		}
		written = true
		if err := e.block(b, markPlace{i, j}); err != nil {
			return false, err
		}
	}
	return written, nil
}

// sendable reports whether the API takes a block: it refuses empty texts, and knows
// nothing of what another provider's model thought.
func sendable(b message.Block) bool {
	switch b := b.(type) {
	case message.Text:
		return b.Text != ""
	case message.Thinking:
		return b.Provider == Provider && json.Valid(b.Raw)
	case message.Image, message.ToolUse, message.ToolResult:
	}
	return true
}

func (e *encoder) block(b message.Block, place markPlace) error {
	switch b := b.(type) {
	case message.Thinking: // as it came, and never with a mark
		e.dst = append(e.dst, b.Raw...)
		return nil
	case message.Text:
		e.raw(`{"type":"text","text":`)
		e.text(b.Text)
	case message.Image:
		e.raw(`{"type":"image","source":{"type":"base64","media_type":`)
		e.text(b.MimeType)
		e.raw(`,"data":`)
		e.text(b.Data)
		e.raw(`}`)
	case message.ToolUse:
		if !isObject(b.Input) {
			return fmt.Errorf("the input of tool call %s is no JSON object", b.ID)
		}
		e.raw(`{"type":"tool_use","id":`)
		e.text(string(b.ID))
		e.raw(`,"name":`)
		e.text(b.Name)
		e.raw(`,"input":`)
		e.dst = append(e.dst, b.Input...)
	case message.ToolResult:
		e.raw(`{"type":"tool_result","tool_use_id":`)
		e.text(string(b.ToolUseID))
		if err := e.result(b.Content); err != nil {
			return err
		}
		if b.IsError {
			e.raw(`,"is_error":true`)
		}
	}
	e.mark(place)
	e.raw(`}`)
	return nil
}

// result writes the content of a tool result, which may be left out.
func (e *encoder) result(content []message.Block) error {
	start := len(e.dst)
	e.raw(`,"content":[`)
	unmarked := -2 // no message has this index, so no mark can be meant
	written, err := e.content(content, unmarked)
	if err != nil {
		return err
	}
	if !written {
		e.dst = e.dst[:start]
		return nil
	}
	e.raw(`]`)
	return nil
}

func isObject(raw []byte) bool {
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == '{' && json.Valid(raw)
	}
	return false
}
