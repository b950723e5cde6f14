package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/internal/chat"
	"sessiond/internal/client"
	"sessiond/llm/demo"
	"sessiond/llm/llmtest"
	v1 "sessiond/rpc/v1"
)

func decode[T any](t *testing.T, raw []byte) (out T) {
	t.Helper()
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// inOrder checks that a text has pieces, one after the other.
func inOrder(t *testing.T, text string, pieces ...string) {
	t.Helper()
	rest := text
	for _, p := range pieces {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			t.Errorf("%q is missing, or not where it belongs, in:\n%s", p, text)
			return
		}
		rest = after
	}
}

// TestPipe: a whole conversation from a pipe, each line after the one before.
func TestPipe(t *testing.T) {
	w := newWorld(t, demo.New(demo.Options{}))
	c := w.talk(w.link(chat.LinkOptions{}), "")
	c.say("/context", "hello there", "", "plan a walk", "/context", "/sessions", "/memory", "/undo", "/nonsense", "/fork", "write 900 words", "in the copy", "/compact short", "/undo",
		"/open 9", "/new", "think about it", "/stop", "/sessions", "/open 2", "/help")
	got, err := c.end()
	if err == nil || !strings.Contains(err.Error(), "/context: there is no session yet") {
		t.Errorf("the command that could not be carried out is not told of: %v", err)
	}
	inOrder(t, got,
		"test at ws://", "demo", "/context: there is no session yet",
		"session ", "\n\n› hello there\n[Demo model, answers by rule] You said “hello there”",
		"\n\n› plan a walk\n", "✓ todo_write {", "→ The todo list has 3 items now.",
		"Context · demo", "messages  █", "together  █", "level 0 · generation 0",
		"   1  hello there", "Nothing is remembered yet.", "There is nothing to undo.", "/nonsense: there is no such command",
		"This is a copy now, made at entry", "› in the copy", "⇣ compacted: ", "messages, by model", "⇡ compaction undone", "/open: there is no number 9",
		"A new session begins", "session ", "› think about it", "∴ thought, ", "You said “think about it”", "Nothing was running.",
		"   1  think about it", "   2  hello there", "   3  hello there",
		"hello there · demo", "› hello there", "✓ todo_write {", "› in the copy", "/quit",
	)
	if strings.Contains(got, "\x1b") {
		t.Error("a pipe got escape sequences")
	}
}

// TestOpenALongSession: its newest messages are shown, and that there are others.
func TestOpenALongSession(t *testing.T) {
	w := newWorld(t, llmtest.New().Loop(llmtest.Text("yes")))
	c := w.talk(w.link(chat.LinkOptions{}), "")
	for said := range strings.FieldsSeq("a b c d e f g h i j k l") {
		c.say("message " + said)
	}
	c.say("/sessions", "/open 1", "one more")
	got, err := c.end()
	if err != nil {
		t.Error(err)
	}
	_, got, _ = strings.Cut(got, "/open N opens one.")
	inOrder(t, got, "message a · earlier messages are not shown · demo\n\n› message c\nyes\n", "› message l\nyes\n\n› one more\nyes\n")
	if strings.Contains(got, "› message b") || strings.Count(got, "›") != 11 {
		t.Errorf("not the newest messages:\n%s", got)
	}
}

// TestPipeFails: a failure is shown where it happens, and the first one is the result.
func TestPipeFails(t *testing.T) {
	w := newWorld(t, demo.New(demo.Options{}))
	c := w.talk(w.link(chat.LinkOptions{}), "")
	c.say("fail with auth", "/open nothing", "hello")
	got, err := c.end()
	if err == nil || !strings.Contains(err.Error(), "upstream_failed") {
		t.Errorf("got error %v", err)
	}
	inOrder(t, got, "› fail with auth", "The turn failed (upstream_failed)", "/open: ", "› hello", "You said “hello”")

	c = w.talk(w.link(chat.LinkOptions{}), "0197f0d0-0000-7000-8000-000000000001")
	got, err = c.end()
	if !client.IsKind(err, v1.KindNotFound) || strings.Contains(got, "session 0") {
		t.Errorf("a session that is not there: error %v\n%s", err, got)
	}
}

