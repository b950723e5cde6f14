package main

import (
	"context"
	"fmt"
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
// messages, follow the logs and answer tool calls: every other time at any moment, else
// at the very moment when it has acknowledged a message. What was acknowledged is there
// afterwards, every turn ends, and all clients have the server's logs.
func TestKillTorture(t *testing.T) {
	for _, db := range databases() {
		t.Run(db.name, func(t *testing.T) {
			n := kills * tortureScale(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(tortureScale(t))*5*time.Minute)
			defer cancel()
			v := &victim{url: db.url(t), random: rand.New(rand.NewPCG(3, 4))}
			v.start(t)
			swarm, err := swarmtest.New(ctx, swarmtest.Options{
				URL: v.address, Acknowledged: v.acknowledged,
				Sessions: 20, Followers: 6, Senders: 4, Bytes: 64 << 10, Seed: 2,
			})
			if err != nil {
				t.Fatal(err)
			}
			swarm.Start(ctx)
			defer swarm.Stop()
			for i := range n {
				before := swarm.Counts().Acknowledged
				err := swarm.Await(ctx, "a message to be acknowledged", func(c swarmtest.Counts) bool { return c.Acknowledged > before })
				if err != nil {
					t.Fatal(err)
				}
				if err := v.die(ctx, swarm, i%2 == 0); err != nil {
					t.Fatal(err)
				}
				v.start(t)
			}
			if err := swarm.Settle(ctx); err != nil {
				t.Fatal(err)
			}
			if err := swarm.Verify(ctx); err != nil {
				t.Fatal(err)
			}
			t.Logf("killed %d times: %v", n, swarm.Counts())
		})
	}
}

// victim is a server that is killed and started again on the same database.
type victim struct {
	url    string
	random *rand.Rand
	server *child
	addr   atomic.Value          // string
	trap   atomic.Pointer[child] // is killed by the next acknowledgement
}

func (v *victim) start(t *testing.T) {
	t.Helper()
	v.server = spawn(t, settings(v.url, "SESSIOND_SERVER__LIMITS__QUEUED_MESSAGES=3"))
	v.addr.Store(v.server.ready(t))
}

func (v *victim) address() string { return "ws://" + v.addr.Load().(string) + "/v1/rpc" }

// acknowledged is called by whoever has just got an acknowledgement.
func (v *victim) acknowledged() {
	if c := v.trap.Swap(nil); c != nil {
		_ = c.cmd.Process.Kill() // whoever waits for its end sees how it went
	}
}

// die kills the server with the next acknowledgement, or after a random while.
func (v *victim) die(ctx context.Context, swarm *swarmtest.Swarm, acknowledging bool) error {
	if acknowledging {
		v.trap.Store(v.server)
	} else {
		process := v.server.cmd.Process
		time.AfterFunc(time.Duration(v.random.Int64N(int64(longestLife))), func() { _ = process.Kill() })
	}
	err := swarm.Await(ctx, "the server to be killed", func(swarmtest.Counts) bool {
		select {
		case <-v.server.ended:
			return true
		default:
			return false
		}
	})
	if err == nil && !v.server.killed() {
		err = fmt.Errorf("the server ended by itself: %s", v.server.stderr.String())
	}
	return err
}
