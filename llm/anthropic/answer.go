package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"sessiond/llm"
	"sessiond/message"
)

var (
	errCutOff    = errors.New("the stream ended before the answer was finished")
	errMalformed = errors.New("the stream is malformed")
)

// answer assembles the events of a stream.
type answer struct {
	emit    func(llm.Delta)
	parts   map[int]*part // by the provider's index
	order   []*part
	shown   int // parts that have a place in the answer
	usage   wireUsage
	stop    string
	stopped bool // message_stop was seen
}

// part is a content block that is being assembled.
type part struct {
	kind   string
	place  int             // in the answer, -1 until something is known to be in it
	start  json.RawMessage // as content_block_start gave it
	text   []byte          // text, thinking, tool input
	sign   []byte          // signature
	id     string
	name   string
	closed bool
}

// The kinds of blocks that are kept; others are the provider's own and left out.
const (
	kindText     = "text"
	kindThinking = "thinking"
	kindRedacted = "redacted_thinking"
	kindToolUse  = "tool_use"
)

type wireEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage wireUsage `json:"usage"`
	} `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage wireUsage `json:"usage"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

func newAnswer(emit func(llm.Delta)) *answer {
	return &answer{emit: emit, parts: make(map[int]*part)}
}

// event takes one event. Types that are not known are ignored, as the API asks.
func (a *answer) event(raw json.RawMessage) error {
	var e wireEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	switch e.Type {
	case "message_start":
		a.usage.merge(e.Message.Usage)
	case "content_block_start":
		return a.begin(e.Index, e.ContentBlock)
	case "content_block_delta":
		return a.delta(&e)
	case "content_block_stop":
		if p := a.parts[e.Index]; p != nil {
			p.closed = true
		}
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.stop = e.Delta.StopReason
		}
		a.usage.merge(e.Usage)
	case "message_stop":
		a.stopped = true
	}
	return nil
}

func (a *answer) begin(index int, raw json.RawMessage) error {
	var b wireBlock
	if err := json.Unmarshal(raw, &b); err != nil {
		return fmt.Errorf("%w: content block %d: %w", errMalformed, index, err)
	}
	if a.parts[index] != nil {
		return fmt.Errorf("%w: content block %d begins twice", errMalformed, index)
	}
	p := &part{kind: b.Type, place: -1, start: raw, id: b.ID, name: b.Name, sign: []byte(b.Signature)}
	a.parts[index] = p
	switch b.Type {
	case kindText:
		a.add(p, llm.DeltaText, b.Text)
	case kindThinking:
		a.place(p)
		a.add(p, llm.DeltaThinking, b.Thinking)
	case kindRedacted:
		a.place(p)
	case kindToolUse:
		a.place(p)
		if input := bytes.TrimSpace(b.Input); len(input) > len("{}") && input[0] == '{' { // some servers send it at once
			a.add(p, llm.DeltaToolInput, string(input))
		}
	}
	return nil
}

func (a *answer) delta(e *wireEvent) error {
	p := a.parts[e.Index]
	if p == nil {
		return fmt.Errorf("%w: a piece of content block %d, which did not begin", errMalformed, e.Index)
	}
	switch d := &e.Delta; {
	case d.Type == "text_delta" && p.kind == kindText:
		a.add(p, llm.DeltaText, d.Text)
	case d.Type == "thinking_delta" && p.kind == kindThinking:
		a.add(p, llm.DeltaThinking, d.Thinking)
	case d.Type == "signature_delta" && p.kind == kindThinking:
		p.sign = append(p.sign, d.Signature...)
	case d.Type == "input_json_delta" && p.kind == kindToolUse:
		a.add(p, llm.DeltaToolInput, d.PartialJSON)
	}
	return nil
}

// place gives a part its place in the answer. Blocks that stay empty get none, so
// that the places of pieces already emitted hold.
func (a *answer) place(p *part) {
	if p.place < 0 {
		p.place = a.shown
		a.shown++
		a.order = append(a.order, p)
	}
}

func (a *answer) add(p *part, kind llm.DeltaKind, text string) {
	if text == "" {
		return
	}
	a.place(p)
	p.text = append(p.text, text...)
	a.emit(llm.Delta{Block: p.place, Kind: kind, Text: text})
}

// response returns the finished answer, or errCutOff.
func (a *answer) response() (*llm.Response, error) {
	if !a.stopped {
		return nil, errCutOff
	}
	resp := &llm.Response{Usage: a.usage.usage(), Stop: stopReason(a.stop)}
	for i, p := range a.order {
		last := i == len(a.order)-1
		if p.kind == kindToolUse && last && p.unfinished(resp.Stop) {
			continue
		}
		b, err := p.block()
		if err != nil {
			return nil, err
		}
		resp.Content = append(resp.Content, b)
	}
	return resp, nil
}

// unfinished reports whether a tool call, the last block of an answer that stopped
// for that reason, was cut off. An input without a byte is whole only where the model
// stopped in order to call.
func (p *part) unfinished(stop llm.StopReason) bool {
	if !p.closed {
		return true
	}
	switch stop {
	case llm.StopMaxTokens, llm.StopContextWindow, llm.StopRefusal:
		return !json.Valid(p.text)
	case llm.StopEnd, llm.StopToolUse, llm.StopPause:
	}
	return false
}

func (p *part) block() (message.Block, error) {
	switch p.kind {
	case kindThinking:
		raw, err := p.thinking()
		return message.Thinking{Provider: Provider, Text: string(p.text), Raw: raw}, err
	case kindRedacted:
		return message.Thinking{Provider: Provider, Raw: p.start}, nil
	case kindToolUse:
		if len(p.text) == 0 {
			p.text = []byte("{}")
		}
		return message.ToolUse{ID: message.ToolUseID(p.id), Name: p.name, Input: p.text}, nil
	}
	return message.Text{Text: string(p.text)}, nil
}

// thinking is the block that goes back: what content_block_start gave, with the
// joined text and signature in their places.
func (p *part) thinking() ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(p.start))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	out := []byte{'{'}
	add := func(name string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(message.AppendString(out, name), ':')
		out = append(out, value...)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errMalformed, err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("%w: %w", errMalformed, err)
		}
		switch name, _ := key.(string); name {
		case "thinking", "signature": // written below
		default:
			add(name, value)
		}
	}
	add("thinking", message.AppendString(nil, string(p.text)))
	add("signature", message.AppendString(nil, string(p.sign)))
	return append(out, '}'), nil
}

// stopReason maps the API's reasons. One that is not known says that the model
// stopped and nothing else.
func stopReason(reason string) llm.StopReason {
	switch reason {
	case "tool_use":
		return llm.StopToolUse
	case "max_tokens":
		return llm.StopMaxTokens
	case "model_context_window_exceeded":
		return llm.StopContextWindow
	case "refusal":
		return llm.StopRefusal
	case "pause_turn":
		return llm.StopPause
	}
	return llm.StopEnd
}
