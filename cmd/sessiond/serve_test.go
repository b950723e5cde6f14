package main

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

func TestServeUntilStopped(t *testing.T) {
	for _, db := range databases() {
		t.Run(db.name, func(t *testing.T) {
			url := db.url(t)
			s := startServer(t, settings(url))
			for path, want := range map[string]string{
				"/": "<title>sessiond</title>", "/healthz": `"ok"`, "/readyz": `"ready"`,
				"/metrics": "sessiond_connections", "/v1/openrpc.json": `"openrpc"`, "/assets/console/main.js": "import", "/assets/client.js": "export",
			} {
				if status, body := s.get(path); status != http.StatusOK || !strings.Contains(body, want) {
					t.Errorf("GET %s: status %d, %.100q", path, status, body)
				}
			}
			conn := s.dial()
			create(t, conn)
			if code := s.stop(); code != 0 {
				t.Errorf("exit code %d: %s", code, s.stderr.String())
			}
			<-conn.Done()
			if conn.CloseCode() != 1012 {
				t.Errorf("the client was told %v", conn.Err())
			}
			if want := "sessiond is ready: open http://" + s.addr + "/ "; !strings.HasPrefix(s.stdout.String(), want) {
				t.Errorf("stdout is %q", s.stdout.String())
			}
			for _, want := range []string{"ready", `"provider": "demo"`, `"calls_cost": "nothing"`, "stopping"} {
				if !strings.Contains(s.stderr.String(), want) {
					t.Errorf("the log lacks %q: %s", want, s.stderr.String())
				}
			}
		})
	}
}

// follower collects a session's log and fails on gaps and repeats.
func follower(session string, entries *[]v1.Entry) *client.Follower {
	return &client.Follower{
		SessionID: session, OnDelta: func(v1.Delta) {},
		OnEntry: func(e v1.Entry) error { *entries = append(*entries, e); return nil },
	}
}

