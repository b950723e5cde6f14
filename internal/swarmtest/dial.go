package swarmtest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"sessiond/internal/client"
)

// dialer connects in the way a client wants to lose its connections: after about so
// many bytes, or, if they are 0, by being slow.
type dialer struct {
	bytes  int
	random *rand.Rand
}

// dial connects until it succeeds. When the swarm finishes, connections last.
func (s *Swarm) dial(ctx context.Context, d dialer) (*client.Conn, error) {
	for {
		o := client.Options{Token: s.o.Token}
		select {
		case <-s.finish:
		default:
			o.NetDial = d.frail
			if d.bytes == 0 {
				o.NetDial, o.ReadBuffer = narrow, 1
			}
		}
		s.counts.connections.Add(1)
		conn, err := client.Dial(ctx, s.o.URL(), o)
		if err == nil {
			return conn, nil
		}
		s.counts.refused.Add(1)
		if err := pause(ctx, d.random, retryPause); err != nil {
			return nil, err
		}
	}
}

const (
	// handshakeBytes is about what an upgrade takes; most cuts come after it.
	handshakeBytes = 450
	retryPause     = 20 * time.Millisecond
	narrowBytes    = 4 << 10
)

// frail makes a connection that is going to be cut.
func (d dialer) frail(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	// Most lives are short, but some are long enough for any page: a client that never
	// got one through could not go on.
	life := math.Pow(d.random.ExpFloat64(), 3) * float64(d.bytes)
	cut := &cutConn{Conn: conn}
	cut.left.Store(handshakeBytes + int64(life))
	return cut, nil
}

// narrow makes a connection for which the kernel buffers little, so that the server
// notices a slow reader.
func narrow(ctx context.Context, network, address string) (net.Conn, error) {
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, narrowBytes)
		}), err)
	}}
	return small.DialContext(ctx, network, address)
}

// pause waits for a random time of about d.
func pause(ctx context.Context, r *rand.Rand, d time.Duration) error {
	timer := time.NewTimer(time.Duration(r.ExpFloat64() * float64(d)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cutConn is a connection that breaks after so many bytes in both directions.
type cutConn struct {
	net.Conn
	left atomic.Int64
}

var errCut = errors.New("the connection was cut")

// Read implements net.Conn.
func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.left.Add(-int64(n)) < 0 {
		_ = c.Close()
		return 0, errCut
	}
	return n, err
}

// Write implements net.Conn. The last write goes out in part.
func (c *cutConn) Write(p []byte) (int, error) {
	left := c.left.Add(-int64(len(p)))
	if left >= 0 {
		return c.Conn.Write(p)
	}
	n, _ := c.Conn.Write(p[:max(0, int64(len(p))+left)])
	_ = c.Close()
	return n, errCut
}
