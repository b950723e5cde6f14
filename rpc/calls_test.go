package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sessiond/rpc"
)

// gate is a method that blocks until the test lets it go or its context ends.
type gate struct {
	entered chan *rpc.Request
	leave   chan struct{}
}

func newGate() gate {
	return gate{entered: make(chan *rpc.Request, 1024), leave: make(chan struct{})}
}

func (g gate) method(ctx context.Context, req *rpc.Request) (any, error) {
	g.entered <- req
	select {
	case <-g.leave:
		return "left", nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestCallsRunConcurrently(t *testing.T) {
	t.Parallel()
	g := newGate()
	s := serve(t, rpc.Options{}, all(methods{"wait": g.method, "noop": noop}))
	c := s.dial(t)
	c.call("1", "wait")
	c.call("2", "wait")
	wait(t, g.entered, "the first call")
	wait(t, g.entered, "the second call")
	c.call("3", "noop")
	c.expect(`{"jsonrpc":"2.0","id":3,"result":null}`)
	g.leave <- struct{}{}
	g.leave <- struct{}{}
	got := []string{c.receive(), c.receive()}
	slices.Sort(got)
	want := []string{`{"jsonrpc":"2.0","id":1,"result":"left"}`, `{"jsonrpc":"2.0","id":2,"result":"left"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLiveIDIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, first, second, want string }{
		{"number", `7`, `7`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"id":7,"reason":"a request with this id is still in flight"}}}`},
		{"string", `"a\/<"`, `"a\/<"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"id":"a\/<","reason":"a request with this id is still in flight"}}}`},
		{"null", `null`, `null`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"id":null,"reason":"a request with this id is still in flight"}}}`},
		{"written otherwise", `7`, `7.0`, `{"jsonrpc":"2.0","id":7.0,"result":null}`},
		{"string and number", `"7"`, `7`, `{"jsonrpc":"2.0","id":7,"result":null}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			s := serve(t, rpc.Options{}, all(methods{"wait": g.method, "noop": noop}))
			c := s.dial(t)
			c.call(test.first, "wait")
			wait(t, g.entered, "the first call")
			c.call(test.second, "noop")
			c.expect(test.want)
			c.send(fmt.Sprintf(`[{"jsonrpc":"2.0","id":%s,"method":"noop"}]`, test.second))
			c.expect("[" + test.want + "]")
			g.leave <- struct{}{}
			c.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"left"}`, test.first))
			c.call(test.first, "noop")
			c.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":null}`, test.first))
		})
	}
}

func TestIDsOfABatchAreLiveUntilItsReply(t *testing.T) {
	t.Parallel()
	g := newGate()
	ended := make(chan struct{}, 1)
	s := serve(t, rpc.Options{}, all(methods{
		"wait": g.method,
		"noop": noop,
		"done": func(context.Context, *rpc.Request) (any, error) { ended <- struct{}{}; return 1, nil },
	}))
	c := s.dial(t)
	c.send(`[{"jsonrpc":"2.0","id":1,"method":"done"},{"jsonrpc":"2.0","id":2,"method":"wait"}]`)
	wait(t, g.entered, "the call that waits")
	wait(t, ended, "the call that ends")
	c.call("1", "noop")
	if r := parse(t, c.receive()); r.Error == nil || r.Error.Data["id"] != 1.0 {
		t.Errorf("reply %+v, want a refusal", r)
	}
	g.leave <- struct{}{}
	c.expect(`[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":"left"}]`)
	c.call("1", "noop")
	c.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
}

// A client may use an id and its place again as soon as it has the reply.
func TestIDAndPlaceAreFreeBeforeTheReply(t *testing.T) {
	t.Parallel()
	s := serve(t, rpc.Options{MaxInFlight: 1}, all(handler{handle: noop}))
	c := s.dial(t)
	for range 2000 {
		c.call("1", "noop")
		c.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
	}
	for range 500 {
		c.send(`[{"jsonrpc":"2.0","id":1,"method":"noop"}]`)
		c.expect(`[{"jsonrpc":"2.0","id":1,"result":null}]`)
	}
}

