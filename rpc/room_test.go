package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sessiond/rpc"
)

// page is a result of which two fit into the outbox.
var page = json.RawMessage(`"` + strings.Repeat("x", 480<<10) + `"`)

// paged answers every call with a page and then sends an event of the call's
// number.
func paged(conn *rpc.Conn) rpc.Handler {
	return handler{handle: func(_ context.Context, req *rpc.Request) (any, error) {
		return rpc.Deferred{Result: page, Queued: func() {
			conn.Send(fmt.Appendf(nil, `{"method":"live","params":%s}`, req.Params), rpc.Durable)
		}}, nil
	}}
}

// A client that asks for much at once and reads gets everything, and what a
// callback sends comes behind its reply.
func TestRepliesWaitForRoom(t *testing.T) {
	t.Parallel()
	const calls = 40
	inline := func(conn *rpc.Conn) rpc.Handler {
		return inliner{methods{"page": paged(conn).Handle}}
	}
	tests := []struct {
		name    string
		handler func(*rpc.Conn) rpc.Handler
		wrap    string
		ordered bool
	}{
		{"calls", paged, "%s", false},
		{"batches", paged, "[%s]", false},
		{"inline", inline, "%s", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, rpc.Options{ReadPause: time.Millisecond}, test.handler)
			c := s.dial(t)
			for i := range calls {
				c.send(fmt.Sprintf(test.wrap, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"page","params":[%d]}`, 100+i, 100+i)))
			}
			var replied, live []string
			for range 2 * calls {
				got := parse(t, strings.Trim(c.receive(), "[]"))
				switch {
				case got.Method == "live":
					n := strings.Trim(string(got.Params), "[]")
					if !slices.Contains(replied, n) {
						t.Fatalf("call %s is live before its reply", n)
					}
					live = append(live, n)
				case string(got.Result) != string(page):
					t.Fatalf("reply %.200s, %+v", got.Result, got.Error)
				default:
					replied = append(replied, string(got.ID))
				}
			}
			if test.ordered && !slices.IsSorted(replied) {
				t.Errorf("inline replies in the order %v", replied)
			}
			for _, got := range [][]string{replied, live} {
				slices.Sort(got)
				if n := len(slices.Compact(got)); n != calls {
					t.Errorf("%d calls, want %d", n, calls)
				}
			}
		})
	}
}

// What is sent takes nothing from replies: one that finds the outbox full of events
// stands behind them.
func TestReplyBehindAFullOutbox(t *testing.T) {
	t.Parallel()
	g := newGate()
	s := serve(t, rpc.Options{WriteTimeout: patience}, all(methods{"wait": g.method}))
	c, conn := s.connect(t)
	c.call("1", "wait")
	wait(t, g.entered, "the call")
	stick(t, conn)
	for n := range 127 {
		if !conn.Send(event(t, n+2, 0), rpc.Durable) {
			t.Fatalf("event %d was not queued", n+2)
		}
	}
	close(g.leave)
	for want := range 129 {
		if n := number(t, c.receive()); n != want {
			t.Fatalf("event %d, want %d", n, want)
		}
	}
	c.expect(`{"jsonrpc":"2.0","id":1,"result":"left"}`)
}

// The id of a call whose reply waits is taken, that of one whose reply is queued is
// free, and events pass those that wait.
func TestCallIsInFlightWhileItsReplyWaits(t *testing.T) {
	t.Parallel()
	const calls, fit = 5, 2
	placed := make(chan string, calls)
	s := serve(t, rpc.Options{WriteTimeout: patience, ReadPause: time.Millisecond}, all(methods{
		"page": func(_ context.Context, req *rpc.Request) (any, error) {
			return rpc.Deferred{Result: page, Queued: func() { placed <- strings.Trim(string(req.Params), "[]") }}, nil
		},
	}))
	c, conn := s.connect(t)
	stick(t, conn)
	for i := range calls {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"page","params":[%d]}`, i, i))
	}
	free := map[string]bool{}
	for range fit {
		free[wait(t, placed, "the replies that find room")] = true
	}
	if !conn.Send(event(t, 2, 1<<19), rpc.Durable) {
		t.Fatal("an event found no room beside replies that wait")
	}
	for i := range calls {
		c.call(fmt.Sprint(i), "none")
	}
	pages := 0
	for range 3 + 2*calls {
		switch got := parse(t, c.receive()); {
		case got.Method == "event":
		case got.Error == nil:
			pages++
		case got.Error.Code == rpc.CodeMethodNotFound:
			if !free[string(got.ID)] {
				t.Errorf("the id of call %s was free while its reply waited", got.ID)
			}
		default:
			if id := fmt.Sprint(got.Error.Data["id"]); free[id] {
				t.Errorf("the id of call %s is not free, but its reply was queued", id)
			}
		}
	}
	if pages != calls {
		t.Errorf("%d pages, want %d", pages, calls)
	}
}

