package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"sessiond/message"
	"sessiond/store"
)

var concurrencyRules = []rule{
	{"commits to many sessions all arrive", func(b *bench) {
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				c := b.create(1)
				err := b.Create(b.Context(), c)
				for n := 0; n < 25 && err == nil; n++ {
					c = follow(c, n%4)
					err = b.Commit(b.Context(), c)
				}
				if err != nil {
					b.Errorf("caller %d: %v", i, err)
					return
				}
				img := b.look(ref(c))
				if img.Session.HeadSeq != c.Session.HeadSeq || int64(len(img.Entries)) != c.Session.HeadSeq {
					b.Errorf("head %d and %d entries, want %d", img.Session.HeadSeq, len(img.Entries), c.Session.HeadSeq)
				}
			})
		}
		wg.Wait()
	}},
	{"of commits against one head exactly one wins", func(b *bench) {
		c := b.mustCreate(b.create(1))
		for range 10 {
			var wg sync.WaitGroup
			var winner atomic.Pointer[store.Commit]
			var wins atomic.Int32
			for i := range 8 {
				wg.Go(func() {
					next := follow(c, 2)
					next.Session.Title = fmt.Sprint("caller ", i)
					switch err := b.Commit(b.Context(), next); {
					case err == nil:
						wins.Add(1)
						winner.Store(next)
					case !errors.Is(err, store.ErrConflict):
						b.Errorf("Commit: %v", err)
					}
				})
			}
			wg.Wait()
			if wins.Load() != 1 {
				b.Fatalf("%d commits won", wins.Load())
			}
			won := winner.Load()
			img := b.look(ref(c))
			b.diff("title", won.Session.Title, img.Session.Title)
			b.diff("the newest entries", won.Entries, img.Entries[len(img.Entries)-2:])
			c = won
		}
	}},
	{"of calls with one key exactly one has its effect", func(b *bench) {
		for round := range 5 {
			var wg sync.WaitGroup
			var wins atomic.Int32
			creates := make([]*store.Commit, 8)
			for i := range creates {
				c := b.create(2)
				k := key(c, fmt.Sprint("create ", round))
				k.SessionID = ""
				c.Keys = []store.KeyRecord{k}
				creates[i] = c
				wg.Go(func() {
					switch err := b.Create(b.Context(), c); {
					case err == nil:
						wins.Add(1)
					case !errors.Is(err, store.ErrKeyExists):
						b.Errorf("Create: %v", err)
					}
				})
			}
			wg.Wait()
			var stored int32
			for _, c := range creates {
				if b.look(ref(c)).Session != nil {
					stored++
				}
			}
			if wins.Load() != 1 || stored != 1 {
				b.Errorf("%d calls won, %d sessions are stored", wins.Load(), stored)
			}
		}
	}},
	{"a failing commit harms none of its neighbours", neighbours},
	{"readers see whole commits only", wholeCommits},
}

// neighbours lets good and bad commits arrive together, so that drivers that put
// several into one transaction have to tell them apart.
func neighbours(b *bench) {
	spoilers := []struct {
		spoil func(c *store.Commit)
		want  error
	}{
		{func(c *store.Commit) { // another head
			c.PrevHead++
			c.Session.HeadSeq++
			for i := range c.Entries {
				c.Entries[i].Seq++
			}
		}, store.ErrConflict},
		{func(c *store.Commit) { c.Turns = []store.Turn{running(turn(c))} }, store.ErrConflict},
		{func(c *store.Commit) { c.Keys = []store.KeyRecord{key(c, "used")} }, store.ErrKeyExists},
		{func(c *store.Commit) { c.Session.ID = message.NewSessionID() }, store.ErrNotFound},
		{func(c *store.Commit) { c.Entries[1].MessageID = c.Entries[0].MessageID }, nil},
	}
	var wg sync.WaitGroup
	for i := range 15 {
		wg.Go(func() {
			c := b.create(1)
			c.Turns = []store.Turn{running(turn(c))}
			c.Keys = []store.KeyRecord{key(c, "used")}
			if err := b.Create(b.Context(), c); err != nil {
				b.Errorf("Create: %v", err)
				return
			}
			for n := range 10 {
				if s := spoilers[(i+n)%len(spoilers)]; i%3 == 0 {
					bad := follow(c, 2)
					s.spoil(bad)
					b.wantErr("bad commit", b.Commit(b.Context(), bad), s.want)
				}
				c = follow(c, 2)
				c.Keys = []store.KeyRecord{key(c, fmt.Sprint("good ", n))}
				if err := b.Commit(b.Context(), c); err != nil {
					b.Errorf("good commit: %v", err)
					return
				}
			}
			if got := int64(len(b.look(ref(c)).Entries)); got != c.Session.HeadSeq {
				b.Errorf("%d entries, want %d", got, c.Session.HeadSeq)
			}
		})
	}
	wg.Wait()
}

func wholeCommits(b *bench) {
	c := b.mustCreate(b.create(3))
	r := ref(c)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for last := 0; ; {
				select {
				case <-done:
					return
				default:
				}
				entries, err := b.Entries(b.Context(), store.EntryQuery{Ref: r})
				if err != nil {
					b.Errorf("Entries: %v", err)
					return
				}
				if len(entries)%3 != 0 || len(entries) < last {
					b.Errorf("%d entries after %d, in commits of three", len(entries), last)
					return
				}
				last = len(entries)
			}
		})
	}
	for range 40 {
		c = follow(c, 3)
		if err := b.Commit(b.Context(), c); err != nil {
			b.Errorf("Commit: %v", err)
		}
		// Whoever was answered finds the commit.
		got, err := b.Session(b.Context(), r)
		if err != nil || got.HeadSeq != c.Session.HeadSeq {
			b.Errorf("head after a commit: %+v, %v; want %d", got, err, c.Session.HeadSeq)
			break
		}
	}
	close(done)
	wg.Wait()
}
