package storetest

import (
	"context"
	"errors"
	"time"

	"sessiond/message"
	"sessiond/store"
)

var createRules = []rule{
	{"stores the row, the entries, the turns and the keys", func(b *bench) {
		c := b.create(2)
		tn := running(turn(c))
		c.Turns = []store.Turn{tn}
		c.Keys = []store.KeyRecord{key(c, "k")}
		c.Session.Status = store.StatusRunning
		b.mustCreate(c)

		want := image{Session: &c.Session, Entries: c.Entries, Turns: c.Turns, Open: c.Turns}
		b.diff("session", want, b.look(ref(c)))
		got, err := b.Key(b.Context(), c.Keys[0].KeyScope, at(1))
		if err != nil {
			b.Fatalf("Key: %v", err)
		}
		b.diff("key", &c.Keys[0], got)
	}},
	{"takes a session without entries", func(b *bench) {
		c := b.mustCreate(b.create(0))
		b.diff("session", image{Session: &c.Session}, b.look(ref(c)))
	}},
	{"ignores PrevHead", func(b *bench) {
		c := b.create(1)
		c.PrevHead = 7
		b.mustCreate(c)
	}},
	{"refuses an id that is taken", func(b *bench) {
		c := b.mustCreate(b.create(2))
		again := b.create(1)
		again.Session.ID = c.Session.ID
		again.Keys = []store.KeyRecord{key(c, "again")}
		b.unchanged(ref(c), []store.KeyScope{again.Keys[0].KeyScope}, store.ErrConflict, func() error {
			return b.Create(b.Context(), again)
		})
		foreign := b.create(1)
		foreign.Session.ID, foreign.Session.Owner = c.Session.ID, b.owner+"-other"
		b.unchanged(ref(c), nil, store.ErrConflict, func() error { return b.Create(b.Context(), foreign) })
	}},
	{"refuses an id that is a tombstone's", func(b *bench) {
		c := b.mustCreate(b.create(1))
		if _, err := b.DeleteSession(b.Context(), ref(c), at(1)); err != nil {
			b.Fatal(err)
		}
		b.unchanged(ref(c), nil, store.ErrConflict, func() error { return b.Create(b.Context(), c) })
	}},
	{"refuses two running turns", func(b *bench) {
		c := b.create(2)
		c.Turns = []store.Turn{running(turn(c)), running(turn(c))}
		b.unchanged(ref(c), nil, store.ErrConflict, func() error { return b.Create(b.Context(), c) })
	}},
	{"refuses wrong numbers", func(b *bench) { refusesWrongNumbers(b, b.Create, b.create) }},
}

