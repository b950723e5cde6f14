package session

import (
	"context"
	"errors"
	"fmt"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/store"
)

// Create makes a session for an owner. An empty Settings.Model means the default.
// Errors: invalid_param, idempotency_conflict, shutting_down, and not_found if the
// session that an earlier call with this key made was deleted.
func (m *Manager) Create(ctx context.Context, owner, title string, s Settings, i Idempotency) (Replay[*View], error) {
	if s.Model == "" {
		s.Model = m.opts.Models[0]
	}
	if err := s.checkModel(m.opts.Models); err != nil {
		return Replay[*View]{}, err
	}
	if err := s.check(); err != nil {
		return Replay[*View]{}, err
	}
	if err := m.checkLimits(&s); err != nil {
		return Replay[*View]{}, err
	}
	scope := store.Ref{Owner: owner}
	if known, found, err := lookUp[viewResult](ctx, m, scope, i); found || err != nil {
		return m.withView(ctx, owner, known, err)
	}
	settings := s.compacted()
	now := m.now()
	row := store.Session{
		ID: message.NewSessionID(), LogID: string(message.NewSessionID()), Owner: owner, Title: title,
		Status: store.StatusIdle, Version: 1, HeadSeq: 1, CreatedAt: now, UpdatedAt: now,
		Settings: encode(settings),
	}
	st := m.firstState(settings)
	row.State = encode(st)
	c := &store.Commit{
		Session: row,
		Entries: []store.Entry{{
			Seq: 1, Kind: string(EntryCreated), At: now, Body: encode(createdBody{Title: title, Model: s.Model}),
		}},
	}
	r, err := m.create(ctx, c, newView(&row, settings, st, now), scope, i)
	return m.withView(ctx, owner, r, err)
}

// firstState is the state of a session in which nothing was said yet: what stands before
// the conversation is measured.
func (m *Manager) firstState(s *Settings) state {
	var st state
	count := func(what, text string) int {
		return st.Context.countOnce(m.planner.Encoding(), m.opts.Counter, what, text)
	}
	sit := &compaction.Situation{
		Limits: m.limits(s), Ratio: compaction.NewCalibration(m.models.info(s.Model).ratio).Ratio,
		Overhead: compaction.Overhead{
			System: count("system", s.systemPrompt(m.opts.SystemPrompt)),
			Tools:  count("tools", toolsText(s.modelTools(m.builtinTools()))),
		},
	}
	if s.AgentPrompt != "" {
		text := message.Wrap("agent_prompt", s.AgentPrompt)
		sit.Overhead.Attachments = []compaction.Attachment{{
			Kind: compaction.AttachAgentPrompt, Version: digestOf(text), Text: text, Tokens: count(string(compaction.AttachAgentPrompt), text),
		}}
	}
	c, b := m.planner.Gauge(compaction.NewState(), sit)
	st.Context.Gauge = &Gauge{Progress: st.Context.Growth.Progress(c.Tokens(), b.Threshold), Estimated: true}
	return st
}

// create stores a new session whose key was not known a moment ago. The key of a fork is of
// its source's scope and kept as long as the source; others belong to no session.
func (m *Manager) create(ctx context.Context, c *store.Commit, v *View, scope store.Ref, i Idempotency) (Replay[viewResult], error) {
	if m.isClosing() {
		return Replay[viewResult]{}, errShuttingDown()
	}
	if i.set() {
		rec := store.KeyRecord{KeyScope: i.scope(scope), Fingerprint: i.Fingerprint, Result: encode(resultOf(v))}
		if scope.ID == "" {
			rec.ExpiresAt = m.now().Add(m.opts.CreateKeyTTL)
		}
		c.Keys = []store.KeyRecord{rec}
	}
	err := m.store.Create(ctx, c)
	if errors.Is(err, store.ErrKeyExists) { // an equal call was quicker
		known, found, err := lookUp[viewResult](ctx, m, scope, i)
		if err == nil && !found {
			err = fmt.Errorf("create session: the key %q expired while it was used", i.Key)
		}
		return known, err
	}
	if err != nil {
		return Replay[viewResult]{}, fmt.Errorf("create session: %w", err)
	}
	return Replay[viewResult]{Value: resultOf(v)}, nil
}

func (m *Manager) isClosing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closing
}
