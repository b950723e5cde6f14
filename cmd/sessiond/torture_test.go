package main

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"sessiond/internal/swarmtest"
)

// kills is how often the server is killed in one run, and TORTURE times as often.
const kills = 25

// longestLife is about how long a server lives after it is ready.
const longestLife = 600 * time.Millisecond

func tortureScale(t *testing.T) int {
	t.Helper()
	text := os.Getenv("TORTURE")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("TORTURE is %q, not how many times as long to go on", text)
	}
	return n
}

// TestKillTorture kills the server's process again and again while clients send
// messages, follow the logs and answer tool calls. What was acknowledged is there
// afterwards, every turn ends, and all clients have the server's logs.
func TestKillTorture(t *testing.T) {
	for _, db := range databases() {
		t.Run(db.name, func(t *testing.T) {
			url := db.url(t)
			scale := tortureScale(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(scale)*5*time.Minute)
			defer cancel()
			var addr atomic.Value
			start := func() *child {
				c := spawn(t, settings(url, "SESSIOND_SERVER__LIMITS__QUEUED_MESSAGES=3"))
				addr.Store(c.ready(t))
				return c
			}
			server := start()
			swarm, err := swarmtest.New(ctx, swarmtest.Options{
				URL:      func() string { return "ws://" + addr.Load().(string) + "/v1/rpc" },
				Sessions: 20, Followers: 6, Senders: 4, Bytes: 64 << 10, Seed: 2,
			})
			if err != nil {
				t.Fatal(err)
			}
			swarm.Start(ctx)
			defer swarm.Stop()
			random := rand.New(rand.NewPCG(3, 4))
			for range kills * scale {
				before := swarm.Counts().Acknowledged
				err := swarm.Await(ctx, "a message to be acknowledged", func(c swarmtest.Counts) bool { return c.Acknowledged > before })
				if err != nil {
					t.Fatal(err)
				}
				select {
				case <-time.After(time.Duration(random.Int64N(int64(longestLife)))):
				case <-server.ended:
					t.Fatalf("the server ended by itself: %s", server.stderr.String())
				}
				server.kill()
				server = start()
			}
			if err := swarm.Settle(ctx); err != nil {
				t.Fatal(err)
			}
			if err := swarm.Verify(ctx); err != nil {
				t.Fatal(err)
			}
			t.Logf("killed %d times: %v", kills*scale, swarm.Counts())
		})
	}
}
