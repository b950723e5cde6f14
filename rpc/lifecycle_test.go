package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"sessiond/rpc"
)

func event(tb testing.TB, n, size int) []byte {
	tb.Helper()
	params := json.RawMessage(fmt.Sprintf(`{"n":%d,"pad":%q}`, n, strings.Repeat("x", size)))
	frame, err := rpc.EncodeNotification("event", params)
	if err != nil {
		tb.Fatal(err)
	}
	return frame
}

// number returns the n of an event.
func number(tb testing.TB, frame string) int {
	tb.Helper()
	var e struct{ Params struct{ N int } }
	if err := json.Unmarshal([]byte(frame), &e); err != nil {
		tb.Fatalf("%s: %v", frame, err)
	}
	return e.Params.N
}

func TestEncodeNotification(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		params any
		want   string
	}{
		{"none", nil, `{"jsonrpc":"2.0","method":"a<b"}`},
		{"no raw message", json.RawMessage(nil), `{"jsonrpc":"2.0","method":"a<b"}`},
		{"raw", json.RawMessage(`{ "a":1.0 }`), `{"jsonrpc":"2.0","method":"a<b","params":{ "a":1.0 }}`},
		{"value", map[string]string{"html": "<&>"}, `{"jsonrpc":"2.0","method":"a<b","params":{"html":"<&>"}}`},
	}
	for _, test := range tests {
		got, err := rpc.EncodeNotification("a<b", test.params)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v, want %s", test.name, got, err, test.want)
		}
	}
	if _, err := rpc.EncodeNotification("a", make(chan int)); err == nil {
		t.Error("a channel was encoded")
	}
}

func TestFanOutKeepsTheOrder(t *testing.T) {
	t.Parallel()
	const connections, events = 20, 300
	s := serve(t, rpc.Options{OutboxMessages: events}, all(handler{handle: noop}))
	var clients []*client
	var conns []*rpc.Conn
	for range connections {
		c, conn := s.connect(t)
		clients, conns = append(clients, c), append(conns, conn)
	}
	for i := range events {
		frame := event(t, i, 10)
		for _, conn := range conns {
			if !conn.Send(frame, rpc.Durable) {
				t.Fatal("an event was not queued")
			}
		}
	}
	for _, c := range clients {
		for i := range events {
			if n := number(t, c.receive()); n != i {
				t.Fatalf("event %d, want %d", n, i)
			}
		}
	}
}

// stick leaves the connection's writer stuck in a frame that the kernel cannot
// take as long as the client does not read, and the outbox empty but for one
// small frame.
func stick(tb testing.TB, conn *rpc.Conn) {
	tb.Helper()
	if !conn.Send(event(tb, 0, 4<<20), rpc.Durable) {
		tb.Fatal("an empty outbox takes a frame of any size")
	}
	waitUntil(tb, "the writer has taken the large frame", func() bool {
		return conn.Send(event(tb, 1, 0), rpc.Droppable)
	})
}

// fill sends frames of 64 KiB, numbered from 2, until one is not queued, and
// returns how many were.
func fill(tb testing.TB, conn *rpc.Conn, class rpc.Class) int {
	tb.Helper()
	n := 0
	for conn.Send(event(tb, n+2, 64<<10), class) {
		n++
	}
	return n
}

func TestSlowConsumerIsCutOff(t *testing.T) {
	t.Parallel()
	s := serve(t, rpc.Options{WriteTimeout: patience}, all(handler{handle: noop}))
	slow, conn := s.connect(t)
	other := s.dial(t)
	stick(t, conn)
	if n := fill(t, conn, rpc.Durable); n != 15 {
		t.Errorf("%d frames of 64 KiB were queued, want 15", n)
	}
	other.call("1", "noop") // nobody else is concerned
	other.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
	if frames := slow.expectClose(rpc.CloseSlowConsumer); len(frames) != 1 || number(t, frames[0]) != 0 {
		t.Errorf("%d frames came, want the one that was being written", len(frames))
	}
}

