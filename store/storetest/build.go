package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/message"
	"sessiond/store"
)

// bench is what a rule works with: a test, a store, and an owner that nobody else has.
type bench struct {
	*testing.T
	store.Store
	owner string
}

func newBench(t *testing.T, s store.Store) *bench {
	t.Helper()
	return &bench{T: t, Store: s, owner: "owner-" + string(message.NewID())}
}

// run runs a subtest on the same store and owner.
func (b *bench) run(name string, check func(b *bench)) {
	b.Run(name, func(t *testing.T) { check(&bench{T: t, Store: b.Store, owner: b.owner}) })
}

// at is a moment of the suite's clock, n seconds after its start. It has microseconds,
// so that a driver that loses them is found.
func at(n int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC).Add(time.Duration(n) * time.Second)
}

// create is a commit that makes a session of the bench's owner with n entries.
func (b *bench) create(n int) *store.Commit {
	c := &store.Commit{Session: store.Session{
		ID:        message.NewSessionID(),
		LogID:     string(message.NewID()),
		Owner:     b.owner,
		Title:     "A title",
		Status:    store.StatusIdle,
		Version:   1,
		Settings:  []byte(`{"model":"demo"}`),
		State:     []byte(`{"generation":0}`),
		CreatedAt: at(0),
		UpdatedAt: at(0),
	}}
	addEntries(c, n)
	return c
}

// follow is a commit after c, with n more entries. It leaves the settings alone.
func follow(c *store.Commit, n int) *store.Commit {
	next := &store.Commit{Session: c.Session, PrevHead: c.Session.HeadSeq}
	next.Session.Settings = nil
	next.Session.UpdatedAt = c.Session.UpdatedAt.Add(time.Second)
	addEntries(next, n)
	return next
}

// addEntries appends n entries to c and moves its head.
func addEntries(c *store.Commit, n int) {
	for range n {
		c.Session.HeadSeq++
		c.Entries = append(c.Entries, store.Entry{
			Seq:       c.Session.HeadSeq,
			Kind:      "message.added",
			MessageID: message.NewID(),
			Body:      fmt.Appendf(nil, `{"n":%d}`, c.Session.HeadSeq),
			Tokens:    c.Session.HeadSeq * 10,
			At:        c.Session.UpdatedAt,
		})
	}
}

// turn is a queued turn made by the newest entry of c.
func turn(c *store.Commit) store.Turn {
	return store.Turn{
		ID:         message.NewTurnID(),
		MessageID:  c.Entries[len(c.Entries)-1].MessageID,
		CreatedSeq: c.Session.HeadSeq,
		Status:     store.TurnQueued,
		CreatedAt:  c.Session.UpdatedAt,
	}
}

// running is t once it runs.
func running(t store.Turn) store.Turn {
	t.Status, t.StartedSeq, t.StartedAt = store.TurnRunning, t.CreatedSeq, t.CreatedAt
	return t
}

// ended is t once it is over.
func ended(t store.Turn, status store.TurnStatus) store.Turn {
	t.Status, t.CompletedAt = status, t.CreatedAt.Add(time.Minute)
	t.Rounds, t.Resumes, t.Detail = 3, 1, []byte(`{"usage":{}}`)
	return t
}

// key is a record of a call to the session of c.
func key(c *store.Commit, k string) store.KeyRecord {
	return store.KeyRecord{
		KeyScope: store.KeyScope{
			Owner: c.Session.Owner, Method: "v1.message.send", SessionID: c.Session.ID, Key: k,
		},
		Fingerprint: [32]byte{1, 2, 3, 0, 255},
		Result:      []byte(`{"seq": 1}`),
	}
}

func ref(c *store.Commit) store.Ref {
	return store.Ref{Owner: c.Session.Owner, ID: c.Session.ID}
}

func (b *bench) mustCreate(c *store.Commit) *store.Commit {
	b.Helper()
	if err := b.Create(b.Context(), c); err != nil {
		b.Fatalf("Create: %v", err)
	}
	return c
}

func (b *bench) mustCommit(c *store.Commit) *store.Commit {
	b.Helper()
	if err := b.Commit(b.Context(), c); err != nil {
		b.Fatalf("Commit: %v", err)
	}
	return c
}

// image is all that a store tells of one session to its owner.
type image struct {
	Session  *store.Session
	Entries  []store.Entry
	Turns    []store.Turn
	Open     []store.Turn
	Memories []store.Memory
}

// look reads all of a session; a missing one is an empty image.
func (b *bench) look(r store.Ref) image {
	b.Helper()
	var img image
	var err error
	ctx := b.Context()
	if img.Session, err = b.Session(ctx, r); err != nil && !errors.Is(err, store.ErrNotFound) {
		b.Fatalf("Session: %v", err)
	}
	if img.Entries, err = b.Entries(ctx, store.EntryQuery{Ref: r}); err != nil {
		b.Fatalf("Entries: %v", err)
	}
	if img.Turns, err = b.ListTurns(ctx, r, 0, 1<<20); err != nil {
		b.Fatalf("ListTurns: %v", err)
	}
	if img.Open, err = b.OpenTurns(ctx, r); err != nil {
		b.Fatalf("OpenTurns: %v", err)
	}
	if img.Memories, err = b.ListMemories(ctx, store.MemoryQuery{Ref: r, Limit: 1 << 20}); err != nil {
		b.Fatalf("ListMemories: %v", err)
	}
	return img
}

// wantErr checks that err is target; with a nil target, that it is an error that is
// none of those callers branch on.
func (b *bench) wantErr(what string, err, target error) {
	b.Helper()
	if target != nil {
		if !errors.Is(err, target) {
			b.Errorf("%s: error is %v, want %v", what, err, target)
		}
		return
	}
	if err == nil {
		b.Errorf("%s: no error", what)
	}
	for _, named := range []error{store.ErrNotFound, store.ErrConflict, store.ErrKeyExists, store.ErrClosed} {
		if errors.Is(err, named) {
			b.Errorf("%s: error is %v, want one that callers don't branch on", what, err)
		}
	}
}

func (b *bench) diff(what string, want, got any) {
	b.Helper()
	if d := cmp.Diff(want, got); d != "" {
		b.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// unchanged runs attempt, which must fail with target, and checks that neither the
// session r nor any of keys shows a trace of it.
func (b *bench) unchanged(r store.Ref, keys []store.KeyScope, target error, attempt func() error) {
	b.Helper()
	before := b.look(r)
	b.wantErr("attempt", attempt(), target)
	b.diff("session after a failed attempt", before, b.look(r))
	for _, k := range keys {
		if _, err := b.Key(b.Context(), k, at(0)); !errors.Is(err, store.ErrNotFound) {
			b.Errorf("key %q after a failed attempt: error is %v, want %v", k.Key, err, store.ErrNotFound)
		}
	}
}
