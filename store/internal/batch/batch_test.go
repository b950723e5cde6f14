package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"sessiond/store"
	"sessiond/store/internal/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk stands for a database: it records what is flushed together, and holds every
// flush until it is told how that ends.
type disk struct {
	flushes [][]int
	release chan flushed
}

type flushed struct {
	results []error
	err     error
}

func (d *disk) flush(items []int) ([]error, error) {
	d.flushes = append(d.flushes, slices.Clone(items))
	f := <-d.release
	if f.results == nil {
		f.results = make([]error, len(items))
	}
	return f.results, f.err
}

func limits(items, bytes int) batch.Limits[int] {
	return batch.Limits[int]{Items: items, Bytes: bytes, Size: func(n int) int { return n }}
}

// call makes a change in the background; the outcome is nil until it has one.
func call(ctx context.Context, c *batch.Committer[int], item int) *error {
	outcome := new(error)
	*outcome = errPending
	go func() { *outcome = c.Do(ctx, item) }()
	synctest.Wait()
	return outcome
}

var errPending = errors.New("pending")

func TestGathersWhileFlushing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{release: make(chan flushed)}
		c := batch.New(limits(10, 1000), d.flush)
		defer c.Close()
		var outcomes []*error
		for i := range 4 {
			outcomes = append(outcomes, call(t.Context(), c, i))
		}
		if d := cmp.Diff([][]int{{0}}, d.flushes); d != "" {
			t.Errorf("a lone change did not go at once (-want +got):\n%s", d)
		}
		for i, o := range outcomes {
			if !errors.Is(*o, errPending) {
				t.Errorf("change %d was answered before its flush", i)
			}
		}
		d.release <- flushed{}
		synctest.Wait()
		if *outcomes[0] != nil || !errors.Is(*outcomes[1], errPending) {
			t.Errorf("after the first flush: %v, %v", *outcomes[0], *outcomes[1])
		}
		d.release <- flushed{}
		synctest.Wait()
		slices.Sort(d.flushes[1])
		if d := cmp.Diff([][]int{{0}, {1, 2, 3}}, d.flushes); d != "" {
			t.Errorf("flushes (-want +got):\n%s", d)
		}
		for i, o := range outcomes {
			if *o != nil {
				t.Errorf("change %d: %v", i, *o)
			}
		}
	})
}

func TestLimits(t *testing.T) {
	cases := []struct {
		name   string
		limits batch.Limits[int]
		item   int
		want   []int // sizes of the flushes after the first
	}{
		{"items", limits(3, 1000), 1, []int{3, 3, 1}},
		{"bytes", limits(100, 20), 10, []int{2, 2, 2, 1}},
		{"a change beyond the limit goes alone", limits(100, 20), 50, []int{1, 1, 1, 1, 1, 1, 1}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{release: make(chan flushed)}
				c := batch.New(tc.limits, d.flush)
				defer c.Close()
				for range 8 {
					call(t.Context(), c, tc.item)
				}
				for range 1 + len(tc.want) {
					d.release <- flushed{}
					synctest.Wait()
				}
				var got []int
				for _, f := range d.flushes[1:] {
					got = append(got, len(f))
				}
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Errorf("sizes (-want +got):\n%s", d)
				}
			})
		})
	}
}

func TestOutcomes(t *testing.T) {
	errOne, errAll := errors.New("one"), errors.New("all")
	cases := []struct {
		name    string
		answers []flushed
		want    []error
		flushes int
	}{
		{"each its own", []flushed{{results: []error{nil, errOne, nil}}}, []error{errOne}, 2},
		{"one for all", []flushed{{err: errAll}}, []error{errAll, errAll, errAll}, 2},
		{"undone, then half by half", []flushed{
			{err: fmt.Errorf("wrapped: %w", &batch.UndoneError{Err: errAll})},
			{},
			{err: &batch.UndoneError{Err: errAll}},
			{err: &batch.UndoneError{Err: errOne}},
			{},
		}, []error{errOne}, 6},
		{"undone, then the database is gone", []flushed{
			{err: &batch.UndoneError{Err: errOne}},
			{err: errAll},
			{err: errAll},
		}, []error{errAll, errAll, errAll}, 4},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{release: make(chan flushed)}
				c := batch.New(limits(10, 1000), d.flush)
				defer c.Close()
				call(t.Context(), c, 0)
				var outcomes []*error
				for range 3 {
					outcomes = append(outcomes, call(t.Context(), c, 1))
				}
				for _, a := range append([]flushed{{}}, tc.answers...) {
					d.release <- a
					synctest.Wait()
				}
				var failed []error
				for _, o := range outcomes {
					if *o != nil {
						failed = append(failed, *o)
					}
				}
				if len(failed) != len(tc.want) || len(d.flushes) != tc.flushes {
					t.Fatalf("outcomes %v in %d flushes, want %v in %d", failed, len(d.flushes), tc.want, tc.flushes)
				}
				for i, want := range tc.want {
					if !errors.Is(failed[i], want) {
						t.Errorf("outcome %v, want %v", failed[i], want)
					}
				}
			})
		})
	}
}

