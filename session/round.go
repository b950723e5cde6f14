package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"sessiond/llm"
	"sessiond/message"
	"sessiond/prompt"
	"sessiond/store"
)

const kindText = string(llm.DeltaText)

// round is a model call in progress. It has its message's id from the start, so that
// deltas can name it; a repeated round gets a new one.
type round struct {
	messageID message.ID
	cancel    context.CancelFunc
	timer     *time.Timer // ends the turn when its time is used up
	since     time.Time
	size      requestSize
	request   *llm.Request
	mark      prompt.LastMark // where the request is marked
	items     []OpenItem      // what was told of the answer, by block
}

func (r *round) stop() {
	r.cancel()
	r.timer.Stop()
}

// beginRound starts a model call with the conversation as it is; size is what was
// counted of it.
func (a *actor) beginRound(ctx context.Context, t *turnRun, size requestSize) {
	req := a.request(t)
	if req == nil {
		a.endTurn(store.TurnCompleted, nil)
		return
	}
	req, mark := prompt.Mark(req, a.caching(t.settings), a.st.Context.Cache.Mark)
	rctx, cancel := context.WithCancel(ctx)
	r := &round{messageID: message.NewID(), cancel: cancel, since: a.m.opts.Now(), size: size, request: req, mark: mark}
	t.round = r
	r.timer = time.AfterFunc(a.timeLeft(t), func() { a.post(rctx, timeLimit{r}) })
	a.spawn(func() {
		merger := newDeltaMerger(a.m.opts.DeltaInterval, func(pieces []llm.Delta) {
			a.post(rctx, roundDeltas{r, pieces})
		})
		resp, err := callModel(rctx, a.m.model, req, merger.add)
		merger.close()
		a.post(ctx, roundDone{r, resp, err}) // not rctx: what it cost counts if it was cut off too
	})
}

// callModel turns a panic of a provider's code, or no answer at all, into an error: it
// ends one turn, not the process.
func callModel(ctx context.Context, m llm.Model, req *llm.Request, emit func(llm.Delta)) (resp *llm.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			resp, err = nil, fmt.Errorf("model call panicked: %v\n%s", p, debug.Stack())
		}
	}()
	resp, err = m.Stream(ctx, req, emit)
	if resp == nil && err == nil {
		err = errors.New("model call returned neither an answer nor an error")
	}
	return resp, err
}

// roundDeltas publishes merged pieces of an answer.
type roundDeltas struct {
	round  *round
	pieces []llm.Delta
}

func (c roundDeltas) apply(_ context.Context, a *actor) {
	t := a.turn
	if t == nil || t.round != c.round {
		return
	}
	for _, p := range c.pieces {
		item := c.round.item(t.row.ID, p)
		d := &Delta{
			SessionID: a.row.ID, TurnID: t.row.ID, MessageID: c.round.messageID,
			Block: p.Block, Kind: item.Kind, From: item.Next, To: item.Next + 1, Text: p.Text,
		}
		item.Next++
		item.Text += p.Text
		for sub := range a.subs {
			sub.Delta(d)
		}
	}
}

func (r *round) item(turn message.TurnID, p llm.Delta) *OpenItem {
	for i := range r.items {
		if r.items[i].Block == p.Block {
			return &r.items[i]
		}
	}
	r.items = append(r.items, OpenItem{TurnID: turn, MessageID: r.messageID, Block: p.Block, Kind: string(p.Kind)})
	return &r.items[len(r.items)-1]
}

// roundDone takes a model's whole answer, or its failure. What a failed call used is
// counted too.
type roundDone struct {
	round *round
	resp  *llm.Response
	err   error
}

func (c roundDone) apply(ctx context.Context, a *actor) {
	if ctx.Err() != nil {
		return // the server stops: the round is repeated at the next start
	}
	t := a.turn
	if t == nil || t.round != c.round {
		a.countLate(c.resp)
		return
	}
	a.closeRound(t, c.err)
	a.count(t, c.resp)
	if c.err == nil {
		c.err = a.learnFrom(t, c.round, c.resp)
	}
	if c.err != nil && (a.retry(ctx, t, c.err) || a.hideImages(t, c.err) || a.lighten(t, c.round.request, c.err) || a.refused(t, c.round.size, c.err)) {
		return
	}
	t.row.Rounds++
	t.retry.attempt = 0
	if c.err != nil {
		a.roundFailed(c.err)
		return
	}
	a.takeAnswer(t, c.round.messageID, c.resp)
	a.maybeExtract(ctx, t)
}

// count adds what a round used to its turn and its session. It is stored with whatever
// comes next of the turn.
func (a *actor) count(t *turnRun, resp *llm.Response) {
	if resp == nil {
		return
	}
	t.detail.add(purposeChat, resp.Usage)
	t.detail.Uncached += a.charge(t.settings.Model, resp.Usage)
}

