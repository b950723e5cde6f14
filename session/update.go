package session

import (
	"context"
	"encoding/json"
	"time"

	"sessiond/store"
)

// Update changes a session; nil leaves a field as it is.
type Update struct {
	IfVersion    *int64 // refuse with version_conflict if the version is another
	Title        *string
	Model        *string
	SystemPrompt *string
	AgentPrompt  *string
	Tools        *[]Tool
	TodoList     *[]Todo
	Limits       *Limits // replaces all of them
	Metadata     *json.RawMessage
}

// Update changes settings; a running turn keeps what it began with. Errors: not_found,
// session_closed, version_conflict, invalid_param, idempotency_conflict, overloaded,
// shutting_down.
func (m *Manager) Update(ctx context.Context, ref store.Ref, u Update, i Idempotency) (Replay[*View], error) {
	r, err := keyedCall(ctx, m, ref, i, func(p promise[Replay[viewResult]]) command {
		return updateCommand{keyed{i}, u, p}
	})
	return m.withView(ctx, ref.Owner, r, err)
}

type updateCommand struct {
	keyed
	update Update
	reply  promise[Replay[viewResult]]
}

func (c updateCommand) apply(ctx context.Context, a *actor) {
	if c.update.changesContext() && !a.history.ready() { // else what the row says of the context would be true no longer
		a.withContext(ctx, a.current().Model, func(ctx context.Context) { c.apply(ctx, a) })
		return
	}
	if replayed(a, c.keyed, c.reply) {
		return
	}
	if !a.row.ClosedAt.IsZero() {
		c.reply.fail(errClosed())
		return
	}
	if v := c.update.IfVersion; v != nil && *v != a.row.Version {
		c.reply.fail(&Error{
			Kind: KindVersionConflict, Message: "the session was changed in the meantime",
			Data: map[string]any{"version": a.row.Version},
		})
		return
	}
	changed, fields, forModel := c.update.applyTo(a.settings)
	if err := c.update.check(changed, a.m); err != nil {
		c.reply.fail(err)
		return
	}
	if c.update.Title != nil {
		a.row.Title = *c.update.Title
		fields = append([]string{"title"}, fields...)
	}
	if len(fields) > 0 {
		if t := a.turn; forModel && t != nil && t.detail.Settings == nil {
			t.detail.Settings = t.settings // what a restart must not lose
			a.stageTurn()
		}
		if c.update.TodoList != nil {
			a.st.Context.Todo = &todoState{}
		}
		a.row.Version++
		a.settings, a.resave = changed.compacted(), true
		a.appendUpdated(updatedBody{
			Version: a.row.Version, Fields: fields, Title: c.update.Title, TodoList: c.update.TodoList,
		})
	}
	finish(a, c.keyed, c.reply, resultOf(a.pendingView()))
}

// fieldTodoList is the field of session.updated whose new value its entry holds.
const fieldTodoList = "todo_list"

// appendUpdated logs a change of the session's settings.
func (a *actor) appendUpdated(b updatedBody) {
	body := encode(b)
	b.TodoList = nil
	a.append(EntryUpdated, "", "", body, encode(b))
}

// updatedData is what clients see of session.updated.
func updatedData(e *store.Entry) (json.RawMessage, error) {
	b, err := decodeBody[updatedBody](e)
	if err != nil || b.TodoList == nil {
		return e.Body, err
	}
	b.TodoList = nil
	return encode(b), nil
}

// check refuses what the changed settings must not be. A model that is no longer offered,
// and limits that no longer fit the server's, keep nobody from other changes.
func (u *Update) check(changed *Settings, m *Manager) error {
	if u.Model != nil {
		if err := changed.checkModel(m.opts.Models); err != nil {
			return err
		}
	}
	if u.Limits != nil {
		if err := m.checkLimits(changed); err != nil {
			return err
		}
	}
	return changed.check()
}

// changesContext says whether the context has another size with it, or is measured by
// another.
func (u *Update) changesContext() bool {
	return u.Model != nil || u.SystemPrompt != nil || u.AgentPrompt != nil || u.Tools != nil || u.TodoList != nil || u.Limits != nil
}

// applyTo returns the changed settings, which fields they change, and whether any of
// these is something a running turn keeps.
func (u *Update) applyTo(old *Settings) (changed *Settings, fields []string, forModel bool) {
	s := *old
	if u.Model != nil {
		s.Model = *u.Model
		fields, forModel = append(fields, "model"), true
	}
	if u.SystemPrompt != nil {
		s.SystemPrompt = *u.SystemPrompt
		fields, forModel = append(fields, "system_prompt"), true
	}
	if u.AgentPrompt != nil {
		s.AgentPrompt = *u.AgentPrompt
		fields, forModel = append(fields, "agent_prompt"), true
	}
	if u.Tools != nil {
		s.Tools = *u.Tools
		fields, forModel = append(fields, "tools"), true
	}
	if u.Limits != nil {
		s.Limits = *u.Limits
		fields, forModel = append(fields, "settings"), true
	}
	if u.TodoList != nil {
		s.TodoList = *u.TodoList
		fields = append(fields, fieldTodoList)
	}
	if u.Metadata != nil {
		s.Metadata = *u.Metadata
		fields = append(fields, "metadata")
	}
	return &s, fields, forModel
}

