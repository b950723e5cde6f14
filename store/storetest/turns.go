package storetest

import (
	"testing"

	"sessiond/message"
	"sessiond/store"
)

var turnRules = []rule{
	{"are inserted and replaced by id", func(t *testing.T, b *bench) {
		c := b.create(1)
		tn := turn(c)
		c.Turns = []store.Turn{tn}
		b.mustCreate(t, c)
		b.wantTurn(t, ref(c), tn)

		next := follow(c, 1)
		next.Turns = []store.Turn{running(tn)}
		b.mustCommit(t, next)
		b.wantTurn(t, ref(c), running(tn))

		last := follow(next, 1)
		last.Turns = []store.Turn{ended(running(tn), store.TurnCompleted)}
		b.mustCommit(t, last)
		b.wantTurn(t, ref(c), last.Turns[0])
	}},
	{"are found in their own session only", func(t *testing.T, b *bench) {
		c, other := b.create(1), b.create(1)
		c.Turns = []store.Turn{turn(c)}
		b.mustCreate(t, c)
		_, err := b.Turn(t.Context(), ref(c), message.NewTurnID())
		wantErr(t, "an unknown turn", err, store.ErrNotFound)

		// The same id in another session is another turn.
		mine := c.Turns[0]
		mine.Rounds = 9
		other.Turns = []store.Turn{mine}
		b.mustCreate(t, other)
		b.wantTurn(t, ref(c), c.Turns[0])
		b.wantTurn(t, ref(other), mine)
	}},
	{"run one at a time", func(t *testing.T, b *bench) {
		c := b.create(1)
		c.Turns = []store.Turn{running(turn(c))}
		b.mustCreate(t, c)
		next := follow(c, 2)
		next.Turns = []store.Turn{running(turn(next))}
		next.Keys = []store.KeyRecord{key(c, "k")}
		b.unchanged(t, ref(c), []store.KeyScope{next.Keys[0].KeyScope}, store.ErrConflict, func() error {
			return b.Commit(t.Context(), next)
		})
		queued := follow(c, 2)
		queued.Turns = []store.Turn{turn(queued)}
		b.mustCommit(t, queued)
	}},
	{"follow each other in one commit, in either order", func(t *testing.T, b *bench) {
		for _, endFirst := range []bool{true, false} {
			c := b.create(1)
			first := running(turn(c))
			c.Turns = []store.Turn{first}
			b.mustCreate(t, c)
			next := follow(c, 2)
			second := running(turn(next))
			over := ended(first, store.TurnStopped)
			next.Turns = []store.Turn{over, second}
			if !endFirst {
				next.Turns = []store.Turn{second, over}
			}
			b.mustCommit(t, next)
			diff(t, "open turns", []store.Turn{second}, b.look(t, ref(c)).Open)
			b.wantTurn(t, ref(c), over)
		}
	}},
	{"may all be over, whatever their end", func(t *testing.T, b *bench) {
		c := b.create(1)
		for _, s := range []store.TurnStatus{
			store.TurnCompleted, store.TurnStopped, store.TurnFailed, store.TurnInterrupted, store.TurnDropped,
		} {
			c.Turns = append(c.Turns, ended(turn(c), s))
		}
		b.mustCreate(t, c)
		img := b.look(t, ref(c))
		if len(img.Turns) != len(c.Turns) || len(img.Open) != 0 {
			t.Errorf("%d turns, %d open; want %d and 0", len(img.Turns), len(img.Open), len(c.Turns))
		}
	}},
	{"are listed newest first, page by page", func(t *testing.T, b *bench) {
		c := b.mustCreate(t, b.create(0))
		var want []int64
		for range 5 {
			next := follow(c, 2)
			next.Turns = []store.Turn{ended(turn(next), store.TurnCompleted)}
			b.mustCommit(t, next)
			want = append([]int64{next.Session.HeadSeq}, want...)
			c = next
		}
		list := func(before int64, limit int) []int64 {
			turns, err := b.ListTurns(t.Context(), ref(c), before, limit)
			if err != nil {
				t.Fatal(err)
			}
			var seqs []int64
			for i := range turns {
				seqs = append(seqs, turns[i].CreatedSeq)
			}
			return seqs
		}
		diff(t, "all", want, list(0, 100))
		diff(t, "first page", want[:2], list(0, 2))
		diff(t, "second page", want[2:4], list(want[1], 2))
		diff(t, "last page", want[4:], list(want[3], 2))
		diff(t, "after the end", []int64(nil), list(want[4], 2))
	}},
	{"that are open come in the order they were made", func(t *testing.T, b *bench) {
		c := b.create(1)
		c.Turns = []store.Turn{ended(turn(c), store.TurnCompleted)}
		b.mustCreate(t, c)
		var want []store.Turn
		for i := range 4 {
			next := follow(c, 1)
			tn := turn(next)
			if i == 0 {
				tn = running(tn)
			}
			next.Turns = []store.Turn{tn}
			b.mustCommit(t, next)
			want = append(want, tn)
			c = next
		}
		diff(t, "open turns", want, b.look(t, ref(c)).Open)
	}},
}

func (b *bench) wantTurn(t *testing.T, r store.Ref, want store.Turn) {
	t.Helper()
	got, err := b.Turn(t.Context(), r, want.ID)
	if err != nil {
		t.Fatalf("Turn: %v", err)
	}
	diff(t, "turn", &want, got)
}
