package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

const defaultURL = "ws://127.0.0.1:8080/v1/rpc"

// send sends one message and prints the answer as it comes.
func (p *program) send(ctx context.Context, args []string) error {
	fs := p.flags("send")
	url := fs.String("url", defaultURL, "the server's WebSocket; the token, if it wants one, is read from SESSIOND_TOKEN")
	id := fs.String("session", "", "a session to go on with; without it a new one is made")
	if err := parse(fs, args, -1); err != nil {
		return err
	}
	text := strings.Join(fs.Args(), " ")
	if text == "" {
		return &usageError{"send: what is to be sent?"}
	}
	conn, err := client.Dial(ctx, *url, client.Options{Token: p.environment("SESSIOND_TOKEN")})
	if err != nil {
		return err
	}
	defer conn.Close()
	if *id == "" {
		var created v1.SessionResult
		if err := conn.Call(ctx, v1.MethodSessionCreate, map[string]any{}, &created); err != nil {
			return err
		}
		*id = created.Session.ID
	}
	s := &sender{p: p}
	s.follow = client.Follower{SessionID: *id, OnEntry: s.entry, OnDelta: s.delta}
	if err := s.run(ctx, conn, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stderr, "session %s\n", *id)
	return err
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

// sender prints one turn. Text is shown as it is streamed; what a lost delta left out
// is printed when the message is there.
type sender struct {
	p       *program
	follow  client.Follower
	turn    string // the one that was asked for
	shown   map[string]string
	outcome *v1.TurnCompletedData
	midLine bool
}

func (s *sender) run(ctx context.Context, conn *client.Conn, text string) error {
	var session v1.SessionGetResult
	if err := conn.Call(ctx, v1.MethodSessionGet, map[string]any{"session_id": s.follow.SessionID}, &session); err != nil {
		return err
	}
	s.follow.LastSeq = session.Session.HeadSeq
	if _, err := s.follow.Subscribe(ctx, conn); err != nil {
		return err
	}
	var sent v1.MessageSendResult
	err := conn.Call(ctx, v1.MethodMessageSend, map[string]any{
		"session_id": s.follow.SessionID, "content": text, "key": rand.Text(),
	}, &sent)
	if err != nil {
		return err
	}
	s.turn = sent.TurnID
	if err := s.follow.Run(ctx, conn, func() bool { return s.outcome != nil }); err != nil {
		return err
	}
	s.endLine()
	if e := s.outcome.Error; e != nil {
		return fmt.Errorf("the turn %s: %s: %s", s.outcome.Status, e.Kind, e.Message)
	}
	return nil
}

func (s *sender) delta(d v1.Delta) {
	if d.TurnID != s.turn || d.Kind != v1.DeltaText {
		return
	}
	if s.shown == nil {
		s.shown = make(map[string]string)
	}
	if _, known := s.shown[d.ItemID]; !known && d.From > 0 {
		return // the beginning was lost: wait for the message
	}
	s.shown[d.ItemID] += d.Text
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
	for i, b := range d.Message.Content {
		if b.Type == "text" {
			s.print(strings.TrimPrefix(b.Text, s.shown[fmt.Sprintf("%s/%d", d.Message.ID, i)]))
		}
	}
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
