//go:build e2e

// Package e2etest runs the built server and programs of Node.js for tests of the whole.
// What is missing on a machine skips a test, and fails it where CI is set.
package e2etest

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every step; it only has to end a hang.
const patience = 5 * time.Minute

// need returns where a program is.
func need(t *testing.T, program, debian string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("no %s here: apt-get install %s", program, debian)
	}
	t.Skipf("no %s here: apt-get install %s", program, debian)
	return ""
}

// Browser returns where the browser is.
func Browser(t *testing.T) string {
	t.Helper()
	return need(t, "chromium", "chromium")
}

// Install makes the node_modules of the test's folder what its lock file says.
func Install(t *testing.T) {
	t.Helper()
	need(t, "node", "nodejs")
	if exec.CommandContext(t.Context(), "npm", "ls", "--all").Run() != nil {
		Run(t, "npm", "ci")
	}
}

// Run runs a program in the test's folder, fails if it does, and returns what it said.
func Run(t *testing.T, command ...string) string {
	t.Helper()
	var out bytes.Buffer
	RunTo(t, &out, command...)
	return out.String()
}

// RunTo is Run for programs to which the test listens while they run.
func RunTo(t *testing.T, stdout io.Writer, command ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, need(t, command[0], command[0]), command[1:]...)
	// One that takes too long is asked to end, so that it ends its browser.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var said record
	cmd.Stdout = io.MultiWriter(stdout, &said)
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, said.all.String())
	}
}

// record is what a program said on both its outputs, in the order it came: they are
// written by two goroutines.
type record struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Write(p)
}

// Server is the built server, running on an address of its own with a database of its own.
type Server struct {
	Addr    string
	program string
	folder  string
	env     []string
	cmd     *exec.Cmd
}

// Serve builds the server and starts it with the demo model. env is added to what it
// finds in its environment.
func Serve(t *testing.T, env ...string) *Server {
	t.Helper()
	dir := t.TempDir()
	s := &Server{Addr: freeAddr(t), program: filepath.Join(dir, "sessiond"), folder: dir}
	s.env = append(os.Environ(), "SESSIOND_LISTEN="+s.Addr, "SESSIOND_LLM__PROVIDER=demo", "SESSIOND_LOG__LEVEL=warn")
	s.env = append(s.env, env...)
	Run(t, "go", "build", "-o", s.program, "sessiond/cmd/sessiond")
	s.Start(t)
	t.Cleanup(func() { s.end(t, syscall.SIGTERM) })
	return s
}

// freeAddr returns an address that was free a moment ago: a server that is started again
// must be where it was.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Start starts the server again, and returns when it is ready.
func (s *Server) Start(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(s.program)
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = s.folder, s.env, os.Stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("the server does not get ready: %v", err)
	}
}

// Kill ends the server without a warning.
func (s *Server) Kill(t *testing.T) {
	t.Helper()
	s.end(t, syscall.SIGKILL)
}

// Stop asks the server to end, and waits for it.
func (s *Server) Stop(t *testing.T) {
	t.Helper()
	s.end(t, syscall.SIGTERM)
}

func (s *Server) end(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(sig)
	if err := s.cmd.Wait(); err != nil && sig == syscall.SIGTERM {
		t.Errorf("the server: %v", err)
	}
}