// countLate adds what a round used that was cut off by a stop or by its turn's time limit
// to the session. It comes when the turn has ended, with its usage told, so the session's
// total may be more than the sum of its turns. What is cut off by the end of the server or
// of the session is not counted.
func (a *actor) countLate(resp *llm.Response) {
	if resp == nil || resp.Usage == (message.Usage{}) || a.deleting {
		return
	}
	a.charge(a.current().Model, resp.Usage)
	a.batch().dirty = true // no entry tells of it
}

func (d *turnDetail) add(purpose string, u message.Usage) {
	if d.Usage == nil {
		d.Usage = make(map[string]message.Usage, 1)
	}
	d.Usage[purpose] = d.Usage[purpose].Add(u)
}

func (a *actor) roundFailed(err error) {
	e := &TurnError{TurnInternal, "the model call failed; the log has the details"}
	if me, ok := llm.AsError(err); ok {
		e = &TurnError{TurnUpstreamFailed, me.Error()}
		switch me.Class { //nolint:exhaustive // the others are all upstream_failed
		case llm.ClassOverflow:
			e.Kind = TurnContextOverflow
		case llm.ClassRefused:
			e.Kind = TurnRefused
		}
	}
	a.log.Warn("model call failed", zap.String("turn_id", string(a.turn.row.ID)), zap.Error(err), cause(err))
	a.endTurn(store.TurnFailed, e)
}

// cause is what lies under a provider's words, which are all that a client is told.
func cause(err error) zap.Field {
	if me, ok := llm.AsError(err); ok && me.Err != nil {
		return zap.NamedError("cause", me.Err)
	}
	return zap.Skip()
}

// takeAnswer stores an answer and goes on with its tool calls or ends the turn.
func (a *actor) takeAnswer(t *turnRun, id message.ID, resp *llm.Response) {
	t.cutShort = ""
	if resp.Stop == llm.StopMaxTokens || resp.Stop == llm.StopContextWindow {
		t.cutShort = resp.Stop
	}
	usage := resp.Usage
	m := &message.Message{
		ID: id, TurnID: t.row.ID, Role: message.RoleAssistant, Usage: &usage, CreatedAt: a.now(),
	}
	broken := make(map[message.ToolUseID]string) // calls whose input is no JSON object
	for _, b := range resp.Content {
		switch b := b.(type) {
		case message.Text:
			if strings.TrimSpace(b.Text) != "" {
				m.Content = append(m.Content, b)
			}
		case message.Thinking:
			if b.Raw != nil && !isJSON(b.Raw) {
				a.log.Warn("the model's thinking came with a value that is no JSON and can't be stored; it is left out")
				continue
			}
			m.Content = append(m.Content, b)
		case message.ToolUse:
			b.ID = a.ownID(b.ID, m)
			if why := checkInput(b.Input); why != "" {
				broken[b.ID] = why
				b.Input = encode(map[string]string{"invalid_json": string(b.Input)})
			}
			b.Input = bytes.TrimSpace(b.Input) // what is around the value can't be stored
			m.Content = append(m.Content, b)
		case message.Image, message.ToolResult:
			a.log.Warn("the model's answer held a block that only users send; it is left out")
		}
	}
	if len(m.Content) > 0 {
		a.appendMessage(EntryMessageAdded, m, m, a.m.measure(m, nil))
	}
	if calls := m.ToolUses(); len(calls) > 0 {
		a.stageTurn()
		a.openCalls(t, calls, broken)
		return
	}
	switch {
	case resp.Stop == llm.StopRefusal:
		a.endTurn(store.TurnFailed, &TurnError{TurnRefused, "the model declined to answer"})
	case resp.Stop == llm.StopPause && len(m.Content) > 0:
		a.stageTurn()
		a.then(func(ctx context.Context) { a.nextRound(ctx, t) })
	default:
		a.endTurn(store.TurnCompleted, nil)
	}
}

// ownID gives a call an id that is unique in the session: the provider's own where it
// is one that every provider accepts.
func (a *actor) ownID(id message.ToolUseID, m *message.Message) message.ToolUseID {
	taken := a.history.hasCall(id)
	for _, use := range m.ToolUses() {
		taken = taken || use.ID == id
	}
	if taken || !id.Portable() {
		return message.NewToolUseID()
	}
	return id
}

// checkInput says what keeps raw from being a tool's input.
func checkInput(raw []byte) string {
	if !isJSON(raw) {
		return "the input is not valid JSON"
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return "the input is not a JSON object"
	}
	return ""
}

// isJSON reports whether raw can stand in a body as it is; json.Valid alone lets bytes
// pass that are no UTF-8.
func isJSON(raw []byte) bool { return utf8.Valid(raw) && json.Valid(raw) }
