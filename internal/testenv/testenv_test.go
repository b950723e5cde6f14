package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		os.Exit(holdCluster(context.Background()))
	}
	goleak.VerifyTestMain(Runner{M: m})
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func query[T any](t *testing.T, conn *pgx.Conn, sql string) T {
	t.Helper()
	var value T
	if err := conn.QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			conn := connect(t, Postgres(t))
			if n := query[int](t, conn, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
				t.Errorf("a fresh database has %d tables", n)
			}
			// Would collide if two tests had the same database.
			if _, err := conn.Exec(t.Context(), "CREATE TABLE mine (n int)"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDatabaseEndsWithItsTest(t *testing.T) {
	var url string
	var left *pgx.Conn
	t.Run("inner", func(inner *testing.T) {
		url = Postgres(inner)
		var err error
		if left, err = pgx.Connect(t.Context(), url); err != nil {
			inner.Fatal(err)
		}
	})
	if err := left.Ping(t.Context()); err == nil {
		t.Error("a connection that was left open still works")
	}
	_, err := pgx.Connect(t.Context(), url)
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "3D000" {
		t.Errorf("want: no such database; got %v", err)
	}
}

func TestDurability(t *testing.T) {
	tests := []struct {
		name string
		open func(testing.TB) string
		want string
	}{
		{"Postgres", Postgres, "on"},
		{"PostgresAsync", PostgresAsync, "off"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			conn := connect(t, test.open(t))
			if got := query[string](t, conn, "SHOW synchronous_commit"); got != test.want {
				t.Errorf("synchronous_commit is %s, want %s", got, test.want)
			}
			if got := query[string](t, conn, "SHOW fsync"); os.Getenv(DatabaseVariable) == "" && got != "on" {
				t.Errorf("fsync is %s", got)
			}
		})
	}
}

func TestDatabaseKnowsLetters(t *testing.T) {
	conn := connect(t, Postgres(t))
	if got := query[bool](t, conn, "SELECT 'é会' ~ '^\\w\\w$'"); !got {
		t.Error("letters beyond ASCII are none to this server")
	}
}

func TestCreateDatabaseHidesAPassword(t *testing.T) {
	for _, url := range []string{"postgres://u:sword%zzfish@h/d", "host=h password=swordfish"} {
		_, err := createDatabase(t.Context(), url, nil)
		if err == nil || strings.Contains(err.Error(), "fish") {
			t.Errorf("%s: got %v", url, err)
		}
	}
}

// recorder is a test that notes how it was ended.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.ended = "failed: " + fmt.Sprintf(format, args...)
}

func (r *recorder) Skipf(format string, args ...any) {
	r.ended = "skipped: " + fmt.Sprintf(format, args...)
}

func TestMissingIsAFailureOnlyInCI(t *testing.T) {
	for ci, want := range map[string]string{"": "skipped: no x", "true": "failed: no x"} {
		t.Setenv("CI", ci)
		r := &recorder{TB: t}
		missing(r, "no %s", "x")
		if r.ended != want {
			t.Errorf("CI=%q: got %q, want %q", ci, r.ended, want)
		}
	}
}

func TestTranscripts(t *testing.T) {
	dir := Transcripts(t)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Errorf("%s: %d entries, %v", dir, len(entries), err)
	}
}
