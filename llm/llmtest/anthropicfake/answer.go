package anthropicfake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// sent is a block of an answer as it is sent.
type sent struct {
	Block
	signature string
	cut       int // bytes of the input that are sent, -1 for all
}

// answer streams or writes what a step says.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, req *request, rec *Request, step *Step) {
	usage := s.use(req, rec)
	id := s.messageID()
	blocks := s.compose(req, id, step)
	for _, b := range blocks {
		usage.OutputTokens += max(1, s.opts.CountText(b.text+b.input))
	}
	s.mu.Lock()
	rec.Usage = usage
	for mode := range rec.usages {
		rec.usages[mode].OutputTokens = usage.OutputTokens
	}
	if step.stop == "pause_turn" {
		s.paused[answered(req, blocks)] = true
	}
	s.mu.Unlock()
	if !req.stream {
		content := make([]any, len(blocks))
		for i, b := range blocks {
			content[i] = b.whole()
		}
		writeJSON(w, http.StatusOK, wholeMessage(id, req.model.ID, content, step.stop, usage))
		return
	}
	out := newSSE(w, r, step)
	out.play(events(id, req, blocks, step, usage))
}

// compose decides which blocks are sent and signs the thinking ones.
func (s *Server) compose(req *request, id string, step *Step) []sent {
	blocks := slices.Clone(step.blocks)
	calls := slices.ContainsFunc(blocks, func(b Block) bool { return b.kind == "tool_use" })
	thinks := func(b Block) bool { return b.kind == "thinking" || b.kind == "redacted_thinking" }
	if s.opts.ThinkBeforeTools && calls && !slices.ContainsFunc(blocks, thinks) {
		blocks = slices.Insert(blocks, 0, Thinking("Considering which tool to call."))
	}
	if !req.thinking.on(req.model) {
		blocks = slices.DeleteFunc(blocks, thinks)
	}
	count := 0
	for _, b := range blocks {
		if thinks(b) {
			count++
		}
	}
	prefix, thought := answerPrefix(req), 0
	out := make([]sent, len(blocks))
	for i, b := range blocks {
		out[i] = sent{Block: b, cut: -1}
		if thinks(b) {
			out[i].signature = seal{
				Model: req.model.ID, Prefix: prefix.String(), System: req.systemSum.String(), Tools: req.toolsSum.String(),
				Content: contentSum(b.text), Message: id, Index: thought, Count: count,
			}.sign()
			thought++
		}
		prefix = nextPrefix(prefix, out[i])
		if b.kind == "tool_use" && step.cutInput >= 0 && i == len(blocks)-1 {
			out[i].cut = min(step.cutInput, len(b.input))
		}
	}
	return out
}

// answerPrefix is the digest that the first block of an answer stands after.
func answerPrefix(req *request) digest {
	if req.turns[len(req.turns)-1].role == roleAssistant {
		return req.end
	}
	return req.end.next("role", roleAssistant)
}

// nextPrefix is the digest after a block, as it will be when the block comes back.
func nextPrefix(prefix digest, b sent) digest {
	d := newDigester().add(b.kind)
	switch b.kind {
	case "text":
		d.add(b.text)
	case "thinking":
		d.add(b.text, b.signature)
	case "redacted_thinking":
		d.add(b.signature)
	case "tool_use":
		d.add(b.id, b.name, canonical(json.RawMessage(b.input)))
	}
	sum := d.sum()
	return prefix.next(string(sum[:]))
}

// answered is the digest of the conversation with the answer at its end.
func answered(req *request, blocks []sent) digest {
	d := answerPrefix(req)
	for _, b := range blocks {
		d = nextPrefix(d, b)
	}
	return d
}

// start is the block as content_block_start shows it, whole as it is outside of streams.
func (b sent) start() map[string]any {
	switch b.kind {
	case "thinking":
		return map[string]any{"type": b.kind, "thinking": "", "signature": ""}
	case "redacted_thinking":
		return map[string]any{"type": b.kind, "data": b.signature}
	case "tool_use":
		return map[string]any{"type": b.kind, "id": b.id, "name": b.name, "input": map[string]any{}, "caller": map[string]any{"type": "direct"}}
	}
	return map[string]any{"type": b.kind, "text": "", "citations": nil}
}