func TestTooManyInFlight(t *testing.T) {
	t.Parallel()
	const refusal = `{"jsonrpc":"2.0","id":65,"error":{"code":-31005,"message":"too many requests in flight","data":{"kind":"too_many_in_flight","retryable":true}}}`
	g := newGate()
	s := serve(t, rpc.Options{}, all(methods{"wait": g.method, "noop": noop}))
	c := s.dial(t)
	for i := range 64 {
		c.call(fmt.Sprint(i), "wait")
	}
	for range 64 {
		wait(t, g.entered, "64 calls")
	}
	c.call("65", "noop")
	c.expect(refusal)
	c.send(`[{"jsonrpc":"2.0","id":65,"method":"noop"}]`)
	c.expect("[" + refusal + "]")
	c.send(`{"jsonrpc":"2.0","method":"noop"}`)
	// Cancelling works at the limit.
	c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":5}}`)
	c.expect(`{"jsonrpc":"2.0","id":5,"error":{"code":-32800,"message":"request cancelled"}}`)
	c.call("65", "noop")
	c.expect(`{"jsonrpc":"2.0","id":65,"result":null}`)
	close(g.leave)
	for range 63 {
		if got := c.receive(); code(t, got) != 0 {
			t.Fatalf("reply %s", got)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	const cancelled = `{"jsonrpc":"2.0","id":"x","error":{"code":-32800,"message":"request cancelled"}}`
	tests := []struct {
		name   string
		cancel string
		want   []string
	}{
		{"notification", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}`, []string{cancelled}},
		{"more params", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"reason":{"id":"y"},"id" : "x"}}`, []string{cancelled}},
		{"call", `{"jsonrpc":"2.0","id":1,"method":"$/cancelRequest","params":{"id":"x"}}`, []string{cancelled, `{"jsonrpc":"2.0","id":1,"result":null}`}},
		{"in a batch", `[{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}]`, []string{cancelled}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			s := serve(t, rpc.Options{}, all(methods{"wait": g.method}))
			c := s.dial(t)
			c.call(`"x"`, "wait")
			wait(t, g.entered, "the call")
			c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"other"}}`)
			c.send(test.cancel)
			var got []string
			for range test.want {
				got = append(got, c.receive())
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("within one batch", func(t *testing.T) {
		t.Parallel()
		s := serve(t, rpc.Options{}, all(methods{"wait": newGate().method}))
		c := s.dial(t)
		c.send(`[{"jsonrpc":"2.0","id":"x","method":"wait"},{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}]`)
		c.expect("[" + cancelled + "]")
	})
}

// A handler decides what its cancelled request answers: context.Canceled of its
// own making is not a cancelled request.
func TestCancelledIsOnlyWhatTheClientCancelled(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 1)
	until := func(result any, err error) func(context.Context, *rpc.Request) (any, error) {
		return func(ctx context.Context, _ *rpc.Request) (any, error) {
			entered <- struct{}{}
			<-ctx.Done()
			return result, err
		}
	}
	s := serve(t, rpc.Options{}, all(methods{
		"own":    func(context.Context, *rpc.Request) (any, error) { return nil, context.Canceled },
		"result": until("late", nil),
		"error":  until(nil, &rpc.Error{Code: 5, Message: "mine"}),
		"other":  until(nil, errors.New("other")),
		"wraps":  until(nil, fmt.Errorf("while waiting: %w", context.Canceled)),
	}))
	c := s.dial(t)
	c.call("1", "own")
	if got := c.receive(); code(t, got) != rpc.CodeInternalError {
		t.Errorf("own context: %s", got)
	}
	for method, want := range map[string]int{"result": 0, "error": 5, "other": rpc.CodeInternalError, "wraps": rpc.CodeCancelled} {
		c.call("1", method)
		wait(t, entered, "the call")
		c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
		if got := c.receive(); code(t, got) != want {
			t.Errorf("%s: %s, want code %d", method, got, want)
		}
	}
}

// hostile is a value whose encoding panics.
type hostile struct{}

func (hostile) MarshalJSON() ([]byte, error) { panic("secret") }

func TestWhatGoesWrongInsideBecomesAnIncident(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	s := serve(t, rpc.Options{Log: zap.New(core)}, all(methods{
		"noop":         noop,
		"error":        func(context.Context, *rpc.Request) (any, error) { return nil, errors.New("secret") },
		"nil error":    func(context.Context, *rpc.Request) (any, error) { return nil, (*rpc.Error)(nil) },
		"panic":        func(context.Context, *rpc.Request) (any, error) { panic("secret") },
		"panic error":  func(context.Context, *rpc.Request) (any, error) { panic(errors.New("secret")) },
		"index":        func(_ context.Context, req *rpc.Request) (any, error) { return []int{}[len(req.Params)], nil },
		"result":       func(context.Context, *rpc.Request) (any, error) { return make(chan int), nil },
		"result panic": func(context.Context, *rpc.Request) (any, error) { return hostile{}, nil },
		"data": func(context.Context, *rpc.Request) (any, error) {
			return nil, &rpc.Error{Code: 1, Data: make(chan int)}
		},
		"data panic": func(context.Context, *rpc.Request) (any, error) { return nil, &rpc.Error{Code: 1, Data: hostile{}} },
		"queued panic": func(context.Context, *rpc.Request) (any, error) {
			return rpc.Deferred{Queued: func() { panic("secret") }}, nil
		},
	}))
	c := s.dial(t)
	answer := regexp.MustCompile(`^\{"jsonrpc":"2.0","id":1,"error":\{"code":-32603,"message":"Internal error","data":\{"incident":"([0-9a-f]{16})"\}\}\}$`)
	for _, method := range []string{"error", "panic", "panic error", "index", "result", "result panic", "data", "data panic"} {
		c.call("1", method)
		got := c.receive()
		match := answer.FindStringSubmatch(got)
		if match == nil {
			t.Fatalf("%s: %s", method, got)
		}
		entries := logs.FilterField(zap.String("incident", match[1])).All()
		if len(entries) != 1 {
			t.Fatalf("%s: %d log entries of the incident", method, len(entries))
		}
		stack, _ := entries[0].ContextMap()["stack"].(string)
		if panics := strings.Contains(method, "panic") || method == "index"; panics != strings.Contains(stack, "calls_test.go") {
			t.Errorf("%s: stack %q", method, stack)
		}
	}
	if text := logs.All()[0].ContextMap()["error"]; text != "secret" {
		t.Errorf("the log says %q, want the error's text", text)
	}
	c.call("1", "nil error")
	if got := c.receive(); code(t, got) != rpc.CodeInternalError {
		t.Errorf("nil *Error: %s", got)
	}
	c.call("1", "queued panic")
	c.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
	c.call("2", "noop")
	c.expect(`{"jsonrpc":"2.0","id":2,"result":null}`)
}

func TestDeferredRunsBehindItsReply(t *testing.T) {
	t.Parallel()
	for _, wrap := range []string{"%s", "[%s]"} {
		s := serve(t, rpc.Options{}, func(conn *rpc.Conn) rpc.Handler {
			return methods{"subscribe": func(context.Context, *rpc.Request) (any, error) {
				return rpc.Deferred{Result: json.RawMessage(`{"head_seq":0}`), Queued: func() {
					for i := range 3 {
						conn.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"event","params":[%d]}`, i), rpc.Durable)
					}
				}}, nil
			}}
		})
		c := s.dial(t)
		for range 200 {
			c.send(fmt.Sprintf(wrap, `{"jsonrpc":"2.0","id":1,"method":"subscribe"}`))
			c.expect(fmt.Sprintf(wrap, `{"jsonrpc":"2.0","id":1,"result":{"head_seq":0}}`))
			for i := range 3 {
				c.expect(fmt.Sprintf(`{"jsonrpc":"2.0","method":"event","params":[%d]}`, i))
			}
		}
	}
}

