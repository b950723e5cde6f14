package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"sessiond/message"
	"sessiond/store"
)

func openTest(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), Scheme+filepath.Join(t.TempDir(), "test.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newSession(t *testing.T, s *Store) *store.Commit {
	t.Helper()
	c := &store.Commit{Session: store.Session{
		ID: message.NewSessionID(), Owner: "alice", Status: store.StatusIdle, Version: 1, UpdatedAt: time.Now(),
	}}
	if err := s.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// next is a commit of one entry of n bytes after c.
func next(c *store.Commit, n int) *store.Commit {
	nx := &store.Commit{Session: c.Session, PrevHead: c.Session.HeadSeq}
	nx.Session.HeadSeq++
	nx.Entries = []store.Entry{{Seq: nx.Session.HeadSeq, Kind: "test", Body: []byte(strings.Repeat("7", n)), At: time.Now()}}
	return nx
}

func head(t *testing.T, s *Store, c *store.Commit) int64 {
	t.Helper()
	row, err := s.Session(t.Context(), store.Ref{Owner: c.Session.Owner, ID: c.Session.ID})
	if err != nil {
		t.Fatal(err)
	}
	return row.HeadSeq
}

// TestFullDisk fills the file up to a limit: the commit that does not fit fails, one
// beside it that fits does not, and later all is as before.
func TestFullDisk(t *testing.T) {
	s := openTest(t)
	big, small := newSession(t, s), newSession(t, s)
	limit := func(pages string) {
		if _, err := s.writer.conn.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("60")
	err := s.Commit(t.Context(), next(big, 1<<20))
	if codeOf(err)&0xff != sqlite3.SQLITE_FULL {
		t.Errorf("commit to a full file: %v", err)
	}
	small1 := next(small, 10)
	if err := s.Commit(t.Context(), small1); err != nil {
		t.Errorf("commit that fits: %v", err)
	}
	if b, m := head(t, s, big), head(t, s, small); b != 0 || m != 1 {
		t.Errorf("heads are %d and %d", b, m)
	}
	limit("1000000")
	if err := s.Commit(t.Context(), next(big, 1<<20)); err != nil {
		t.Errorf("commit when there is room again: %v", err)
	}
}

// holdWriteLock takes the file's write lock, as another process would, until release.
func holdWriteLock(t *testing.T, s *Store) (release func()) {
	t.Helper()
	db, err := connect(s.path, 1)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(q string) {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	exec("BEGIN IMMEDIATE")
	return func() {
		exec("ROLLBACK")
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCommitOutlivesItsContext(t *testing.T) {
	s := openTest(t)
	c := newSession(t, s)
	release := holdWriteLock(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	taken := make(chan struct{})
	go func() {
		done <- s.committer.Do(ctx, change{apply: func(ctx context.Context, w *writer) error {
			return w.update(ctx, next(c, 1))
		}})
	}()
	go func() { // the writer takes nothing else while it waits for the lock
		defer close(taken)
		if err := s.committer.Do(t.Context(), change{apply: func(context.Context, *writer) error { return nil }}); err != nil {
			t.Error(err)
		}
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	release()
	<-taken
	// Whether the writer had taken it or not, the store is whole and goes on.
	got := head(t, s, c)
	if got != 0 && got != 1 {
		t.Errorf("head is %d", got)
	}
	c.Session.HeadSeq = got
	if err := s.Commit(t.Context(), next(c, 1)); err != nil {
		t.Errorf("the next commit: %v", err)
	}
}

// TestReadsGoOnDuringWrites reads while another holds the write lock.
func TestReadsGoOnDuringWrites(t *testing.T) {
	s := openTest(t)
	c := newSession(t, s)
	release := holdWriteLock(t, s)
	defer release()
	if got := head(t, s, c); got != 0 {
		t.Errorf("head is %d", got)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
}
