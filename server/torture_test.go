package server_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"sessiond/internal/swarmtest"
	"sessiond/internal/testenv"
	"sessiond/llm/demo"
	"sessiond/session"
	"sessiond/store"
	"sessiond/store/postgres"
	"sessiond/store/sqlite"
)

// database is one that servers keep sessions in for good.
type database struct {
	name string
	open func(t *testing.T) store.Store
}

func databases() []database {
	return []database{
		{"sqlite", func(t *testing.T) store.Store {
			t.Helper()
			return opened(sqlite.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "test.db"), sqlite.Options{}))(t)
		}},
		{"postgres", func(t *testing.T) store.Store {
			t.Helper()
			return opened(postgres.Open(t.Context(), testenv.Postgres(t), postgres.Options{}))(t)
		}},
	}
}

func opened[S store.Store](st S, err error) func(*testing.T) store.Store {
	return func(t *testing.T) store.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
}

// tortureTimeout ends a torture that hangs; it takes seconds.
const tortureTimeout = 5 * time.Minute

// tortureScale is how many times as long the tortures are that TORTURE asks for.
func tortureScale(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("TORTURE")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("TORTURE is %q, not how many times as long to go on", text)
	}
	return int64(n)
}

// buffersLittle keeps the kernel from taking what a slow client does not.
func buffersLittle(ctx context.Context, conn net.Conn) context.Context {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(16 << 10)
	}
	return ctx
}

// TestResumeTorture: clients whose connections are cut anywhere, hundreds of times,
// end with exactly the server's log.
func TestResumeTorture(t *testing.T) {
	for _, db := range databases() {
		t.Run(db.name, func(t *testing.T) {
			scale := tortureScale(t)
			ctx, cancel := context.WithTimeout(t.Context(), tortureTimeout*time.Duration(scale))
			defer cancel()
			w := newWorld(t, setup{
				store: db.open(t), model: demo.New(demo.Options{Pause: 2 * time.Millisecond}),
				options: session.Options{Models: []string{demo.Name}}, conns: buffersLittle,
			})
			s, err := swarmtest.New(ctx, swarmtest.Options{
				URL: w.url, Sessions: 5, Followers: 9, Senders: 4, Bytes: 8 << 10, Seed: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			s.Start(ctx)
			defer s.Stop()
			err = s.Await(ctx, "enough connections to be cut", func(c swarmtest.Counts) bool {
				return c.Connections-c.Refused >= 300*scale && c.Acknowledged >= 120*scale && c.Repeated >= 4*scale && c.Results >= 60*scale && c.SlowConsumer >= 1
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Settle(ctx); err != nil {
				t.Fatal(err)
			}
			if err := s.Verify(ctx); err != nil {
				t.Fatal(err)
			}
			t.Log(s.Counts())
		})
	}
}
