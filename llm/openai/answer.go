package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"sessiond/llm"
	"sessiond/message"
)

// answer puts the pieces of a stream together and passes them on. An answer has at
// most one thinking and one text block, whatever the order of their pieces: the
// protocol keeps them in one member each. A block exists from its first character that
// is not white space; what white space came before it is held back until then.
type answer struct {
	emit  func(llm.Delta)
	order []piece // by block index

	thinking prose
	text     prose
	calls    calls
	came     reasoning

	finish  string // the finish_reason, empty until there is one
	refused bool
	usage   *usage
}

// piece is one block: exactly one of the two is set.
type piece struct {
	prose *prose
	call  *call
}

// prose is a text or thinking block in the making.
type prose struct {
	kind    llm.DeltaKind
	text    strings.Builder
	block   int // index in the answer, valid once shown
	shown   bool
	emitted int // bytes
}

func newAnswer(emit func(llm.Delta)) *answer {
	a := &answer{emit: emit}
	a.thinking.kind = llm.DeltaThinking
	a.text.kind = llm.DeltaText
	return a
}

// add takes one chunk.
func (a *answer) add(c *chunk) {
	if c.Usage != nil {
		a.usage = c.Usage
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if ch.Index != 0 {
			continue
		}
		d := &ch.Delta
		if ch.Message != nil {
			d = ch.Message
		}
		a.addDelta(d)
		if ch.Usage != nil {
			a.usage = ch.Usage
		}
		if ch.FinishReason != "" {
			a.finish = ch.FinishReason
		}
	}
}

func (a *answer) addDelta(d *delta) {
	a.show(&a.thinking, a.came.add(d))
	if len(d.ReasoningDetails) > 0 { // may be all there is of the reasoning
		a.begin(&a.thinking)
	}
	a.show(&a.text, string(d.Content))
	if d.Refusal != "" {
		a.refused = true
		a.show(&a.text, d.Refusal)
	}
	for i := range d.ToolCalls {
		c, isNew := a.calls.add(&d.ToolCalls[i])
		if isNew {
			c.block = len(a.order)
			a.order = append(a.order, piece{call: c})
		}
		if text := c.append(d.ToolCalls[i].Function.Arguments); text != "" {
			a.emit(llm.Delta{Block: c.block, Kind: llm.DeltaToolInput, Text: text})
		}
	}
}

func (a *answer) show(p *prose, text string) {
	if text == "" {
		return
	}
	p.text.WriteString(text)
	if p.emitted == 0 {
		if text = p.text.String(); strings.TrimSpace(text) == "" {
			return
		}
		a.begin(p)
	}
	p.emitted += len(text)
	a.emit(llm.Delta{Block: p.block, Kind: p.kind, Text: text})
}

// begin gives a block its place.
func (a *answer) begin(p *prose) {
	if !p.shown {
		p.shown = true
		p.block = len(a.order)
		a.order = append(a.order, piece{prose: p})
	}
}

// empty reports whether the model said nothing.
func (a *answer) empty() bool { return len(a.order) == 0 }

// response is the finished answer. Whether there are tool calls decides whether it is
// a tool turn; servers that stream "stop" for one are many.
func (a *answer) response(d *Dialect) *llm.Response {
	stop := stopReason(a.finish)
	cut := stop == llm.StopMaxTokens || stop == llm.StopContextWindow
	var content []message.Block
	called := false
	for _, p := range a.order {
		switch {
		case p.call != nil:
			if use, ok := p.call.toolUse(cut); ok {
				content = append(content, use)
				called = true
			}
		case p.prose == &a.thinking:
			th := message.Thinking{Provider: d.Name, Text: p.prose.text.String()}
			if d.reasoning != returnNothing {
				th.Raw = a.came.raw()
			}
			content = append(content, th)
		default:
			content = append(content, message.Text{Text: p.prose.text.String()})
		}
	}
	switch {
	case called && stop == llm.StopEnd:
		stop = llm.StopToolUse
	case !called && stop == llm.StopToolUse:
		stop = llm.StopEnd
	}
	if a.refused && stop == llm.StopEnd {
		stop = llm.StopRefusal
	}
	return &llm.Response{Content: content, Usage: a.normalUsage(), Stop: stop}
}

func (a *answer) normalUsage() message.Usage {
	if a.usage == nil {
		return message.Usage{}
	}
	return a.usage.normal()
}

func stopReason(finish string) llm.StopReason {
	switch strings.ToLower(finish) {
	case "length", "max_tokens":
		return llm.StopMaxTokens
	case "tool_calls", "function_call", "tool_use":
		return llm.StopToolUse
	case "content_filter", "refusal", "safety", "sensitive":
		return llm.StopRefusal
	case "model_context_window_exceeded", "context_length_exceeded":
		return llm.StopContextWindow
	}
	return llm.StopEnd
}

// isObject reports whether raw is one complete JSON object.
func isObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}
