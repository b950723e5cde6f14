//go:build e2e

// Package clients_test runs clients that others wrote against the built server: three of
// npm's, Debian's python3-websockets, and the server's own page in a headless browser.
// The npm packages are pinned by package-lock.json and installed beside it.
package clients_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every step; it only has to end a hang.
const patience = 3 * time.Minute

func TestClients(t *testing.T) {
	install(t)
	addr := serve(t)
	url := "ws://" + addr + "/v1/rpc"
	for name, command := range map[string][]string{
		"ws":                 {"node", "ws.mjs", url},
		"json-rpc-2.0":       {"node", "json-rpc-2.0.mjs", url},
		"vscode-ws-jsonrpc":  {"node", "vscode-ws-jsonrpc.mjs", url},
		"python3-websockets": {python(t), "websockets_client.py", url},
	} {
		t.Run(name, func(t *testing.T) { hold(t, command...) })
	}
}

func TestPage(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("no chromium here: apt-get install chromium")
	}
	install(t)
	picture := filepath.Join(t.ArtifactDir(), "page.png")
	hold(t, "node", "page.mjs", "http://"+serve(t)+"/", browser, picture)
}

// hold runs a client, whose last word must be ok.
func hold(t *testing.T, command ...string) {
	t.Helper()
	if out := output(t, command...); !strings.HasSuffix(out, "ok\n") {
		t.Errorf("%s said %q", command[0], out)
	}
}

func output(t *testing.T, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// install makes node_modules what the lock file says, if it is not yet.
func install(t *testing.T) {
	t.Helper()
	if exec.Command("npm", "ls", "--all").Run() != nil {
		output(t, "npm", "ci")
	}
}

// python finds an interpreter with the library: Debian's package serves Debian's own,
// which may not be the first in PATH.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import websockets").Run() == nil {
			return name
		}
	}
	t.Fatal("no python3 with websockets: apt-get install python3-websockets")
	return ""
}

// serve builds the server, starts it and returns where it listens.
func serve(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "sessiond")
	output(t, "go", "build", "-o", program, "sessiond/cmd/sessiond")
	cmd := exec.Command(program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SESSIOND_LISTEN=127.0.0.1:0", "SESSIOND_LLM__PROVIDER=demo")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the server does not get ready: %v", err)
	}
	_, rest, _ := strings.Cut(line, "http://")
	addr, _, ok := strings.Cut(rest, "/")
	if !ok {
		t.Fatalf("the server says %q", line)
	}
	return addr
}
