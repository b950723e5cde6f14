package postgres_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"sessiond/internal/testenv"
	"sessiond/migrations"
	"sessiond/store/postgres"
)

// connect opens a connection of the test's own.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return conn
}

func mustExec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestMigrate(t *testing.T) {
	url := testenv.Postgres(t)
	if _, err := postgres.Open(t.Context(), url, postgres.Options{KeepSchema: true}); !errors.Is(err, migrations.ErrPending) {
		t.Errorf("open without migrations: %v", err)
	}
	pending, err := postgres.Status(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range pending {
		if !step.AppliedAt.IsZero() {
			t.Errorf("%s was applied at %v", step.Name, step.AppliedAt)
		}
	}
	var tables int
	if err := connect(t, url).QueryRow(t.Context(),
		`SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables after a look, %v", tables, err)
	}
	for range 2 {
		applied, err := postgres.Migrate(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if len(applied) == 0 || len(applied) != len(pending) {
			t.Errorf("%d migrations, %d were pending", len(applied), len(pending))
		}
		for _, step := range applied {
			if step.AppliedAt.IsZero() {
				t.Errorf("%s is pending", step.Name)
			}
		}
	}
	s, err := postgres.Open(t.Context(), url, postgres.Options{KeepSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenRefusesNewerDatabase(t *testing.T) {
	url := testenv.Postgres(t)
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	mustExec(t, connect(t, url), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)`)
	if _, err := postgres.Open(t.Context(), url, postgres.Options{}); !errors.Is(err, migrations.ErrNewer) {
		t.Errorf("open: %v", err)
	}
}

// TestOpenTogether lets several servers meet at an empty database.
func TestOpenTogether(t *testing.T) {
	url := testenv.Postgres(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := postgres.Open(t.Context(), url, postgres.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var versions int
	if err := connect(t, url).QueryRow(t.Context(),
		`SELECT count(*) - count(DISTINCT version_id) FROM goose_db_version`).Scan(&versions); err != nil || versions != 0 {
		t.Errorf("%d migrations were recorded twice, %v", versions, err)
	}
}

func TestOpenRefusesEncoding(t *testing.T) {
	url := testenv.Postgres(t)
	mustExec(t, connect(t, url), `CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	defer mustExec(t, connect(t, url), `DROP DATABASE latin WITH (FORCE)`)
	other := strings.Replace(url, "/"+cfg.Database, "/latin", 1)
	if _, err := postgres.Open(t.Context(), other, postgres.Options{}); err == nil || !strings.Contains(err.Error(), "LATIN1") {
		t.Errorf("open: %v", err)
	}
}

func TestOpenRefusesURL(t *testing.T) {
	for _, url := range []string{
		"", "sqlite:x", "host=localhost", "postgres://a:secret@localhost:x/db",
		"postgres://a:secret@localhost/db?synchronous_commit=off",
	} {
		_, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err == nil {
			t.Errorf("%q was opened", url)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

// TestCommitsAreSynchronous opens a database whose default is to answer early.
func TestCommitsAreSynchronous(t *testing.T) {
	url := testenv.PostgresAsync(t)
	open(t, url)
	rows, err := connect(t, url).Query(t.Context(), `SHOW synchronous_commit`)
	if err != nil {
		t.Fatal(err)
	}
	if early, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string]); err != nil || early != "off" {
		t.Fatalf("the test's own connection has %q, %v", early, err)
	}
	for pool, setting := range postgres.SynchronousCommit(t, open(t, url)) {
		if setting != "on" {
			t.Errorf("connections of pool %s have synchronous_commit=%s", pool, setting)
		}
	}
}
