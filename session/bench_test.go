package session_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"go.uber.org/zap"

	"sessiond/llm"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
	"sessiond/store/memory"
)

// stopwatch is a model that answers at once and notes when it was asked.
type stopwatch struct{ asked chan time.Time }

func (s stopwatch) Stream(_ context.Context, _ *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	now := time.Now()
	emit(llm.Delta{Kind: llm.DeltaText, Text: "ok"})
	s.asked <- now
	return &llm.Response{Content: text("ok"), Stop: llm.StopEnd}, nil
}

// ending is a subscriber that notes when turns are completed.
type ending struct{ at chan time.Time }

func (e ending) Event(ev *session.Event) {
	if ev.Kind == session.EntryTurnCompleted {
		e.at <- time.Now()
	}
}
func (ending) Delta(*session.Delta)       {}
func (ending) Activity(*session.Activity) {}
func (ending) Progress(*session.Progress) {}
func (ending) Gone(bool)                  {}

func benchManager(b *testing.B, model llm.Model) *session.Manager {
	b.Helper()
	m, err := session.NewManager(memory.New(), model, session.Options{Models: []string{"m"}}, zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func benchSession(b *testing.B, m *session.Manager) store.Ref {
	b.Helper()
	r, err := m.Create(b.Context(), alice, "bench", session.Settings{}, session.Idempotency{})
	if err != nil {
		b.Fatal(err)
	}
	return store.Ref{Owner: alice, ID: r.Value.ID}
}

// BenchmarkTurn is a whole turn with a model that takes no time: what the session adds
// from Send to the request, and from the answer's end to turn.completed.
func BenchmarkTurn(b *testing.B) {
	model := stopwatch{make(chan time.Time, 1)}
	m := benchManager(b, model)
	defer m.Close()
	const turns = 50 // of a session, so that its log stays short
	var before, after time.Duration
	end := ending{make(chan time.Time, 1)}
	b.ReportAllocs()
	var ref store.Ref
	for i := 0; b.Loop(); i++ {
		if i%turns == 0 {
			b.StopTimer()
			ref = benchSession(b, m)
			if _, err := m.Subscribe(b.Context(), ref, session.Where{}, end); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		sent := time.Now()
		if _, err := m.Send(b.Context(), ref, text("hi"), session.WhenBusyQueue, session.Idempotency{}); err != nil {
			b.Fatal(err)
		}
		asked := <-model.asked
		completed := <-end.at
		before += asked.Sub(sent)
		after += completed.Sub(asked)
	}
	n := float64(b.N)
	b.ReportMetric(float64(before.Nanoseconds())/n, "ns-to-request/op")
	b.ReportMetric(float64(after.Nanoseconds())/n, "ns-to-completed/op")
}

// BenchmarkIdleSession is the memory of a loaded session at rest.
func BenchmarkIdleSession(b *testing.B) {
	const sessions = 500
	for _, turns := range []int{0, 5} {
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(idleBytes(b, sessions, turns), "bytes/session")
			}
		})
	}
}

func idleBytes(b *testing.B, sessions, turns int) float64 {
	b.Helper()
	model := stopwatch{make(chan time.Time, 1)}
	m := benchManager(b, model)
	defer m.Close()
	refs := make([]store.Ref, sessions)
	end := ending{make(chan time.Time, 1)}
	for i := range refs {
		refs[i] = benchSession(b, m)
	}
	empty := inUse()
	var stored uint64 // what the store itself takes for the turns is not the session's
	for _, ref := range refs {
		if _, err := m.Subscribe(b.Context(), ref, session.Where{}, end); err != nil {
			b.Fatal(err)
		}
		for range turns {
			if _, err := m.Send(b.Context(), ref, text("hi"), session.WhenBusyQueue, session.Idempotency{}); err != nil {
				b.Fatal(err)
			}
			<-model.asked
			<-end.at
		}
		page, err := m.Log(b.Context(), ref, 0, session.PageEvents)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range page.Events {
			stored += uint64(len(e.Data))
		}
	}
	loaded := inUse()
	if n := m.Loaded(); n != sessions {
		b.Fatalf("%d sessions loaded", n)
	}
	if loaded < empty+stored {
		return 0
	}
	return float64(loaded-empty-stored) / float64(sessions)
}

// inUse is the memory of heap and stacks after a collection.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapInuse + s.StackInuse
}

// BenchmarkFanOut is one event to many subscribers.
func BenchmarkFanOut(b *testing.B) {
	for _, subscribers := range []int{1, 1000} {
		b.Run(fmt.Sprintf("subscribers=%d", subscribers), func(b *testing.B) {
			m := benchManager(b, stopwatch{make(chan time.Time, 1)})
			defer m.Close()
			ref := benchSession(b, m)
			for range subscribers {
				if _, err := m.Subscribe(b.Context(), ref, session.Where{}, &reader{}); err != nil {
					b.Fatal(err)
				}
			}
			title := "title"
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Update(b.Context(), ref, session.Update{Title: &title}, session.Idempotency{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// reader encodes what it is told, as a connection does.
type reader struct{ bytes int }

func (r *reader) Event(e *session.Event) {
	r.bytes += len(e.Encoded(func(e *session.Event) []byte { return message.AppendString(nil, string(e.Data)) }))
}
func (*reader) Delta(*session.Delta)       {}
func (*reader) Activity(*session.Activity) {}
func (*reader) Progress(*session.Progress) {}
func (*reader) Gone(bool)                  {}

// BenchmarkLongConversation is a turn after 2,000 messages; beside BenchmarkTurn it shows
// what of a turn grows with the conversation.
func BenchmarkLongConversation(b *testing.B) {
	model := stopwatch{make(chan time.Time, 1)}
	m := benchManager(b, model)
	defer m.Close()
	ref := benchSession(b, m)
	end := ending{make(chan time.Time, 1)}
	if _, err := m.Subscribe(b.Context(), ref, session.Where{}, end); err != nil {
		b.Fatal(err)
	}
	turn := func() {
		if _, err := m.Send(b.Context(), ref, text("hi"), session.WhenBusyQueue, session.Idempotency{}); err != nil {
			b.Fatal(err)
		}
		<-model.asked
		<-end.at
	}
	for range 1000 {
		turn()
	}
	b.ReportAllocs()
	for b.Loop() {
		turn()
	}
}
