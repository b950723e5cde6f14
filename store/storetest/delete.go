package storetest

import (
	"errors"

	"sessiond/message"
	"sessiond/store"
)

var deleteRules = []rule{
	{"removes the session and all that belongs to it", func(b *bench) {
		ctx := b.Context()
		c := b.create(2)
		tn := running(turn(c))
		c.Turns = []store.Turn{tn}
		c.Keys = []store.KeyRecord{key(c, "k")}
		m := memory(c)
		c.Memories = []store.MemoryChange{{Put: &m}}
		b.mustCreate(c)
		next := b.mustCommit(follow(c, 2))
		b.mustDelete(ref(c), true)

		b.diff("session", image{}, b.look(ref(c)))
		_, err := b.MessageEntry(ctx, ref(c), next.Entries[0].MessageID)
		b.wantErr("MessageEntry", err, store.ErrNotFound)
		_, err = b.Turn(ctx, ref(c), tn.ID)
		b.wantErr("Turn", err, store.ErrNotFound)
		_, err = b.Memory(ctx, b.owner, m.ID)
		b.wantErr("Memory", err, store.ErrNotFound)
		_, err = b.Key(ctx, c.Keys[0].KeyScope, at(0))
		b.wantErr("Key", err, store.ErrNotFound)
	}},
	{"finds the tombstone when it is repeated", func(b *bench) {
		c := b.mustCreate(b.create(1))
		b.mustDelete(ref(c), true)
		b.mustDelete(ref(c), false)
		b.mustDelete(ref(c), false)
	}},
	{"finds nothing that the owner never had", func(b *bench) {
		_, err := b.DeleteSession(b.Context(), store.Ref{Owner: b.owner, ID: message.NewSessionID()}, at(0))
		b.wantErr("DeleteSession", err, store.ErrNotFound)
		c := b.mustCreate(b.create(1))
		b.mustDelete(ref(c), true)
		_, err = b.DeleteSession(b.Context(), store.Ref{Owner: b.owner + "-other", ID: c.Session.ID}, at(0))
		b.wantErr("DeleteSession of a foreign tombstone", err, store.ErrNotFound)
	}},
	{"leaves other sessions alone", func(b *bench) {
		c, other := b.create(1), b.create(2)
		other.Turns = []store.Turn{running(turn(other))}
		other.Keys = []store.KeyRecord{key(other, "k")}
		perOwner := key(other, "k")
		perOwner.SessionID = ""
		other.Keys = append(other.Keys, perOwner)
		m := memory(other)
		other.Memories = []store.MemoryChange{{Put: &m}}
		b.mustCreate(c)
		b.mustCreate(other)
		before := b.look(ref(other))
		b.mustDelete(ref(c), true)
		b.diff("the other session", before, b.look(ref(other)))
		b.mustDelete(ref(other), true)
		if _, err := b.Key(b.Context(), perOwner.KeyScope, at(0)); err != nil {
			b.Errorf("key that belongs to no session: %v", err)
		}
	}},
	{"races a commit to one of two outcomes", func(b *bench) {
		for range 10 {
			c := b.mustCreate(b.create(1))
			next := follow(c, 3)
			next.Turns = []store.Turn{running(turn(next))}
			next.Keys = []store.KeyRecord{key(c, "k")}
			m := memory(next)
			next.Memories = []store.MemoryChange{{Put: &m}}
			done := make(chan error)
			go func() { done <- b.Commit(b.Context(), next) }()
			deleted, err := b.DeleteSession(b.Context(), ref(c), at(1))
			if err != nil || !deleted {
				b.Errorf("DeleteSession: %v, %v", deleted, err)
			}
			if err := <-done; err != nil && !errors.Is(err, store.ErrNotFound) {
				b.Errorf("Commit: %v", err)
			}
			b.diff("session", image{}, b.look(ref(c)))
			_, err = b.Key(b.Context(), next.Keys[0].KeyScope, at(0))
			b.wantErr("Key", err, store.ErrNotFound)
		}
	}},
}

func (b *bench) mustDelete(r store.Ref, want bool) {
	b.Helper()
	deleted, err := b.DeleteSession(b.Context(), r, at(1))
	if err != nil {
		b.Fatalf("DeleteSession: %v", err)
	}
	if deleted != want {
		b.Errorf("deleted is %v, want %v", deleted, want)
	}
}
