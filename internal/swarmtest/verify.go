package swarmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

// Settle has the senders finish and waits until every session is idle.
func (s *Swarm) Settle(ctx context.Context) error {
	close(s.quiet)
	s.senders.Wait()
	if err := s.Err(); err != nil {
		return err
	}
	conn, err := client.Dial(ctx, s.o.URL(), client.Options{Token: s.o.Token})
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, id := range s.sessions {
		var got v1.SessionGetResult
		idle := func(Counts) bool {
			err = conn.Call(ctx, v1.MethodSessionGet, map[string]any{"session_id": id}, &got)
			return err != nil || got.Session.Status == v1.SessionIdle && got.Session.Queued == 0
		}
		if waited := s.Await(ctx, "session "+id+" to be idle", idle); waited != nil || err != nil {
			return errors.Join(waited, err, fmt.Errorf("session %s is %s with %d calls pending", id, got.Session.Status, len(got.Session.PendingToolCalls)))
		}
	}
	return nil
}

// Verify has the followers catch up and compares what they have with the server's own
// logs: no gap, no repeat, every entry the same. It looks every acknowledged message up
// and checks that every turn has ended. The swarm has ended when it returns.
func (s *Swarm) Verify(ctx context.Context) error {
	defer s.failed() // there is nothing left to cancel
	conn, err := client.Dial(ctx, s.o.URL(), client.Options{Token: s.o.Token})
	if err != nil {
		return err
	}
	defer conn.Close()
	logs := make(map[string]*serverLog)
	s.heads = make(map[string]int64)
	for _, id := range s.sessions {
		if logs[id], err = readLog(ctx, conn, id); err != nil {
			return err
		}
		s.heads[id] = int64(len(logs[id].digests))
	}
	close(s.finish)
	s.follow.Wait()
	errs := []error{s.Err()}
	for _, id := range s.sessions {
		for _, f := range s.logs {
			errs = append(errs, compare(f.name, id, f.logs[id].digests, logs[id].digests))
		}
		errs = append(errs, logs[id].checkTurns(id))
	}
	for i := range s.acks {
		errs = append(errs, logs[s.acks[i].session].find(&s.acks[i]))
	}
	return errors.Join(errs...)
}

// Stop ends the clients of a swarm that is not to be verified.
func (s *Swarm) Stop() {
	s.failed()
	s.senders.Wait()
	s.follow.Wait()
}

// serverLog is a session's log as the server tells it.
type serverLog struct {
	digests  []digest
	messages map[int64]storedMessage // of users, by seq
	texts    map[string]int          // how often a user said it
	open     map[string]bool         // turns that have not ended
	waiting  map[string]bool         // messages in the queue
}

type storedMessage struct {
	ID      string
	Role    v1.Role
	Content []struct{ Type, Text string }
}

func readLog(ctx context.Context, conn *client.Conn, id string) (*serverLog, error) {
	l := &serverLog{
		messages: make(map[int64]storedMessage), texts: make(map[string]int),
		open: make(map[string]bool), waiting: make(map[string]bool),
	}
	for more := true; more; {
		var page v1.LogResult
		err := conn.Call(ctx, v1.MethodSessionLog, map[string]any{"session_id": id, "after_seq": len(l.digests)}, &page)
		if err != nil {
			return nil, err
		}
		for _, raw := range page.Entries {
			var e v1.Entry
			if err := json.Unmarshal(raw, &e); err != nil {
				return nil, err
			}
			if err := l.add(e); err != nil {
				return nil, fmt.Errorf("session %s, entry %d: %w", id, e.Seq, err)
			}
		}
		more = page.More
	}
	return l, nil
}

func (l *serverLog) add(e v1.Entry) error {
	if e.Seq != int64(len(l.digests))+1 {
		return fmt.Errorf("follows entry %d", len(l.digests))
	}
	l.digests = append(l.digests, digestOf(e))
	switch e.Type { //nolint:exhaustive // the rest is compared only
	case v1.EventMessageAdded, v1.EventMessageQueued:
		var d struct{ Message storedMessage }
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		if d.Message.Role != v1.RoleUser || len(d.Message.Content) == 0 || d.Message.Content[0].Type != "text" {
			return nil
		}
		l.messages[e.Seq] = d.Message
		l.texts[d.Message.Content[0].Text]++
		if e.Type == v1.EventMessageQueued {
			l.waiting[d.Message.ID] = true
		}
	case v1.EventTurnStarted:
		var d v1.TurnStartedData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		delete(l.waiting, d.MessageID)
		l.open[e.TurnID] = true
	case v1.EventTurnCompleted:
		if !l.open[e.TurnID] {
			return fmt.Errorf("turn %s ends without having begun", e.TurnID)
		}
		delete(l.open, e.TurnID)
	}
	return nil
}

func (l *serverLog) checkTurns(id string) error {
	if len(l.open)+len(l.waiting) > 0 {
		return fmt.Errorf("session %s: %d turns have not ended, %d messages never had theirs", id, len(l.open), len(l.waiting))
	}
	return nil
}

// find looks an acknowledged message up: it must be where the server said, as it was
// sent, and nowhere else.
func (l *serverLog) find(a *ack) error {
	m, ok := l.messages[a.Seq]
	if !ok || m.ID != a.MessageID || m.Content[0].Text != a.text {
		return fmt.Errorf("lost: message %s %q was acknowledged as entry %d of session %s, which holds %+v", a.MessageID, a.text, a.Seq, a.session, m)
	}
	if n := l.texts[a.text]; n != 1 {
		return fmt.Errorf("message %q is %d times in session %s", a.text, n, a.session)
	}
	return nil
}

// compare finds the first difference between a follower's log and the server's.
func compare(name, id string, got, want []digest) error {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Errorf("%s, session %s: entry %d differs", name, id, i+1)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%s, session %s: has %d entries, the server %d", name, id, len(got), len(want))
	}
	return nil
}
