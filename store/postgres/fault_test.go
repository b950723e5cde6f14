package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sessiond/internal/testenv"
	"sessiond/message"
	"sessiond/store"
	"sessiond/store/postgres"
)

func newSession(t *testing.T, s *postgres.Store) *store.Commit {
	t.Helper()
	c := &store.Commit{Session: store.Session{
		ID: message.NewSessionID(), Owner: "alice", Status: store.StatusIdle, Version: 1, UpdatedAt: time.Now(),
	}}
	if err := s.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// next is a commit of one entry after c.
func next(c *store.Commit) *store.Commit {
	n := &store.Commit{Session: c.Session, PrevHead: c.Session.HeadSeq}
	n.Session.HeadSeq++
	n.Entries = []store.Entry{{Seq: n.Session.HeadSeq, Kind: "test", Body: []byte(`{}`), At: time.Now()}}
	return n
}

func head(t *testing.T, s *postgres.Store, c *store.Commit) int64 {
	t.Helper()
	row, err := s.Session(t.Context(), store.Ref{Owner: c.Session.Owner, ID: c.Session.ID})
	if err != nil {
		t.Fatal(err)
	}
	return row.HeadSeq
}

// lockRow holds the lock of a session's row, so that commits wait, until unlock.
func lockRow(t *testing.T, url string, c *store.Commit) (unlock func()) {
	t.Helper()
	tx, err := connect(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT FROM sessions WHERE id = $1 FOR UPDATE`, c.Session.ID); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// awaitWaiting returns once a commit waits for a lock.
func awaitWaiting(t *testing.T, url string) {
	t.Helper()
	conn := connect(t, url)
	const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
		AND application_name = 'sessiond' AND wait_event_type = 'Lock'`
	for n := 0; n == 0; {
		if err := conn.QueryRow(t.Context(), waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCommitOutlivesItsContext(t *testing.T) {
	url := testenv.Postgres(t)
	s := open(t, url)
	c := newSession(t, s)
	unlock := lockRow(t, url, c)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Commit(ctx, next(c)) }()
	awaitWaiting(t, url)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	unlock()
	// The next commit of the session finds out what became of it.
	if err := s.Commit(t.Context(), next(c)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("commit against the old head: %v", err)
	}
	if got := head(t, s, c); got != 1 {
		t.Errorf("head is %d", got)
	}
}

func TestCloseWaitsForCommit(t *testing.T) {
	url := testenv.Postgres(t)
	s := open(t, url)
	c := newSession(t, s)
	unlock := lockRow(t, url, c)
	committed, closed := make(chan error), make(chan error)
	go func() { committed <- s.Commit(t.Context(), next(c)) }()
	awaitWaiting(t, url)
	go func() { closed <- s.Close() }()
	for !errors.Is(s.Ping(t.Context()), store.ErrClosed) { // Close has begun
		continue
	}
	select {
	case err := <-closed:
		t.Fatalf("closed with a commit under way: %v", err)
	default:
	}
	unlock()
	if err := <-committed; err != nil {
		t.Errorf("commit: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	if got := head(t, open(t, url), c); got != 1 {
		t.Errorf("head is %d", got)
	}
}

// TestBrokenConnection cuts the connections under a commit: it fails, is not made
// again, and the store goes on.
func TestBrokenConnection(t *testing.T) {
	url := testenv.Postgres(t)
	s := open(t, url)
	c := newSession(t, s)
	unlock := lockRow(t, url, c)
	done := make(chan error)
	go func() { done <- s.Commit(t.Context(), next(c)) }()
	awaitWaiting(t, url)
	mustExec(t, connect(t, url), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'sessiond'`)
	err := <-done
	if err == nil {
		t.Error("the commit succeeded")
	}
	for _, named := range []error{store.ErrConflict, store.ErrKeyExists, store.ErrNotFound, store.ErrClosed} {
		if errors.Is(err, named) {
			t.Errorf("the commit's outcome is unknown, but its error is %v", err)
		}
	}
	unlock()
	var row *store.Session
	for range 10 { // each connection of the pool may turn out broken once
		if row, err = s.Session(t.Context(), store.Ref{Owner: c.Session.Owner, ID: c.Session.ID}); err == nil {
			break
		}
	}
	if err != nil || row.HeadSeq != 0 {
		t.Fatalf("after the break: %+v, %v", row, err)
	}
	for range 10 {
		if err = s.Commit(t.Context(), next(c)); err == nil {
			break
		}
	}
	if err != nil {
		t.Errorf("commit after the break: %v", err)
	}
	if got := head(t, s, c); got != 1 {
		t.Errorf("head is %d", got)
	}
}
