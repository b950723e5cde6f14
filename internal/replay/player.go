package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"sessiond/internal/client"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
)

// Result is what playing a conversation came to.
type Result struct {
	ID        string
	SessionID string
	Messages  int
	ToolCalls int
	Entries   int64
	Resumed   bool // it was begun by an earlier run
}

// Play plays a conversation on a connection and checks that the log tells the same
// conversation: type, role and content of every message, but for the ids of calls.
func Play(ctx context.Context, conn *client.Conn, c *Conversation) (*Result, error) {
	return newPlayer(conn, c, alone{}).run(ctx)
}

// witness accompanies a player.
type witness interface {
	// look is called again and again while the replay waits for entries, and with idle
	// when no turn runs: before the next message is sent, and at the end.
	look(ctx context.Context, idle bool) error
	// rest is called before a message that came some time after the one before it.
	rest(d time.Duration)
	// cue is told what the model is to answer next, before whatever makes it answer.
	cue(answer []message.Block)
	// entry sees every entry of the log before the player does.
	entry(e *v1.Entry) error
	// failed is told that the turn did not complete, refused that the message that ought
	// to be next was not taken. With an error the replay ends.
	failed(d *v1.TurnCompletedData) error
	refused(err error) error
}

// alone is the witness of a replay that nobody watches: every turn has to complete.
type alone struct{}

func (alone) look(context.Context, bool) error { return nil }
func (alone) rest(time.Duration)               {}
func (alone) cue([]message.Block)              {}
func (alone) entry(*v1.Entry) error            { return nil }
func (alone) refused(err error) error          { return err }

func (alone) failed(d *v1.TurnCompletedData) error {
	if d.Error == nil {
		return fmt.Errorf("the turn ended as %s", d.Status)
	}
	return fmt.Errorf("the turn ended as %s: %s: %s", d.Status, d.Error.Kind, d.Error.Message)
}

// player is the state of one replay, as told by the session's log.
type player struct {
	conn      *client.Conn
	c         *Conversation
	with      witness
	follow    client.Follower
	at        int            // messages of the recording that are in the log
	calls     map[string]int // pending calls → index in the recorded message
	toolCalls int
	inRound   int  // calls of the newest answer that were told
	running   bool // a turn is
	sent      int  // messages that were sent, as an index
	submitted map[string]bool
}

func newPlayer(conn *client.Conn, c *Conversation, w witness) *player {
	return &player{conn: conn, c: c, with: w, calls: make(map[string]int), submitted: make(map[string]bool)}
}

func (p *player) run(ctx context.Context) (*Result, error) {
	created, err := p.create(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.c.ID, err)
	}
	p.follow = client.Follower{SessionID: created.Session.ID, OnEntry: p.entry}
	if err := p.play(ctx); err != nil {
		return nil, fmt.Errorf("%s, session %s, message %d: %w", p.c.ID, created.Session.ID, p.at, err)
	}
	if err := p.conn.Call(ctx, v1.MethodSessionUnsubscribe, map[string]any{"session_id": created.Session.ID}, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", p.c.ID, err)
	}
	return &Result{
		ID: p.c.ID, SessionID: created.Session.ID, Messages: p.at, ToolCalls: p.toolCalls,
		Entries: p.follow.LastSeq, Resumed: created.Replayed,
	}, nil
}

func (p *player) create(ctx context.Context) (*v1.SessionResult, error) {
	tools := make([]v1.Tool, len(p.c.Tools))
	for i, t := range p.c.Tools {
		tools[i] = v1.Tool(t)
	}
	params := map[string]any{"title": p.c.ID, "model": p.c.ID, "tools": tools, "key": p.key("create")}
	if p.c.System != "" {
		params["system_prompt"] = p.c.System
	}
	var created v1.SessionResult
	return &created, p.conn.Call(ctx, v1.MethodSessionCreate, params, &created)
}

// key makes the idempotency key of a step: at most 64 characters, the same in every
// run.
func (p *player) key(step string) string {
	sum := sha256.Sum256([]byte(p.c.ID + "\x00" + step))
	return hex.EncodeToString(sum[:])
}

func (p *player) play(ctx context.Context) error {
	if _, err := p.follow.Subscribe(ctx, p.conn); err != nil {
		return err
	}
	for !p.done() {
		if err := p.act(ctx); err != nil {
			return err
		}
		seen := p.follow.LastSeq
		if err := p.follow.Run(ctx, p.conn, func() bool { return p.done() || p.follow.LastSeq > seen }); err != nil {
			return err
		}
	}
	return p.with.look(ctx, true)
}

