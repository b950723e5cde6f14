package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

const defaultURL = "ws://127.0.0.1:8080/v1/rpc"

// send sends one message and prints the answer as it comes.
func (p *program) send(ctx context.Context, args []string) error {
	fs := p.flags("send")
	url := fs.String("url", defaultURL, "the server's WebSocket; the token, if it wants one, is read from SESSIOND_TOKEN")
	id := fs.String("session", "", "a session to go on with; without it a new one is made")
	var paths []string
	fs.Func("file", "a picture, text or PDF to send along; may be given several times", func(path string) error {
		paths = append(paths, path)
		return nil
	})
	if err := parse(fs, args, -1); err != nil {
		return err
	}
	*url = wsURL(*url)
	text := strings.Join(fs.Args(), " ")
	if text == "" {
		return &usageError{"send: what is to be sent?"}
	}
	files, err := readFiles(paths)
	if err != nil {
		return err
	}
	s := &sender{
		p: p, url: *url, text: text, files: files, key: rand.Text(), shown: make(map[string]int64), told: make(map[string]string),
		dial: client.Options{Token: p.environment("SESSIOND_TOKEN")},
	}
	s.follow = client.Follower{SessionID: *id, OnEntry: s.entry, OnDelta: s.delta, OnActivity: s.activity}
	if err := s.run(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stderr, "session %s\n", s.follow.SessionID)
	return err
}

// wsURL takes the address of the page for that of the WebSocket.
func wsURL(url string) string {
	rest, isHTTP := strings.CutPrefix(url, "http")
	if !isHTTP {
		return url
	}
	url = "ws" + strings.TrimSuffix(rest, "/")
	if strings.Count(url, "/") == 2 {
		url += "/v1/rpc"
	}
	return url
}