func TestSlowConsumerOfSmallFrames(t *testing.T) {
	t.Parallel()
	s := serve(t, rpc.Options{WriteTimeout: patience}, all(handler{handle: noop}))
	slow, conn := s.connect(t)
	stick(t, conn)
	for n := range 127 {
		if !conn.Send(event(t, n, 10), rpc.Durable) {
			t.Fatalf("frame %d was not queued", n+2)
		}
	}
	if conn.Send(event(t, 0, 10), rpc.Durable) {
		t.Fatal("frame 129 was queued")
	}
	slow.expectClose(rpc.CloseSlowConsumer)
}

func TestDroppableFramesAreDroppedAndNothingElse(t *testing.T) {
	t.Parallel()
	s := serve(t, rpc.Options{WriteTimeout: patience}, all(handler{handle: noop}))
	c, conn := s.connect(t)
	stick(t, conn)
	queued := fill(t, conn, rpc.Droppable)
	if queued != 8 {
		t.Errorf("%d droppable frames of 64 KiB were queued, want 8", queued)
	}
	if !conn.Send(event(t, queued+2, 0), rpc.Durable) {
		t.Fatal("a durable frame was not queued while the outbox was half full")
	}
	for want := range queued + 3 {
		if n := number(t, c.receive()); n != want {
			t.Fatalf("frame %d, want %d", n, want)
		}
	}
	c.call("1", "noop")
	c.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
}

// The reader is held back by an outbox that is half full, but not for good.
func TestReaderGoesOn(t *testing.T) {
	t.Parallel()
	g := newGate()
	s := serve(t, rpc.Options{WriteTimeout: patience, ReadPause: time.Millisecond}, all(methods{"wait": g.method}))
	c, conn := s.connect(t)
	stick(t, conn)
	fill(t, conn, rpc.Droppable)
	for i := range 3 {
		c.call(fmt.Sprint(i), "wait")
		wait(t, g.entered, "the call")
	}
}

func TestWriteTimeout(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	s := serve(t, rpc.Options{WriteTimeout: 50 * time.Millisecond}, all(handler{handle: noop, closed: func() { close(closed) }}))
	_, conn := s.connect(t)
	conn.Send(event(t, 0, 4<<20), rpc.Durable)
	wait(t, closed, "the end of a connection whose peer does not read")
}

func TestLargeMessagesPass(t *testing.T) {
	t.Parallel()
	large := json.RawMessage(`"` + strings.Repeat("x", 6<<20) + `"`)
	s := serve(t, rpc.Options{}, all(methods{
		"large": func(context.Context, *rpc.Request) (any, error) { return large, nil },
		"size":  func(_ context.Context, req *rpc.Request) (any, error) { return len(req.Params), nil },
	}))
	c, conn := s.connect(t)
	c.call("1", "large")
	if got := c.receive(); !strings.Contains(got, string(large)) {
		t.Errorf("%d bytes came", len(got))
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"size","params":[%s]}`, large))
	c.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"result":%d}`, len(large)+2))
	conn.Send(large, rpc.Durable)
	if got := c.receive(); got != string(large) {
		t.Errorf("%d bytes came", len(got))
	}
}

// A client that sends faster than it is answered is slowed down, not cut off.
func TestPipeliningIsNotPunished(t *testing.T) {
	t.Parallel()
	const calls = 5000
	s := serve(t, rpc.Options{ReadPause: patience}, all(handler{handle: noop}))
	c := s.dial(t)
	var sent sync.WaitGroup
	sent.Go(func() {
		for i := range calls {
			c.call(fmt.Sprint(i), "noop")
		}
	})
	for range calls {
		if got := code(t, c.receive()); got != 0 && got != rpc.CodeTooManyInFlight {
			t.Fatalf("code %d", got)
		}
	}
	sent.Wait()
}

