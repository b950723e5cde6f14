package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/message"
	"sessiond/session"
)

// TestTold is the table of what subscribers are told of each kind of entry; "" is nothing.
func TestTold(t *testing.T) {
	const (
		written  = `{"outcome":"applied","summary":"s","writer":"model"}`
		recalled = `{"outcome":"applied","summary":"s","writer":"memory"}`
		injected = `{"kind":"user_memory","text":"t"}`
		changed  = `{"change":"updated","memory_id":"m","memory":{"title":"t"}}`
		cleared  = `{"ids":["a"]}`
		added    = `{"message":{}}`
	)
	tests := []struct {
		kind                      session.EntryKind
		data                      string
		owner, ticket, inProgress string
	}{
		{session.EntryMessageAdded, added, added, added, ""},
		{session.EntryCommand, `{"text":"t"}`, `{"text":"t"}`, `{"text":"t"}`, ""},
		{session.EntryContextWarning, `{}`, `{}`, `{}`, ""},
		{session.EntryContextCleared, cleared, cleared, cleared, cleared},
		{session.EntryMemoryChanged, changed, changed, `{"change":"updated","memory_id":"m"}`, ""},
		{session.EntryContextInjected, injected, injected, `{"kind":"user_memory"}`, ""},
		{session.EntryCompactionCompleted, written, written, written, `{"outcome":"applied","writer":"model"}`},
		{session.EntryCompactionCompleted, recalled, recalled, `{"outcome":"applied","writer":"memory"}`, `{"outcome":"applied","writer":"memory"}`},
		{session.EntryCompactionCompleted, `damaged`, `damaged`, `{}`, `{}`},
		{session.EntryCompactionFailed, `{"outcome":"failed"}`, `{"outcome":"failed"}`, `{"outcome":"failed"}`, `{"outcome":"failed"}`},
		{session.EntryCompactionUndone, `{"outcome":"applied"}`, `{"outcome":"applied"}`, `{"outcome":"applied"}`, `{"outcome":"applied"}`},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			event := &session.Event{SessionID: message.NewSessionID(), Seq: 7, TurnID: message.NewTurnID(), Kind: tt.kind, Data: []byte(tt.data)}
			for name, of := range map[string]struct {
				sub  *subscription
				want string
			}{
				"owner":              {&subscription{}, tt.owner},
				"ticket":             {&subscription{hides: true}, tt.ticket},
				"progress":           {&subscription{progress: true}, tt.inProgress},
				"progress by ticket": {&subscription{progress: true, hides: true}, tt.inProgress},
			} {
				got, page := of.sub.told(event), of.sub.toldOf([]*session.Event{event})
				if of.want == "" {
					if got != nil || len(page) > 0 {
						t.Errorf("%s is told %s", name, got.Data)
					}
					continue
				}
				if got == nil || len(page) != 1 || string(page[0].Data) != of.want {
					t.Fatalf("%s is told nothing, or %d of a page", name, len(page))
				}
				if diff := cmp.Diff(of.want, string(got.Data)); diff != "" {
					t.Errorf("%s (-want +told):\n%s", name, diff)
				}
				if got.Seq != event.Seq || got.TurnID != event.TurnID || got.SessionID != event.SessionID || got.Kind != event.Kind {
					t.Errorf("%s is told of another event: %+v", name, got)
				}
			}
		})
	}
}