var commitRules = []rule{
	{"replaces the row and appends entries", func(b *bench) {
		c := b.mustCreate(b.create(2))
		next := follow(c, 3)
		next.Session.Title, next.Session.Version = "Another", 2
		next.Session.Status = store.StatusWaitingTool
		next.Session.State = []byte(`{"generation":1}`)
		next.Session.Settings = []byte(`{"model":"other"}`)
		b.mustCommit(next)
		want := image{Session: &next.Session, Entries: append(c.Entries, next.Entries...)}
		b.diff("session", want, b.look(ref(c)))
	}},
	{"keeps the settings when it brings none", func(b *bench) {
		c := b.mustCreate(b.create(1))
		next := b.mustCommit(follow(c, 1))
		want := next.Session
		want.Settings = c.Session.Settings
		b.diff("row", &want, b.look(ref(c)).Session)
	}},
	{"never changes log id and time of creation", func(b *bench) {
		c := b.mustCreate(b.create(1))
		next := follow(c, 1)
		next.Session.LogID, next.Session.CreatedAt = "other", at(99)
		b.mustCommit(next)
		got := b.look(ref(c)).Session
		if got.LogID != c.Session.LogID || !got.CreatedAt.Equal(c.Session.CreatedAt) {
			b.Errorf("log id %q, created at %v; want those of creation", got.LogID, got.CreatedAt)
		}
	}},
	{"may bring no entry", func(b *bench) {
		c := b.mustCreate(b.create(2))
		next := follow(c, 0)
		next.Session.State = []byte(`{"generation":9}`)
		b.mustCommit(next)
		got := b.look(ref(c))
		b.diff("state", string(next.Session.State), string(got.Session.State))
		b.diff("entries", c.Entries, got.Entries)
	}},
	{"sets and clears the time of closing", func(b *bench) {
		c := b.mustCreate(b.create(1))
		closed := follow(c, 1)
		closed.Session.Status, closed.Session.ClosedAt = store.StatusClosed, at(5)
		b.mustCommit(closed)
		if got := b.look(ref(c)).Session; !got.ClosedAt.Equal(at(5)) {
			b.Errorf("closed at %v, want %v", got.ClosedAt, at(5))
		}
		opened := follow(closed, 1)
		opened.Session.Status, opened.Session.ClosedAt = store.StatusIdle, time.Time{}
		b.mustCommit(opened)
		if got := b.look(ref(c)).Session; !got.ClosedAt.IsZero() {
			b.Errorf("closed at %v, want never", got.ClosedAt)
		}
	}},
	{"keeps times to the microsecond in UTC", func(b *bench) {
		c := b.create(1)
		east := time.FixedZone("east", 3*60*60)
		c.Session.UpdatedAt = time.Date(2026, 3, 1, 15, 0, 0, 987654999, east)
		b.mustCreate(c)
		want := time.Date(2026, 3, 1, 12, 0, 0, 987654000, time.UTC)
		if got := b.look(ref(c)).Session.UpdatedAt; got != want { // the location counts too
			b.Errorf("updated at %v, want %v", got, want)
		}
	}},
	{"fails against another head and leaves nothing behind", func(b *bench) {
		c := b.mustCreate(b.create(3))
		for _, head := range []int64{0, 1, 2, 4, 100} {
			next := follow(c, 0)
			next.PrevHead, next.Session.HeadSeq = head, head
			addEntries(next, 2)
			next.Session.Title = "never seen"
			next.Turns = []store.Turn{running(turn(next))}
			next.Keys = []store.KeyRecord{key(c, "stale")}
			b.unchanged(ref(c), []store.KeyScope{next.Keys[0].KeyScope}, store.ErrConflict, func() error {
				return b.Commit(b.Context(), next)
			})
		}
	}},
	{"fails when it is repeated", func(b *bench) {
		c := b.mustCreate(b.create(1))
		next := b.mustCommit(follow(c, 1))
		b.unchanged(ref(c), nil, store.ErrConflict, func() error { return b.Commit(b.Context(), next) })
	}},
	{"refuses wrong numbers", func(b *bench) {
		c := b.mustCreate(b.create(2))
		refusesWrongNumbers(b, b.Commit, func(n int) *store.Commit { return follow(c, n) })
	}},
	{"refuses to delete", func(b *bench) {
		c := b.mustCreate(b.create(1))
		next := follow(c, 1)
		next.Session.Status = store.StatusDeleted
		b.unchanged(ref(c), nil, nil, func() error { return b.Commit(b.Context(), next) })
	}},
	{"refuses a message that is already stored", func(b *bench) {
		c := b.mustCreate(b.create(2))
		next := follow(c, 2)
		next.Entries[1].MessageID = c.Entries[0].MessageID
		b.unchanged(ref(c), nil, nil, func() error { return b.Commit(b.Context(), next) })
		twice := follow(c, 2)
		twice.Entries[1].MessageID = twice.Entries[0].MessageID
		b.unchanged(ref(c), nil, nil, func() error { return b.Commit(b.Context(), twice) })
	}},
	{"finds no session that does not exist, is foreign or deleted", func(b *bench) {
		missing := b.create(1)
		b.wantErr("missing", b.Commit(b.Context(), missing), store.ErrNotFound)

		c := b.mustCreate(b.create(1))
		foreign := follow(c, 1)
		foreign.Session.Owner = b.owner + "-other"
		b.unchanged(ref(c), nil, store.ErrNotFound, func() error { return b.Commit(b.Context(), foreign) })

		if _, err := b.DeleteSession(b.Context(), ref(c), at(1)); err != nil {
			b.Fatal(err)
		}
		b.unchanged(ref(c), nil, store.ErrNotFound, func() error { return b.Commit(b.Context(), follow(c, 1)) })
	}},
	{"copies what it is given", func(b *bench) {
		c := b.create(1)
		body := []byte(`{"a":1}`)
		c.Entries[0].Body = body
		b.mustCreate(c)
		copy(body, `{"b":2}`)
		if got := string(b.look(ref(c)).Entries[0].Body); got != `{"a":1}` {
			b.Errorf("body became %s", got)
		}
	}},
	{"with an ended context does all or nothing", func(b *bench) {
		c := b.mustCreate(b.create(1))
		next := follow(c, 2)
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		if err := b.Commit(ctx, next); err != nil && !errors.Is(err, context.Canceled) {
			b.Fatalf("error is %v, want %v", err, context.Canceled)
		}
		// The outcome is unknown, so a caller reloads and goes on from what it finds.
		head := b.look(ref(c)).Session.HeadSeq
		if head != c.Session.HeadSeq && head != next.Session.HeadSeq {
			b.Fatalf("head is %d, want %d or %d", head, c.Session.HeadSeq, next.Session.HeadSeq)
		}
	}},
}

