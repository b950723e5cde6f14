package sqlite_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite"

	"sessiond/migrations"
	"sessiond/store/sqlite"
)

// execFile changes a file behind the store's back.
func execFile(t *testing.T, path string, queries ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queries {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenCreatesPrivateFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "odd name?#%20[x]")
	path := filepath.Join(folder, "test.db")
	s := open(t, sqlite.Scheme+path)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	modes := map[string]fs.FileMode{folder: 0o700 | fs.ModeDir, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600}
	for name, want := range modes {
		info, err := os.Stat(name)
		if err != nil {
			t.Error(err)
		} else if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", filepath.Base(name), info.Mode(), want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	cases := []struct {
		name string
		make func(t *testing.T, path string)
		want error
	}{
		{"text", func(t *testing.T, path string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, sqlite.ErrForeign},
		{"another program's database", func(t *testing.T, path string) {
			t.Helper()
			execFile(t, path, `CREATE TABLE cookies (id INTEGER PRIMARY KEY)`)
		}, sqlite.ErrForeign},
		{"a newer binary's database", func(t *testing.T, path string) {
			t.Helper()
			migrate(t, path)
			execFile(t, path, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)`)
		}, migrations.ErrNewer},
		{"a folder", func(t *testing.T, path string) {
			t.Helper()
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test.db")
			tc.make(t, path)
			before, _ := os.ReadFile(path)
			_, err := sqlite.Open(t.Context(), sqlite.Scheme+path, sqlite.Options{})
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Fatalf("error is %v, want %v", err, tc.want)
			}
			if !strings.Contains(err.Error(), path) {
				t.Errorf("error %q doesn't name the file", err)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestOpenRefusesURL(t *testing.T) {
	for _, url := range []string{"", "sqlite:", "postgres://localhost/x", "sqlite::memory:", "/a/path"} {
		if _, err := sqlite.Open(t.Context(), url, sqlite.Options{}); err == nil {
			t.Errorf("%q was opened", url)
		}
	}
}

func migrate(t *testing.T, path string) []migrations.Step {
	t.Helper()
	steps, err := sqlite.Migrate(t.Context(), sqlite.Scheme+path)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	url := sqlite.Scheme + path
	if _, err := sqlite.Status(t.Context(), url); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("status of no file: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), url, sqlite.Options{KeepSchema: true}); !errors.Is(err, migrations.ErrPending) {
		t.Errorf("open without migrations: %v", err)
	}
	pending, err := sqlite.Status(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range pending {
		if !step.AppliedAt.IsZero() {
			t.Errorf("%s was applied at %v", step.Name, step.AppliedAt)
		}
	}
	for range 2 {
		applied := migrate(t, path)
		if len(applied) == 0 || len(applied) != len(pending) {
			t.Errorf("%d migrations, %d were pending", len(applied), len(pending))
		}
		for _, step := range applied {
			if step.AppliedAt.IsZero() {
				t.Errorf("%s is pending", step.Name)
			}
		}
	}
	s, err := sqlite.Open(t.Context(), url, sqlite.Options{KeepSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenTogether lets several openers meet at a file that none of them has made.
func TestOpenTogether(t *testing.T) {
	for range 5 {
		url := newURL(t)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				s, err := sqlite.Open(t.Context(), url, sqlite.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Ping(t.Context()); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// TestOneServerOnly lets a second server meet a first one on the same file.
func TestOneServerOnly(t *testing.T) {
	url := newURL(t)
	first, err := sqlite.Open(t.Context(), url, sqlite.Options{ForServer: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), url, sqlite.Options{ForServer: true}); !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("the second server: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := sqlite.Open(t.Context(), url, sqlite.Options{ForServer: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
}
