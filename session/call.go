package session

import (
	"context"
	"fmt"
	"time"

	"sessiond/message"
)

// toolCall is a call of the open tool round.
type toolCall struct {
	use      message.ToolUse
	deadline time.Time
	timer    *time.Timer // of the deadline; nil for calls that are resolved
	claim    claim
	builtin  bool        // it runs in the server
	res      *resolution // nil while pending
}

// claim lets only its holder resolve a call while it lives.
type claim struct {
	token string
	until time.Time
}

// keepClaim notes a call's claim in what is stored of the turn.
func (t *turnRun) keepClaim(c *toolCall) {
	if t.detail.Claims == nil {
		t.detail.Claims = make(map[message.ToolUseID]claimDetail, 1)
	}
	t.detail.Claims[c.use.ID] = claimDetail{Token: c.claim.token, Until: c.claim.until}
}

func (c *toolCall) stopTimer() {
	if c.timer != nil {
		c.timer.Stop()
	}
}

// call finds an open call that clients may resolve.
func (t *turnRun) call(id message.ToolUseID) *toolCall {
	for _, c := range t.calls {
		if c.use.ID == id && !c.builtin {
			return c
		}
	}
	return nil
}

func (t *turnRun) pendingCalls() []PendingCall {
	var pending []PendingCall
	for _, c := range t.calls {
		if c.res == nil && !c.builtin {
			pending = append(pending, PendingCall{
				ToolUseID: c.use.ID, TurnID: t.row.ID, Name: c.use.Name, Input: c.use.Input,
				Deadline: c.deadline, ClaimedUntil: c.claim.until,
			})
		}
	}
	return pending
}

// openCalls begins a tool round: every call is logged; built-in ones, and those that
// nobody can run, are resolved at once.
func (a *actor) openCalls(t *turnRun, uses []message.ToolUse, broken map[message.ToolUseID]string) {
	t.calls = make([]*toolCall, len(uses))
	for i, use := range uses {
		tool, _ := t.settings.tool(use.Name)
		c := &toolCall{use: use, deadline: a.now().Add(tool.timeout(a.m.opts.ToolTimeout))}
		t.calls[i] = c
		a.append(EntryToolCalled, t.row.ID, "", encodeToolCalled(toolCalledBody{
			ToolUseID: use.ID, Name: use.Name, Input: use.Input, Deadline: c.deadline,
		}), nil)
	}
	for _, c := range t.calls {
		_, remote := t.settings.tool(c.use.Name)
		switch {
		case broken[c.use.ID] != "":
			a.resolve(t, c, ByBuiltin, errorText("%s", broken[c.use.ID]), true)
		case remote:
			a.armDeadline(t, c)
		default:
			a.startBuiltin(t, c)
		}
	}
	a.closeCalls(t)
}

func errorText(format string, args ...any) []message.Block {
	return []message.Block{message.Text{Text: fmt.Sprintf(format, args...)}}
}

// armDeadline starts the clock of a remote call once it is on disk.
func (a *actor) armDeadline(t *turnRun, c *toolCall) {
	a.then(func(ctx context.Context) {
		if a.turn == t && c.res == nil {
			c.timer = time.AfterFunc(c.deadline.Sub(a.m.opts.Now()), func() { a.post(ctx, callTimeout{t, c}) })
		}
	})
}

type callTimeout struct {
	turn *turnRun
	call *toolCall
}

func (c callTimeout) apply(_ context.Context, a *actor) {
	if a.turn != c.turn || c.call.res != nil {
		return
	}
	a.resolve(c.turn, c.call, ByTimeout, errorText("No result came for this call of %s before its deadline.", c.call.use.Name), true)
	a.closeCalls(c.turn)
}

// resolve logs the result of a call.
func (a *actor) resolve(t *turnRun, c *toolCall, by Resolver, content []message.Block, isError bool) {
	c.stopTimer()
	body := encodeToolResolved(c.use.ID, by, content, isError, message.Form{})
	var data []byte
	if len(body) > OmitOverBytes {
		data = encodeToolResolved(c.use.ID, by, content, isError, message.Form{OmitOverBytes: OmitOverBytes})
	}
	seq := a.append(EntryToolResolved, t.row.ID, "", body, data)
	c.res = &resolution{Seq: seq, By: by, Content: content, IsError: isError}
}

// closeCalls ends the tool round if every call has its result: the results become the
// round's user message, and the model is asked again.
func (a *actor) closeCalls(t *turnRun) {
	for _, c := range t.calls {
		if c.res == nil {
			return
		}
	}
	a.storeResults(t)
	a.then(func(ctx context.Context) { a.nextRound(ctx, t) })
}

// storeResults appends the round's user message. Stored, it refers to the entries
// that hold the results.
func (a *actor) storeResults(t *turnRun) {
	stored := &message.Message{ID: message.NewID(), TurnID: t.row.ID, Role: message.RoleUser, CreatedAt: a.now()}
	full := *stored
	for _, c := range t.calls {
		stored.Content = append(stored.Content, message.ToolResult{ToolUseID: c.use.ID, IsError: c.res.IsError, Ref: c.res.Seq})
		full.Content = append(full.Content, message.ToolResult{ToolUseID: c.use.ID, Content: c.res.Content, IsError: c.res.IsError})
	}
	measure := a.measureRound(t, &full)
	t.calls = nil
	t.detail.Claims = nil
	a.appendMessage(EntryMessageAdded, stored, &full, measure)
}

// abandonCalls gives every open call of a turn that is stopped an error result.
func (a *actor) abandonCalls(t *turnRun) {
	for _, c := range t.calls {
		if c.res == nil {
			a.resolve(t, c, ByStop, errorText("The turn was stopped before this call had a result."), true)
		}
	}
	a.storeResults(t)
}
