package session

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"go.uber.org/zap"

	"sessiond/llm"
	"sessiond/message"
	"sessiond/prompt"
)

// request is what the model is sent now: the conversation as it is, made valid for
// every provider. It is nil if an answer that the provider paused would have to go on,
// but can't be sent back as it came.
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
	msgs := a.history.messages()
	paused, resume := pausedAnswer(msgs)
	req.Resume = resume
	req.Messages = withoutImages(withoutThinking(msgs, a.st.ThinkingFrom), a.st.ImagesFrom)
	valid, repairs := a.history.memo.Build(req)
	if resume && (paused.Seq < a.st.ThinkingFrom || !endsIn(valid.Messages, paused)) {
		return nil // something before it changed, or some of itself
	}
	a.noteRepairs(t, repairs)
	return valid
}

// noteRepairs counts the repairs of a request, and logs those of a rule if there are more
// than any request had before: what is wrong with a conversation is so in every request.
func (a *actor) noteRepairs(t *turnRun, repairs []prompt.Repair) {
	counts := make(map[string]int)
	for _, r := range repairs {
		counts[r.Rule] += r.Count
	}
	for _, r := range repairs {
		n, open := counts[r.Rule]
		if !open {
			continue // told with the first place of its rule
		}
		delete(counts, r.Rule)
		a.m.metrics.repairs.WithLabelValues(r.Rule).Add(float64(n))
		if a.history.noteRepaired(r.Rule, n) {
			a.log.Warn("a request was repaired", zap.String("turn_id", string(t.row.ID)),
				zap.String("rule", r.Rule), zap.String("where", r.Where), zap.Int("count", n))
		}
	}
}

// pausedAnswer finds the answer that a conversation ends in: only a paused one can.
func pausedAnswer(msgs []message.Message) (message.Message, bool) {
	if n := len(msgs); n > 0 && msgs[n-1].Role == message.RoleAssistant {
		return msgs[n-1], true
	}
	return message.Message{}, false
}

// endsIn reports whether a paused answer stands whole at the end of a request. It makes no
// calls, so all that can be missing is its thinking.
func endsIn(msgs []message.Message, paused message.Message) bool {
	last, ok := pausedAnswer(msgs)
	return ok && last.ID == paused.ID && len(last.Content) == len(paused.Content)
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

// withoutThinking drops the thinking of the messages before a seq, and of those that end
// in a thought because what followed was cut off: no provider takes that back. A message
// that was nothing but thinking goes with it.
func withoutThinking(msgs []message.Message, from int64) []message.Message {
	kept := msgs[:0]
	for _, m := range msgs {
		if m.Seq < from || endsInThought(&m) {
			if m = dropThinking(m); len(m.Content) == 0 {
				continue
			}
		}
		kept = append(kept, m)
	}
	return kept
}

func endsInThought(m *message.Message) bool {
	if len(m.Content) == 0 {
		return false
	}
	_, ok := m.Content[len(m.Content)-1].(message.Thinking)
	return ok
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
