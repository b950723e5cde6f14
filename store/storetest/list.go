package storetest

import (
	"fmt"
	"testing"
	"time"

	"sessiond/message"
	"sessiond/store"
)

var listRules = []rule{
	{"puts the newest activity first, ties by id descending", func(t *testing.T, b *bench) {
		want := b.listed(t)
		got, err := b.ListSessions(t.Context(), store.ListQuery{Owner: b.owner, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "ids", want, sessionIDs(got))
	}},
	{"returns whole rows", func(t *testing.T, b *bench) {
		c := b.mustCreate(t, b.create(1))
		got, err := b.ListSessions(t.Context(), store.ListQuery{Owner: b.owner, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "rows", []store.Session{c.Session}, got)
	}},
	{"pages without a gap or a repeat", func(t *testing.T, b *bench) {
		want := b.listed(t)
		for _, limit := range []int{1, 2, 3, 100} {
			var got []message.SessionID
			q := store.ListQuery{Owner: b.owner, Limit: limit}
			for range len(want) + 1 {
				page, err := b.ListSessions(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) > limit {
					t.Fatalf("page of %d with a limit of %d", len(page), limit)
				}
				if len(page) == 0 {
					break
				}
				got = append(got, sessionIDs(page)...)
				last := page[len(page)-1]
				q.BeforeUpdatedAt, q.BeforeID = last.UpdatedAt, last.ID
			}
			diff(t, fmt.Sprintf("ids by %d", limit), want, got)
		}
	}},
	{"moves a session up with its activity", func(t *testing.T, b *bench) {
		first, second := b.mustCreate(t, b.create(1)), b.create(1)
		second.Session.UpdatedAt = at(1)
		b.mustCreate(t, second)
		next := follow(first, 1)
		next.Session.UpdatedAt = at(2)
		b.mustCommit(t, next)
		got, err := b.ListSessions(t.Context(), store.ListQuery{Owner: b.owner, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "ids", []message.SessionID{first.Session.ID, second.Session.ID}, sessionIDs(got))
	}},
	{"selects by status, page by page", func(t *testing.T, b *bench) {
		byStatus := make(map[store.Status][]message.SessionID)
		all := []store.Status{store.StatusIdle, store.StatusRunning, store.StatusWaitingTool, store.StatusClosed}
		for i := range 12 {
			c := b.create(1)
			c.Session.Status = all[i%len(all)]
			c.Session.UpdatedAt = at(100 - i)
			b.mustCreate(t, c)
			byStatus[c.Session.Status] = append(byStatus[c.Session.Status], c.Session.ID)
		}
		for _, status := range all {
			q := store.ListQuery{Owner: b.owner, Status: status, Limit: 2}
			first, err := b.ListSessions(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, string(status), byStatus[status][:2], sessionIDs(first))
			q.BeforeUpdatedAt, q.BeforeID = first[1].UpdatedAt, first[1].ID
			second, err := b.ListSessions(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, string(status), byStatus[status][2:], sessionIDs(second))
		}
	}},
	{"leaves deleted sessions out", func(t *testing.T, b *bench) {
		kept, gone := b.mustCreate(t, b.create(1)), b.mustCreate(t, b.create(1))
		if _, err := b.DeleteSession(t.Context(), ref(gone), at(9)); err != nil {
			t.Fatal(err)
		}
		for _, status := range []store.Status{"", store.StatusIdle} {
			got, err := b.ListSessions(t.Context(), store.ListQuery{Owner: b.owner, Status: status, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "ids", []message.SessionID{kept.Session.ID}, sessionIDs(got))
		}
	}},
	{"tells unfinished sessions, oldest activity first", unfinished},
}

// listed creates sessions in a mixed-up order, some with the same time of activity,
// and returns their ids as they are to be listed.
func (b *bench) listed(t *testing.T) []message.SessionID {
	t.Helper()
	seconds := []int{3, 1, 3, 2, 3, 0, 1}
	byTime := make(map[int][]message.SessionID)
	for _, s := range seconds {
		c := b.create(1)
		c.Session.UpdatedAt = at(s)
		b.mustCreate(t, c)
		byTime[s] = append(byTime[s], c.Session.ID)
	}
	var want []message.SessionID
	for s := 3; s >= 0; s-- { // ids grow with the time of their making
		for i := len(byTime[s]) - 1; i >= 0; i-- {
			want = append(want, byTime[s][i])
		}
	}
	return want
}

func sessionIDs(rows []store.Session) []message.SessionID {
	var ids []message.SessionID
	for i := range rows {
		ids = append(ids, rows[i].ID)
	}
	return ids
}

func unfinished(t *testing.T, b *bench) {
	t.Helper()
	make1 := func(owner string, updated time.Time, turns ...func(store.Turn) store.Turn) *store.Commit {
		c := b.create(1)
		c.Session.Owner, c.Session.UpdatedAt = owner, updated
		for _, change := range turns {
			c.Turns = append(c.Turns, change(turn(c)))
		}
		return b.mustCreate(t, c)
	}
	queued := func(tn store.Turn) store.Turn { return tn }
	over := func(s store.TurnStatus) func(store.Turn) store.Turn {
		return func(tn store.Turn) store.Turn { return ended(tn, s) }
	}
	second := make1(b.owner, at(2), queued, queued, running)
	first := make1(b.owner+"-other", at(1), running)
	third := make1(b.owner, at(3), over(store.TurnFailed), queued)
	make1(b.owner, at(0))
	make1(b.owner, at(0), over(store.TurnCompleted), over(store.TurnStopped), over(store.TurnFailed),
		over(store.TurnInterrupted), over(store.TurnDropped))
	gone := make1(b.owner, at(0), running)
	if _, err := b.DeleteSession(t.Context(), ref(gone), at(9)); err != nil {
		t.Fatal(err)
	}

	all, err := b.Unfinished(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []store.Ref // those of this test; others share the store
	for _, r := range all {
		if r.Owner == b.owner || r.Owner == b.owner+"-other" {
			got = append(got, r)
		}
	}
	diff(t, "refs", []store.Ref{ref(first), ref(second), ref(third)}, got)
}
