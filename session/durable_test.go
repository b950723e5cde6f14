package session_test

import (
	"strings"
	"testing"
	"time"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// A claim that was acknowledged holds across a crash: only its token resolves the call
// while it lives.
func TestClaimsSurviveACrash(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		w.send(ref, "go")
		id := w.pending(ref)["read"].ToolUseID
		mine, err := w.m.ClaimToolCall(t.Context(), ref, id, time.Minute, "", session.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		w.crash()
		if got := w.pending(ref)["read"].ClaimedUntil; !got.Equal(mine.Value.LeaseUntil) {
			t.Errorf("claimed until %s after the crash, %s before", got, mine.Value.LeaseUntil)
		}
		_, err = w.m.ClaimToolCall(t.Context(), ref, id, time.Minute, "", session.Idempotency{})
		wantKind(t, "somebody else's claim", err, session.KindToolCallClaimed)
		_, err = w.trySubmit(ref, id, "x", "")
		wantKind(t, "somebody else's result", err, session.KindToolCallClaimed)
		if _, err := w.trySubmit(ref, id, "done", mine.Value.Token); err != nil {
			t.Errorf("the holder's result: %v", err)
		}
		w.pass(time.Second)
		w.sound(ref)
	}, llmtest.Calls("", llmtest.Call{Name: "read"}), llmtest.Text("thanks"))
}

// Waiting for retries uses up the turn's time.
func TestRetriesEndWithTheTurnsTime(t *testing.T) {
	opts := patient()
	opts.MaxTurnDuration = 2 * time.Second
	inWorld(t, opts, func(w *world) {
		t := w.t
		ref := w.create()
		for range 10 {
			w.model.Add(failure(llm.ClassOverload, 0))
		}
		sent := w.send(ref, "go")
		w.pass(2 * time.Second)
		turn := w.turn(ref, sent.TurnID)
		if turn.Status != store.TurnFailed || turn.CompletedAt.Sub(turn.StartedAt) > opts.MaxTurnDuration {
			t.Errorf("the turn is %s after %s", turn.Status, turn.CompletedAt.Sub(turn.StartedAt))
		}
	})
}

// A page is bounded by what is sent, however large the messages are; together the pages
// are everything.
func TestPagesAreBoundedInBytes(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		const n = 12
		block := message.Text{Text: strings.Repeat("x", 60<<10)} // below what is omitted
		for range n {
			w.model.Add(llmtest.Text("ok"))
			content := []message.Block{block, block, block, block, block, block}
			if _, err := w.m.Send(t.Context(), ref, content, session.WhenBusyQueue, session.Idempotency{}); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Second)
		}
		seen, pages := 0, 0
		for q := (session.MessageQuery{Ascending: true, Limit: 200}); ; pages++ {
			msgs, more, err := w.m.Messages(t.Context(), ref, q)
			if err != nil {
				t.Fatal(err)
			}
			size := 0
			for _, m := range msgs {
				size += len(message.Append(nil, m, message.Form{OmitOverBytes: session.OmitOverBytes}))
				q.AfterSeq = m.Seq
			}
			if size > session.PageBytes && len(msgs) > 1 {
				t.Errorf("page %d has %d messages with %d bytes", pages, len(msgs), size)
			}
			seen += len(msgs)
			if !more {
				break
			}
		}
		if seen != 2*n || pages < 5 {
			t.Errorf("%d messages in %d pages", seen, pages)
		}
		back := 0
		for q := (session.MessageQuery{Limit: 200}); ; {
			msgs, more, err := w.m.Messages(t.Context(), ref, q)
			if err != nil {
				t.Fatal(err)
			}
			back += len(msgs)
			if !more {
				break
			}
			q.BeforeSeq = msgs[0].Seq
		}
		if back != seen {
			t.Errorf("%d messages backwards, %d forwards", back, seen)
		}
	})
}
