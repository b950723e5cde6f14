package testenv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// helperVariable makes this test binary a process that only holds a cluster.
const helperVariable = "TESTENV_HOLD_CLUSTER"

// holdCluster starts a cluster, says where, and waits for its end to come.
func holdCluster(ctx context.Context) int {
	cluster, err := StartCluster(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, _ = fmt.Fprintf(os.Stdout, "%s %s/.s.PGSQL.%d\n", cluster.folder.path, cluster.folder.path, cluster.port)
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func needsBinaries(t *testing.T) {
	t.Helper()
	if _, err := findBinaries(); err != nil {
		missing(t, "%v", err)
	}
}

// answers reports whether a server listens at the socket.
func answers(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// eventually fails the test if condition does not come true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(setupTimeout)
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("not so: %s", what)
		}
	}
}

func TestStopLeavesNothing(t *testing.T) {
	needsBinaries(t)
	cluster, err := StartCluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open := connect(t, cluster.URL())
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := open.Ping(t.Context()); err == nil {
		t.Error("a connection outlived the server")
	}
	if _, err := os.Stat(cluster.folder.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestClusterEndsWithAKilledProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the children of a killed process")
	}
	needsBinaries(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"=1")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe() // never written to, so the helper waits
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir, socket, _ := strings.Cut(strings.TrimSpace(line), " ")
	if !answers(socket) {
		t.Fatal("the helper's server does not answer")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the server has ended", func() bool { return !answers(socket) })

	eventually(t, "the folder can be removed", func() bool {
		age(t, dir) // the server may have touched it while it ended
		removeAbandoned(filepath.Dir(dir))
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	})
}

// age makes a folder look older than those that are spared for their youth.
func age(t *testing.T, dir string) {
	t.Helper()
	then := time.Now().Add(-2 * abandonedAfter)
	if err := os.Chtimes(dir, then, then); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestAbandonedFolders(t *testing.T) {
	parent := t.TempDir()
	young := filepath.Join(parent, folderPattern+"1")
	old := filepath.Join(parent, folderPattern+"2")
	others := filepath.Join(parent, "others")
	for _, path := range []string{young, old, others} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	age(t, old)
	age(t, others)
	used, err := newFolder(parent) // removes old
	if err != nil {
		t.Fatal(err)
	}
	age(t, used.path)
	next, err := newFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{young: true, old: false, others: true, used.path: true, next.path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: want it there: %t; %v", filepath.Base(path), want, err)
		}
	}
	if err := errors.Join(used.remove(), next.remove()); err != nil {
		t.Error(err)
	}
}

func TestStartClusterExplainsAFailure(t *testing.T) {
	dir := t.TempDir()
	programs := binaries{initdb: filepath.Join(dir, "initdb")}
	script := "#!/bin/sh\necho the disk is full >&2\nexit 1\n"
	if err := os.WriteFile(programs.initdb, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	folder, err := newFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.remove() }()
	// Run as whoever this is: no other user could reach the script.
	err = initialise(t.Context(), folder, programs.initdb, nil)
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v", err)
	}
}

func TestNewestBinaries(t *testing.T) {
	parent := t.TempDir()
	install := func(version string, mode os.FileMode, names ...string) {
		bin := filepath.Join(parent, version, "bin")
		if err := os.MkdirAll(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(bin, name), nil, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	pattern := filepath.Join(parent, "*", "bin")
	if _, err := newestBinaries(pattern); !errors.Is(err, ErrNoPostgres) {
		t.Errorf("nothing installed: got %v", err)
	}
	install("9", 0o755, "initdb", "postgres")
	install("15", 0o755, "initdb", "postgres")
	install("16", 0o755, "initdb")             // only half of it
	install("17", 0o644, "initdb", "postgres") // cannot be run
	install("odd", 0o755, "initdb", "postgres")
	found, err := newestBinaries(pattern)
	if want := filepath.Join(parent, "15", "bin", "postgres"); err != nil || found.postgres != want {
		t.Errorf("got %s, %v; want %s", found.postgres, err, want)
	}
}
