// Package testenv gives tests what they need from outside: a Postgres database
// of their own, and the recorded conversations.
//
// A test asks with [Postgres] and gets an empty database that nobody else uses;
// it goes when the test ends. The databases lie in the server that
// SESSIOND_TEST_DATABASE_URL names, or else in a throwaway [Cluster] that the
// first such test of a process starts from the Postgres binaries of this machine.
// The command cmd/testpg starts one cluster for a whole run of go test, so that
// its many processes share it.
//
// A cluster never outlives what it was started for. [Main] stops it at the end of
// a process; if the process is killed instead, the kernel ends the server (on
// Linux), and the next cluster removes the folder that was left behind.
//
// What is missing makes a test skip with a word on what to install; where the
// environment variable CI is set it fails instead, so that no skip goes unseen.
//
// All functions may be called from parallel tests. Only the standard library and
// the Postgres driver are used; nothing of ours is under test here.
package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// DatabaseVariable names the environment variable with the URL of a Postgres
// server whose user may create databases.
const DatabaseVariable = "SESSIOND_TEST_DATABASE_URL"

// setupTimeout bounds every step outside of a test's own code: it is there to end
// a hang, and long enough for a machine with much else to do.
const setupTimeout = 2 * time.Minute

// Postgres returns the URL of a fresh, empty database for this test alone. Its
// commits are as durable as in production. It is dropped, whoever is still
// connected to it, when the test ends.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return newDatabase(tb, nil)
}

// PostgresAsync is [Postgres] with commits that do not wait for the disk: several
// times faster, and just as good for a test that neither measures nor kills the
// database server.
func PostgresAsync(tb testing.TB) string {
	tb.Helper()
	return newDatabase(tb, map[string]string{"synchronous_commit": "off"})
}

func newDatabase(tb testing.TB, settings map[string]string) string {
	tb.Helper()
	server, err := serverURL(tb.Context())
	if errors.Is(err, ErrNoPostgres) {
		missing(tb, "%v", err)
	}
	if err != nil {
		tb.Fatalf("start Postgres for tests: %v", err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), setupTimeout)
	defer cancel()
	db, err := createDatabase(ctx, server, settings)
	if err != nil {
		tb.Fatalf("create a database for this test: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
		defer cancel()
		if err := db.drop(ctx); err != nil {
			tb.Errorf("drop the database of this test: %v", err)
		}
	})
	return db.url
}

func serverURL(ctx context.Context) (string, error) {
	if url := os.Getenv(DatabaseVariable); url != "" {
		return url, nil
	}
	return shared.start(ctx)
}

// Transcripts returns the folder of recorded conversations, which lies beside the
// repository and is no part of it.
func Transcripts(tb testing.TB) string {
	tb.Helper()
	root, err := repositoryRoot()
	if err != nil {
		tb.Fatalf("find the recorded conversations: %v", err)
	}
	dir := filepath.Join(filepath.Dir(root), "shared", "transcripts")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		missing(tb, "no recorded conversations in %s", filepath.Join("..", "shared", "transcripts"))
	}
	return dir
}

// repositoryRoot returns the nearest folder, upwards from where the test runs,
// that holds a go.mod.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the repository: no go.mod above the working folder")
		}
		dir = parent
	}
}

// missing ends a test that cannot run here.
func missing(tb testing.TB, format string, args ...any) {
	tb.Helper()
	end := tb.Skipf
	if os.Getenv("CI") != "" {
		end = tb.Fatalf
	}
	end(format, args...)
}