// TestWaitsForCallersToComeBack uses flushes that take time, of a fake clock.
func TestWaitsForCallersToComeBack(t *testing.T) {
	const took = 8 * time.Second
	cases := []struct {
		name    string
		callers int             // of the flush before
		back    []time.Duration // when changes come after it
		want    []int           // sizes of the next flushes
	}{
		{"a lone caller goes at once", 1, []time.Duration{0, time.Millisecond}, []int{1, 1}},
		{"all come back", 3, []time.Duration{0, 100 * time.Millisecond, 900 * time.Millisecond}, []int{3}},
		{"the last is too late", 3, []time.Duration{0, 100 * time.Millisecond, 2 * time.Second}, []int{2, 1}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sizes []int
				c := batch.New(limits(10, 1000), func(items []int) ([]error, error) {
					sizes = append(sizes, len(items))
					time.Sleep(took)
					return make([]error, len(items)), nil
				})
				defer c.Close()
				if tc.callers > 1 { // they gather during a flush that is nobody's
					call(t.Context(), c, 0)
				}
				for range tc.callers {
					call(t.Context(), c, 0)
				}
				time.Sleep(2 * took)
				synctest.Wait()
				sizes = nil
				start := time.Now()
				for _, after := range tc.back {
					time.Sleep(time.Until(start.Add(after)))
					call(t.Context(), c, 0)
				}
				time.Sleep(4 * took)
				synctest.Wait()
				if d := cmp.Diff(tc.want, sizes); d != "" {
					t.Errorf("sizes (-want +got):\n%s", d)
				}
			})
		})
	}
}

// TestTwoCallersMeet has one caller come while the other's change is flushed. From then
// on they share each flush instead of taking turns.
func TestTwoCallersMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		c := batch.New(limits(10, 1000), func(items []int) ([]error, error) {
			sizes = append(sizes, len(items))
			time.Sleep(8 * time.Second)
			return make([]error, len(items)), nil
		})
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				for c.Do(t.Context(), 1) == nil {
					time.Sleep(100 * time.Millisecond) // until its next change is ready
				}
			})
			time.Sleep(time.Second)
		}
		time.Sleep(30 * time.Second)
		c.Close()
		callers.Wait()
		if d := cmp.Diff([]int{1, 2, 2, 2}, sizes); d != "" {
			t.Errorf("sizes (-want +got):\n%s", d)
		}
	})
}

func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{release: make(chan flushed)}
		c := batch.New(limits(10, 1000), d.flush)
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		flushing, waiting := call(ctx, c, 1), call(ctx, c, 2)
		cancel()
		synctest.Wait()
		if !errors.Is(*flushing, context.Canceled) || !errors.Is(*waiting, context.Canceled) {
			t.Errorf("outcomes %v and %v, want %v", *flushing, *waiting, context.Canceled)
		}
		if late := call(ctx, c, 3); !errors.Is(*late, context.Canceled) {
			t.Errorf("outcome with an ended context: %v", *late)
		}
		d.release <- flushed{}
		synctest.Wait()
		if d := cmp.Diff([][]int{{1}}, d.flushes); d != "" {
			t.Errorf("flushes (-want +got):\n%s", d)
		}
	})
}

func TestCloseWaitsForTakenChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{release: make(chan flushed)}
		c := batch.New(limits(10, 1000), d.flush)
		taken, waiting := call(t.Context(), c, 1), call(t.Context(), c, 2)
		closed := false
		go func() { c.Close(); closed = true }()
		synctest.Wait()
		if closed || !errors.Is(*waiting, store.ErrClosed) {
			t.Errorf("during a flush: closed is %v, the one that waits has %v", closed, *waiting)
		}
		d.release <- flushed{}
		synctest.Wait()
		if !closed || *taken != nil {
			t.Errorf("after the flush: closed is %v, outcome %v", closed, *taken)
		}
		c.Close()
		if late := call(t.Context(), c, 3); !errors.Is(*late, store.ErrClosed) {
			t.Errorf("after Close: %v", *late)
		}
	})
}

func TestWorkersFlushAtOnce(t *testing.T) {
	var mu sync.Mutex
	both := make(chan struct{})
	inside := 0
	flush := func(items []int) ([]error, error) {
		mu.Lock()
		inside++
		if inside == 2 {
			close(both)
		}
		mu.Unlock()
		<-both // reached only if the other worker flushes too
		return make([]error, len(items)), nil
	}
	c := batch.New(limits(1, 1000), flush, flush)
	defer c.Close()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if err := c.Do(t.Context(), 1); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