// TestModel: new sessions begin with the model that was asked for.
func TestModel(t *testing.T) {
	w := newWorld(t, demo.New(demo.Options{}))
	c := w.talk(w.link(chat.LinkOptions{Model: "other"}), "")
	c.say("hello")
	if got, err := c.end(); err != nil || !strings.Contains(got, " · other\n") {
		t.Errorf("error %v\n%s", err, got)
	}
}

// TestReplyIsLost: a message whose answer was lost is sent again, and is there once.
func TestReplyIsLost(t *testing.T) {
	for _, words := range []string{
		`"queued":`,           // the message's answer
		`"log_id":`,           // the new session's
		`"head_seq":2`,        // of the subscription or an event
		`"message.added"`,     // an event
		`"v1.session.delta"`,  // a piece of an answer
		`"turn.completed"`,    // the end
		`"context_tokens":`,   // of /context
		`"compaction.`,        // an event
		`"boundary_seq":`,     // the compaction's answer, or its event
		`"v1.session.progres`, // the meter
	} {
		t.Run(strings.Trim(words, `":`), func(t *testing.T) {
			w := newWorld(t, llmtest.New().Loop(llmtest.Text("well said")))
			w.wire.cutAt(words)
			l := w.link(chat.LinkOptions{})
			c := w.talk(l, "")
			c.say("one", "two", "/context", "/compact", "three")
			got, err := c.end()
			if err != nil {
				t.Error(err)
			}
			inOrder(t, got, "› one\n", "well said\n", "› two\n", "well said\n", "Context", "› three\n", "well said\n")
			if strings.Count(got, "›") != 3 || strings.Count(got, "well said\n") != 3 || strings.Count(got, "Context · ") != 1 {
				t.Errorf("something is missing, or there twice:\n%s", got)
			}
			if diff := cmp.Diff([]string{"one", "two", "three"}, w.messages(c.view.SessionID())); diff != "" {
				t.Errorf("the log (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCutInMidTurn: an answer goes on where the connection was lost.
func TestCutInMidTurn(t *testing.T) {
	goOn := make(chan struct{})
	w := newWorld(t, llmtest.New(llmtest.Text("one two ").Then(llmtest.Wait(goOn)).Then(llmtest.Text("three"))))
	c := w.talk(w.link(chat.LinkOptions{}), "")
	c.say("count")
	c.wait("one two")
	w.wire.cut(false)
	close(goOn)
	got, err := c.end()
	if err != nil {
		t.Error(err)
	}
	inOrder(t, got, "› count\none two \nthree\n")
	inOrder(t, got, "The connection was lost and is back: resumed at entry")
	if strings.Count(got, "one two") != 1 || strings.Contains(got, "broken off") {
		t.Errorf("something is there twice:\n%s", got)
	}
}

// until reads events until one is of a kind.
func until[E chat.Event](t *testing.T, l *chat.Link) E {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		select {
		case e, ok := <-l.Events():
			if !ok {
				t.Fatal("the events ended")
			}
			if found, is := e.(E); is {
				return found
			}
		case <-ctx.Done():
			t.Fatalf("no %T comes", *new(E))
		}
	}
}

// TestLinkEnds: the last word of a link whose server is gone is why.
func TestLinkEnds(t *testing.T) {
	w := newWorld(t, demo.New(demo.Options{}))
	l := w.link(chat.LinkOptions{Tries: 1})
	w.wire.cut(true)
	until[chat.Lost](t, l)
	if e := until[chat.Ended](t, l); !errors.Is(e.Err, errCut) {
		t.Errorf("ended with %v", e.Err)
	}
}

// TestClosedAtAnyTime: a link that is closed while it works lets go of everything.
func TestClosedAtAnyTime(t *testing.T) {
	hang := llmtest.New().Loop(llmtest.Hang())
	for _, actions := range [][]chat.Action{
		nil,
		{chat.Send{N: 1, Text: "hello"}},
		{chat.Send{N: 1, Text: "hello"}, chat.Compact{}, chat.ListSessions{}},
	} {
		w := newWorld(t, hang)
		l := w.link(chat.LinkOptions{})
		for _, a := range actions {
			if !l.Do(a) {
				t.Fatal("refused")
			}
		}
		until[chat.Connected](t, l)
		l.Close()
	}
}

// TestStop: what runs is stopped, while a compaction waits for the end of the turn.
func TestStop(t *testing.T) {
	w := newWorld(t, llmtest.New(llmtest.Text("well "), llmtest.Text("more ").Then(llmtest.Hang()), llmtest.Text("after")).Loop(llmtest.Text("a summary")))
	l := w.link(chat.LinkOptions{})
	l.Do(chat.Send{N: 1, Text: "hello"})
	completed(t, l, v1.OutcomeCompleted)
	l.Do(chat.Send{N: 2, Text: "and then"})
	until[chat.Streamed](t, l)
	l.Do(chat.Compact{})
	l.Do(chat.Stop{})
	completed(t, l, v1.OutcomeStopped)
}

func completed(t *testing.T, l *chat.Link, want v1.TurnOutcome) {
	t.Helper()
	for {
		e := until[chat.Logged](t, l).Entry
		if e.Type != v1.EventTurnCompleted {
			continue
		}
		if got := decode[v1.TurnCompletedData](t, e.Data).Status; got != want {
			t.Errorf("the turn %s, want %s", got, want)
		}
		return
	}
}

// TestDeleted: when somebody deletes the session, the next message begins another.
func TestDeleted(t *testing.T) {
	w := newWorld(t, demo.New(demo.Options{}))
	c := w.talk(w.link(chat.LinkOptions{}), "")
	c.say("one")
	c.wait("You said “one”")
	other := w.conn()
	var sessions v1.SessionListResult
	if err := other.Call(t.Context(), v1.MethodSessionList, nil, &sessions); err != nil {
		t.Fatal(err)
	}
	if err := other.Call(t.Context(), v1.MethodSessionDelete, map[string]any{"session_id": sessions.Sessions[0].ID}, nil); err != nil {
		t.Fatal(err)
	}
	c.wait("The session is gone.")
	c.say("two")
	got, err := c.end()
	if err != nil || c.view.SessionID() == sessions.Sessions[0].ID {
		t.Errorf("error %v, in session %s\n%s", err, c.view.SessionID(), got)
	}
	inOrder(t, got, "› one", "The session is gone.", "session ", "› two", "You said “two”")
}

// TestTwoInOneSession: what one types the other sees.
func TestTwoInOneSession(t *testing.T) {
	w := newWorld(t, demo.New(demo.Options{}))
	a := w.talk(w.link(chat.LinkOptions{}), "")
	a.say("one")
	a.wait("You said “one”")
	var sessions v1.SessionListResult
	if err := w.conn().Call(t.Context(), v1.MethodSessionList, nil, &sessions); err != nil {
		t.Fatal(err)
	}
	b := w.talk(w.link(chat.LinkOptions{}), sessions.Sessions[0].ID)
	b.wait("You said “one”")
	b.say("two")
	a.wait("You said “two”")
	b.wait("You said “two”")
	for _, c := range []*talk{a, b} {
		got, err := c.end()
		if err != nil {
			t.Error(err)
		}
		inOrder(t, got, "\n› one\n", "You said “one”", "\n› two\n", "You said “two”")
	}
}

// TestRefused: the first connection decides.
func TestRefused(t *testing.T) {
	w := newWorld(t, demo.New(demo.Options{}))
	w.wire.cut(true)
	if _, err := chat.Connect(t.Context(), chat.LinkOptions{URL: w.url(), Dial: client.Options{NetDial: w.wire.dial}}); !errors.Is(err, errCut) {
		t.Errorf("got %v", err)
	}
	if _, err := chat.Connect(t.Context(), chat.LinkOptions{URL: strings.TrimSuffix(w.url(), "/rpc")}); err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusNotFound)) {
		t.Errorf("got %v", err)
	}
}
