package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sessiond/internal/client"
	"sessiond/internal/testenv"
	v1 "sessiond/rpc/v1"
)

// beProgram makes the test binary be the program, so that tests can kill a process of
// the very code they were built with.
const beProgram = "SESSIOND_TEST_BE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(beProgram) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(testenv.Runner{M: m})
}

// patience bounds every wait; it only has to end a hang. A whole run of the program may
// take runPatience: replays of everything do, with the race detector on a busy machine.
const (
	patience    = 2 * time.Minute
	runPatience = 15 * time.Minute
)

// database is one that servers keep sessions in for good.
type database struct {
	name string
	url  func(t *testing.T) string // of an empty one
}

func databases() []database {
	return []database{
		{"sqlite", func(t *testing.T) string {
			t.Helper()
			return "sqlite:" + filepath.Join(t.TempDir(), "sessiond.db")
		}},
		{"postgres", func(t *testing.T) string {
			t.Helper()
			return testenv.Postgres(t)
		}},
	}
}

// settings is the environment of a server on a free loopback port.
func settings(databaseURL string, more ...string) []string {
	return append([]string{
		"SESSIOND_LISTEN=127.0.0.1:0", "SESSIOND_LLM__PROVIDER=demo", "SESSIOND_DATABASE_URL=" + databaseURL,
	}, more...)
}

// output is a stream that is read while it is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String returns what was written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// execute runs the program to its end, in this process.
func execute(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runPatience)
	defer cancel()
	var out, errs output
	p := &program{stdout: &out, stderr: &errs, environ: environ}
	code = p.run(ctx, args)
	http.DefaultClient.CloseIdleConnections()
	return code, out.String(), errs.String()
}

// service is a running `serve`, in this process.
type service struct {
	t              *testing.T
	addr           string
	stdout, stderr output
	cancel         context.CancelFunc
	code           chan int
}

// startServer starts a server and waits until it is ready.
func startServer(t *testing.T, environ []string, args ...string) *service {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &service{t: t, cancel: cancel, code: make(chan int, 1)}
	ready := make(chan string, 1)
	p := &program{stdout: &s.stdout, stderr: &s.stderr, environ: environ, listening: func(addr string) { ready <- addr }}
	go func() { s.code <- p.run(ctx, append([]string{"serve"}, args...)) }()
	t.Cleanup(func() { s.stop() })
	select {
	case s.addr = <-ready:
	case code := <-s.code:
		s.code <- code
		t.Fatalf("the server ended with code %d: %s", code, s.stderr.String())
	case <-time.After(patience):
		t.Fatalf("the server does not get ready: %s", s.stderr.String())
	}
	return s
}

// stop stops the server and returns its exit code, every time the same.
func (s *service) stop() int {
	s.t.Helper()
	s.cancel()
	select {
	case code := <-s.code:
		s.code <- code
		return code
	case <-time.After(patience):
		s.t.Fatalf("the server does not stop: %s", s.stderr.String())
		return 0
	}
}

func (s *service) url() string { return "ws://" + s.addr + "/v1/rpc" }

func (s *service) dial() *client.Conn {
	s.t.Helper()
	return dial(s.t, s.url(), client.Options{})
}

func dial(t *testing.T, url string, o client.Options) *client.Conn {
	t.Helper()
	conn, err := client.Dial(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// get fetches a page and returns its status and body.
func (s *service) get(path string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.addr+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// call makes a call that must succeed.
func call[T any](t *testing.T, conn *client.Conn, method string, params map[string]any) T {
	t.Helper()
	var result T
	if err := conn.Call(t.Context(), method, params, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// create makes a session that offers the tool look.
func create(t *testing.T, conn *client.Conn) string {
	t.Helper()
	tools := []any{map[string]any{"name": "look", "description": "looks", "input_schema": map[string]any{"type": "object"}}}
	return call[v1.SessionResult](t, conn, v1.MethodSessionCreate, map[string]any{"tools": tools}).Session.ID
}

// child is the program in a process of its own.
type child struct {
	cmd            *exec.Cmd
	stdout, stderr output
	ended          chan struct{}
}

// spawn starts the program in a process with nothing but this environment.
func spawn(t *testing.T, environ []string, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(self, args...), ended: make(chan struct{})}
	c.cmd.Env = append([]string{beProgram + "=1"}, environ...)
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // not longer than the test
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // the state says how it went
	}()
	t.Cleanup(func() { c.kill() })
	return c
}

// kill ends the process as a power cut would.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.ended
}

// killed reports whether a process that has ended was killed.
func (c *child) killed() bool {
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// wait waits for the process to end by itself.
func (c *child) wait(t *testing.T) (code int) {
	t.Helper()
	select {
	case <-c.ended:
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("the process does not end: %s", c.stderr.String())
		return 0
	}
}

var readyLine = regexp.MustCompile(`(?m)^sessiond is ready: open http://(\S+)/ `)

// ready waits until a server's process says where it listens.
func (c *child) ready(t *testing.T) (addr string) {
	t.Helper()
	return c.waitFor(t, &c.stdout, readyLine)
}

// waitFor waits until a stream matches a pattern and returns its first group.
func (c *child) waitFor(t *testing.T, stream *output, pattern *regexp.Regexp) string {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		if found := pattern.FindStringSubmatch(stream.String()); found != nil {
			return found[1]
		}
		select {
		case <-poll.C:
		case <-c.ended:
			t.Fatalf("the process ended: %s", c.stderr.String())
		case <-deadline.C:
			t.Fatalf("the process says nothing like %s: %s", pattern, c.stderr.String())
		}
	}
}

// lines returns the lines of a text without the empty ones.
func lines(text string) []string {
	var out []string
	scan := bufio.NewScanner(strings.NewReader(text))
	for scan.Scan() {
		if scan.Text() != "" {
			out = append(out, scan.Text())
		}
	}
	return out
}
