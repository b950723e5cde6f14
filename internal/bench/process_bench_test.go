package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

// BenchmarkServerGet compares a round trip of v1.session.get with a bare echo of a
// message of the reply's size: wall time and the server's CPU.
func BenchmarkServerGet(b *testing.B) {
	srv := startServer(b, buildServer(b))
	echo := startEcho(b)
	conn, err := client.Dial(b.Context(), srv.url, client.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	var created v1.SessionResult
	if err := conn.Call(b.Context(), v1.MethodSessionCreate, map[string]any{}, &created); err != nil {
		b.Fatal(err)
	}
	request := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"v1.session.get","params":{"session_id":%q}}`, created.Session.ID)
	ours, theirs := dialRaw(b, srv.url), dialRaw(b, echo.url)
	size := len(roundTrip(b, ours, request))
	filler := make([]byte, size)
	for i := range filler {
		filler[i] = 'x'
	}
	b.ResetTimer()
	// In slices, one after the other, so that noise hits both alike.
	var get, bare sample
	const slice = 500
	for done := 0; done < b.N; done += slice {
		n := min(slice, b.N-done)
		get.add(b, srv, func() { trips(b, ours, request, n) })
		bare.add(b, echo, func() { trips(b, theirs, filler, n) })
	}
	b.ReportMetric(float64(get.wall.Nanoseconds())/float64(b.N), "get-ns/op")
	b.ReportMetric(float64(bare.wall.Nanoseconds())/float64(b.N), "echo-ns/op")
	b.ReportMetric(float64(get.cpu.Nanoseconds())/float64(b.N), "get-cpu-ns/op")
	b.ReportMetric(float64(bare.cpu.Nanoseconds())/float64(b.N), "echo-cpu-ns/op")
	b.ReportMetric(float64(get.cpu)/float64(bare.cpu), "cpu-ratio")
	b.ReportMetric(float64(get.wall)/float64(bare.wall), "wall-ratio")
}

type sample struct{ wall, cpu time.Duration }

func (s *sample) add(b *testing.B, p *process, f func()) {
	b.Helper()
	cpu, at := p.cpu(b), time.Now()
	f()
	s.wall += time.Since(at)
	s.cpu += p.cpu(b) - cpu
}

func trips(b *testing.B, ws *websocket.Conn, request []byte, n int) {
	b.Helper()
	for range n {
		roundTrip(b, ws, request)
	}
}

func roundTrip(b *testing.B, ws *websocket.Conn, request []byte) []byte {
	b.Helper()
	if err := ws.WriteMessage(websocket.TextMessage, request); err != nil {
		b.Fatal(err)
	}
	_, data, err := ws.ReadMessage()
	if err != nil {
		b.Fatal(err)
	}
	return data
}

const idleConnections = 2000

// BenchmarkServerIdleConnections measures resident memory per idle connection, next to
// a bare gorilla server with its default settings.
func BenchmarkServerIdleConnections(b *testing.B) {
	bin := buildServer(b)
	for b.Loop() {
		ours, bare := perConnection(b, startServer(b, bin)), perConnection(b, startEcho(b))
		b.ReportMetric(ours/1024, "KiB/conn")
		b.ReportMetric(bare/1024, "gorilla-KiB/conn")
		b.ReportMetric(ours/bare, "ratio")
	}
}

func perConnection(b *testing.B, p *process) float64 {
	b.Helper()
	_ = dialRaw(b, p.url).Close() // what the first connection costs once
	settled(b, p)
	before := p.resident(b)
	for range idleConnections {
		dialRaw(b, p.url)
	}
	return float64(settled(b, p)-before) / idleConnections
}

// settled waits until resident memory has stopped changing and returns it.
func settled(b *testing.B, p *process) int64 {
	b.Helper()
	last, same := p.resident(b), 0
	for range 100 {
		time.Sleep(100 * time.Millisecond) // a benchmark of memory at rest has to let it rest
		now := p.resident(b)
		if now == last {
			same++
		} else {
			last, same = now, 0
		}
		if same == 5 {
			break
		}
	}
	return last
}

// BenchmarkServerStart measures the time from exec to ready on an existing database
// and resident memory at rest.
func BenchmarkServerStart(b *testing.B) {
	bin := buildServer(b)
	var ready []time.Duration
	var memory int64
	for b.Loop() {
		p := startServer(b, bin)
		ready = append(ready, p.ready)
		memory = settled(b, p)
		_ = p.cmd.Process.Kill()
	}
	slices.Sort(ready)
	b.ReportMetric(float64(ready[len(ready)/2].Microseconds())/1000, "ready-ms")
	b.ReportMetric(float64(memory)/(1<<20), "MiB")
}