func TestDeferredInABatchRunsInOrderAfterAllReplies(t *testing.T) {
	t.Parallel()
	g := newGate()
	s := serve(t, rpc.Options{}, func(conn *rpc.Conn) rpc.Handler {
		subscribe := func(_ context.Context, req *rpc.Request) (any, error) {
			return rpc.Deferred{Result: req.Params, Queued: func() {
				conn.Send(fmt.Appendf(nil, `{"live":%s}`, req.Params), rpc.Durable)
			}}, nil
		}
		return methods{"subscribe": subscribe, "wait": g.method}
	})
	c := s.dial(t)
	c.send(`[{"jsonrpc":"2.0","id":1,"method":"subscribe","params":[1]},
		{"jsonrpc":"2.0","id":2,"method":"wait"},
		{"jsonrpc":"2.0","method":"subscribe","params":[9]},
		{"jsonrpc":"2.0","id":3,"method":"subscribe","params":[3]}]`)
	wait(t, g.entered, "the call that waits")
	g.leave <- struct{}{}
	c.expect(`[{"jsonrpc":"2.0","id":1,"result":[1]},{"jsonrpc":"2.0","id":2,"result":"left"},{"jsonrpc":"2.0","id":3,"result":[3]}]`)
	c.expect(`{"live":[1]}`)
	c.expect(`{"live":[3]}`)
}

