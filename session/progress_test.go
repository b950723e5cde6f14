package session_test

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// pushInterval is how often subscribers are told of progress, at most.
const pushInterval = 250 * time.Millisecond

// progressWatch is a subscriber that keeps what it is told of progress, and when.
type progressWatch struct {
	recorder
	onProgress func()

	pmu    sync.Mutex
	pushes []push
}

type push struct {
	at    time.Time
	gauge session.Gauge
	usage message.Usage
}

func (p *progressWatch) Progress(told *session.Progress) {
	p.pmu.Lock()
	p.pushes = append(p.pushes, push{time.Now(), told.Gauge, told.Usage})
	p.pmu.Unlock()
	if p.onProgress != nil {
		p.onProgress()
	}
}

func (p *progressWatch) all() []push {
	p.pmu.Lock()
	defer p.pmu.Unlock()
	return append([]push(nil), p.pushes...)
}

// isGone says whether it was let go: its session was unloaded or the process ended.
func (p *progressWatch) isGone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.gone) > 0
}

// progressCase is a gambler whose session is watched.
type progressCase struct {
	gambler
	watch  *progressWatch
	joined push // what the session said when the watch began
}

// The gambles that only this test plays.
const (
	opLimit = gambles + iota
	opBuffer
	opWatchAnew
	progressGambles
)

// TestProgressAtRest does random things to a watched session and wants, whenever it has
// come to rest for the time between two pushes: what was pushed last is what the session
// says and what its context comes to, and it is a number that makes sense.
func TestProgressAtRest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(rapid.Custom(aProgressGamble), 5, 40).Draw(rt, "ops")
		var problem string
		inWorld(t, clerkOptions(8_000, withRetries), func(w *world) {
			c := &progressCase{gambler: gambler{world: w, clerk: w.clerk(), sent: make(map[message.TurnID]string)}}
			problem = c.play(ops)
		})
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

func aProgressGamble(rt *rapid.T) [2]int {
	if kind := rapid.IntRange(opLimit-6, progressGambles-1).Draw(rt, "own"); kind >= opLimit {
		return [2]int{kind, rapid.IntRange(0, 9).Draw(rt, "size")}
	}
	return aGamble(rt)
}

func (c *progressCase) play(ops [][2]int) string {
	c.ref = c.create(withTools("read", "query"), func(s *session.Settings) { s.AgentPrompt = "rules" })
	c.free = make(chan struct{})
	defer func() { close(c.free) }()
	c.answer(thinking(says("ok")))
	for i, op := range ops {
		c.playOne(op[0], op[1])
		if why := c.atRest(); why != "" {
			return fmt.Sprintf("op %d of %v: %s", i, ops[:i+1], why)
		}
	}
	return ""
}

func (c *progressCase) playOne(kind, size int) {
	switch kind {
	case opLimit:
		limit := []int64{6_000, 8_000, 12_000, 25_000}[size%4]
		c.alter(session.Update{Limits: &session.Limits{ContextTokensLimit: &limit}})
	case opBuffer:
		buffer := int64(500 + 200*size)
		c.alter(session.Update{Limits: &session.Limits{AutoCompactBufferTokens: &buffer}})
	case opWatchAnew:
		c.watch = nil
	default:
		c.gambler.play(kind, size)
	}
}

// atRest lets the session come to rest, and says what is wrong then.
func (c *progressCase) atRest() string {
	c.pass(pushInterval)
	if _, err := c.m.Context(c.t.Context(), c.ref, false); err != nil { // it lost its database
		c.pass(2 * time.Second)
	}
	synctest.Wait()
	if c.watch == nil || c.watch.isGone() {
		c.join()
		c.pass(pushInterval)
	}
	last := c.joined
	for _, told := range c.watch.all() {
		if why := oddGauge(told.gauge); why != "" {
			return "a push " + why
		}
		last = told
	}
	said, info := c.get(c.ref), c.context(c.ref)
	switch {
	case sent(last.gauge) != sent(said.Gauge):
		return fmt.Sprintf("the last push has %+v, the session %+v", last.gauge, said.Gauge)
	case last.usage != said.Usage:
		return fmt.Sprintf("the last push has used %+v, the session %+v", last.usage, said.Usage)
	case sent(said.Gauge) != sent(info.Progress):
		return fmt.Sprintf("the session says %+v, its context %+v", said.Gauge, info.Progress)
	}
	if why := oddGauge(said.Gauge); why != "" {
		return "the gauge " + why
	}
	return ""
}

// join watches the session from now on.
func (c *progressCase) join() {
	c.watch = &progressWatch{}
	got, err := c.m.Subscribe(c.t.Context(), c.ref, session.Where{}, c.watch)
	if err != nil {
		c.t.Fatal(err)
	}
	c.joined = push{gauge: got.View.Gauge, usage: got.View.Usage}
}