func TestPings(t *testing.T) {
	t.Parallel()
	t.Run("are answered", func(t *testing.T) {
		t.Parallel()
		s := serve(t, rpc.Options{}, all(handler{handle: noop}))
		c := s.dial(t)
		pong := make(chan string, 1)
		c.SetPongHandler(func(data string) error { pong <- data; return nil })
		if err := c.WriteControl(websocket.PingMessage, []byte("data"), time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		c.call("1", "noop")
		c.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
		c.call("2", "noop")
		c.expect(`{"jsonrpc":"2.0","id":2,"result":null}`)
		if got := wait(t, pong, "the pong"); got != "data" {
			t.Errorf("pong %q", got)
		}
	})
	t.Run("keep a connection", func(t *testing.T) {
		t.Parallel()
		s := serve(t, rpc.Options{PingInterval: 5 * time.Millisecond, PongTimeout: patience}, all(handler{handle: noop}))
		c := s.dial(t)
		pings := 0
		pong := c.PingHandler()
		c.SetPingHandler(func(data string) error {
			if pings++; pings == 5 {
				c.call("1", "noop")
			}
			return pong(data)
		})
		c.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
	})
	t.Run("without a pong end it", func(t *testing.T) {
		t.Parallel()
		s := serve(t, rpc.Options{PingInterval: 10 * time.Millisecond, PongTimeout: 50 * time.Millisecond}, all(handler{handle: noop}))
		c := s.dial(t)
		c.SetPingHandler(func(string) error { return nil })
		c.expectClose(rpc.CloseNoPong)
	})
}

func TestPeerCloses(t *testing.T) {
	t.Parallel()
	for _, payload := range [][]byte{{}, websocket.FormatCloseMessage(1000, "bye"), websocket.FormatCloseMessage(4321, "")} {
		g := newGate()
		closed := make(chan struct{})
		s := serve(t, rpc.Options{}, all(handler{handle: g.method, closed: func() { close(closed) }}))
		c := s.dial(t)
		c.call("1", "wait")
		wait(t, g.entered, "the call")
		if err := c.WriteControl(websocket.CloseMessage, payload, time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		want := websocket.CloseNoStatusReceived
		if len(payload) > 0 {
			want = int(payload[0])<<8 | int(payload[1])
		}
		c.expectClose(want)
		wait(t, closed, "the end")
	}
}

func TestPeerVanishes(t *testing.T) {
	t.Parallel()
	g := newGate()
	closed := make(chan struct{})
	s := serve(t, rpc.Options{}, all(handler{handle: g.method, closed: func() { close(closed) }}))
	c, conn := s.connect(t)
	c.call("1", "wait")
	wait(t, g.entered, "the call")
	_ = c.NetConn().(*net.TCPConn).SetLinger(0) // a reset
	_ = c.Close()
	wait(t, closed, "the end")
	if conn.Send([]byte(`{}`), rpc.Durable) {
		t.Error("a frame was queued after the end")
	}
	conn.Close(rpc.CloseNormal, "too late")
}

func TestPeerVanishesInTheMiddleOfAMessage(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	s := serve(t, rpc.Options{}, all(handler{handle: noop, closed: func() { close(closed) }}))
	c := s.dial(t)
	if _, err := c.NetConn().Write([]byte{0x81, 0x80 | 100, 0, 0, 0, 0, '{'}); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	wait(t, closed, "the end")
}

// What comes after the end was decided is not looked at, not even as rubbish.
func TestFramesAfterTheEndAreDiscarded(t *testing.T) {
	t.Parallel()
	var handled atomic.Int32
	s := serve(t, rpc.Options{CloseTimeout: patience}, all(handler{handle: func(context.Context, *rpc.Request) (any, error) {
		handled.Add(1)
		return nil, nil
	}}))
	c, conn := s.connect(t)
	conn.Close(rpc.CloseRevoked, "")
	for range 50 {
		c.call("1", "late")
		c.send("\xff")
		c.send("{")
	}
	if frames := c.expectClose(rpc.CloseRevoked); len(frames) > 0 {
		t.Errorf("frames %q", frames)
	}
	waitUntil(t, "the connection is gone", func() bool { return s.Len() == 0 })
	if n := handled.Load(); n != 0 {
		t.Errorf("%d requests were handled", n)
	}
}

func TestClosedComesOnceAndLast(t *testing.T) {
	t.Parallel()
	var running, calls atomic.Int32
	closed := make(chan int32, 10)
	linger := make(chan struct{})
	entered := make(chan struct{}, 10)
	s := serve(t, rpc.Options{}, all(handler{
		handle: func(ctx context.Context, _ *rpc.Request) (any, error) {
			running.Add(1)
			defer running.Add(-1)
			entered <- struct{}{}
			<-ctx.Done()
			<-linger // it takes its time
			return nil, ctx.Err()
		},
		closed: func() { calls.Add(1); closed <- running.Load() },
	}))
	c, conn := s.connect(t)
	c.call("1", "wait")
	c.send(`{"jsonrpc":"2.0","method":"wait"}`)
	c.send(`[{"jsonrpc":"2.0","id":2,"method":"wait"},{"jsonrpc":"2.0","method":"wait"}]`)
	for range 4 {
		wait(t, entered, "the requests")
	}
	conn.Close(rpc.CloseRevoked, strings.Repeat("é", 100))
	conn.Close(rpc.CloseNormal, "second")
	if frames := c.expectClose(rpc.CloseRevoked); len(frames) > 0 {
		t.Errorf("frames %q", frames)
	}
	select {
	case <-closed:
		t.Fatal("Closed while requests run")
	default:
	}
	close(linger)
	if n := wait(t, closed, "Closed"); n != 0 {
		t.Errorf("%d requests were running at Closed", n)
	}
	waitUntil(t, "the connection is gone", func() bool { return s.Len() == 0 })
	if n := calls.Load(); n != 1 {
		t.Errorf("Closed was called %d times", n)
	}
}

// waitUntil polls for something that happens without telling.
func waitUntil(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestCloseWritesWhatIsQueued(t *testing.T) {
	t.Parallel()
	s := serve(t, rpc.Options{}, all(handler{handle: noop}))
	c, conn := s.connect(t)
	for i := range 100 {
		conn.Send(event(t, i, 1000), rpc.Durable)
	}
	conn.Close(rpc.CloseExpired, "expired")
	if frames := c.expectClose(rpc.CloseExpired); len(frames) != 100 {
		t.Errorf("%d frames came, want 100", len(frames))
	}
}

func TestHandlerMayEndItsConnectionAtOnce(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	s := serve(t, rpc.Options{}, func(conn *rpc.Conn) rpc.Handler {
		conn.Send([]byte(`"hello"`), rpc.Durable)
		conn.Close(rpc.CloseProtocolAbuse, "no")
		return handler{handle: noop, closed: func() { close(closed); panic("secret") }}
	})
	c := s.dial(t)
	if frames := c.expectClose(rpc.CloseProtocolAbuse); len(frames) != 1 {
		t.Errorf("frames %q", frames)
	}
	wait(t, closed, "Closed")
}

func TestIdleConnectionHasTwoGoroutines(t *testing.T) {
	const connections = 200
	s := serve(t, rpc.Options{}, all(handler{handle: noop}))
	warm := s.dial(t)
	warm.call("1", "noop")
	warm.receive()
	count := func() (n int) {
		stacks := make([]byte, 8<<20)
		for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "jsonrpc2.NewConn") || strings.Contains(stack, "rpc.(*Conn)") {
				n++
			}
		}
		return n
	}
	const before = 2 // of the warm one
	waitUntil(t, "those of earlier tests have ended", func() bool { return count() == before })
	for range connections {
		c := s.dial(t)
		c.call("1", "noop")
		c.receive()
	}
	waitUntil(t, "each connection has two goroutines", func() bool { return count()-before == 2*connections })
}

func TestIdleConnectionHoldsNoFrame(t *testing.T) {
	const connections, size = 20, 1 << 20
	s := serve(t, rpc.Options{}, all(handler{handle: noop}))
	before := memory()
	for range connections {
		c := s.dial(t)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"noop","params":["` + strings.Repeat("x", size) + `"]}`)
		c.receive()
	}
	waitUntil(t, "the frames are collected", func() bool { return memory() < before+connections*size/4 })
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	g := newGate()
	s := serve(t, rpc.Options{}, all(methods{"wait": g.method, "noop": noop}))
	busy, batch, idle := s.dial(t), s.dial(t), s.dial(t)
	busy.call("1", "wait")
	batch.send(`[{"jsonrpc":"2.0","id":1,"method":"wait"},{"jsonrpc":"2.0","id":2,"method":"noop"}]`)
	wait(t, g.entered, "the call")
	wait(t, g.entered, "the batch")
	for range 3 {
		<-s.conns
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(t.Context(), []byte(`"notice"`), rpc.CloseRestart, "restart") }()
	if frames := idle.expectClose(rpc.CloseRestart); len(frames) != 1 || frames[0] != `"notice"` {
		t.Errorf("idle: frames %q, want the notice", frames)
	}
	late := s.dial(t)
	if frames := late.expectClose(rpc.CloseRestart); len(frames) != 1 || frames[0] != `"notice"` {
		t.Errorf("late: frames %q, want the notice", frames)
	}
	busy.expect(`"notice"`)
	busy.call("2", "noop") // still served
	busy.expect(`{"jsonrpc":"2.0","id":2,"result":null}`)
	select {
	case err := <-ended:
		t.Fatalf("shutdown returned while calls run: %v", err)
	default:
	}
	close(g.leave)
	if frames := busy.expectClose(rpc.CloseRestart); len(frames) != 1 || frames[0] != `{"jsonrpc":"2.0","id":1,"result":"left"}` {
		t.Errorf("busy: frames %q", frames)
	}
	want := []string{`"notice"`, `[{"jsonrpc":"2.0","id":1,"result":"left"},{"jsonrpc":"2.0","id":2,"result":null}]`}
	if diff := cmp.Diff(want, batch.expectClose(rpc.CloseRestart)); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
	if err := wait(t, ended, "the shutdown"); err != nil {
		t.Error(err)
	}
	if n := s.Len(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

func TestShutdownCutsShort(t *testing.T) {
	t.Parallel()
	g := newGate()
	s := serve(t, rpc.Options{}, all(methods{"wait": g.method}))
	c := s.dial(t)
	c.call("1", "wait")
	wait(t, g.entered, "the call")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(ctx, []byte(`"notice"`), rpc.CloseRestart, "restart") }()
	c.expect(`"notice"`)
	cancel()
	if frames := c.expectClose(rpc.CloseRestart); len(frames) != 0 {
		t.Errorf("frames %q", frames)
	}
	if err := wait(t, ended, "the shutdown"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

func TestShutdownDoesNotWaitForeverForAHandler(t *testing.T) {
	t.Parallel()
	leave, entered := make(chan struct{}), make(chan struct{})
	s := serve(t, rpc.Options{WriteTimeout: 50 * time.Millisecond, CloseTimeout: 50 * time.Millisecond}, all(handler{
		handle: func(context.Context, *rpc.Request) (any, error) { close(entered); <-leave; return nil, nil },
	}))
	c := s.dial(t)
	c.call("1", "ignores its context")
	wait(t, entered, "the call")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx, nil, rpc.CloseRestart, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := s.Len(); n != 1 {
		t.Errorf("%d connections, want the one whose handler hangs", n)
	}
	close(leave)
	waitUntil(t, "the connection is gone", func() bool { return s.Len() == 0 })
}
