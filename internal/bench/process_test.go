package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// echoVariable makes this test binary a bare gorilla echo server.
const echoVariable = "SESSIOND_TEST_BENCH_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(echoVariable) != "" {
		if err := serveEcho(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveEcho is the baseline: what gorilla costs with its default settings.
func serveEcho() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(os.Stdout, "\"url\": \"http://%s/\"\n", listener.Addr())
	var upgrader websocket.Upgrader
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.Close() }()
		for {
			kind, data, err := ws.ReadMessage()
			if err != nil {
				return
			}
			if err := ws.WriteMessage(kind, data); err != nil {
				return
			}
		}
	}))
}

// process is a server in a process of its own.
type process struct {
	cmd   *exec.Cmd
	url   string // ws://…
	ready time.Duration
}

// buildServer builds the command once for a benchmark.
func buildServer(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "sessiond")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "sessiond/cmd/sessiond")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// startServer runs the command on a free port with an SQLite file of its own.
func startServer(b *testing.B, bin string) *process {
	b.Helper()
	cmd := exec.Command(bin)
	cmd.Env = []string{
		"SESSIOND_LISTEN=127.0.0.1:0", "SESSIOND_DATABASE_URL=sqlite:" + filepath.Join(b.TempDir(), "bench.db"), "SESSIOND_LOG__FORMAT=json",
	}
	return launch(b, cmd)
}

func startEcho(b *testing.B) *process {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), echoVariable+"=1")
	return launch(b, cmd)
}

// launch starts a process and waits until it has told its URL on either stream.
func launch(b *testing.B, cmd *exec.Cmd) *process {
	b.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	_ = w.Close()
	p := &process{cmd: cmd}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = r.Close()
	})
	pattern := regexp.MustCompile(`"url": ?"http://([^"/]+)/"`)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
			p.ready = time.Since(began)
			p.url = "ws://" + m[1] + "/v1/rpc"
			go func() {
				for lines.Scan() { // keep the pipe empty
				}
			}()
			return p
		}
	}
	b.Fatalf("the process said no URL: %v", lines.Err())
	return nil
}

// cpu is the time the process has spent on processors, to the nanosecond.
func (p *process) cpu(b *testing.B) time.Duration {
	b.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil || len(tasks) == 0 {
		b.Skipf("no schedstat here: %v", err)
	}
	var sum int64
	for _, name := range tasks {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += ns
	}
	return time.Duration(sum)
}

// resident is the process's resident memory in bytes.
func (p *process) resident(b *testing.B) int64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		b.Skipf("no /proc here: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib << 10
		}
	}
	b.Fatal("no VmRSS")
	return 0
}

// dialRaw opens a bare WebSocket.
func dialRaw(b *testing.B, url string) *websocket.Conn {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	ws, resp, err := websocket.DefaultDialer.DialContext(ctx, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	_ = resp.Body.Close()
	b.Cleanup(func() { _ = ws.Close() })
	return ws
}
