package bench

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

// BenchmarkServerSends measures acknowledged messages per second, each on disk before
// its reply, next to a baseline that stores the same rows on the same disk.
func BenchmarkServerSends(b *testing.B) {
	for _, db := range databases() {
		for _, busy := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/sessions=%d", db.name, busy), func(b *testing.B) {
				s := newStack(b, db, waiting{}, session.Options{MaxQueuedMessages: 1 << 30})
				conns, ids := make([]*client.Conn, busy), make([]string, busy)
				for i := range busy {
					conns[i] = s.dial(b)
					ids[i] = create(b, conns[i])
					if err := send(b.Context(), conns[i], ids[i]); err != nil { // makes it busy
						b.Fatal(err)
					}
				}
				b.ResetTimer()
				at := time.Now()
				var left atomic.Int64
				left.Store(int64(b.N))
				var wg sync.WaitGroup
				for i := range busy {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							if err := send(b.Context(), conns[i], ids[i]); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				ours := float64(b.N) / time.Since(at).Seconds()
				b.StopTimer()
				base := baseline(b, db.name, s.where, busy)
				b.ReportMetric(ours, "sends/s")
				b.ReportMetric(base, "baseline/s")
				b.ReportMetric(ours/base, "ratio")
			})
		}
	}
}

// BenchmarkServerTurns measures whole turns with an instant model in 16 sessions, and
// what the server adds before the model is asked and after it has answered.
func BenchmarkServerTurns(b *testing.B) {
	const sessions = 16
	for _, db := range databases() {
		b.Run(db.name, func(b *testing.B) {
			var mu sync.Mutex
			asked, answered := make(map[string]time.Time), make(map[string]time.Time)
			note := func(m map[string]time.Time) func(string, time.Time) {
				return func(id string, at time.Time) { mu.Lock(); m[id] = at; mu.Unlock() }
			}
			s := newStack(b, db, &instant{note(asked), note(answered)}, session.Options{})
			conns, ids := make([]*client.Conn, sessions), make([]string, sessions)
			for i := range sessions {
				conns[i] = s.dial(b)
				ids[i] = create(b, conns[i])
				if err := conns[i].Call(b.Context(), v1.MethodSessionSubscribe, map[string]any{"session_id": ids[i]}, nil); err != nil {
					b.Fatal(err)
				}
			}
			var before, after durations
			run := func(i int) error {
				sent := time.Now()
				if err := send(b.Context(), conns[i], ids[i]); err != nil {
					return err
				}
				for n := range conns[i].Notifications() {
					if e, ok := eventOf(n); ok && e.Type == v1.EventTurnCompleted {
						break
					}
				}
				done := time.Now()
				mu.Lock()
				defer mu.Unlock()
				before.add(asked[ids[i]].Sub(sent))
				after.add(done.Sub(answered[ids[i]]))
				return nil
			}
			b.ResetTimer()
			at := time.Now()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for i := range sessions {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if err := run(i); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/time.Since(at).Seconds(), "turns/s")
			b.StopTimer()
			// One session alone: what a user waits for.
			before, after = durations{}, durations{}
			for range 200 {
				if err := run(0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(before.median(), "before-ms")
			b.ReportMetric(after.median(), "after-ms")
		})
	}
}

type durations struct{ all []time.Duration }

func (d *durations) add(v time.Duration) { d.all = append(d.all, v) }

// median is in milliseconds.
func (d *durations) median() float64 {
	slices.Sort(d.all)
	return float64(d.all[len(d.all)/2].Microseconds()) / 1000
}

// BenchmarkServerFanOut measures telling one event to 1,000 subscribers, next to
// telling it to one: the event is encoded once, so the difference is queueing and
// writing.
func BenchmarkServerFanOut(b *testing.B) {
	const subscribers = 1000
	db := databases()[0]
	perEvent := func(b *testing.B, n int) time.Duration {
		b.Helper()
		s := newStack(b, db, waiting{}, session.Options{MaxQueuedMessages: 1 << 30})
		sender := s.dial(b)
		id := create(b, sender)
		var got sync.WaitGroup
		for range n {
			conn := s.dial(b)
			if err := conn.Call(b.Context(), v1.MethodSessionSubscribe, map[string]any{"session_id": id, "deltas": false}, nil); err != nil {
				b.Fatal(err)
			}
			go func() {
				for notification := range conn.Notifications() {
					if e, ok := eventOf(notification); ok && e.Type == v1.EventMessageQueued {
						got.Done()
					}
				}
			}()
		}
		if err := send(b.Context(), sender, id); err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		at := time.Now()
		for range b.N {
			got.Add(n)
			if err := send(b.Context(), sender, id); err != nil {
				b.Fatal(err)
			}
			got.Wait()
		}
		b.StopTimer()
		return time.Since(at) / time.Duration(b.N)
	}
	b.Run("subscribers=1", func(b *testing.B) { b.ReportMetric(perEvent(b, 1).Seconds()*1e3, "ms/event") })
	b.Run("subscribers=1000", func(b *testing.B) {
		d := perEvent(b, subscribers)
		b.ReportMetric(d.Seconds()*1e3, "ms/event")
		b.ReportMetric(float64(d.Nanoseconds())/subscribers, "ns/subscriber")
	})
}

// BenchmarkServerIdleSessions measures heap and stacks per idle session in memory.
func BenchmarkServerIdleSessions(b *testing.B) {
	const sessions = 2000
	for b.Loop() {
		s := newStack(b, databases()[0], &instant{}, session.Options{})
		conn := s.dial(b)
		ids := make([]string, sessions)
		for i := range ids {
			ids[i] = create(b, conn)
		}
		before := inUse()
		for _, id := range ids {
			// Stopping nothing loads the session and leaves it idle.
			if err := conn.Call(b.Context(), v1.MethodTurnStop, map[string]any{"session_id": id}, nil); err != nil {
				b.Fatal(err)
			}
		}
		if n := s.sessions.Loaded(); n != sessions {
			b.Fatalf("%d sessions are loaded", n)
		}
		b.ReportMetric(float64(inUse()-before)/sessions/1024, "KiB/session")
	}
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
