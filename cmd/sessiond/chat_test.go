package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func chatWith(t *testing.T, environ []string, typed string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs output
	p := &program{stdin: strings.NewReader(typed), stdout: &out, stderr: &errs, environ: environ}
	code = p.run(ctx, append([]string{"chat"}, args...))
	return code, out.String(), errs.String()
}

func TestChat(t *testing.T) {
	const token = "a-token-that-is-long-enough"
	s := startServer(t, settings("sqlite:"+t.TempDir()+"/x.db", "SESSIOND_TOKEN="+token))
	environ := []string{"SESSIOND_TOKEN=" + token}
	code, stdout, stderr := chatWith(t, environ, "hello there\n/context\n", "--url", "http://"+s.addr)
	if code != 0 || !strings.Contains(stdout, "› hello there\n") || !strings.Contains(stdout, "You said “hello there”") || !strings.Contains(stdout, "Context · demo") {
		t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
	id, ok := strings.CutPrefix(strings.TrimSpace(stderr), "session ")
	if !ok {
		t.Fatalf("stderr does not name the session: %s", stderr)
	}
	code, stdout, _ = chatWith(t, nil, "and again", "--url", s.url(), "--token", token, "--session", id)
	if code != 0 || !strings.Contains(stdout, "You said “hello there”") || !strings.Contains(stdout, "You said “and again”") {
		t.Errorf("exit code %d\nstdout: %s", code, stdout)
	}
	if code, stdout, stderr = chatWith(t, environ, "fail with auth\n", "--url", s.url()); code != 1 || !strings.Contains(stdout, "The turn failed") || !strings.Contains(stderr, "upstream_failed") {
		t.Errorf("a failed turn: exit code %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
	if code, _, stderr = chatWith(t, environ, "hello\n", "--url", s.url(), "--session", "0197f0d0-0000-7000-8000-000000000001"); code != 1 || !strings.Contains(stderr, "not_found") {
		t.Errorf("a session that is not there: exit code %d: %s", code, stderr)
	}
	if code, _, stderr = chatWith(t, environ, "hello\n", "--url", s.url(), "--model", "nobody"); code != 1 || !strings.Contains(stderr, "model") {
		t.Errorf("a model that is not there: exit code %d: %s", code, stderr)
	}
	if code, _, stderr = chatWith(t, nil, "hello\n", "--url", s.url()); code != 1 ||
		!strings.HasSuffix(stderr, ": the server answered 401 Unauthorized: the header Authorization: Bearer <token> is missing; give the server's token with --token or in SESSIOND_TOKEN\n") {
		t.Errorf("without a token: exit code %d: %s", code, stderr)
	}
	if code, _, stderr = chatWith(t, []string{"SESSIOND_TOKEN=another"}, "hello\n", "--url", s.url()); code != 1 ||
		!strings.HasSuffix(stderr, ": the bearer token is not valid; is it the right token? --token and SESSIOND_TOKEN give it\n") {
		t.Errorf("with another token: exit code %d: %s", code, stderr)
	}
	if code, stdout, stderr = chatWith(t, environ, "/compcat\nhello\n", "--url", s.url()); code != 1 || !strings.Contains(stdout, "You said “hello”") || !strings.Contains(stderr, "/compcat: there is no such command") {
		t.Errorf("an unknown command: exit code %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
	if code, _, stderr = chatWith(t, environ, "", "--url", "ws://127.0.0.1:1/v1/rpc"); code != 1 || !strings.Contains(stderr, "sessiond serve") {
		t.Errorf("without a server: exit code %d: %s", code, stderr)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Another server</title>")
	}))
	defer page.Close()
	if code, _, stderr = chatWith(t, environ, "", "--url", page.URL); code != 1 || !strings.Contains(stderr, "200 OK") || strings.Contains(stderr, "<") || strings.Contains(stderr, "sessiond serve") {
		t.Errorf("another server: exit code %d: %s", code, stderr)
	}
	for _, args := range [][]string{{"--url", "nonsense"}, {"--url", "http://"}, {"--url", "ftp://h"}, {"--session", "123"}} {
		code, _, stderr = chatWith(t, environ, "", args...)
		if code != 2 || !strings.Contains(stderr, "chat: "+args[0]) || !strings.Contains(stderr, args[1]) || strings.Contains(stderr, "\n\n") || strings.Contains(stderr, "code -") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
	if code, _, stderr = chatWith(t, environ, "", "surplus"); code != 2 || !strings.Contains(stderr, `"surplus"`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr = execute(t, environ, "chat", "--url", s.url()); code != 0 || stderr != "" {
		t.Errorf("without any input: exit code %d: %s", code, stderr)
	}
}

// TestChatOnATerminal: what a person at a terminal does and sees.
func TestChatOnATerminal(t *testing.T) {
	s := startServer(t, settings("sqlite:"+t.TempDir()+"/x.db"))
	seat := sit(t, nil, "--url", s.url())
	seat.see("/help lists the commands\n\n› ")
	seat.press("你好吗")
	seat.see("\n› 你好吗")
	seat.at(8)
	seat.press("\x7f\x7f")
	seat.see("\n› 你\n")
	seat.at(4)
	seat.press("\x7fhelx\x7flo\r") // rubbed out, and sent
	seat.see("\n› hello\n[Demo model, answers by rule] You said “hello”")
	seat.see("/12k ›") // the meter
	seat.press("count to 10000\r")
	seat.see("1 2 3 4 5")
	seat.press("later\r")
	seat.see("⧖ queued: later")
	seat.see("answering · Ctrl-C stops")
	seat.press("\x03")
	seat.see("\n(stopped)\n\n› later\n")
	seat.see("You said “later”")
	seat.press("\x1b[A\x1b[A\x1b[A\r") // the first message again
	seat.see("conversation has 7 messages")
	seat.press("/conte\t\r")
	seat.see("\n  together ")
	seat.press("\x1b[200~one\ntwo\x1b[201~\r") // pasted
	seat.see("\n› one\n  two\n[Demo")
	seat.see("You said “one two”")
	seat.resize(60, seatRows)
	seat.press("three\r")
	seat.see("You said “three”")
	seat.rest()
	seat.press("\x03")
	seat.see("Ctrl-C again leaves")
	seat.press("\x03")
	if code := seat.leave(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	seat.see("\nCome back with: sessiond chat --session ")
	for _, said := range []string{"hello", "count to 10000", "later", "one", "three"} { // nothing was printed twice or over
		if n := strings.Count(seat.text(), "\n› "+said+"\n"); n != 1 && said != "hello" || n == 0 {
			t.Errorf("%q is there %d times:\n%s", said, n, seat.text())
		}
	}
}

// TestChatWithoutColours: where NO_COLOR is set, nothing is coloured.
func TestChatWithoutColours(t *testing.T) {
	s := startServer(t, settings("sqlite:"+t.TempDir()+"/x.db"))
	for _, tt := range []struct {
		environ []string
		want    bool
	}{{nil, true}, {[]string{"NO_COLOR=1"}, false}} {
		seat := sit(t, tt.environ, "--url", s.url())
		seat.see("› ")
		seat.press("hello\r")
		seat.see("You said “hello”")
		seat.see("/12k ›")
		seat.press("\x04")
		if code := seat.leave(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if got := seat.coloured(); got != tt.want {
			t.Errorf("%v: coloured: %v, want %v\n%s", tt.environ, got, tt.want, seat.text())
		}
	}
}

// TestChatAcrossARestart: the server goes away in the middle of an answer and comes back,
// and the person need not do anything.
func TestChatAcrossARestart(t *testing.T) {
	environ := settings("sqlite:" + t.TempDir() + "/x.db")
	s := startServer(t, environ)
	seat := sit(t, nil, "--url", s.url())
	seat.see("› ")
	seat.press("count to 100\r")
	seat.see("1 2 3")
	s.stop()
	seat.see("no connection, trying again")
	seat.press("later\r")
	seat.see("is sent when the connection is back: later")
	startServer(t, append(environ, "SESSIOND_LISTEN="+s.addr))
	seat.see("The connection was lost and is back: resumed at entry")
	seat.see(" 99 100\n")
	seat.see("\n› later\n")
	seat.see("You said “later”")
	seat.press("\x04")
	if code := seat.leave(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
