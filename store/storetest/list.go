package storetest

import (
	"fmt"
	"slices"
	"time"

	"sessiond/message"
	"sessiond/store"
)

var listRules = []rule{
	{"puts the newest activity first, ties by id descending", func(b *bench) {
		want := b.listed()
		got, err := b.ListSessions(b.Context(), store.ListQuery{Owner: b.owner, Limit: 100})
		if err != nil {
			b.Fatal(err)
		}
		b.diff("ids", want, sessionIDs(got))
	}},
	{"returns whole rows", func(b *bench) {
		c := b.mustCreate(b.create(1))
		got, err := b.ListSessions(b.Context(), store.ListQuery{Owner: b.owner, Limit: 100})
		if err != nil {
			b.Fatal(err)
		}
		b.diff("rows", []store.Session{c.Session}, got)
	}},
	{"pages without a gap or a repeat", func(b *bench) {
		want := b.listed()
		for _, limit := range []int{1, 2, 3, 100} {
			var got []message.SessionID
			q := store.ListQuery{Owner: b.owner, Limit: limit}
			for range len(want) + 1 {
				page, err := b.ListSessions(b.Context(), q)
				if err != nil {
					b.Fatal(err)
				}
				if len(page) > limit {
					b.Fatalf("page of %d with a limit of %d", len(page), limit)
				}
				if len(page) == 0 {
					break
				}
				got = append(got, sessionIDs(page)...)
				last := page[len(page)-1]
				q.BeforeUpdatedAt, q.BeforeID = last.UpdatedAt, last.ID
			}
			b.diff(fmt.Sprintf("ids by %d", limit), want, got)
		}
	}},
	{"moves a session up with its activity", func(b *bench) {
		first, second := b.mustCreate(b.create(1)), b.create(1)
		second.Session.UpdatedAt = at(1)
		b.mustCreate(second)
		next := follow(first, 1)
		next.Session.UpdatedAt = at(2)
		b.mustCommit(next)
		got, err := b.ListSessions(b.Context(), store.ListQuery{Owner: b.owner, Limit: 100})
		if err != nil {
			b.Fatal(err)
		}
		b.diff("ids", []message.SessionID{first.Session.ID, second.Session.ID}, sessionIDs(got))
	}},
	{"selects by status, page by page", func(b *bench) {
		byStatus := make(map[store.Status][]message.SessionID)
		all := []store.Status{
			store.StatusIdle, store.StatusRunning, store.StatusWaitingTool, store.StatusCompacting, store.StatusClosed,
		}
		for i := range 3 * len(all) {
			c := b.create(1)
			c.Session.Status = all[i%len(all)]
			c.Session.UpdatedAt = at(100 - i)
			b.mustCreate(c)
			byStatus[c.Session.Status] = append(byStatus[c.Session.Status], c.Session.ID)
		}
		for _, status := range all {
			q := store.ListQuery{Owner: b.owner, Status: status, Limit: 2}
			first, err := b.ListSessions(b.Context(), q)
			if err != nil {
				b.Fatal(err)
			}
			b.diff(string(status), byStatus[status][:2], sessionIDs(first))
			q.BeforeUpdatedAt, q.BeforeID = first[1].UpdatedAt, first[1].ID
			second, err := b.ListSessions(b.Context(), q)
			if err != nil {
				b.Fatal(err)
			}
			b.diff(string(status), byStatus[status][2:], sessionIDs(second))
		}
	}},
	{"leaves deleted sessions out", func(b *bench) {
		kept, gone := b.mustCreate(b.create(1)), b.mustCreate(b.create(1))
		if _, err := b.DeleteSession(b.Context(), ref(gone), at(9)); err != nil {
			b.Fatal(err)
		}
		for _, status := range []store.Status{"", store.StatusIdle} {
			got, err := b.ListSessions(b.Context(), store.ListQuery{Owner: b.owner, Status: status, Limit: 100})
			if err != nil {
				b.Fatal(err)
			}
			b.diff("ids", []message.SessionID{kept.Session.ID}, sessionIDs(got))
		}
	}},
	{"tells unfinished sessions, oldest activity first", unfinished},
}

// listed creates sessions in a mixed-up order, some with the same time of activity,
// and returns their ids as they are to be listed.
func (b *bench) listed() []message.SessionID {
	b.Helper()
	seconds := []int{3, 1, 3, 2, 3, 0, 1}
	byTime := make(map[int][]message.SessionID)
	for _, s := range seconds {
		c := b.create(1)
		c.Session.UpdatedAt = at(s)
		b.mustCreate(c)
		byTime[s] = append(byTime[s], c.Session.ID)
	}
	var want []message.SessionID
	for s := 3; s >= 0; s-- { // ids grow with the time of their making
		slices.Reverse(byTime[s])
		want = append(want, byTime[s]...)
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

func compacting(c *store.Commit) *store.Commit {
	c.Session.Status = store.StatusCompacting
	return c
}

func unfinished(b *bench) {
	make1 := func(owner string, updated time.Time, turns ...func(store.Turn) store.Turn) *store.Commit {
		c := b.create(1)
		c.Session.Owner, c.Session.UpdatedAt = owner, updated
		for _, change := range turns {
			c.Turns = append(c.Turns, change(turn(c)))
		}
		return b.mustCreate(c)
	}
	queued := func(tn store.Turn) store.Turn { return tn }
	over := func(s store.TurnStatus) func(store.Turn) store.Turn {
		return func(tn store.Turn) store.Turn { return ended(tn, s) }
	}
	second := make1(b.owner, at(2), queued, queued, running)
	first := make1(b.owner+"-other", at(1), running)
	third := make1(b.owner, at(3), over(store.TurnFailed), queued)
	make1(b.owner, at(0))
	fourth, fifth := compacting(b.create(0)), compacting(b.create(1))
	fourth.Session.UpdatedAt, fifth.Session.UpdatedAt = at(4), at(5)
	fifth.Turns = []store.Turn{running(turn(fifth))} // in its turn, and told once
	b.mustCreate(fifth)
	b.mustCreate(fourth)
	compacted := follow(b.mustCreate(compacting(b.create(0))), 1)
	compacted.Session.Status = store.StatusIdle
	b.mustCommit(compacted)
	b.mustDelete(ref(b.mustCreate(compacting(b.create(0)))), true)
	make1(b.owner, at(0), over(store.TurnCompleted), over(store.TurnStopped), over(store.TurnFailed),
		over(store.TurnInterrupted), over(store.TurnDropped))
	gone := make1(b.owner, at(0), running)
	if _, err := b.DeleteSession(b.Context(), ref(gone), at(9)); err != nil {
		b.Fatal(err)
	}

	all, err := b.Unfinished(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var got []store.Ref // those of this test; others share the store
	for _, r := range all {
		if r.Owner == b.owner || r.Owner == b.owner+"-other" {
			got = append(got, r)
		}
	}
	b.diff("refs", []store.Ref{ref(first), ref(second), ref(third), ref(fourth), ref(fifth)}, got)
}