// A client that never reads ends by the write timeout, with all that waits.
func TestWriteTimeoutEndsWaitingReplies(t *testing.T) {
	t.Parallel()
	const calls = 64
	var placed atomic.Int32
	answer := rpc.Deferred{Result: page, Queued: func() { placed.Add(1) }}
	g := newGate()
	closed := make(chan struct{})
	s := serve(t, rpc.Options{WriteTimeout: 50 * time.Millisecond}, all(handler{
		handle: func(ctx context.Context, req *rpc.Request) (any, error) {
			_, err := g.method(ctx, req)
			return answer, err
		},
		closed: func() { close(closed) },
	}))
	c := s.dial(t)
	for i := range calls {
		c.call(fmt.Sprint(i), "page")
	}
	for range calls {
		wait(t, g.entered, "the calls")
	}
	close(g.leave)
	wait(t, closed, "the end of a connection whose peer does not read")
	if n := placed.Load(); n > 10 { // two fit, one is being written, the kernel takes a little
		t.Errorf("%d replies were queued", n)
	}
}

// Inline replies that wait leave the reader free to see what comes.
func TestReaderGoesOnWhileInlineRepliesWait(t *testing.T) {
	t.Parallel()
	const calls = 10
	returned := make(chan struct{}, calls)
	s := serve(t, rpc.Options{WriteTimeout: patience, ReadPause: time.Millisecond}, all(inliner{methods{
		"page": func(context.Context, *rpc.Request) (any, error) { returned <- struct{}{}; return page, nil },
	}}))
	c, conn := s.connect(t)
	stick(t, conn)
	for i := range calls {
		c.call(fmt.Sprint(i), "page")
	}
	for range calls {
		wait(t, returned, "the calls")
	}
	conn.Close(rpc.CloseExpired, "")
	if frames := c.expectClose(rpc.CloseExpired); len(frames) != 4 {
		t.Errorf("%d frames came, want two events and the two replies that found room", len(frames))
	}
}

// Shutdown lets replies that wait be read; once its time is up it does not.
func TestShutdownWhileRepliesWait(t *testing.T) {
	t.Parallel()
	const calls, fit = 10, 2
	tests := []struct {
		name   string
		cut    bool
		frames int // two of them events
		err    error
	}{
		{"in time", false, 2 + calls, nil},
		{"cut short", true, 2 + fit, context.Canceled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			placed := make(chan struct{}, calls)
			entered, told := make(chan struct{}, calls+1), make(chan struct{})
			s := serve(t, rpc.Options{WriteTimeout: patience, ReadPause: time.Millisecond}, all(methods{
				"page": func(context.Context, *rpc.Request) (any, error) {
					entered <- struct{}{}
					return rpc.Deferred{Result: page, Queued: func() { placed <- struct{}{} }}, nil
				},
				"wait": func(ctx context.Context, _ *rpc.Request) (any, error) {
					entered <- struct{}{}
					<-ctx.Done()
					close(told)
					return nil, ctx.Err()
				},
			}))
			c, conn := s.connect(t)
			stick(t, conn)
			for i := range calls {
				c.call(fmt.Sprint(i), "page")
			}
			for range calls {
				wait(t, entered, "the calls")
			}
			for range fit {
				wait(t, placed, "the replies that find room")
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.cut {
				c.call(`"wait"`, "wait")
				wait(t, entered, "the call that waits")
				cancel()
			}
			ended := make(chan error, 1)
			go func() { ended <- s.Shutdown(ctx, nil, rpc.CloseRestart, "") }()
			if test.cut { // nothing is read before the end is decided
				wait(t, told, "the end of the requests")
			}
			if frames := c.expectClose(rpc.CloseRestart); len(frames) != test.frames {
				t.Errorf("%d frames came, want %d", len(frames), test.frames)
			}
			if err := wait(t, ended, "the shutdown"); !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
		})
	}
}