// until follows until an entry of a type has come, and returns the newest.
func until(t *testing.T, f *client.Follower, conn *client.Conn, entries *[]v1.Entry, want v1.EventType) v1.Entry {
	t.Helper()
	from := len(*entries)
	err := f.Run(t.Context(), conn, func() bool {
		for ; from < len(*entries); from++ {
			if (*entries)[from].Type == want {
				return true
			}
		}
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	return (*entries)[from]
}

// TestRestartWhileATurnWaitsForATool: the call is still open after the restart, and
// its result ends the turn.
func TestRestartWhileATurnWaitsForATool(t *testing.T) {
	for _, db := range databases() {
		t.Run(db.name, func(t *testing.T) {
			url := db.url(t)
			first := startServer(t, settings(url))
			conn := first.dial()
			id := create(t, conn)
			var entries []v1.Entry
			f := follower(id, &entries)
			if _, err := f.Subscribe(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
			send := map[string]any{"session_id": id, "content": `call look {"at": "home"}`, "key": "k"}
			sent := call[v1.MessageSendResult](t, conn, v1.MethodMessageSend, send)
			var called v1.ToolCalledData
			if err := json.Unmarshal(until(t, f, conn, &entries, v1.EventToolCalled).Data, &called); err != nil {
				t.Fatal(err)
			}
			first.stop()

			second := startServer(t, settings(url))
			conn = second.dial()
			page, err := f.Subscribe(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.PendingToolCalls) != 1 || page.PendingToolCalls[0].ToolUseID != called.ToolUseID {
				t.Fatalf("pending after the restart: %+v", page.PendingToolCalls)
			}
			again := call[v1.MessageSendResult](t, conn, v1.MethodMessageSend, send)
			if again.MessageID != sent.MessageID || again.Seq != sent.Seq || !again.Replayed {
				t.Errorf("the same message with the same key: %+v, want %+v", again, sent)
			}
			call[v1.ToolSubmitResultResult](t, conn, v1.MethodToolSubmitResult, map[string]any{
				"session_id": id, "tool_use_id": called.ToolUseID, "content": "a house",
			})
			done := until(t, f, conn, &entries, v1.EventTurnCompleted)
			if done.TurnID != sent.TurnID || !strings.Contains(string(done.Data), `"completed"`) {
				t.Errorf("the turn ended as %s", done.Data)
			}
		})
	}
}

// TestRestartWhileAnAnswerStreams: the round is repeated by itself, and the deltas of
// the answer that was given up are not mixed with the new one's.
func TestRestartWhileAnAnswerStreams(t *testing.T) {
	for _, db := range databases() {
		t.Run(db.name, func(t *testing.T) {
			url := db.url(t)
			first := startServer(t, settings(url))
			conn := first.dial()
			id := create(t, conn)
			var entries []v1.Entry
			f := follower(id, &entries)
			streamed := 0
			f.OnDelta = func(v1.Delta) { streamed++ }
			if _, err := f.Subscribe(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
			sent := call[v1.MessageSendResult](t, conn, v1.MethodMessageSend, map[string]any{"session_id": id, "content": "count to 100"})
			if err := f.Run(t.Context(), conn, func() bool { return streamed > 3 }); err != nil {
				t.Fatal(err)
			}
			first.stop()

			second := startServer(t, settings(url))
			if !strings.Contains(second.stderr.String(), `"unfinished_sessions": 1`) {
				t.Errorf("the log does not tell of the open turn: %s", second.stderr.String())
			}
			conn = second.dial()
			if _, err := f.Subscribe(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
			done := until(t, f, conn, &entries, v1.EventTurnCompleted)
			if done.TurnID != sent.TurnID || !strings.Contains(string(done.Data), `"completed"`) {
				t.Errorf("the turn ended as %s", done.Data)
			}
			answers := 0
			for _, e := range entries {
				if e.Type == v1.EventMessageAdded && strings.Contains(string(e.Data), `"role":"assistant"`) {
					answers++
					if !regexp.MustCompile(`98\D+99\D+100`).Match(e.Data) {
						t.Errorf("the answer is cut off: %.2000s", e.Data)
					}
				}
			}
			if answers != 1 {
				t.Errorf("%d answers, want 1", answers)
			}
		})
	}
}

func TestWhatKeepsAServerFromStarting(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	file := "sqlite:" + t.TempDir() + "/x.db"
	for _, tt := range []struct {
		name    string
		environ []string
		want    []string // what stderr must name
	}{
		{
			"several settings at once", settings(file,
				"SESSIOND_LLM__MAX_OUTPUT_TOKENS=-1", "SESSIOND_LOG__LEVEL=loud", "SESSIOND_NO_SUCH=1", "SESSIOND_WORKER__TOOL_TIMEOUT=soon"),
			[]string{"SESSIOND_LLM__MAX_OUTPUT_TOKENS", "SESSIOND_LOG__LEVEL", "SESSIOND_NO_SUCH", "SESSIOND_WORKER__TOOL_TIMEOUT"},
		},
		{"a port that is taken", settings(file, "SESSIOND_LISTEN="+taken.Addr().String()), []string{taken.Addr().String(), "in use"}},
		{"every address without a token", settings(file, "SESSIOND_LISTEN=0.0.0.0:0"), []string{"0.0.0.0:0", "SESSIOND_TOKEN"}},
		{"every address in short", settings(file, "SESSIOND_LISTEN=:0"), []string{"SESSIOND_TOKEN"}},
		{"a public address without a token", settings(file, "SESSIOND_LISTEN=192.0.2.1:0"), []string{"192.0.2.1", "SESSIOND_TOKEN"}},
		{"a public IPv6 address", settings(file, "SESSIOND_LISTEN=[2001:db8::1]:0"), []string{"SESSIOND_TOKEN"}},
		{"a token that can be guessed", settings(file, "SESSIOND_TOKEN=short"), []string{"SESSIOND_TOKEN", "16"}},
		{"a database that is none", settings("mysql://localhost/x"), []string{"database_url"}},
		{"a folder that is not there and can't be made", settings("sqlite:/proc/none/x.db"), []string{"/proc/none"}},
		{"a Postgres that does not answer", settings("postgres://nobody:secret-word@127.0.0.1:1/x?sslmode=disable&connect_timeout=5"), []string{"127.0.0.1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := execute(t, tt.environ)
			if code != 1 || stdout != "" {
				t.Errorf("exit code %d, stdout %q", code, stdout)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr does not name %q: %s", want, stderr)
				}
			}
			if strings.Contains(stderr, "secret-word") {
				t.Errorf("stderr shows the password: %s", stderr)
			}
		})
	}
}

// TestOneServerAtATimeOnAFile: a second one would take up the first one's turns.
func TestOneServerAtATimeOnAFile(t *testing.T) {
	url := "sqlite:" + t.TempDir() + "/x.db"
	first := startServer(t, settings(url))
	code, stdout, stderr := execute(t, settings(url))
	if code != 1 || stdout != "" || !strings.Contains(stderr, "x.db") {
		t.Errorf("a second server: exit code %d, stdout %q: %s", code, stdout, stderr)
	}
	create(t, first.dial())
	first.stop()
	startServer(t, settings(url))
}

// TestTheEnvironmentsToken: with a token a client needs it.
func TestTheEnvironmentsToken(t *testing.T) {
	const token = "a token that is long enough"
	_, _, stderr := execute(t, settings("sqlite:"+t.TempDir()+"/x.db", "SESSIOND_TOKEN="+token))
	if !strings.Contains(stderr, "SESSIOND_TOKEN") {
		t.Errorf("a token with spaces can't be sent, but stderr is %s", stderr)
	}
	const good = "a-token-that-is-long-enough"
	s := startServer(t, settings("sqlite:"+t.TempDir()+"/x.db", "SESSIOND_TOKEN="+good))
	if _, err := client.Dial(t.Context(), s.url(), client.Options{}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without it: %v", err)
	}
	create(t, dial(t, s.url(), client.Options{Token: good}))
	if strings.Contains(s.stderr.String(), good) {
		t.Error("the log shows the token")
	}
	var e *client.Error
	if err := dial(t, s.url(), client.Options{Token: good}).Call(t.Context(), "v1.no.such", nil, nil); !errors.As(err, &e) || e.Code != v1.CodeMethodNotFound {
		t.Errorf("got %v", err)
	}
}
