package rpc_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"sessiond/rpc"
)

// rawClient speaks WebSocket with the least work there can be: it sends one
// frame, masked beforehand with a zero key, and reads a fixed number of bytes.
// What a benchmark measures is then the server.
type rawClient struct {
	conn  net.Conn
	frame []byte
	reply []byte
}

func dialRaw(tb testing.TB, url, message, reply string) *rawClient {
	tb.Helper()
	if len(message) > 125 || len(reply) > 125 {
		tb.Fatal("a short frame is wanted")
	}
	ws, resp, err := websocket.DefaultDialer.Dial(url, nil)
	if err != nil {
		tb.Fatal(err)
	}
	_ = resp.Body.Close()
	conn := ws.NetConn() // the rest, with its buffers, is garbage from here on
	tb.Cleanup(func() { _ = conn.Close() })
	return &rawClient{
		conn:  conn,
		frame: append([]byte{0x81, 0x80 | byte(len(message)), 0, 0, 0, 0}, message...),
		reply: make([]byte, 2+len(reply)),
	}
}

func (c *rawClient) roundTrip() error {
	if _, err := c.conn.Write(c.frame); err != nil {
		return err
	}
	_, err := io.ReadFull(c.conn, c.reply)
	return err
}

// echo is the baseline: gorilla with its defaults and nothing else.
func echo(tb testing.TB) string {
	tb.Helper()
	var upgrader websocket.Upgrader
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.Close() }()
		for {
			kind, data, err := ws.ReadMessage()
			if err != nil {
				return
			}
			if err := ws.WriteMessage(kind, data); err != nil {
				return
			}
		}
	}))
	tb.Cleanup(web.Close)
	return "ws" + strings.TrimPrefix(web.URL, "http")
}

// cost is the time and the CPU time of the whole process.
type cost struct{ wall, cpu time.Duration }

func measure(tb testing.TB, c *rawClient, rounds int) cost {
	tb.Helper()
	start, before := time.Now(), cpuTime(tb)
	for range rounds {
		if err := c.roundTrip(); err != nil {
			tb.Fatal(err)
		}
	}
	return cost{time.Since(start), cpuTime(tb) - before}
}

func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCall measures a call that does nothing against a bare gorilla echo of
// the same size, taking turns in the same run. The CPU includes a client that
// costs next to nothing.
func BenchmarkCall(b *testing.B) {
	noop := methods{"v1.bench.noop": func(context.Context, *rpc.Request) (any, error) {
		return json.RawMessage(`{"ok":true}`), nil
	}}
	b.Run("goroutine", func(b *testing.B) { compareWithEcho(b, noop) })
	b.Run("inline", func(b *testing.B) { compareWithEcho(b, inliner{noop}) })
}

// inliner handles everything in the reader's goroutine.
type inliner struct{ methods }

func (inliner) Inline(string) bool { return true }

func compareWithEcho(b *testing.B, h rpc.Handler) {
	b.Helper()
	const rounds = 100
	const request = `{"jsonrpc":"2.0","id":1234,"method":"v1.bench.noop","params":{"session_id":"0190d3a4-0000-7000-8000-000000000000"}}`
	const answer = `{"jsonrpc":"2.0","id":1234,"result":{"ok":true}}`
	ours := dialRaw(b, serve(b, rpc.Options{}, all(h)).url, request, answer)
	bare := dialRaw(b, echo(b), request, request)
	var call, plain cost
	b.ReportAllocs()
	for b.Loop() {
		c, p := measure(b, ours, rounds), measure(b, bare, rounds)
		call.wall, call.cpu = call.wall+c.wall, call.cpu+c.cpu
		plain.wall, plain.cpu = plain.wall+p.wall, plain.cpu+p.cpu
	}
	n := float64(b.N) * rounds
	b.ReportMetric(float64(call.cpu)/n, "cpu-ns/call")
	b.ReportMetric(float64(plain.cpu)/n, "cpu-ns/echo")
	b.ReportMetric(float64(call.cpu)/float64(plain.cpu), "cpu-ratio")
	b.ReportMetric(float64(call.wall)/float64(plain.wall), "time-ratio")
}

// BenchmarkIdleConnection measures what an idle connection holds, after it has
// made a call, next to one of a bare gorilla echo. Both include the client's
// socket. The kernel's part is not in it.
func BenchmarkIdleConnection(b *testing.B) {
	const message = `{"jsonrpc":"2.0","id":1,"method":"noop"}`
	noop := methods{"noop": func(context.Context, *rpc.Request) (any, error) { return nil, nil }}
	s := serve(b, rpc.Options{}, all(noop))
	ours := holdConnections(b, s.url, message, `{"jsonrpc":"2.0","id":1,"result":null}`)
	bare := holdConnections(b, echo(b), message, message)
	b.Run("rpc", func(b *testing.B) { b.ReportMetric(ours, "B/connection") })
	b.Run("echo", func(b *testing.B) { b.ReportMetric(bare, "B/connection") })
}

// holdConnections opens many connections and returns the bytes in use for each.
func holdConnections(b *testing.B, url, message, answer string) float64 {
	b.Helper()
	const connections = 2000
	before := memory()
	for range connections {
		if err := dialRaw(b, url, message, answer).roundTrip(); err != nil {
			b.Fatal(err)
		}
	}
	return float64(memory()-before) / connections
}

// memory returns the bytes in use by heap and stacks after a collection.
func memory() uint64 {
	var m runtime.MemStats
	for range 3 { // pools and stacks need more than one
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkFanOut measures one frame to a thousand connections, encoded once.
func BenchmarkFanOut(b *testing.B) {
	const connections = 1000
	s := serve(b, rpc.Options{}, all(methods{}))
	frame, err := rpc.EncodeNotification("event", json.RawMessage(`{"text":"`+strings.Repeat("x", 60)+`"}`))
	if err != nil {
		b.Fatal(err)
	}
	var clients []*rawClient
	var conns []*rpc.Conn
	for range connections {
		clients = append(clients, dialRaw(b, s.url, "", string(frame)))
		conns = append(conns, <-s.conns)
	}
	for b.Loop() {
		for _, c := range conns {
			c.Send(frame, rpc.Durable)
		}
		for _, c := range clients {
			if _, err := io.ReadFull(c.conn, c.reply); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/connections, "ns/frame")
}
