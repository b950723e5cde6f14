package postgres

import (
	"errors"
	"testing"
	"time"

	"sessiond/internal/testenv"
	"sessiond/message"
	"sessiond/store"
	"sessiond/store/internal/batch"
)

// TestFlush gives the committer batches in which one commit fails.
func TestFlush(t *testing.T) {
	s, err := Open(t.Context(), testenv.Postgres(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	cases := []struct {
		name  string
		spoil func(c *store.Commit)
		// want is the outcome of the commit alone; undone says that its batch must be
		// undone for it.
		want   error
		undone bool
	}{
		{"no such session", func(c *store.Commit) { c.Session.ID = message.NewSessionID() }, errNoRow, false},
		{"another head", func(c *store.Commit) { c.PrevHead = 5 }, errNoRow, false},
		{"a second running turn", func(c *store.Commit) {
			c.Turns = []store.Turn{{ID: "a", Status: store.TurnRunning}, {ID: "b", Status: store.TurnRunning}}
		}, store.ErrConflict, true},
		{"a text with NUL", func(c *store.Commit) { c.Entries[0].Body = []byte("\x00") }, nil, true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			var changes []*change
			for range 3 {
				changes = append(changes, &change{commit: afterCreate(t, s)})
			}
			bad := changes[1]
			tc.spoil(bad.commit)

			results, err := s.flush(changes)
			_, undone := errors.AsType[*batch.UndoneError](err)
			if undone != tc.undone {
				t.Fatalf("undone is %v, want %v: %v", undone, tc.undone, err)
			}
			if undone {
				results = nil
				for _, c := range changes {
					one, err := s.flush([]*change{c})
					if err == nil {
						err = one[0]
					}
					results = append(results, err)
				}
			}
			if results[0] != nil || results[2] != nil {
				t.Errorf("the neighbours failed: %v, %v", results[0], results[2])
			}
			if results[1] == nil || tc.want != nil && !errors.Is(results[1], tc.want) {
				t.Errorf("outcome is %v, want %v", results[1], tc.want)
			}
		})
	}
}

// afterCreate returns a commit of one entry to a session that it creates.
func afterCreate(t *testing.T, s *Store) *store.Commit {
	t.Helper()
	c := &store.Commit{Session: store.Session{
		ID: message.NewSessionID(), Owner: "alice", Status: store.StatusIdle, Version: 1, UpdatedAt: time.Now(),
	}}
	if err := s.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	next := &store.Commit{Session: c.Session}
	next.Session.HeadSeq = 1
	next.Entries = []store.Entry{{Seq: 1, Kind: "test", Body: []byte(`{}`), At: time.Now()}}
	return next
}
