package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sending is a server and a session that is talked to by the command.
type sending struct {
	t   *testing.T
	url string
	id  string // of the session, once there is one
}

func newSending(t *testing.T, environ ...string) *sending {
	t.Helper()
	s := startServer(t, settings("sqlite:"+filepath.Join(t.TempDir(), "x.db"), environ...))
	return &sending{t: t, url: s.url()}
}

// send runs the command in the session and wants it to succeed.
func (s *sending) send(args ...string) (stdout, stderr string) {
	s.t.Helper()
	if s.id != "" {
		args = append([]string{"--session", s.id}, args...)
	}
	code, stdout, stderr := execute(s.t, nil, append([]string{"send", "--url", s.url}, args...)...)
	if code != 0 {
		s.t.Fatalf("%.80q: exit code %d\nstdout: %q\nstderr: %s", args, code, stdout, stderr)
	}
	told := lines(stderr)
	id, ok := strings.CutPrefix(told[len(told)-1], "session ")
	if !ok || s.id != "" && id != s.id {
		s.t.Errorf("stderr does not end with the session: %s", stderr)
	}
	s.id = id
	return stdout, stderr
}

// testFile makes a file and returns its path.
func testFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSendCompact: the command /compact prints how the compaction ended, also when there
// was nothing to do.
func TestSendCompact(t *testing.T) {
	s := newSending(t)
	for _, text := range []string{"/compact", " /compact all of it "} {
		if stdout, _ := s.send(text); stdout != "[not compacted: nothing_to_compact]\n" {
			t.Errorf("%q of nothing: %q", text, stdout)
		}
	}
	for i := range 2 { // in files, which the demo does not say again
		s.send("--file", testFile(t, "long.txt", strings.Repeat("word ", 2_000)), fmt.Sprint("message ", i))
	}
	code, stdout, stderr := execute(t, nil, "send", "--url", s.url, "--session", s.id, "/compact fail with auth")
	if code != 1 || stdout != "" || !strings.Contains(stderr, "the compaction ended as failed: summariser_auth") {
		t.Errorf("a failed one: exit code %d\nstdout: %q\nstderr: %s", code, stdout, stderr)
	}
	stdout, _ = s.send("/compact")
	first, summary, _ := strings.Cut(stdout, "\n")
	var before, after int
	var how string
	if n, err := fmt.Sscanf(first, "[compacted from %d to %d tokens (%s", &before, &after, &how); n != 3 || after >= before || how != "applied);" {
		t.Errorf("told %q: %v", first, err)
	}
	if !strings.HasSuffix(first, "summary by model]") || !strings.Contains(summary, "message 0") {
		t.Errorf("the summary is not shown: %q", stdout)
	}
	if stdout, _ := s.send("still", "there?"); !strings.Contains(stdout, "still there?") {
		t.Errorf("afterwards: %q", stdout)
	}
	if stdout, _ := s.send("/compactness"); !strings.Contains(stdout, "/compactness") || strings.Contains(stdout, "compacted") {
		t.Errorf("no command: %q", stdout)
	}
}

// TestSendFiles: files go along with the message, and stderr tells what became of each.
func TestSendFiles(t *testing.T) {
	const limit = 256 << 10
	s := newSending(t, fmt.Sprintf("SESSIOND_SERVER__LIMITS__FRAME_BYTES=%d", limit))
	_, stderr := s.send(
		"--file", testFile(t, "notes.txt", "The port is 8081."), "--file", testFile(t, "long.md", strings.Repeat("word ", 20_000)),
		"--file", testFile(t, "empty.txt", ""), "Which", "port?",
	)
	told := lines(stderr)
	if len(told) < 3 || !strings.HasPrefix(told[0], "[notes.txt: ") || strings.Contains(told[0], "shown") ||
		!strings.HasPrefix(told[1], "[long.md: ") || !strings.Contains(told[1], "of which the model is shown") || !strings.HasPrefix(told[2], "[empty.txt: ") {
		t.Errorf("told %q", told)
	}
	for _, tt := range []struct{ name, path, want string }{
		{"a file that is not there", filepath.Join(t.TempDir(), "gone"), "no such file"},
		{"a program", testFile(t, "a.bin", "\x7fELF\x02\x01\x01\x00\x00"), "unsupported_media"},
		{"more than a message may have", testFile(t, "b.txt", strings.Repeat("x", limit)), "the server takes messages of 262144"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := execute(t, nil, "send", "--url", s.url, "--session", s.id, "--file", tt.path, "Look.")
			if code != 1 || stdout != "" || !strings.Contains(stderr, tt.want) || strings.Contains(stderr, "trying again") {
				t.Errorf("exit code %d\nstdout: %q\nstderr: %s", code, stdout, stderr)
			}
		})
	}
}
