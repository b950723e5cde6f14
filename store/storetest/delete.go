package storetest

import (
	"errors"
	"testing"

	"sessiond/message"
	"sessiond/store"
)

var deleteRules = []rule{
	{"removes the session and all that belongs to it", func(t *testing.T, b *bench) {
		ctx := t.Context()
		c := b.create(2)
		tn := running(turn(c))
		c.Turns = []store.Turn{tn}
		c.Keys = []store.KeyRecord{key(c, "k")}
		b.mustCreate(t, c)
		next := b.mustCommit(t, follow(c, 2))
		b.mustDelete(t, ref(c), true)

		diff(t, "session", image{}, b.look(t, ref(c)))
		_, err := b.MessageEntry(ctx, ref(c), next.Entries[0].MessageID)
		wantErr(t, "MessageEntry", err, store.ErrNotFound)
		_, err = b.Turn(ctx, ref(c), tn.ID)
		wantErr(t, "Turn", err, store.ErrNotFound)
		_, err = b.Key(ctx, c.Keys[0].KeyScope, at(0))
		wantErr(t, "Key", err, store.ErrNotFound)
	}},
	{"finds the tombstone when it is repeated", func(t *testing.T, b *bench) {
		c := b.mustCreate(t, b.create(1))
		b.mustDelete(t, ref(c), true)
		b.mustDelete(t, ref(c), false)
		b.mustDelete(t, ref(c), false)
	}},
	{"finds nothing that the owner never had", func(t *testing.T, b *bench) {
		_, err := b.DeleteSession(t.Context(), store.Ref{Owner: b.owner, ID: message.NewSessionID()}, at(0))
		wantErr(t, "DeleteSession", err, store.ErrNotFound)
		c := b.mustCreate(t, b.create(1))
		b.mustDelete(t, ref(c), true)
		_, err = b.DeleteSession(t.Context(), store.Ref{Owner: b.owner + "-other", ID: c.Session.ID}, at(0))
		wantErr(t, "DeleteSession of a foreign tombstone", err, store.ErrNotFound)
	}},
	{"leaves other sessions alone", func(t *testing.T, b *bench) {
		c, other := b.create(1), b.create(2)
		other.Turns = []store.Turn{running(turn(other))}
		other.Keys = []store.KeyRecord{key(other, "k")}
		perOwner := key(other, "k")
		perOwner.SessionID = ""
		other.Keys = append(other.Keys, perOwner)
		b.mustCreate(t, c)
		b.mustCreate(t, other)
		before := b.look(t, ref(other))
		b.mustDelete(t, ref(c), true)
		diff(t, "the other session", before, b.look(t, ref(other)))
		b.mustDelete(t, ref(other), true)
		if _, err := b.Key(t.Context(), perOwner.KeyScope, at(0)); err != nil {
			t.Errorf("key that belongs to no session: %v", err)
		}
	}},
	{"races a commit to one of two outcomes", func(t *testing.T, b *bench) {
		for range 10 {
			c := b.mustCreate(t, b.create(1))
			next := follow(c, 3)
			next.Turns = []store.Turn{running(turn(next))}
			next.Keys = []store.KeyRecord{key(c, "k")}
			done := make(chan error)
			go func() { done <- b.Commit(t.Context(), next) }()
			deleted, err := b.DeleteSession(t.Context(), ref(c), at(1))
			if err != nil || !deleted {
				t.Errorf("DeleteSession: %v, %v", deleted, err)
			}
			if err := <-done; err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Commit: %v", err)
			}
			diff(t, "session", image{}, b.look(t, ref(c)))
			_, err = b.Key(t.Context(), next.Keys[0].KeyScope, at(0))
			wantErr(t, "Key", err, store.ErrNotFound)
		}
	}},
}

func (b *bench) mustDelete(t *testing.T, r store.Ref, want bool) {
	t.Helper()
	deleted, err := b.DeleteSession(t.Context(), r, at(1))
	if err != nil {
		t.Fatalf("DeleteSession: %v", err)
	}
	if deleted != want {
		t.Errorf("deleted is %v, want %v", deleted, want)
	}
}
