package swarmtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

// Options say how large a swarm is. All fields must be set but Token and Acknowledged.
type Options struct {
	// URL tells where the server is now; it may change while the swarm lives.
	URL       func() string
	Token     string
	Sessions  int
	Followers int // every third one reads slowly
	Senders   int
	Bytes     int // that the connections of followers live for, about
	Seed      uint64
	// Acknowledged is called by a sender at the very moment it knows that the server has
	// a message, from which on the server may not lose it.
	Acknowledged func()
}

// Counts tell what a swarm has been through.
type Counts struct {
	Connections  int64 // that were made
	Refused      int64 // attempts that failed
	SlowConsumer int64 // connections that the server gave up with 4008
	Acknowledged int64 // messages
	Repeated     int64 // of them, those that had been stored by an attempt before
	Results      int64 // of tools that were taken
	Late         int64 // that were not, because another follower was first
	Entries      int64 // of all logs at the end
}

func (c Counts) String() string {
	return fmt.Sprintf("%d connections (%d refused, %d given up as slow), %d messages acknowledged (%d on a repeat), %d tool results (%d late), %d entries",
		c.Connections, c.Refused, c.SlowConsumer, c.Acknowledged, c.Repeated, c.Results, c.Late, c.Entries)
}

// Swarm is a number of clients. Its methods are called one after the other, by one
// goroutine; Counts may be called at any time.
type Swarm struct {
	o        Options
	sessions []string

	quiet    chan struct{} // closed when senders are to finish
	finish   chan struct{} // closed when heads are known and followers are to catch up
	heads    map[string]int64
	senders  sync.WaitGroup
	follow   sync.WaitGroup
	logs     []*followed // of each follower
	counts   counters
	mu       sync.Mutex
	acks     []ack
	failures []error
	failed   context.CancelFunc
}

type counters struct {
	connections, refused, slow, acked, repeated, results, late atomic.Int64
}

// tool is what clients offer to the model.
const tool = `[{"name":"look","description":"looks something up","input_schema":{"type":"object","properties":{"at":{"type":"string"}}}}]`

// New makes a swarm and its sessions.
func New(ctx context.Context, o Options) (*Swarm, error) {
	if o.Acknowledged == nil {
		o.Acknowledged = func() {}
	}
	s := &Swarm{o: o, quiet: make(chan struct{}), finish: make(chan struct{})}
	conn, err := client.Dial(ctx, o.URL(), client.Options{Token: o.Token})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	for range o.Sessions {
		var made v1.SessionResult
		if err := conn.Call(ctx, v1.MethodSessionCreate, map[string]any{"tools": rawJSON(tool)}, &made); err != nil {
			return nil, err
		}
		s.sessions = append(s.sessions, made.Session.ID)
	}
	return s, nil
}

// Start starts all clients. They end by Settle and Verify, or with ctx.
func (s *Swarm) Start(ctx context.Context) {
	ctx, s.failed = context.WithCancel(ctx)
	for i := range s.o.Followers {
		f := newFollowed(s, i)
		s.logs = append(s.logs, f)
		s.follow.Go(func() { s.report(f.run(ctx)) })
	}
	for i := range s.o.Senders {
		s.senders.Go(func() { s.report(s.newSender(i).run(ctx)) })
	}
}

// report notes what a client ended with. A failure ends the others: one is enough.
func (s *Swarm) report(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(err, context.Canceled) || len(s.failures) == 0 {
		s.failures = append(s.failures, err)
	}
	s.failed()
}

// Err returns what has failed so far.
func (s *Swarm) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.failures...)
}

// Counts returns the counts so far; Entries are known after Verify.
func (s *Swarm) Counts() Counts {
	var entries int64
	select {
	case <-s.finish:
		for _, head := range s.heads {
			entries += head
		}
	default:
	}
	c := &s.counts
	return Counts{
		Connections: c.connections.Load(), Refused: c.refused.Load(), SlowConsumer: c.slow.Load(),
		Acknowledged: c.acked.Load(), Repeated: c.repeated.Load(), Results: c.results.Load(), Late: c.late.Load(), Entries: entries,
	}
}

// Await waits until a condition on the counts holds. It fails as soon as a client has.
func (s *Swarm) Await(ctx context.Context, what string, condition func(Counts) bool) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for !condition(s.Counts()) {
		if err := s.Err(); err != nil {
			return err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s, so far %v: %w", what, s.Counts(), ctx.Err())
		}
	}
	return nil
}

// pollInterval is how often conditions are looked at that nobody announces.
const pollInterval = 10 * time.Millisecond

// rawJSON is sent as it is.
type rawJSON string

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func (s *Swarm) random(stream int) *rand.Rand {
	return rand.New(rand.NewPCG(s.o.Seed, uint64(stream)))
}

// retry says whether an error may pass: what a connection or a server ends with that
// is cut off, restarted or has too much to do.
func retry(err error) bool {
	for _, kind := range []v1.Kind{v1.KindShuttingDown, v1.KindOverloaded, v1.KindQueueFull, v1.KindTooManyInFlight} {
		if client.IsKind(err, kind) {
			return true
		}
	}
	_, answered := errors.AsType[*client.Error](err)
	return !answered && !errors.Is(err, client.ErrOrder) && !errors.Is(err, errBroken)
}

// errBroken marks failures of the server that a new connection does not mend.
var errBroken = errors.New("the server broke its word")
