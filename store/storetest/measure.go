package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sessiond/store"
)

// Committer makes one durable commit of the bench; each belongs to one caller.
type Committer func(ctx context.Context) error

// Commits returns a committer for each of n callers, each with a session of its own,
// that commit what a message costs: the row with its state and one entry.
func Commits(tb testing.TB, s store.Store, n int) []Committer {
	tb.Helper()
	b := &bench{owner: "bench"}
	list := make([]Committer, n)
	for i := range list {
		c := b.create(1)
		c.Session.State = []byte(State)
		if err := s.Create(tb.Context(), c); err != nil {
			tb.Fatal(err)
		}
		list[i] = func(ctx context.Context) error {
			c = follow(c, 1)
			c.Entries[0].Body = []byte(Body)
			return s.Commit(ctx, c)
		}
	}
	return list
}

// Body and State are what a commit of the bench writes: a message of ordinary size
// and the state of a session.
var (
	Body  = fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%q}]}`, strings.Repeat("lorem ipsum ", 80))
	State = fmt.Sprintf(`{"generation":3,"shape":%q}`, strings.Repeat("0123456789abcdef", 48))
)

// Alternate runs b.N commits of ours and as many of base, in turns, so that both see
// the same moods of the machine. It reports both rates and their ratio. Callers of a
// side commit at the same time, one after the other each.
func Alternate(b *testing.B, ours, base []Committer) {
	b.Helper()
	const slice = 100 // commits of a caller before the other side has its turn
	var spent [2]time.Duration
	var done int
	for done < b.N {
		n := min(slice, (b.N-done+len(ours)-1)/len(ours))
		for side, callers := range [][]Committer{ours, base} {
			start := time.Now()
			runSlice(b, callers, n)
			spent[side] += time.Since(start)
		}
		done += n * len(ours)
	}
	rate := func(d time.Duration) float64 { return float64(done) / d.Seconds() }
	b.ReportMetric(rate(spent[0]), "commits/s")
	b.ReportMetric(rate(spent[1]), "base/s")
	b.ReportMetric(rate(spent[0])/rate(spent[1]), "ratio")
	b.ReportMetric(0, "ns/op")
}

func runSlice(b *testing.B, callers []Committer, n int) {
	b.Helper()
	var wg sync.WaitGroup
	for _, commit := range callers {
		wg.Go(func() {
			for range n {
				if err := commit(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