// sent is what of a gauge is stored and sent.
func sent(g session.Gauge) session.Gauge {
	g.GrowthPerRound = 0
	return g
}

// oddGauge says what is wrong with a gauge, also with that of a session in which nothing
// was said yet: it has no threshold, and no other number either.
func oddGauge(g session.Gauge) string {
	p := g.Progress
	switch {
	case math.IsNaN(p.Percent) || math.IsInf(p.Percent, 0) || p.Percent < 0:
		return fmt.Sprintf("has a progress of %v", p.Percent)
	case p.Threshold == 0 && (p.ContextTokens != 0 || p.Percent != 0 || p.NextRound != 0):
		return fmt.Sprintf("has no threshold, but %+v", p)
	case p.Threshold == 0:
		return ""
	}
	return gaugeProblem(g)
}

// watched is a session with something in it, and who watches it.
func (w *world) watched() (store.Ref, *progressWatch) {
	w.t.Helper()
	ref := w.create()
	w.completed(ref, words("first", 100))
	w.pass(time.Second)
	watch := &progressWatch{}
	if _, err := w.m.Subscribe(w.t.Context(), ref, session.Where{}, watch); err != nil {
		w.t.Fatal(err)
	}
	return ref, watch
}

// Changes in quick succession are told together, the last one always, each to everybody.
func TestPushesAreCoalesced(t *testing.T) {
	withClerk(t, 25_000, func(w *world, _ *clerk) {
		ref, watch := w.watched()
		for i := range 40 { // at steps that do not divide the interval
			w.completed(ref, words(fmt.Sprint("message ", i), 20))
			w.pass(time.Duration(7+13*(i%5)) * time.Millisecond)
		}
		busy := len(watch.all())
		w.pass(pushInterval)
		pushes := watch.all()
		for i := 1; i < len(pushes); i++ {
			if d := pushes[i].at.Sub(pushes[i-1].at); d < pushInterval {
				w.t.Errorf("push %d came %v after the one before", i, d)
			}
		}
		if busy < 3 || busy > 10 {
			w.t.Errorf("in 40 messages over about 1.3 s there were %d pushes", busy)
		}
		if last := pushes[len(pushes)-1]; last.gauge != w.get(ref).Gauge || last.usage != w.get(ref).Usage {
			w.t.Errorf("the last push has %+v, the session %+v", last.gauge, w.get(ref).Gauge)
		}
		w.pass(time.Minute)
		if n := len(watch.all()); n != len(pushes) {
			w.t.Errorf("%d pushes came when nothing changed", n-len(pushes))
		}
	})
}

// What one session tells does not wait for what another has told.
func TestPushesOfSessionsAreTheirOwn(t *testing.T) {
	withClerk(t, 25_000, func(w *world, _ *clerk) {
		one, ofOne := w.watched()
		two, ofTwo := w.watched()
		began := time.Now()
		w.completed(one, "go")
		w.completed(two, "go")
		for i, watch := range []*progressWatch{ofOne, ofTwo} {
			if pushes := watch.all(); len(pushes) == 0 || !pushes[0].at.Equal(began) {
				w.t.Errorf("session %d: %d pushes, want one at once", i, len(pushes))
			}
		}
	})
}

// A change of the model and of the limits moves the threshold, and is told, with nothing
// said.
func TestPushAfterASettingChanged(t *testing.T) {
	large, limit, buffer := "large", int64(12_000), int64(3_000)
	for name, u := range map[string]session.Update{
		"limit":  {Limits: &session.Limits{ContextTokensLimit: &limit}},
		"buffer": {Limits: &session.Limits{AutoCompactBufferTokens: &buffer}},
		"model":  {Model: &large},
	} {
		t.Run(name, func(t *testing.T) {
			withClerk(t, 25_000, func(w *world, c *clerk) {
				c.answer(scaled(1.5, says("ok"))) // so that another model counts otherwise
				ref, watch := w.watched()
				before := w.get(ref).Gauge
				w.change(ref, u)
				w.pass(pushInterval)
				pushes := watch.all()
				if len(pushes) != 1 || pushes[0].gauge == before || sent(pushes[0].gauge) != sent(w.context(ref).Progress) {
					w.t.Errorf("pushes %+v; before %+v, now %+v", pushes, before, w.context(ref).Progress)
				}
			})
		})
	}
}

// Whoever is told may ask: nothing is told under a lock.
func TestPushesAreMadeWithoutALock(t *testing.T) {
	withClerk(t, 25_000, func(w *world, _ *clerk) {
		ref, watch := w.watched()
		other := w.create()
		asked := 0
		watch.onProgress = func() {
			for _, r := range []store.Ref{ref, other} {
				if _, err := w.m.Get(w.t.Context(), r); err != nil {
					w.t.Error(err)
				}
			}
			asked++
		}
		w.completed(ref, "go")
		w.pass(pushInterval)
		if asked == 0 {
			w.t.Error("nothing was pushed")
		}
	})
}
