package storetest

import (
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"sessiond/message"
	"sessiond/store"
)

var ticketRules = []rule{
	{"are taken once", func(b *bench) {
		for _, ids := range [][]message.SessionID{nil, {"a"}, {message.NewSessionID(), message.NewSessionID()}} {
			want := b.putTicket(at(10), ids...)
			got, err := b.TakeTicket(b.Context(), want.Hash, at(9))
			if err != nil {
				b.Fatalf("TakeTicket: %v", err)
			}
			b.diff("ticket", want, got)
			_, err = b.TakeTicket(b.Context(), want.Hash, at(9))
			b.wantErr("TakeTicket again", err, store.ErrNotFound)
		}
	}},
	{"that nobody put are not found", func(b *bench) {
		_, err := b.TakeTicket(b.Context(), [32]byte{42}, at(0))
		b.wantErr("TakeTicket", err, store.ErrNotFound)
	}},
	{"are removed and not found once they have expired", func(b *bench) {
		tk := b.putTicket(at(10))
		_, err := b.TakeTicket(b.Context(), tk.Hash, at(10))
		b.wantErr("TakeTicket", err, store.ErrNotFound)
		_, err = b.TakeTicket(b.Context(), tk.Hash, at(9))
		b.wantErr("TakeTicket after its removal", err, store.ErrNotFound)
	}},
	{"go to one of many callers", func(b *bench) {
		tk := b.putTicket(at(10))
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() { _, errs[i] = b.TakeTicket(b.Context(), tk.Hash, at(9)) })
		}
		wg.Wait()
		taken := 0
		for _, err := range errs {
			switch {
			case err == nil:
				taken++
			case !errors.Is(err, store.ErrNotFound):
				b.Errorf("TakeTicket: %v", err)
			}
		}
		if taken != 1 {
			b.Errorf("taken %d times", taken)
		}
	}},
	{"are purged once they have expired", func(b *bench) {
		const long = -1 << 28 // years before what other tests store
		kept := b.putTicket(at(long + 2))
		b.putTicket(at(long + 1))
		b.putTicket(at(long))
		for _, want := range []int64{2, 0} {
			n, err := b.PurgeTickets(b.Context(), at(long+1))
			if err != nil {
				b.Fatal(err)
			}
			if n != want {
				b.Errorf("purged %d, want %d", n, want)
			}
		}
		if _, err := b.TakeTicket(b.Context(), kept.Hash, at(long)); err != nil {
			b.Errorf("TakeTicket: %v", err)
		}
	}},
}

func (b *bench) putTicket(expires time.Time, ids ...message.SessionID) *store.Ticket {
	b.Helper()
	tk := &store.Ticket{
		Owner: b.owner, Origin: "https://example.com", Scope: "chat", SessionIDs: ids, ExpiresAt: expires,
	}
	if _, err := rand.Read(tk.Hash[:]); err != nil {
		b.Fatal(err)
	}
	if err := b.PutTicket(b.Context(), tk); err != nil {
		b.Fatalf("PutTicket: %v", err)
	}
	return tk
}