// environment returns the value of a variable, empty if it is not set.
func (p *program) environment(name string) string {
	for _, pair := range slices.Backward(p.environ) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// sender sends one message and prints its turn. Text is shown as it is streamed; what a
// lost delta left out is printed when the message is there. A lost connection is made
// again: the message has a key, and the log is followed from the last entry.
type sender struct {
	p       *program
	url     string
	dial    client.Options
	text    string
	files   []v1.Attachment
	key     string
	follow  client.Follower
	turn    string            // the one that was asked for, once it is known
	shown   map[string]int64  // item → the delta that comes next
	told    map[string]string // message → the text that was shown of it
	outcome *v1.TurnCompletedData
	midLine bool
}

// A lost connection is tried again after a pause that doubles up to the last one; so
// often that a server has half a minute to restart.
const (
	firstReconnect = 250 * time.Millisecond
	lastReconnect  = 4 * time.Second
	reconnects     = 10
)

func (s *sender) run(ctx context.Context) error {
	began := false
	pause := firstReconnect
	for try := 0; ; try++ {
		seen := s.follow.LastSeq
		conn, err := client.Dial(ctx, s.url, s.dial)
		if err == nil {
			began = true
			err = s.converse(ctx, conn)
			conn.Close()
		}
		if err == nil || !began || ctx.Err() != nil || !lost(err) || try >= reconnects {
			return err
		}
		if s.follow.LastSeq > seen {
			try, pause = 0, firstReconnect
		}
		s.endLine()
		_, _ = fmt.Fprintf(s.p.stderr, "[the connection was lost, trying again: %v]\n", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, lastReconnect)
	}
}

// lost reports whether an error is one of the connection, or of a server that is going
// away: the same may work on another connection.
func lost(err error) bool {
	if _, isReply := errors.AsType[*client.Error](err); isReply {
		return client.IsKind(err, v1.KindShuttingDown) || client.IsKind(err, v1.KindOverloaded)
	}
	if _, isFinal := errors.AsType[*finalError](err); isFinal {
		return false
	}
	closed, ok := errors.AsType[*websocket.CloseError](err)
	return !ok || closed.Code < 4500 // from there on the server does not want us back
}

// finalError is a failure that no other connection would mend.
type finalError struct{ text string }

func (e *finalError) Error() string { return e.text }

// unfinished says why a turn did not complete.
func unfinished(outcome *v1.TurnCompletedData) error {
	if outcome.Error == nil {
		return &finalError{fmt.Sprintf("the turn was %s", outcome.Status)}
	}
	return &finalError{fmt.Sprintf("the turn %s: %s: %s", outcome.Status, outcome.Error.Kind, outcome.Error.Message)}
}

// converse does what is left to do, on one connection.
func (s *sender) converse(ctx context.Context, conn *client.Conn) error {
	if s.follow.SessionID == "" {
		var created v1.SessionResult
		if err := conn.Call(ctx, v1.MethodSessionCreate, map[string]any{"key": s.key}, &created); err != nil {
			return err
		}
		s.follow.SessionID = created.Session.ID
	}
	if instruction, ok := s.command(); ok {
		return s.compact(ctx, conn, instruction)
	}
	if s.follow.LogID == "" {
		var session v1.SessionGetResult
		if err := conn.Call(ctx, v1.MethodSessionGet, map[string]any{"session_id": s.follow.SessionID}, &session); err != nil {
			return err
		}
		s.follow.LastSeq, s.follow.LogID = session.Session.HeadSeq, session.Session.LogID
	}
	if _, err := s.follow.Subscribe(ctx, conn); err != nil {
		return err
	}
	if s.turn == "" {
		if err := s.sendMessage(ctx, conn); err != nil {
			return err
		}
	}
	if err := s.follow.Run(ctx, conn, func() bool { return s.outcome != nil }); err != nil {
		return err
	}
	s.endLine()
	if s.outcome.Status != v1.OutcomeCompleted {
		return unfinished(s.outcome)
	}
	return nil
}

func (s *sender) sendMessage(ctx context.Context, conn *client.Conn) error {
	params := map[string]any{"session_id": s.follow.SessionID, "content": s.text, "key": s.key}
	if len(s.files) > 0 {
		if err := fitting(ctx, conn, s.files); err != nil {
			return err
		}
		params["attachments"] = s.files
	}
	var sent v1.MessageSendResult
	if err := conn.Call(ctx, v1.MethodMessageSend, params, &sent); err != nil {
		return err
	}
	s.turn = sent.TurnID
	s.tellFiles(sent.Files)
	return nil
}

func (s *sender) activity(a v1.Activity) {
	if a.Activity == v1.ActivityRetrying {
		s.endLine()
		_, _ = fmt.Fprintf(s.p.stderr, "[the model's provider failed; try %d in %.1f s]\n", a.Attempt, float64(a.RetryInMS)/1000)
	}
}

func (s *sender) delta(d v1.Delta) {
	if d.TurnID != s.turn || d.Kind != v1.DeltaText {
		return
	}
	next, known := s.shown[d.ItemID]
	if d.From != next {
		return // one was lost, or shown already: the message will tell
	}
	if !known {
		s.endLine() // of an attempt that broke off
	}
	s.shown[d.ItemID] = d.To
	id, _, _ := strings.Cut(d.ItemID, "/")
	s.told[id] += d.Text
	s.print(d.Text)
}

func (s *sender) entry(e v1.Entry) error {
	if e.TurnID != s.turn {
		return nil
	}
	switch e.Type { //nolint:exhaustive // the rest is not for the terminal
	case v1.EventMessageAdded:
		return s.message(e)
	case v1.EventToolCalled:
		var d v1.ToolCalledData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		s.endLine()
		s.print(fmt.Sprintf("[calls %s %s]\n", d.Name, d.Input))
	case v1.EventTurnCompleted:
		s.outcome = new(v1.TurnCompletedData)
		return json.Unmarshal(e.Data, s.outcome)
	}
	return nil
}

// message prints what of an answer was not shown by deltas.
func (s *sender) message(e v1.Entry) error {
	var d struct {
		Message struct {
			ID      string `json:"id"`
			Role    string `json:"role"`
			Content []struct {
				Type, Text string
			} `json:"content"`
		} `json:"message"`
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	if d.Message.Role != string(v1.RoleAssistant) {
		return nil
	}
	// By message, not by block: a stopped answer is stored without its thinking, and the
	// places of its blocks change.
	var text strings.Builder
	for _, b := range d.Message.Content {
		if b.Type == "text" {
			text.WriteString(b.Text)
		}
	}
	s.print(strings.TrimPrefix(text.String(), s.told[d.Message.ID]))
	s.endLine()
	return nil
}

func (s *sender) print(text string) {
	if text == "" {
		return
	}
	_, _ = fmt.Fprint(s.p.stdout, text)
	s.midLine = !strings.HasSuffix(text, "\n")
}

func (s *sender) endLine() {
	if s.midLine {
		s.print("\n")
	}
}
