package swarmtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

// ack is a message that the server said it has stored.
type ack struct {
	session, text string
	v1.MessageSendResult
}

// sender sends one message after the other.
type sender struct {
	s      *Swarm
	n      int
	random *rand.Rand
	conn   *client.Conn
}

func (s *Swarm) newSender(n int) *sender {
	return &sender{s: s, n: n, random: s.random(1000 + n)}
}

// sendPause is about how long a sender thinks between two messages.
const sendPause = 50 * time.Millisecond

// senderBytes is about what one call and its reply take beside the text: connections
// break between the two as often as elsewhere.
const senderBytes = 100

// run sends until the swarm is to be quiet; what was begun is brought to its end.
func (d *sender) run(ctx context.Context) error {
	defer func() {
		if d.conn != nil {
			d.conn.Close()
		}
	}()
	for i := 0; ; i++ {
		select {
		case <-d.s.quiet:
			return nil
		default:
		}
		name := fmt.Sprintf("m%d-%d", d.n, i)
		a := ack{session: d.s.sessions[d.random.IntN(len(d.s.sessions))], text: d.text(name)}
		if err := d.send(ctx, name, &a); err != nil {
			return fmt.Errorf("sender %d, message %d: %w", d.n, i, err)
		}
		d.s.counts.acked.Add(1)
		if a.Replayed {
			d.s.counts.repeated.Add(1)
		}
		d.s.mu.Lock()
		d.s.acks = append(d.s.acks, a)
		d.s.mu.Unlock()
		if err := pause(ctx, d.random, sendPause); err != nil {
			return err
		}
	}
}

// text is something the demo model answers in one of its ways. The name makes it the
// only one of its kind.
func (d *sender) text(name string) string {
	switch d.random.IntN(32) {
	case 0, 1, 2, 3, 4, 5:
		return fmt.Sprintf(`call look {"at":%q}`, name)
	case 6, 7, 8:
		return fmt.Sprintf(`call look {"at":%q} 3 times in parallel`, name)
	case 9, 10, 11:
		return fmt.Sprintf(`call look {"at":%q} 2 times`, name)
	case 12, 13, 14:
		return "plan a walk, " + name
	case 15, 16, 17:
		return "count to 40, " + name
	case 18:
		return "hello, this is " + name + strings.Repeat(" and I talk a lot", 3500) // 60 KB
	default:
		return "hello, this is " + name
	}
}

// send repeats a message under its key until the server has it.
func (d *sender) send(ctx context.Context, key string, a *ack) error {
	for {
		if d.conn == nil {
			var err error
			if d.conn, err = d.s.dial(ctx, dialer{senderBytes + len(a.text), d.random}); err != nil {
				return err
			}
		}
		err := d.conn.Call(ctx, v1.MethodMessageSend, map[string]any{"session_id": a.session, "content": a.text, "key": key}, &a.MessageSendResult)
		switch {
		case err == nil:
			d.s.o.Acknowledged()
			return nil
		case ctx.Err() != nil || !retry(err):
			return err
		}
		select {
		case <-d.conn.Done():
			d.conn = nil
		default: // it lives and said why not
			if client.IsKind(err, v1.KindShuttingDown) {
				d.conn.Close()
				d.conn = nil
			}
		}
		if err := pause(ctx, d.random, retryPause); err != nil {
			return err
		}
	}
}
