package session_test

import (
	"testing"
	"time"

	"sessiond/llm/llmtest"
	"sessiond/session"
	"sessiond/store"
)

// TestRunningTurnsOfAnOwner are bounded over all sessions; every way for a turn to end
// makes room for another.
func TestRunningTurnsOfAnOwner(t *testing.T) {
	ends := map[string]func(w *world, ref store.Ref){
		"stop":  func(w *world, ref store.Ref) { w.stop(ref, "", false) },
		"close": func(w *world, ref store.Ref) { _, _ = w.m.CloseSession(w.t.Context(), ref, session.Idempotency{}) },
		"delete": func(w *world, ref store.Ref) {
			if err := w.m.Delete(w.t.Context(), ref); err != nil {
				w.t.Error(err)
			}
		},
		"time limit": func(w *world, _ store.Ref) { w.pass(time.Hour) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			inWorld(t, session.Options{MaxRunningTurns: 2, MaxTurnDuration: time.Hour}, func(w *world) {
				t := w.t
				w.model.Loop(llmtest.Hang())
				one, two, three := w.create(), w.create(), w.create()
				w.send(one, "go")
				w.send(two, "go")
				full := func(when string) {
					t.Helper()
					_, err := w.trySend(three, "go", "")
					wantKind(t, when, err, session.KindQuotaExceeded)
				}
				full("a third turn")
				w.send(two, "queued") // is no other running turn
				w.sendBusy(two, "instead", session.WhenBusyInterrupt)
				full("after an interruption")
				w.restart()
				full("after a restart")
				w.crash()
				full("after a crash")
				w.gate.next(refuse)
				title := "new"
				if _, err := w.update(one, session.Update{Title: &title}); err == nil {
					t.Error("the commit did not fail")
				}
				w.pass(time.Second)
				full("after a failed commit")
				w.stop(two, "", true)
				w.send(two, "go")
				full("after one ended and another began")
				end(w, one)
				if _, err := w.trySend(three, "go", ""); err != nil {
					t.Errorf("once one has ended: %v", err)
				}
				if foreign, err := w.m.Create(t.Context(), mallory, "", session.Settings{}, session.Idempotency{}); err != nil {
					t.Error(err)
				} else if _, err := w.trySend(store.Ref{Owner: mallory, ID: foreign.Value.ID}, "go", ""); err != nil {
					t.Errorf("another owner's turn: %v", err)
				}
			})
		})
	}
}

func TestAnOwnerWithoutLimit(t *testing.T) {
	inWorld(t, session.Options{MaxRunningTurns: 1, UnlimitedOwner: alice}, func(w *world) {
		w.model.Loop(llmtest.Hang())
		for range 3 {
			w.send(w.create(), "go")
		}
	})
}
