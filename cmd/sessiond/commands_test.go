package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"sessiond/configs"
)

// TestExitCodes: 0 is success, 1 a failure, 2 a wrong call, which stderr explains.
func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string // what they must contain
	}{
		{"version", 0, "sessiond dev (go", ""},
		{"help", 0, "sessiond migrate", ""},
		{"--help", 0, "sessiond migrate", ""},
		{"-h", 0, "sessiond migrate", ""},
		{"send -h", 0, "", "-session"},
		{"config --sample", 0, "listen:", ""},
		{"no-such-command", 2, "", `"no-such-command"`},
		{"--no-such-flag", 2, "", "no-such-flag"},
		{"serve surplus", 2, "", `"surplus"`},
		{"config --no-such-flag", 2, "", "no-such-flag"},
		{"migrate surplus", 2, "", `"surplus"`},
		{"send", 2, "", "send"},
		{"replay", 2, "", "replay.md"},
		{"replay /no/such/file", 1, "", "/no/such/file"},
		{"config --config /no/such/file.yaml", 1, "", "/no/such/file.yaml"},
		{"send --url ws://127.0.0.1:1/v1/rpc hello", 1, "", "127.0.0.1:1"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			code, stdout, stderr := execute(t, nil, strings.Fields(tt.args)...)
			if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, tt.code, stdout, stderr)
			}
			if tt.code != 0 && (stdout != "" || len(lines(stderr)) == 0) {
				t.Errorf("a failure belongs on stderr\nstdout: %s\nstderr: %s", stdout, stderr)
			}
		})
	}
}

func TestConfigHidesSecrets(t *testing.T) {
	code, stdout, stderr := execute(t, []string{
		"SESSIOND_TOKEN=a-secret-token-of-mine", "SESSIOND_LLM__API_KEY=a-secret-key-of-mine",
		"SESSIOND_DATABASE_URL=postgres://me:a-secret-password@db.example/x", "SESSIOND_LOG__LEVEL=debug",
	}, "config")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if strings.Contains(stdout, "a-secret") {
		t.Errorf("a secret is shown:\n%s", stdout)
	}
	for _, want := range []string{"db.example", "level: debug", "owner: default"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not shown:\n%s", want, stdout)
		}
	}
}

// TestTheSampleIsTheDefault: a file with the sample in it changes nothing.
func TestTheSampleIsTheDefault(t *testing.T) {
	_, sample, _ := execute(t, nil, "config", "--sample")
	if sample != configs.Sample() {
		t.Error("config --sample prints something else than the sample")
	}
	_, plain, _ := execute(t, nil, "config")
	_, sampled, stderr := execute(t, nil, "config", "--config", filepath.Join("..", "..", "configs", "sessiond.yaml"))
	if plain != sampled || plain == "" {
		t.Errorf("the sample changes settings: %s\n%s", stderr, sampled)
	}
}

func TestMigrate(t *testing.T) {
	for _, db := range databases() {
		t.Run(db.name, func(t *testing.T) {
			url := db.url(t)
			count := func(args ...string) (pending, applied int) {
				t.Helper()
				code, stdout, stderr := execute(t, settings(url), append([]string{"migrate"}, args...)...)
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				for _, line := range lines(stdout) {
					switch {
					case strings.HasSuffix(line, " pending"):
						pending++
					case strings.Contains(line, " applied "):
						applied++
					default:
						t.Errorf("what is %q?", line)
					}
				}
				return pending, applied
			}
			if strings.HasPrefix(url, "postgres:") { // an SQLite file is not there yet, and looking does not make it
				if pending, applied := count("--status"); pending == 0 || applied != 0 {
					t.Errorf("at first %d pending, %d applied", pending, applied)
				}
			} else if code, _, stderr := execute(t, settings(url), "migrate", "--status"); code != 1 || !strings.Contains(stderr, "sessiond.db") {
				t.Errorf("without a file: exit code %d: %s", code, stderr)
			}
			pending, applied := count()
			if pending != 0 || applied == 0 {
				t.Errorf("afterwards %d pending, %d applied", pending, applied)
			}
			if _, again := count(); again != applied {
				t.Errorf("once more: %d applied", again)
			}
			startServer(t, settings(url))
		})
	}
}

func TestHealth(t *testing.T) {
	url := "sqlite:" + t.TempDir() + "/x.db"
	s := startServer(t, settings(url))
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{"127.0.0.1:" + port, "localhost:" + port} {
		code, stdout, stderr := execute(t, settings(url, "SESSIOND_LISTEN="+listen), "health")
		if code != 0 || stdout != "ok\n" {
			t.Errorf("listen %s: exit code %d, %q: %s", listen, code, stdout, stderr)
		}
	}
	// As in a container, where the server listens on every address.
	code, stdout, stderr := execute(t, settings(url, "SESSIOND_LISTEN=0.0.0.0:"+port, "SESSIOND_TOKEN=a-token-that-is-long-enough"), "health")
	if code != 0 || stdout != "ok\n" {
		t.Errorf("exit code %d, %q: %s", code, stdout, stderr)
	}
	s.stop()
	if code, stdout, stderr := execute(t, settings(url, "SESSIOND_LISTEN="+s.addr), "health"); code != 1 || stdout != "" || !strings.Contains(stderr, "does not answer") {
		t.Errorf("of a stopped server: exit code %d, %q: %s", code, stdout, stderr)
	}
}

func TestSend(t *testing.T) {
	const token = "a-token-that-is-long-enough"
	s := startServer(t, settings("sqlite:"+t.TempDir()+"/x.db", "SESSIOND_TOKEN="+token))
	send := func(args ...string) (int, string, string) {
		t.Helper()
		return execute(t, []string{"SESSIOND_TOKEN=" + token}, append([]string{"send", "--url", s.url()}, args...)...)
	}
	code, stdout, stderr := send("hello", "there")
	if code != 0 || !strings.Contains(stdout, "“hello there”") || !strings.HasSuffix(stdout, "\n") || strings.Count(stdout, "hello there") != 1 {
		t.Errorf("exit code %d\nstdout: %q\nstderr: %s", code, stdout, stderr)
	}
	id, ok := strings.CutPrefix(strings.TrimSpace(stderr), "session ")
	if !ok {
		t.Fatalf("stderr does not name the session: %s", stderr)
	}
	// The session goes on: the built-in tool's call is shown, and the history counts.
	code, stdout, stderr = send("--session", id, "plan", "a", "walk")
	if code != 0 || !strings.Contains(stdout, "todo_write") || !strings.Contains(stderr, id) {
		t.Errorf("exit code %d\nstdout: %q\nstderr: %s", code, stdout, stderr)
	}
	if code, stdout, stderr = send("fail with auth"); code != 1 || !strings.Contains(stderr, "upstream_failed") {
		t.Errorf("a failed turn: exit code %d\nstdout: %q\nstderr: %s", code, stdout, stderr)
	}
	if code, _, stderr = send("--session", "0197f0d0-0000-7000-8000-000000000001", "hello"); code != 1 || !strings.Contains(stderr, "not_found") {
		t.Errorf("a session that is not there: exit code %d: %s", code, stderr)
	}
	if code, _, stderr = execute(t, nil, "send", "--url", s.url(), "hello"); code != 1 || !strings.Contains(stderr, "401") {
		t.Errorf("without a token: exit code %d: %s", code, stderr)
	}
}
