package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"sessiond/internal/client"
	"sessiond/internal/testenv"
)

// TestContainerEntry runs what the image runs, as the composition does: the image's
// environment, a token, Postgres, an empty working folder. Only the address differs: a
// test must not listen on every address.
func TestContainerEntry(t *testing.T) {
	environ, entry := image(t)
	const token = "a-token-that-is-long-enough"
	url := testenv.Postgres(t)
	environ = append(environ, "SESSIOND_TOKEN="+token, "SESSIOND_DATABASE_URL="+url)
	t.Chdir(t.TempDir())

	c := spawn(t, append(environ, "SESSIOND_LISTEN=127.0.0.1:0"), entry...)
	addr := c.waitFor(t, &c.stderr, regexp.MustCompile(`"msg":"ready","url":"http://([^/"]+)/"`))
	conn := dial(t, "ws://"+addr+"/v1/rpc", client.Options{Token: token})
	create(t, conn)

	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	probe := spawn(t, append(environ, "SESSIOND_LISTEN=0.0.0.0:"+port), append(entry, "health")...)
	if code := probe.wait(t); code != 0 || probe.stdout.String() != "ok\n" {
		t.Errorf("health: exit code %d: %s", code, probe.stderr.String())
	}

	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(t); code != 0 {
		t.Errorf("stopped with exit code %d: %s", code, c.stderr.String())
	}
	if c.stdout.String() != "" {
		t.Errorf("stdout, where only the log's lines belong on stderr: %s", c.stdout.String())
	}
	for _, line := range lines(c.stderr.String()) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Errorf("the log holds a line that is no JSON: %s", line)
		}
		if strings.Contains(line, token) {
			t.Errorf("the log shows the token: %s", line)
		}
	}
	if left, err := filepath.Glob("*"); err != nil || len(left) > 0 {
		t.Errorf("the working folder holds %v, %v", left, err)
	}
}

// image reads from the Dockerfile which environment the image has, and what it runs
// after the program's name.
func image(t *testing.T) (environ, entry []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	environ = regexp.MustCompile(`SESSIOND_\w+=\S+`).FindAllString(string(text), -1)
	found := regexp.MustCompile(`(?m)^ENTRYPOINT (\[.*\])$`).FindSubmatch(text)
	if found == nil || len(environ) == 0 {
		t.Fatalf("no ENTRYPOINT, or no environment: %q", environ)
	}
	if err := json.Unmarshal(found[1], &entry); err != nil {
		t.Fatal(err)
	}
	return environ, entry[1:]
}
