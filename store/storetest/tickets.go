package storetest

import (
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"sessiond/message"
	"sessiond/store"
)

var ticketRules = []rule{
	{"are taken once", func(t *testing.T, b *bench) {
		for _, ids := range [][]message.SessionID{nil, {"a"}, {message.NewSessionID(), message.NewSessionID()}} {
			want := b.putTicket(t, at(10), ids...)
			got, err := b.TakeTicket(t.Context(), want.Hash, at(9))
			if err != nil {
				t.Fatalf("TakeTicket: %v", err)
			}
			diff(t, "ticket", want, got)
			_, err = b.TakeTicket(t.Context(), want.Hash, at(9))
			wantErr(t, "TakeTicket again", err, store.ErrNotFound)
		}
	}},
	{"that nobody put are not found", func(t *testing.T, b *bench) {
		_, err := b.TakeTicket(t.Context(), [32]byte{42}, at(0))
		wantErr(t, "TakeTicket", err, store.ErrNotFound)
	}},
	{"are removed and not found once they have expired", func(t *testing.T, b *bench) {
		tk := b.putTicket(t, at(10))
		_, err := b.TakeTicket(t.Context(), tk.Hash, at(10))
		wantErr(t, "TakeTicket", err, store.ErrNotFound)
		_, err = b.TakeTicket(t.Context(), tk.Hash, at(9))
		wantErr(t, "TakeTicket after its removal", err, store.ErrNotFound)
	}},
	{"go to one of many callers", func(t *testing.T, b *bench) {
		tk := b.putTicket(t, at(10))
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() { _, errs[i] = b.TakeTicket(t.Context(), tk.Hash, at(9)) })
		}
		wg.Wait()
		taken := 0
		for _, err := range errs {
			switch {
			case err == nil:
				taken++
			case !errors.Is(err, store.ErrNotFound):
				t.Errorf("TakeTicket: %v", err)
			}
		}
		if taken != 1 {
			t.Errorf("taken %d times", taken)
		}
	}},
	{"are purged once they have expired", func(t *testing.T, b *bench) {
		const long = -1 << 28 // years before what other tests store
		kept := b.putTicket(t, at(long+2))
		b.putTicket(t, at(long+1))
		b.putTicket(t, at(long))
		for _, want := range []int64{2, 0} {
			n, err := b.PurgeTickets(t.Context(), at(long+1))
			if err != nil {
				t.Fatal(err)
			}
			if n != want {
				t.Errorf("purged %d, want %d", n, want)
			}
		}
		if _, err := b.TakeTicket(t.Context(), kept.Hash, at(long)); err != nil {
			t.Errorf("TakeTicket: %v", err)
		}
	}},
}

func (b *bench) putTicket(t *testing.T, expires time.Time, ids ...message.SessionID) *store.Ticket {
	t.Helper()
	tk := &store.Ticket{
		Owner: b.owner, Origin: "https://example.com", Scope: "chat", SessionIDs: ids, ExpiresAt: expires,
	}
	if _, err := rand.Read(tk.Hash[:]); err != nil {
		t.Fatal(err)
	}
	if err := b.PutTicket(t.Context(), tk); err != nil {
		t.Fatalf("PutTicket: %v", err)
	}
	return tk
}
