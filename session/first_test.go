package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"sessiond/session"
)

// A session in which nothing was said yet has a gauge, the one that its context tells; a
// fork has one as soon as it was looked at.
func TestAFreshSessionIsMeasured(t *testing.T) {
	withClerk(t, 8_000, func(w *world, _ *clerk) {
		t := w.t
		ref := w.create(withTools("read"), func(s *session.Settings) {
			s.SystemPrompt, s.AgentPrompt = words("be brief", 100), words("never push", 100)
		})
		shown := func(g session.Gauge) session.Gauge { // what clients see of it
			g.GrowthPerRound = 0
			return g
		}
		fresh := shown(w.get(ref).Gauge)
		if want := shown(w.context(ref).Progress); fresh != want || fresh.Threshold == 0 || fresh.ContextTokens < 200 {
			t.Errorf("the session says %+v, the context %+v", fresh, want)
		}
		w.restart()
		if got := shown(w.get(ref).Gauge); got != fresh {
			t.Errorf("after a restart %+v, before %+v", got, fresh)
		}
		w.send(ref, words("message", 300))
		forked, err := w.m.Fork(t.Context(), ref, 0, nil, session.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		copied := ref
		copied.ID = forked.Value.ID
		w.get(copied)
		w.pass(time.Second)
		synctest.Wait()
		if got, want := shown(w.get(copied).Gauge), shown(w.context(copied).Progress); got != want || got.ContextTokens < 500 {
			t.Errorf("the fork says %+v, its context %+v", got, want)
		}
	})
}