func (p *player) done() bool { return p.at == len(p.c.Messages) && !p.running }

// act does what the recording has a client do next, if it is the client's turn.
func (p *player) act(ctx context.Context) error {
	for id, i := range p.calls {
		if p.submitted[id] {
			continue
		}
		p.submitted[id] = true
		if err := p.submit(ctx, id, i); err != nil {
			return err
		}
	}
	if p.running || p.at < p.sent || p.at >= len(p.c.Messages) {
		return p.with.look(ctx, false)
	}
	m := &p.c.Messages[p.at]
	if m.Role != message.RoleUser || m.Results() {
		return fmt.Errorf("the turn ended where the recording has %s", describe(m))
	}
	if err := p.with.look(ctx, true); err != nil {
		return err
	}
	if p.at > 0 && !m.At.IsZero() && m.At.After(p.c.Messages[p.at-1].At) && !p.c.Messages[p.at-1].At.IsZero() {
		p.with.rest(m.At.Sub(p.c.Messages[p.at-1].At))
	}
	p.with.cue(p.answerTo(p.at))
	err := p.conn.Call(ctx, v1.MethodMessageSend, map[string]any{
		"session_id": p.follow.SessionID, "content": blocks(m.Content), "key": p.key("send " + strconv.Itoa(p.at)),
	}, nil)
	if err == nil {
		p.sent = p.at + 1
		return nil
	}
	if err := p.with.refused(err); err != nil {
		return err
	}
	return p.act(ctx) // nothing was stored, so no entry comes
}

// answerTo returns the recorded answer to a message, nil if there is none.
func (p *player) answerTo(at int) []message.Block {
	if next := at + 1; next < len(p.c.Messages) && p.c.Messages[next].Role == message.RoleAssistant {
		return p.c.Messages[next].Content
	}
	return nil
}

// submit hands in the recorded result of call i of the newest answer.
func (p *player) submit(ctx context.Context, id string, i int) error {
	results := &p.c.Messages[p.at]
	if !results.Results() || i >= len(results.Content) {
		return fmt.Errorf("call %s has no recorded result", id)
	}
	r := results.Content[i].(message.ToolResult) //nolint:forcetypeassert // Results has looked
	p.with.cue(p.answerTo(p.at))
	return p.conn.Call(ctx, v1.MethodToolSubmitResult, map[string]any{
		"session_id": p.follow.SessionID, "tool_use_id": id, "content": blocks(r.Content), "is_error": r.IsError,
		"key": p.key(fmt.Sprintf("result %d.%d", p.at, i)),
	}, nil)
}

func blocks(content []message.Block) json.RawMessage {
	return message.AppendBlocks(nil, content, message.Form{})
}

// entry takes an entry of the log.
func (p *player) entry(e v1.Entry) error {
	if err := p.with.entry(&e); err != nil {
		return fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	switch e.Type { //nolint:exhaustive // the others tell nothing of where the conversation stands
	case v1.EventMessageAdded, v1.EventMessageQueued:
		return p.message(e)
	case v1.EventToolCalled:
		id, err := toolUseID(e)
		if err != nil {
			return err
		}
		p.calls[id] = p.inRound
		p.inRound++
		p.toolCalls++
	case v1.EventToolResolved:
		id, err := toolUseID(e)
		if err != nil {
			return err
		}
		delete(p.calls, id)
	case v1.EventTurnStarted:
		p.running = true
	case v1.EventTurnCompleted:
		p.running = false
		var d v1.TurnCompletedData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		if d.Status == v1.OutcomeCompleted {
			return nil
		}
		if err := p.with.failed(&d); err != nil {
			return fmt.Errorf("entry %d: %w", e.Seq, err)
		}
	}
	return nil
}

func toolUseID(e v1.Entry) (string, error) {
	var d struct {
		ToolUseID string `json:"tool_use_id"`
	}
	err := json.Unmarshal(e.Data, &d)
	return d.ToolUseID, err
}

// message compares a stored message with the recorded one at its place.
func (p *player) message(e v1.Entry) error {
	if p.at >= len(p.c.Messages) {
		return fmt.Errorf("entry %d: a message follows the end of the recording", e.Seq)
	}
	var d struct {
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	want := &p.c.Messages[p.at]
	if err := p.compare(d.Message, want); err != nil {
		return fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	p.at++
	p.inRound = 0
	if want.Role == message.RoleUser && !want.Results() {
		p.running = true // its turn starts in the same commit
	}
	return nil
}
