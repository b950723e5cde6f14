package openaifake

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"
)

// playback sends one step as an answer.
type playback struct {
	s    *Server
	w    http.ResponseWriter
	r    *http.Request
	p    *parsed
	step Step
	id   string
	sent int // chunks
}

// run sends the answer and returns what it cost and the status it had.
func (p *playback) run() (Usage, int) {
	for i := range p.step.Calls {
		c := &p.step.Calls[i]
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%s_%d", p.id[len(p.id)-6:], i)
		}
		if c.Arguments == "" {
			c.Arguments = "{}"
		}
	}
	usage := p.usage()
	f := &p.step.Fault
	maps.Copy(p.w.Header(), f.Header)
	if f.Kind == Refuse || f.Kind == WholeBody {
		status := http.StatusOK
		if f.Kind == Refuse {
			status = f.Status
		}
		writeJSON(p.w, status, f.body(p.s.opts.Shape))
		return Usage{}, status
	}
	if !p.p.stream {
		writeJSON(p.w, http.StatusOK, encode(p.whole(usage)))
		return usage, http.StatusOK
	}
	p.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	p.w.Header().Set("Cache-Control", "no-cache")
	p.w.WriteHeader(http.StatusOK)
	for _, c := range p.chunks() {
		if f.Kind != NoFault && p.sent >= f.After {
			break
		}
		p.chunk(c)
	}
	if f.Kind != NoFault {
		p.fail(f)
		return usage, http.StatusOK
	}
	if p.p.includeUsage && !p.step.NoUsage {
		p.chunk(object{"choices": []any{}, "usage": usageObject(usage, p.s.opts.CountsWrites)})
	}
	if !p.step.NoDone {
		p.event("", []byte("[DONE]"))
	}
	return usage, http.StatusOK
}

func (p *playback) usage() Usage {
	if p.step.Usage != nil {
		return *p.step.Usage
	}
	u := p.p.usage
	count := func(text string) int64 { return int64(p.s.opts.CountText(text)) }
	u.ReasoningTokens = count(p.step.Reasoning)
	u.CompletionTokens = u.ReasoningTokens + count(p.step.Text) + count(p.step.Refusal)
	for _, c := range p.step.Calls {
		u.CompletionTokens += count(c.Name) + count(c.Arguments)
	}
	return u
}

func usageObject(u Usage, writes bool) object {
	prompt := object{"cached_tokens": u.CachedTokens, "audio_tokens": 0}
	if writes {
		prompt["cache_write_tokens"] = u.CacheWriteTokens
	}
	return object{
		"prompt_tokens": u.PromptTokens, "completion_tokens": u.CompletionTokens,
		"total_tokens":              u.PromptTokens + u.CompletionTokens,
		"prompt_tokens_details":     prompt,
		"completion_tokens_details": object{"reasoning_tokens": u.ReasoningTokens, "audio_tokens": 0},
	}
}

// whole is an answer that is not streamed.
func (p *playback) whole(usage Usage) object {
	m := object{"role": "assistant", "content": nil, "refusal": nil}
	if p.step.Text != "" || len(p.step.Calls) == 0 {
		m["content"] = p.step.Text
	}
	if p.step.Refusal != "" {
		m["refusal"] = p.step.Refusal
	}
	if p.step.Reasoning != "" {
		m[p.reasoningMember()] = p.step.Reasoning
	}
	calls := []any{}
	for _, c := range p.step.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
	}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	return object{
		"id": p.id, "object": "chat.completion", "created": created, "model": p.p.model.ID,
		"choices": []any{object{"index": 0, "message": m, "finish_reason": p.step.finish(), "logprobs": nil}},
		"usage":   usageObject(usage, p.s.opts.CountsWrites),
	}
}

func (p *playback) reasoningMember() string {
	if p.step.ReasoningMember != "" {
		return p.step.ReasoningMember
	}
	return "reasoning_content"
}

// chunk sends one chunk, completed by what every chunk has.
func (p *playback) chunk(c object) {
	maps.Copy(c, object{
		"id": p.id, "object": "chat.completion.chunk", "created": created, "model": p.p.model.ID, "system_fingerprint": "fp_fake",
	})
	if _, ok := c["usage"]; !ok && p.p.includeUsage {
		c["usage"] = nil
	}
	if p.step.Noise {
		c["error"] = nil
		p.write(": OPENROUTER PROCESSING\n\n")
	}
	p.sent++
	p.event("", encode(c))
}

func (p *playback) event(name string, data []byte) {
	if p.step.Pause > 0 {
		pause(p.r.Context(), p.step.Pause)
	}
	if name != "" {
		p.write("event: " + name + "\n")
	}
	p.write("data: " + string(data) + "\n\n")
}

// write sends text at once. A client that has gone is found by the server, not here.
func (p *playback) write(text string) {
	flusher, _ := p.w.(http.Flusher)
	step := len(text)
	if p.step.ByteByByte {
		step = 1
	}
	for i := 0; i < len(text); i += step {
		_, _ = p.w.Write([]byte(text[i : i+step]))
		if flusher != nil {
			flusher.Flush()
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
