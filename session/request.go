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

// request is what the model is sent now: the conversation as it is shown, made valid for
// every provider. It is nil if an answer that the provider paused would have to go on,
// but can't be sent back as it came.
func (a *actor) request(t *turnRun) *llm.Request {
	req, repairs := a.build(t.settings)
	if req != nil {
		a.noteRepairs(t, repairs)
	}
	return req
}

// chatRequest is the request that the next round would send, or nil.
func (a *actor) chatRequest(s *Settings) *llm.Request {
	req, _ := a.build(s)
	return req
}

func (a *actor) build(s *Settings) (*llm.Request, []prompt.Repair) {
	h := a.headOf(s)
	req := llm.Request{Model: s.Model, System: h.system, Tools: h.tools}
	req.MaxOutputTokens = a.m.planner.Budget(a.m.limits(s), 0).Output
	req.CacheKey = string(a.row.ID)
	req.MaxBodyBytes = a.bodyBytes(s.Model)
	req.Thinking = s.thinking(a.m.opts.Thinking)
	req.Messages = a.shown()
	paused, resume := pausedAnswer(req.Messages)
	req.Resume = resume
	valid, repairs := a.history.memo.Build(req)
	if resume && (paused.Seq < a.history.state.Shape().ThinkingFrom || !endsIn(valid.Messages, paused)) {
		return nil, nil // something before it changed, or some of itself
	}
	return valid, repairs
}

// shown is the conversation as the model is shown it.
func (a *actor) shown() []message.Message {
	return withoutImages(withoutCutThoughts(a.history.state.View().Messages), a.st.ImagesFrom)
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
// change, all thinking up to now is left out from here on. If the change is lost in a
// crash, it is found again.
func (a *actor) bindThinking(s *Settings) {
	head := a.headOf(s).digest
	if a.st.HeadDigest == head {
		return
	}
	if a.st.HeadDigest != "" {
		a.dropThinking()
	}
	a.st.HeadDigest = head
}

// dropThinking shows none of the thinking up to now any more. It is stored, though the
// answer is not there yet: the context is smaller from now on, and who watches is told.
func (a *actor) dropThinking() {
	a.st.ThinkingFrom = a.row.HeadSeq + 1
	a.history.state.HideThinking(a.st.ThinkingFrom)
	a.batch().dirty = true
}

// digestOf identifies texts in their order.
func digestOf(texts ...string) string {
	h := sha256.New()
	for _, s := range texts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// withoutCutThoughts drops the thinking of messages that end in a thought because what
// followed was cut off: no provider takes that back. A message that was nothing but
// thinking goes with it. It changes msgs, but not what its messages share with others.
func withoutCutThoughts(msgs []message.Message) []message.Message {
	kept := msgs[:0]
	for _, m := range msgs {
		if endsInThought(&m) {
			if m = thoughtless(m); len(m.Content) == 0 {
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

func thoughtless(m message.Message) message.Message {
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
