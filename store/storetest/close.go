package storetest

import (
	"sync"

	"sessiond/message"
	"sessiond/store"
)

var closeRules = []rule{
	{"ends every method, and may be repeated", func(b *bench) {
		ctx := b.Context()
		c := b.mustCreate(b.create(1))
		for range 2 {
			if err := b.Close(); err != nil {
				b.Fatalf("Close: %v", err)
			}
		}
		calls := map[string]func() error{
			"Create":        func() error { return b.Create(ctx, b.create(1)) },
			"Commit":        func() error { return b.Commit(ctx, follow(c, 1)) },
			"Session":       func() error { _, err := b.Session(ctx, ref(c)); return err },
			"ListSessions":  func() error { _, err := b.ListSessions(ctx, store.ListQuery{Owner: b.owner, Limit: 1}); return err },
			"DeleteSession": func() error { _, err := b.DeleteSession(ctx, ref(c), at(1)); return err },
			"Unfinished":    func() error { _, err := b.Unfinished(ctx); return err },
			"Entries":       func() error { _, err := b.Entries(ctx, store.EntryQuery{Ref: ref(c)}); return err },
			"MessageEntry":  func() error { _, err := b.MessageEntry(ctx, ref(c), c.Entries[0].MessageID); return err },
			"Turn":          func() error { _, err := b.Turn(ctx, ref(c), message.NewTurnID()); return err },
			"ListTurns":     func() error { _, err := b.ListTurns(ctx, ref(c), 0, 1); return err },
			"OpenTurns":     func() error { _, err := b.OpenTurns(ctx, ref(c)); return err },
			"Key":           func() error { _, err := b.Key(ctx, key(c, "k").KeyScope, at(0)); return err },
			"PurgeKeys":     func() error { _, err := b.PurgeKeys(ctx, at(0)); return err },
			"PutTicket":     func() error { return b.PutTicket(ctx, &store.Ticket{Owner: b.owner}) },
			"TakeTicket":    func() error { _, err := b.TakeTicket(ctx, [32]byte{}, at(0)); return err },
			"PurgeTickets":  func() error { _, err := b.PurgeTickets(ctx, at(0)); return err },
			"ListMemories": func() error {
				_, err := b.ListMemories(ctx, store.MemoryQuery{Ref: ref(c), Limit: 1})
				return err
			},
			"Memory":        func() error { _, err := b.Memory(ctx, b.owner, message.NewMemoryID()); return err },
			"PutMemory":     func() error { m := b.userMemory(); return b.PutMemory(ctx, &m, nil) },
			"DeleteMemory":  func() error { return b.DeleteMemory(ctx, b.owner, message.NewMemoryID(), at(1), nil) },
			"LearnedLimits": func() error { _, err := b.LearnedLimits(ctx); return err },
			"LearnLimit":    func() error { return b.LearnLimit(ctx, b.limit("a", "m", 1)) },
			"IndexText":     func() error { return b.IndexText(ctx, []store.SearchText{{Ref: ref(c), Seq: 1}}) },
			"IndexedSeq":    func() error { _, err := b.IndexedSeq(ctx, ref(c)); return err },
			"SearchText": func() error {
				_, err := b.SearchText(ctx, store.SearchQuery{Ref: ref(c), Query: "x", Limit: 1})
				return err
			},
			"Ping": func() error { return b.Ping(ctx) },
		}
		for name, call := range calls {
			b.wantErr(name, call(), store.ErrClosed)
		}
	}},
	{"lets commits under way end in success or ErrClosed", func(b *bench) {
		var started, ended sync.WaitGroup
		for range 8 {
			started.Add(1)
			ended.Go(func() {
				c := b.create(1)
				err := b.Create(b.Context(), c)
				started.Done()
				for err == nil {
					c = follow(c, 1)
					err = b.Commit(b.Context(), c)
				}
				b.wantErr("Commit", err, store.ErrClosed)
			})
		}
		started.Wait()
		if err := b.Close(); err != nil {
			b.Errorf("Close: %v", err)
		}
		ended.Wait()
	}},
}