var sessionRules = []rule{
	{"is the owner's only, in every read", foreignSeesNothing},
	{"answers when it is asked", func(b *bench) {
		if err := b.Ping(b.Context()); err != nil {
			b.Errorf("Ping: %v", err)
		}
	}},
	{"finds nothing under an odd id", func(b *bench) {
		// Ids come from clients, so they can be anything a JSON string can be.
		for _, id := range []string{"", "x", "\x00", "a\x00b", "'; --", "\U0001f600", "%", "\xff\xfe"} {
			r := store.Ref{Owner: b.owner, ID: message.SessionID(id)}
			b.diff("session", image{}, b.look(r))
			_, err := b.DeleteSession(b.Context(), r, at(0))
			b.wantErr("DeleteSession", err, store.ErrNotFound)
			c := b.mustCreate(b.create(1))
			_, err = b.MessageEntry(b.Context(), ref(c), message.ID(id))
			b.wantErr("MessageEntry", err, store.ErrNotFound)
			_, err = b.Turn(b.Context(), ref(c), message.TurnID(id))
			b.wantErr("Turn", err, store.ErrNotFound)
		}
	}},
}

// refusesWrongNumbers tries commits whose numbers don't fit each other.
func refusesWrongNumbers(
	b *bench, do func(context.Context, *store.Commit) error, build func(n int) *store.Commit,
) {
	b.Helper()
	cases := map[string]func(c *store.Commit){
		"head too high":      func(c *store.Commit) { c.Session.HeadSeq++ },
		"head too low":       func(c *store.Commit) { c.Session.HeadSeq-- },
		"a gap":              func(c *store.Commit) { c.Entries[1].Seq++ },
		"a repeated number":  func(c *store.Commit) { c.Entries[1].Seq-- },
		"begins too high":    func(c *store.Commit) { c.Entries[0].Seq, c.Entries[1].Seq = 50, 51 },
		"swapped":            func(c *store.Commit) { c.Entries[0], c.Entries[1] = c.Entries[1], c.Entries[0] },
		"an entry too many":  func(c *store.Commit) { c.Entries = append(c.Entries, c.Entries[1]) },
		"an entry too few":   func(c *store.Commit) { c.Entries = c.Entries[:1] },
		"no owner":           func(c *store.Commit) { c.Session.Owner = "" },
		"unknown status":     func(c *store.Commit) { c.Session.Status = "odd" },
		"unknown turn state": func(c *store.Commit) { c.Turns = []store.Turn{{ID: "t", Status: "odd"}} },
		"a turn twice": func(c *store.Commit) {
			tn := turn(c)
			c.Turns = []store.Turn{tn, tn}
		},
	}
	for name, spoil := range cases {
		b.run(name, func(b *bench) {
			c := build(2)
			r := ref(c)
			spoil(c)
			b.unchanged(r, nil, nil, func() error { return do(b.Context(), c) })
		})
	}
}

// foreignSeesNothing reads everything of a session under another owner's name.
func foreignSeesNothing(b *bench) {
	ctx := b.Context()
	c := b.create(2)
	tn := running(turn(c))
	c.Turns = []store.Turn{tn}
	c.Keys = []store.KeyRecord{key(c, "k")}
	b.mustCreate(c)
	before := b.look(ref(c))

	foreign := store.Ref{Owner: b.owner + "-other", ID: c.Session.ID}
	b.diff("session", image{}, b.look(foreign))
	_, err := b.Session(ctx, foreign)
	b.wantErr("Session", err, store.ErrNotFound)
	_, err = b.MessageEntry(ctx, foreign, c.Entries[0].MessageID)
	b.wantErr("MessageEntry", err, store.ErrNotFound)
	_, err = b.Turn(ctx, foreign, tn.ID)
	b.wantErr("Turn", err, store.ErrNotFound)
	scope := c.Keys[0].KeyScope
	scope.Owner = foreign.Owner
	_, err = b.Key(ctx, scope, at(0))
	b.wantErr("Key", err, store.ErrNotFound)
	list, err := b.ListSessions(ctx, store.ListQuery{Owner: foreign.Owner, Limit: 10})
	if err != nil || len(list) > 0 {
		b.Errorf("ListSessions: %d sessions, error %v", len(list), err)
	}
	_, err = b.DeleteSession(ctx, foreign, at(1))
	b.wantErr("DeleteSession", err, store.ErrNotFound)
	b.diff("session of its owner", before, b.look(ref(c)))
}