func (b sent) whole() map[string]any {
	out := b.start()
	switch b.kind {
	case "text":
		out["text"] = b.text
	case "thinking":
		out["thinking"], out["signature"] = b.text, b.signature
	case "tool_use":
		if json.Valid([]byte(b.input)) && b.cut < 0 {
			out["input"] = json.RawMessage(b.input)
		}
	}
	return out
}

// deltas are the pieces that follow content_block_start.
func (b sent) deltas() []map[string]any {
	var out []map[string]any
	switch b.kind {
	case "text":
		for _, p := range pieces(b.text) {
			out = append(out, map[string]any{"type": "text_delta", "text": p})
		}
	case "thinking":
		for _, p := range pieces(b.text) {
			out = append(out, map[string]any{"type": "thinking_delta", "thinking": p})
		}
		out = append(out, map[string]any{"type": "signature_delta", "signature": b.signature})
	case "tool_use":
		input := b.input
		if b.cut >= 0 {
			input = input[:b.cut]
		}
		out = append(out, map[string]any{"type": "input_json_delta", "partial_json": ""})
		for _, p := range pieces(input) {
			out = append(out, map[string]any{"type": "input_json_delta", "partial_json": p})
		}
	}
	return out
}

// pieces cuts text at rune boundaries, short ones first so that even a short text
// comes in several.
func pieces(text string) []string {
	const longest = 400
	var out []string
	size := 4
	for text != "" {
		n := 0
		for i, r := range text {
			n = i + len(string(r))
			if n >= size {
				break
			}
		}
		n = min(n, len(text))
		out = append(out, text[:n])
		text = text[n:]
		size = min(2*size, longest)
	}
	return out
}

func (u Usage) start() map[string]any {
	return map[string]any{
		"input_tokens": u.InputTokens, "cache_read_input_tokens": u.CacheReadTokens,
		"cache_creation_input_tokens": u.CacheWrite5mTokens + u.CacheWrite1hTokens,
		"cache_creation": map[string]any{
			"ephemeral_5m_input_tokens": u.CacheWrite5mTokens, "ephemeral_1h_input_tokens": u.CacheWrite1hTokens,
		},
		"output_tokens": 1, "service_tier": "standard",
	}
}

// end is the cumulative usage of message_delta, which has no split by lifetime.
func (u Usage) end() map[string]any {
	out := u.start()
	delete(out, "cache_creation")
	delete(out, "service_tier")
	out["output_tokens"] = u.OutputTokens
	return out
}

func wholeMessage(id, model string, content []any, stop string, usage Usage) map[string]any {
	if content == nil {
		content = []any{}
	}
	u := usage.start()
	u["output_tokens"] = usage.OutputTokens
	return map[string]any{
		"id": id, "type": "message", "role": "assistant", "model": model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": u,
	}
}

// event is one event of a stream.
type event struct {
	name string
	data map[string]any
}

func events(id string, req *request, blocks []sent, step *Step, usage Usage) []event {
	message := wholeMessage(id, req.model.ID, nil, "", usage)
	message["stop_reason"] = nil
	message["usage"] = usage.start()
	if len(req.dropped) > 0 {
		dropped := make([]any, len(req.dropped))
		for i, path := range req.dropped {
			dropped[i] = map[string]any{"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
		}
		message["input_transformations"] = dropped
	}
	out := []event{{"message_start", map[string]any{"message": message}}}
	for i, b := range blocks {
		out = append(out, event{"content_block_start", map[string]any{"index": i, "content_block": b.start()}})
		for _, d := range b.deltas() {
			out = append(out, event{"content_block_delta", map[string]any{"index": i, "delta": d}})
		}
		out = append(out, event{"content_block_stop", map[string]any{"index": i}})
	}
	delta := map[string]any{"stop_reason": step.stop, "stop_sequence": nil}
	if step.details != nil {
		delta["stop_details"] = step.details
	}
	return append(out,
		event{"message_delta", map[string]any{"delta": delta, "usage": usage.end()}},
		event{"message_stop", map[string]any{}})
}

func (e event) bytes() []byte {
	if e.data["type"] == nil {
		e.data["type"] = e.name
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", e.name, marshal(e.data))
}
