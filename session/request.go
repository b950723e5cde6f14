package session

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"go.uber.org/zap"

	"sessiond/llm"
	"sessiond/message"
)

// request is what the model is sent now: the conversation as it is, made valid for
// every provider.
func (a *actor) request(t *turnRun) *llm.Request {
	req := llm.Request{
		Model:           t.settings.Model,
		System:          t.settings.systemPrompt(a.m.opts.SystemPrompt),
		Tools:           t.settings.modelTools(),
		MaxOutputTokens: a.m.opts.MaxOutputTokens,
		CacheKey:        string(a.row.ID),
		Thinking:        t.settings.thinking(a.m.opts.Thinking),
	}
	a.bindThinking(&req)
	req.Messages = withoutThinking(a.history.messages(), a.st.ThinkingFrom)
	valid, repairs := a.history.memo.Build(req)
	for _, r := range repairs {
		a.m.metrics.repairs.WithLabelValues(r.Rule).Add(float64(r.Count))
		a.log.Warn("a request was repaired", zap.String("turn_id", string(t.row.ID)),
			zap.String("rule", r.Rule), zap.String("where", r.Where), zap.Int("count", r.Count))
	}
	return valid
}

// bindThinking notes what stands before the conversation. Providers bind thinking to
// the exact prefix it was made after; so when the model, the system prompt or the tools
// change, all thinking up to now is left out from here on. The change is stored with
// the answer to the request; if it is lost in a crash, it is found again.
func (a *actor) bindThinking(req *llm.Request) {
	head := headDigest(req)
	if a.st.HeadDigest == head {
		return
	}
	if a.st.HeadDigest != "" {
		a.st.ThinkingFrom = a.row.HeadSeq + 1
	}
	a.st.HeadDigest = head
}

// headDigest identifies what stands before the messages of a request.
func headDigest(req *llm.Request) string {
	h := sha256.New()
	add := func(s string) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		h.Write([]byte(s))
	}
	add(req.Model)
	add(req.System)
	for _, tool := range req.Tools {
		add(tool.Name)
		add(tool.Description)
		add(string(tool.InputSchema))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// withoutThinking drops the thinking of the messages before a seq. A message that was
// nothing but thinking goes with it.
func withoutThinking(msgs []message.Message, from int64) []message.Message {
	kept := msgs[:0]
	for _, m := range msgs {
		if m.Seq < from {
			if m = dropThinking(m); len(m.Content) == 0 {
				continue
			}
		}
		kept = append(kept, m)
	}
	return kept
}

func dropThinking(m message.Message) message.Message {
	for i, b := range m.Content {
		if _, ok := b.(message.Thinking); !ok {
			continue
		}
		content := append([]message.Block(nil), m.Content[:i]...)
		for _, b := range m.Content[i+1:] {
			if _, ok := b.(message.Thinking); !ok {
				content = append(content, b)
			}
		}
		m.Content = content
		break
	}
	return m
}