func TestDeferredThatPanicsCostsNobodyElse(t *testing.T) {
	t.Parallel()
	s := serve(t, rpc.Options{}, func(conn *rpc.Conn) rpc.Handler {
		return methods{
			"bad": func(context.Context, *rpc.Request) (any, error) {
				return rpc.Deferred{Queued: func() { panic("secret") }}, nil
			},
			"good": func(context.Context, *rpc.Request) (any, error) {
				return rpc.Deferred{Queued: func() { conn.Send([]byte(`"live"`), rpc.Durable) }}, nil
			},
		}
	})
	c := s.dial(t)
	c.send(`[{"jsonrpc":"2.0","id":1,"method":"bad"},{"jsonrpc":"2.0","id":2,"method":"good"}]`)
	c.expect(`[{"jsonrpc":"2.0","id":1,"result":null},{"jsonrpc":"2.0","id":2,"result":null}]`)
	c.expect(`"live"`)
}

func TestDeferredDoesNotRunWithoutItsReply(t *testing.T) {
	t.Parallel()
	var ran atomic.Bool
	returned := make(chan struct{})
	s := serve(t, rpc.Options{}, func(conn *rpc.Conn) rpc.Handler {
		return handler{
			handle: func(context.Context, *rpc.Request) (any, error) {
				conn.Close(rpc.CloseNormal, "done")
				return rpc.Deferred{Queued: func() { ran.Store(true) }}, nil
			},
			closed: func() { close(returned) },
		}
	})
	c := s.dial(t)
	c.call("1", "any")
	if frames := c.expectClose(rpc.CloseNormal); len(frames) > 0 {
		t.Errorf("frames %q", frames)
	}
	wait(t, returned, "the end of the connection")
	if ran.Load() {
		t.Error("the callback ran although the reply was not queued")
	}
}

// What a handler gets may be kept: frames do not share memory with later ones.
func TestParamsMayBeKept(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var kept []json.RawMessage
	s := serve(t, rpc.Options{}, all(handler{handle: func(_ context.Context, req *rpc.Request) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		kept = append(kept, req.Params)
		return nil, nil
	}}))
	c := s.dial(t)
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprintf(`{"n":%d}`, i))
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"keep","params":{"n":%d}}`, i))
		c.receive()
	}
	mu.Lock()
	defer mu.Unlock()
	var got []string
	for _, raw := range kept {
		_ = append(raw, "overwritten?"...)
		got = append(got, string(raw))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// An inline request runs in the reader's goroutine: the next one is read after it.
func TestInlineRequestsRunInTheirOrder(t *testing.T) {
	t.Parallel()
	s := serve(t, rpc.Options{}, all(inliner{methods{
		"params": func(_ context.Context, req *rpc.Request) (any, error) { return req.Params, nil },
		"panic":  func(context.Context, *rpc.Request) (any, error) { panic("secret") },
	}}))
	c := s.dial(t)
	var sent sync.WaitGroup
	sent.Go(func() {
		for i := range 2000 {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"params","params":[%d]}`, i, i))
		}
		c.send(`{"jsonrpc":"2.0","method":"params","params":[]}`)
		c.call(`"panic"`, "panic")
	})
	for i := range 2000 {
		c.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":[%d]}`, i, i))
	}
	if got := c.receive(); code(t, got) != rpc.CodeInternalError {
		t.Errorf("panic: %s", got)
	}
	sent.Wait()
}
