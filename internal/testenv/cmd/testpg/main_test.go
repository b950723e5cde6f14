package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sessiond/internal/testenv"
)

func TestRunPassesTheExitCodeOn(t *testing.T) {
	t.Setenv(testenv.DatabaseVariable, "postgres://given")
	tests := []struct {
		name string
		args []string
		want int
		err  bool
	}{
		{name: "success", args: []string{"--", "true"}},
		{name: "failure", args: []string{"sh", "-c", "exit 7"}, want: 7},
		{name: "killed", args: []string{"sh", "-c", "kill -KILL $$"}, want: 137},
		{name: "no such command", args: []string{"--", "./no-such-command"}, want: exitUnable, err: true},
		{name: "no command", args: []string{"--"}, want: exitUnable, err: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, err := run(t.Context(), test.args)
			if code != test.want || (err != nil) != test.err {
				t.Errorf("got %d, %v; want %d", code, err, test.want)
			}
		})
	}
}

func TestRunStartsAServerOnlyIfNoneIsGiven(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	t.Setenv("SEEN", seen)
	observe := []string{"sh", "-c", `printf %s "$` + testenv.DatabaseVariable + `" > "$SEEN"`}
	read := func() string {
		content, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}

	t.Setenv(testenv.DatabaseVariable, "postgres://given")
	if code, err := run(t.Context(), observe); code != 0 || err != nil || read() != "postgres://given" {
		t.Errorf("given: %d, %v, the command saw %q", code, err, read())
	}

	t.Setenv(testenv.DatabaseVariable, "")
	code, err := run(t.Context(), observe)
	if errors.Is(err, testenv.ErrNoPostgres) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if code != 0 || err != nil || !strings.HasPrefix(read(), "postgres://postgres@127.0.0.1:") {
		t.Errorf("started: %d, %v, the command saw %q", code, err, read())
	}
}

func TestSignalsReachTheCommand(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	code, err := runCommand(t.Context(), []string{"sleep", "600"}, os.Environ(), signals)
	if want := 128 + int(syscall.SIGTERM); code != want || err != nil {
		t.Errorf("got %d, %v; want %d", code, err, want)
	}
}