// pendingView is the session as it will be once the batch is flushed.
func (a *actor) pendingView() *View {
	a.refreshGauge()
	a.row.Status = a.status()
	return a.makeView()
}

// CloseSession stops the running turn, drops the queue and refuses writes from then on; the
// session can be read, forked and opened again. Closing a closed session changes
// nothing. Errors: not_found, idempotency_conflict, overloaded, shutting_down.
func (m *Manager) CloseSession(ctx context.Context, ref store.Ref, i Idempotency) (Replay[*View], error) {
	r, err := keyedCall(ctx, m, ref, i, func(p promise[Replay[viewResult]]) command {
		return closeCommand{keyed{i}, true, p}
	})
	return m.withView(ctx, ref.Owner, r, err)
}

// OpenSession opens a closed session again. Errors: as CloseSession.
func (m *Manager) OpenSession(ctx context.Context, ref store.Ref, i Idempotency) (Replay[*View], error) {
	r, err := keyedCall(ctx, m, ref, i, func(p promise[Replay[viewResult]]) command {
		return closeCommand{keyed{i}, false, p}
	})
	return m.withView(ctx, ref.Owner, r, err)
}

type closeCommand struct {
	keyed
	close bool
	reply promise[Replay[viewResult]]
}

func (c closeCommand) apply(_ context.Context, a *actor) {
	if replayed(a, c.keyed, c.reply) {
		return
	}
	if c.close != a.row.ClosedAt.IsZero() { // it is so already
		finish(a, c.keyed, c.reply, resultOf(a.pendingView()))
		return
	}
	if c.close {
		a.dropQueue()
		a.dropAsked()
		if a.turn != nil {
			a.endTurn(store.TurnStopped, nil)
		}
		a.abortCompaction()
		a.row.ClosedAt = a.now()
	} else {
		a.row.ClosedAt = time.Time{}
	}
	status := a.status()
	a.append(EntryUpdated, "", "", encode(updatedBody{Version: a.row.Version, Fields: []string{"status"}, Status: &status}), nil)
	finish(a, c.keyed, c.reply, resultOf(a.pendingView()))
}

// Delete removes a session with its log for good, stopping what runs. Deleting it
// again is no error for its owner. Errors: not_found, overloaded, shutting_down.
func (m *Manager) Delete(ctx context.Context, ref store.Ref) error {
	p := newPromise[struct{}]()
	_, err := withActor(ctx, m, ref, func(a *actor) (struct{}, error) {
		return ask(ctx, a, deleteCommand{p}, p)
	})
	if isKind(err, KindNotFound) { // a tombstone of this owner's answers as deleted
		_, err = m.store.DeleteSession(ctx, ref, m.opts.Now())
		return notFoundAs(err, "session")
	}
	return err
}

type deleteCommand struct {
	reply promise[struct{}]
}

func (c deleteCommand) apply(_ context.Context, a *actor) {
	if a.turn != nil {
		a.turn.stopTimers()
		a.setTurn(nil)
	}
	if a.compacting != nil && a.compacting.cancel != nil {
		a.compacting.cancel()
	}
	a.stopExtraction()
	a.queue, a.compacting = nil, nil
	a.deleting = true
	// What is gathering is moot; its callers learn that the session is gone.
	a.onFlush(func(ctx context.Context, err error) {
		if err != nil {
			c.reply.fail(err)
			return
		}
		a.spawn(func() {
			_, err := a.m.store.DeleteSession(context.WithoutCancel(ctx), a.ref, a.m.opts.Now())
			a.post(ctx, deleteDone{c, err})
		})
	})
}

type deleteDone struct {
	deleteCommand
	err error
}

func (c deleteDone) apply(_ context.Context, a *actor) {
	if c.err != nil {
		c.reply.fail(c.err)
		a.end(failed)
		return
	}
	a.m.forget(a) // who hears of the deletion must not find the session
	e := &Event{SessionID: a.row.ID, Seq: a.published + 1, At: a.now(), Kind: EntryDeleted, Data: []byte("{}")}
	for sub := range a.subs {
		sub.Event(e)
	}
	c.reply.ok(struct{}{})
	a.end(deleted)
}
