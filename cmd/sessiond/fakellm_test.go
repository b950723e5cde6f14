package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// background is a program that runs until it is stopped.
type background struct {
	lines chan string // of what it prints
	stop  func() int  // returns the exit code
}

// startProgram starts a program in this process.
func startProgram(t *testing.T, args ...string) *background {
	t.Helper()
	r := &background{lines: make(chan string, 1000)}
	out, w := io.Pipe()
	p := &program{stdout: w, stderr: t.Output()}
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- p.run(ctx, args)
		_ = w.Close()
	}()
	go func() {
		defer close(r.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			r.lines <- scan.Text()
		}
	}()
	r.stop = sync.OnceValue(func() int {
		cancel()
		return <-code
	})
	t.Cleanup(func() { r.stop() })
	return r
}

// line returns the next line that begins, white space apart, with a prefix.
func (r *background) line(t *testing.T, prefix string) string {
	t.Helper()
	for line := range r.lines {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, prefix) {
			return line
		}
	}
	t.Fatalf("the program ended without a line that begins with %q", prefix)
	return ""
}

// The lines that fake-llm prints start a server whose turns are answered by the script.
func TestFakeLLM(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.jsonl")
	const lines = `{"text":"One moment.","calls":[{"name":"todo_write","input":{"todos":[{"content":"greet","status":"completed"}]}}]}
{"text":"Scripted greetings."}
{"fault":"auth"}
`
	if err := os.WriteFile(script, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	fake := startProgram(t, "fake-llm", "--listen", "127.0.0.1:0", "--script", script, "--think")
	for _, provider := range []string{"anthropic", "openai"} {
		environ := strings.Fields(fake.line(t, "SESSIOND_LLM__PROVIDER="+provider))
		database := "sqlite:" + filepath.Join(t.TempDir(), "sessiond.db")
		server := startServer(t, append(settings(database), environ[:len(environ)-1]...)) // the last word is the program
		send := func(text string) (code int, out string) {
			code, stdout, stderr := execute(t, nil, "send", "--url", "ws://"+server.addr+"/v1/rpc", text)
			return code, stdout + stderr
		}
		if code, out := send("hello"); code != 0 || !strings.Contains(out, "[calls todo_write") || !strings.Contains(out, "Scripted greetings.") {
			t.Errorf("%s: code %d: %s", provider, code, out)
		}
		if code, out := send("again"); code != 1 || !strings.Contains(out, "upstream_failed: model call failed (auth, status 401)") {
			t.Errorf("%s: code %d: %s", provider, code, out)
		}
		if code, out := send("and again"); code != 0 || !strings.Contains(out, "You said: and again") {
			t.Errorf("%s: code %d: %s", provider, code, out)
		}
		if code := server.stop(); code != 0 {
			t.Errorf("the server ended with code %d", code)
		}
	}
	if code := fake.stop(); code != 0 {
		t.Errorf("the fakes ended with code %d", code)
	}
	// Four requests of the model each, and a question about what it can take.
	if diff := cmp.Diff("10 requests, 0 rejected", fake.line(t, "10 ")); diff != "" {
		t.Error(diff)
	}
}

func TestFakeLLMRefuses(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.jsonl")
	if err := os.WriteFile(broken, []byte("\n{\"fault\":\"fire\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--listen", "0.0.0.0:0"}, 2, "0.0.0.0:0 is no loopback address"},
		{[]string{"--listen", ":0"}, 2, ":0 is no loopback address"},
		{[]string{"--listen", "example.com:80"}, 2, "example.com:80 is no loopback address"},
		{[]string{"--listen", "nowhere"}, 2, "missing port"},
		{[]string{"--listen", "127.0.0.1:0", "--window", "-1"}, 2, "--window is negative"},
		{[]string{"--listen", "127.0.0.1:0", "--script", broken}, 1, `line 2: fault "fire" is not known`},
		{[]string{"--listen", "127.0.0.1:0", "--script", broken + ".gone"}, 1, "no such file"},
		{[]string{"more"}, 2, `unexpected argument "more"`},
	}
	for _, tt := range tests {
		if code, _, stderr := execute(t, nil, append([]string{"fake-llm"}, tt.args...)...); code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: code %d: %s", tt.args, code, stderr)
		}
	}
}
