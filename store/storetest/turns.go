package storetest

import (
	"sessiond/message"
	"sessiond/store"
)

var turnRules = []rule{
	{"are inserted and replaced by id", func(b *bench) {
		c := b.create(1)
		tn := turn(c)
		c.Turns = []store.Turn{tn}
		b.mustCreate(c)
		b.wantTurn(ref(c), tn)

		next := follow(c, 1)
		next.Turns = []store.Turn{running(tn)}
		b.mustCommit(next)
		b.wantTurn(ref(c), running(tn))

		last := follow(next, 1)
		last.Turns = []store.Turn{ended(running(tn), store.TurnCompleted)}
		b.mustCommit(last)
		b.wantTurn(ref(c), last.Turns[0])
	}},
	{"are found in their own session only", func(b *bench) {
		c, other := b.create(1), b.create(1)
		c.Turns = []store.Turn{turn(c)}
		b.mustCreate(c)
		_, err := b.Turn(b.Context(), ref(c), message.NewTurnID())
		b.wantErr("an unknown turn", err, store.ErrNotFound)

		// The same id in another session is another turn.
		mine := c.Turns[0]
		mine.Rounds = 9
		other.Turns = []store.Turn{mine}
		b.mustCreate(other)
		b.wantTurn(ref(c), c.Turns[0])
		b.wantTurn(ref(other), mine)
	}},
	{"run one at a time", func(b *bench) {
		c := b.create(1)
		c.Turns = []store.Turn{running(turn(c))}
		b.mustCreate(c)
		next := follow(c, 2)
		next.Turns = []store.Turn{running(turn(next))}
		next.Keys = []store.KeyRecord{key(c, "k")}
		b.unchanged(ref(c), []store.KeyScope{next.Keys[0].KeyScope}, store.ErrConflict, func() error {
			return b.Commit(b.Context(), next)
		})
		queued := follow(c, 2)
		queued.Turns = []store.Turn{turn(queued)}
		b.mustCommit(queued)
	}},
	{"follow each other in one commit, in either order", func(b *bench) {
		for _, endFirst := range []bool{true, false} {
			c := b.create(1)
			first := running(turn(c))
			c.Turns = []store.Turn{first}
			b.mustCreate(c)
			next := follow(c, 2)
			second := running(turn(next))
			over := ended(first, store.TurnStopped)
			next.Turns = []store.Turn{over, second}
			if !endFirst {
				next.Turns = []store.Turn{second, over}
			}
			b.mustCommit(next)
			b.diff("open turns", []store.Turn{second}, b.look(ref(c)).Open)
			b.wantTurn(ref(c), over)
		}
	}},
	{"may all be over, whatever their end", func(b *bench) {
		c := b.create(1)
		for _, s := range []store.TurnStatus{
			store.TurnCompleted, store.TurnStopped, store.TurnFailed, store.TurnInterrupted, store.TurnDropped,
		} {
			c.Turns = append(c.Turns, ended(turn(c), s))
		}
		b.mustCreate(c)
		img := b.look(ref(c))
		if len(img.Turns) != len(c.Turns) || len(img.Open) != 0 {
			b.Errorf("%d turns, %d open; want %d and 0", len(img.Turns), len(img.Open), len(c.Turns))
		}
	}},
	{"are listed newest first, page by page", func(b *bench) {
		c := b.mustCreate(b.create(0))
		var want []int64
		for range 5 {
			next := follow(c, 2)
			next.Turns = []store.Turn{ended(turn(next), store.TurnCompleted)}
			b.mustCommit(next)
			want = append([]int64{next.Session.HeadSeq}, want...)
			c = next
		}
		list := func(before int64, limit int) []int64 {
			turns, err := b.ListTurns(b.Context(), ref(c), before, limit)
			if err != nil {
				b.Fatal(err)
			}
			var seqs []int64
			for i := range turns {
				seqs = append(seqs, turns[i].CreatedSeq)
			}
			return seqs
		}
		b.diff("all", want, list(0, 100))
		b.diff("first page", want[:2], list(0, 2))
		b.diff("second page", want[2:4], list(want[1], 2))
		b.diff("last page", want[4:], list(want[3], 2))
		b.diff("after the end", []int64(nil), list(want[4], 2))
	}},
	{"that are open come in the order they were made", func(b *bench) {
		c := b.create(1)
		c.Turns = []store.Turn{ended(turn(c), store.TurnCompleted)}
		b.mustCreate(c)
		var want []store.Turn
		for i := range 4 {
			next := follow(c, 1)
			tn := turn(next)
			if i == 0 {
				tn = running(tn)
			}
			next.Turns = []store.Turn{tn}
			b.mustCommit(next)
			want = append(want, tn)
			c = next
		}
		b.diff("open turns", want, b.look(ref(c)).Open)
	}},
}

func (b *bench) wantTurn(r store.Ref, want store.Turn) {
	b.Helper()
	got, err := b.Turn(b.Context(), r, want.ID)
	if err != nil {
		b.Fatalf("Turn: %v", err)
	}
	b.diff("turn", &want, got)
}
