package openaifake

import (
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

const pieceBytes = 12

// chunks is the step as chunks, the last one with the finish_reason.
func (p *playback) chunks() []object {
	var out []object
	add := func(delta object, finish any) {
		out = append(out, object{"choices": []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}})
	}
	add(object{"role": "assistant", "content": "", "refusal": nil}, nil)
	for _, piece := range p.pieces(p.step.Reasoning) {
		add(object{p.reasoningMember(): piece, "content": nil}, nil)
	}
	for _, piece := range p.pieces(p.step.Text) {
		add(object{"content": piece}, nil)
	}
	for _, piece := range p.pieces(p.step.Refusal) {
		add(object{"refusal": piece}, nil)
	}
	for i, c := range p.step.Calls {
		for _, piece := range p.callPieces(i, c) {
			add(object{"tool_calls": []any{piece}}, nil)
		}
	}
	add(object{}, p.step.finish())
	return out
}

// callPieces are the pieces of one tool call, spelled as the step says.
func (p *playback) callPieces(i int, c Call) []object {
	n := p.step.Numbering
	var arguments []any
	switch {
	case n.AsObjects:
		arguments = []any{json.RawMessage(c.Arguments)}
	case n.Whole:
		arguments = []any{c.Arguments}
	default:
		arguments = []any{""}
		for _, piece := range p.pieces(c.Arguments) {
			arguments = append(arguments, piece)
		}
	}
	var out []object
	for k, args := range arguments {
		function := object{"arguments": args}
		if k == 0 || n.RepeatNames {
			function["name"] = c.Name
		}
		call := object{"function": function}
		if k == 0 {
			call["type"] = "function"
		}
		if !n.NoIDs && (k == 0 || n.RepeatIDs) {
			call["id"] = c.ID
			if n.SameIDs {
				call["id"] = p.step.Calls[0].ID
			}
		}
		switch {
		case n.None:
		case n.Same:
			call["index"] = n.First
		default:
			call["index"] = n.First + i
		}
		out = append(out, call)
	}
	return out
}

// pieces cuts text at rune boundaries.
func (p *playback) pieces(words string) []string {
	size := p.step.PieceBytes
	if size <= 0 {
		size = pieceBytes
	}
	var out []string
	for len(words) > 0 {
		n := min(size, len(words))
		for n < len(words) && !utf8.RuneStart(words[n]) {
			n++
		}
		out = append(out, words[:n])
		words = words[n:]
	}
	return out
}

// fail ends a stream the way the fault says.
func (p *playback) fail(f *Fault) {
	flat := object{"message": f.Message, "type": f.kind(), "code": f.codeValue()}
	switch f.Kind {
	case NoFault, Refuse, WholeBody, CleanEnd:
	case ErrorObject:
		p.event("", encode(object{"error": flat}))
	case ErrorText:
		p.event("", encode(object{"error": f.Message}))
	case ErrorFlat:
		flat["object"], flat["param"] = "error", nil
		p.event("", encode(flat))
	case ErrorEvent:
		p.event("error", encode(flat))
	case ErrorChoice:
		p.chunk(object{"choices": []any{object{
			"index": 0, "delta": object{"role": "assistant", "content": ""}, "finish_reason": "error",
			"error": flat,
		}}})
	case ErrorFinish:
		p.chunk(object{"choices": []any{object{"index": 0, "delta": object{}, "finish_reason": "error"}}})
	case DoneOnly:
		p.event("", []byte("[DONE]"))
	case Abort:
		panic(http.ErrAbortHandler)
	case Silence:
		<-p.r.Context().Done()
	}
}

func (f *Fault) kind() string {
	if f.Type == "" {
		return "server_error"
	}
	return f.Type
}

func (f *Fault) codeValue() any {
	switch {
	case f.Code != "":
		return f.Code
	case f.Status != 0:
		return f.Status
	}
	return nil
}

func (f *Fault) body(shape Shape) []byte {
	if f.Body != "" {
		return []byte(f.Body)
	}
	e := &apiError{status: f.Status, kind: f.kind(), code: f.Code, message: f.Message}
	return e.body(shape)
}
