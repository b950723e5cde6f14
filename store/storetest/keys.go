package storetest

import (
	"sessiond/store"
)

var keyRules = []rule{
	{"are recorded with their effect", func(b *bench) {
		c := b.mustCreate(b.create(1))
		next := follow(c, 1)
		one, two := key(c, "one"), key(c, "two")
		two.Result, two.ExpiresAt = nil, at(100)
		next.Keys = []store.KeyRecord{one, two}
		b.mustCommit(next)
		for _, want := range next.Keys {
			b.wantKey(want, 0)
		}
	}},
	{"are refused a second time, with the whole commit", func(b *bench) {
		c := b.create(1)
		c.Keys = []store.KeyRecord{key(c, "k")}
		b.mustCreate(c)
		next := follow(c, 2)
		again := key(c, "k")
		again.Result, again.Fingerprint = []byte(`"other"`), [32]byte{9}
		next.Keys = []store.KeyRecord{key(c, "new"), again}
		next.Turns = []store.Turn{running(turn(next))}
		b.unchanged(ref(c), []store.KeyScope{next.Keys[0].KeyScope}, store.ErrKeyExists, func() error {
			return b.Commit(b.Context(), next)
		})
		b.wantKey(c.Keys[0], 0)
	}},
	{"are refused to a second session", func(b *bench) {
		c, other := b.create(1), b.create(1)
		k := key(c, "k")
		k.SessionID = ""
		c.Keys, other.Keys = []store.KeyRecord{k}, []store.KeyRecord{k}
		b.mustCreate(c)
		b.unchanged(ref(other), nil, store.ErrKeyExists, func() error { return b.Create(b.Context(), other) })
	}},
	{"are refused twice in one commit", func(b *bench) {
		c := b.mustCreate(b.create(1))
		next := follow(c, 1)
		next.Keys = []store.KeyRecord{key(c, "k"), key(c, "k")}
		b.unchanged(ref(c), []store.KeyScope{next.Keys[0].KeyScope}, store.ErrKeyExists, func() error {
			return b.Commit(b.Context(), next)
		})
	}},
	{"differ by owner, method, session and text", func(b *bench) {
		c := b.mustCreate(b.create(1))
		k := key(c, "k")
		variants := []store.KeyRecord{k}
		for _, change := range []func(*store.KeyScope){
			func(s *store.KeyScope) { s.Owner += "-other" },
			func(s *store.KeyScope) { s.Method += "-other" },
			func(s *store.KeyScope) { s.SessionID = "" },
			func(s *store.KeyScope) { s.Key = "K" },
			func(s *store.KeyScope) { s.Key = "k " },
			func(s *store.KeyScope) { s.Key = "k\x00" }, // a JSON string may hold NUL
			func(s *store.KeyScope) { s.Key = "👩‍👩‍👧" },
		} {
			v := k
			change(&v.KeyScope)
			v.Fingerprint[0] = byte(len(variants))
			variants = append(variants, v)
		}
		next := follow(c, 1)
		next.Keys = variants
		b.mustCommit(next)
		for _, v := range variants {
			b.wantKey(v, 0)
		}
	}},
	{"are gone once they have expired", func(b *bench) {
		c := b.create(1)
		k := key(c, "k")
		k.ExpiresAt = at(10)
		c.Keys = []store.KeyRecord{k}
		b.mustCreate(c)
		b.wantKey(k, 9)
		for _, now := range []int{10, 11} {
			_, err := b.Key(b.Context(), k.KeyScope, at(now))
			b.wantErr("Key", err, store.ErrNotFound)
		}
	}},
	{"can be recorded again once they have expired", func(b *bench) {
		c := b.create(1)
		k := key(c, "k")
		k.ExpiresAt = at(10)
		c.Keys = []store.KeyRecord{k}
		b.mustCreate(c)

		next := follow(c, 1)
		next.Session.UpdatedAt = at(9)
		k.Result, k.ExpiresAt = []byte(`"second"`), at(50)
		next.Keys = []store.KeyRecord{k}
		b.unchanged(ref(c), nil, store.ErrKeyExists, func() error { return b.Commit(b.Context(), next) })

		next.Session.UpdatedAt = at(10)
		b.mustCommit(next)
		b.wantKey(k, 49)
	}},
	{"are purged once they have expired", func(b *bench) {
		const long = -1 << 28 // years before what other tests store
		c := b.create(1)
		kept, edge, gone := key(c, "kept"), key(c, "edge"), key(c, "gone")
		forever := key(c, "forever")
		kept.ExpiresAt, edge.ExpiresAt, gone.ExpiresAt = at(long+2), at(long+1), at(long)
		c.Keys = []store.KeyRecord{kept, edge, gone, forever}
		b.mustCreate(c)
		for _, want := range []int64{2, 0} {
			n, err := b.PurgeKeys(b.Context(), at(long+1))
			if err != nil {
				b.Fatal(err)
			}
			if n != want {
				b.Errorf("purged %d, want %d", n, want)
			}
		}
		b.wantKey(kept, long-9)
		b.wantKey(forever, 0)
		_, err := b.Key(b.Context(), gone.KeyScope, at(long-9))
		b.wantErr("Key", err, store.ErrNotFound)
	}},
}

func (b *bench) wantKey(want store.KeyRecord, now int) {
	b.Helper()
	got, err := b.Key(b.Context(), want.KeyScope, at(now))
	if err != nil {
		b.Fatalf("Key %q: %v", want.Key, err)
	}
	b.diff("key", &want, got)
}
