package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sessiond/compaction"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

// TestB95ALargeHistoryComesInPages: twelve megabytes of history are read page by page, by
// a subscription and by listing the log; no page is larger than it may be, nothing is
// missing, and the connection goes on. (A client that never reads: TestSlowReader.)
func TestB95ALargeHistoryComesInPages(t *testing.T) {
	const messages, size = 200, 60 << 10
	o := session.Options{MaxQueuedMessages: messages, Context: compaction.DefaultConfig()}
	o.Context.ContextTokensLimit = 100_000_000 // this is about the wire
	w := newWorld(t, setup{options: o})
	p := w.dial()
	s := p.create(params{})
	for i := range messages {
		p.send(s.ID, fmt.Sprintf("message %d %s", i, strings.Repeat("words ", size/6)))
	}
	eventually(t, "all are answered", func() bool {
		return decode[v1.SessionResult](t, p.call(v1.MethodSessionGet, params{"session_id": s.ID})).Session.Status == "idle"
	})
	bytes := 0
	pages := func(what string, page func(after int64) (entries []json.RawMessage, more bool)) {
		t.Helper()
		bytes = 0
		for last := int64(0); ; {
			entries, more := page(last)
			held := 0
			for _, raw := range entries {
				e := decode[struct{ Seq int64 }](t, raw)
				if e.Seq != last+1 {
					t.Fatalf("%s: after %d comes %d", what, last, e.Seq)
				}
				last = e.Seq
				held += len(raw)
			}
			if bytes += held; held > session.PageBytes+2*size {
				t.Errorf("%s: a page of %d bytes", what, held)
			}
			if !more {
				break
			}
		}
		if bytes < messages*size {
			t.Errorf("%s: %d bytes in all", what, bytes)
		}
	}
	pages("subscribe", func(after int64) ([]json.RawMessage, bool) {
		r := p.subscribe(s.ID, after)
		return r.Entries, r.More
	})
	pages("log", func(after int64) ([]json.RawMessage, bool) {
		r := decode[v1.LogResult](t, p.call(v1.MethodSessionLog, params{"session_id": s.ID, "after_seq": after, "limit": 500}))
		return r.Entries, r.More
	})
	p.send(s.ID, "and on")
}
