package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

// LinkOptions say how to reach a server.
type LinkOptions struct {
	URL   string // of the WebSocket
	Dial  client.Options
	Model string // of sessions that are begun here; empty: the server's default
	// Tries is how often a connection that was lost is tried to be made again before the
	// link gives up; 0: for ever.
	Tries int
}

// A lost connection is made again after a pause, which doubles up to the last one until
// something good has come from the server.
const (
	firstReconnect = 250 * time.Millisecond
	lastReconnect  = 4 * time.Second
)

// events and actions that may wait. A shell that stops reading events stops the link; an
// action too many is refused.
const (
	waitingEvents  = 256
	waitingActions = 64
)

// subscribeTimeout is how long a server may take to answer a subscription before the
// connection is taken for lost.
const subscribeTimeout = 30 * time.Second

// Link is a connection to a server that is made again whenever it is lost, and the session
// that is open on it. Make it with [Connect].
type Link struct {
	opts    LinkOptions
	cancel  context.CancelFunc
	running sync.WaitGroup
	ended   sync.Once
	events  chan Event
	actions chan Action
	follow  chan switching

	mu        sync.Mutex
	conn      *client.Conn  // nil while there is none
	changed   chan struct{} // closed when conn is set
	sessionID string        // of the session that is open

	// Of the goroutine that follows.
	place    *client.Follower // nil: no session is followed
	received int64            // entries since it was subscribed
	pause    time.Duration    // before the next connection is made
}

// switching asks to follow another session, or none.
type switching struct {
	place *client.Follower
	done  chan struct{} // closed when it does
}

// Connect connects to a server. The first attempt decides: an error is final. The link ends
// with ctx, or by Close.
func Connect(ctx context.Context, o LinkOptions) (*Link, error) {
	conn, err := client.Dial(ctx, o.URL, o.Dial)
	if err != nil {
		return nil, err
	}
	var info v1.ServerInfoResult
	if err := conn.Call(ctx, v1.MethodServerInfo, nil, &info); err != nil {
		conn.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &Link{
		opts: o, cancel: cancel,
		events: make(chan Event, waitingEvents), actions: make(chan Action, waitingActions), follow: make(chan switching),
		conn: conn, changed: make(chan struct{}), pause: firstReconnect,
	}
	l.events <- Connected{URL: o.URL, Info: info}
	l.running.Add(2)
	go func() {
		defer l.running.Done()
		l.keep(ctx, conn)
	}()
	go func() {
		defer l.running.Done()
		l.work(ctx)
	}()
	return l, nil
}

// Events are what happens, in order. It is closed by Close.
func (l *Link) Events() <-chan Event { return l.events }

// Do has actions done, one after the other; but Compact and Stop do not wait for those
// before them, and nothing waits for a Compact. It does not block. If it returns false, too
// much is waiting and the action is not done.
func (l *Link) Do(a Action) bool {
	select {
	case l.actions <- a:
		return true
	default:
		return false
	}
}

// Close ends the link and waits until it has ended. What was asked for may or may not be
// done. It may be called again.
func (l *Link) Close() {
	l.ended.Do(func() {
		l.cancel()
		l.running.Wait()
		close(l.events)
	})
}

// emit reports an event. It blocks while too many wait.
func (l *Link) emit(ctx context.Context, e Event) {
	select {
	case l.events <- e:
	case <-ctx.Done():
	}
}

// keep follows the session on one connection after the other.
func (l *Link) keep(ctx context.Context, conn *client.Conn) {
	for {
		err := l.listen(ctx, conn)
		l.retire(conn)
		if ctx.Err() != nil {
			return
		}
		l.emit(ctx, Lost{err})
		if conn, err = l.reconnect(ctx, err); err != nil {
			l.emit(ctx, Ended{err})
			return
		}
	}
}

// reconnect makes a connection on which the session is followed again.
func (l *Link) reconnect(ctx context.Context, err error) (*client.Conn, error) {
	for try := 0; ; try++ {
		if isFinal(err) || l.opts.Tries > 0 && try >= l.opts.Tries {
			return nil, err
		}
		select {
		case <-time.After(l.pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		l.pause = min(2*l.pause, lastReconnect)
		var conn *client.Conn
		if conn, err = client.Dial(ctx, l.opts.URL, l.opts.Dial); err != nil {
			continue
		}
		if err = l.subscribe(ctx, conn, true); err != nil {
			conn.Close()
			continue
		}
		l.mu.Lock()
		l.conn = conn
		close(l.changed)
		l.changed = make(chan struct{})
		l.mu.Unlock()
		return conn, nil
	}
}

// isLost reports whether an error is one of the connection, or of a server that is going
// away: the same call may work on another connection.
func isLost(err error) bool {
	_, isReply := errors.AsType[*client.Error](err)
	return !isReply || client.IsKind(err, v1.KindShuttingDown)
}

// isFinal reports whether an error says that the server does not want us back.
func isFinal(err error) bool {
	if client.IsKind(err, v1.KindUnauthenticated) || client.IsKind(err, v1.KindForbidden) {
		return true
	}
	closed, ok := errors.AsType[*websocket.CloseError](err)
	return ok && closed.Code >= 4500
}

// retire takes a connection out of use. Whoever waits for one gets the next.
func (l *Link) retire(conn *client.Conn) {
	l.mu.Lock()
	if l.conn == conn {
		l.conn = nil
	}
	l.mu.Unlock()
	conn.Close()
}

// listen handles a connection's notifications until it ends.
func (l *Link) listen(ctx context.Context, conn *client.Conn) error {
	for {
		select {
		case n, ok := <-conn.Notifications():
			if !ok {
				return conn.Err()
			}
			if err := l.notified(ctx, n); err != nil {
				return err
			}
			l.pause = firstReconnect
		case s := <-l.follow:
			err := l.change(ctx, conn, s)
			close(s.done)
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change follows another session in place of the one so far.
func (l *Link) change(ctx context.Context, conn *client.Conn, s switching) error {
	if l.place != nil {
		err := conn.Call(ctx, v1.MethodSessionUnsubscribe, map[string]any{"session_id": l.place.SessionID}, nil)
		if err != nil && isLost(err) {
			l.place = s.place
			return err
		}
	}
	l.place = s.place
	return l.subscribe(ctx, conn, false)
}

// subscribe follows the session, if one is open, from where it was followed to. Being told
// that it is gone ends only the session.
func (l *Link) subscribe(ctx context.Context, conn *client.Conn, again bool) error {
	if l.place == nil {
		if again {
			l.emit(ctx, Resumed{Again: true})
		}
		return nil
	}
	l.place.OnEntry = func(e v1.Entry) error {
		l.received++
		if e.Type == v1.EventSessionDeleted {
			l.forget(l.place.SessionID)
		}
		l.emit(ctx, Logged{e})
		return nil
	}
	l.place.OnDelta = func(d v1.Delta) { l.emit(ctx, Streamed{d}) }
	l.place.OnActivity = func(a v1.Activity) { l.emit(ctx, Busied{a}) }
	l.received = 0
	timed, cancel := context.WithTimeout(ctx, subscribeTimeout)
	defer cancel()
	result, err := l.place.Subscribe(timed, conn)
	switch {
	case client.IsKind(err, v1.KindLogReset):
		l.place.LogID, l.place.LastSeq = "", 0
		l.emit(ctx, Reset{})
		return l.subscribe(ctx, conn, again)
	case client.IsKind(err, v1.KindNotFound):
		l.forget(l.place.SessionID)
		l.place = nil
		l.emit(ctx, Opened{Gone: true})
		return nil
	case err != nil:
		return fmt.Errorf("follow session %s: %w", l.place.SessionID, err)
	}
	l.emit(ctx, Resumed{Session: result.Session, OpenItems: result.OpenItems, Again: again, Missed: l.received})
	return nil
}

// open returns the session that is open.
func (l *Link) open() (sessionID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessionID
}

func (l *Link) setOpen(sessionID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessionID = sessionID
}

// forget leaves a session that is gone: the next message begins another.
func (l *Link) forget(sessionID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sessionID == sessionID {
		l.sessionID = ""
	}
}

// notified takes a notification.
func (l *Link) notified(ctx context.Context, n client.Notification) error {
	switch n.Method {
	case v1.NotifyProgress:
		var p v1.SessionProgress
		if err := json.Unmarshal(n.Params, &p); err != nil {
			return err
		}
		if l.place != nil && p.SessionID == l.place.SessionID {
			l.emit(ctx, Progressed{p.Progress})
		}
	case v1.NotifyServer:
		var s v1.ServerNotice
		if err := json.Unmarshal(n.Params, &s); err != nil {
			return err
		}
		l.emit(ctx, Noticed{s})
	default:
		if l.place != nil {
			return l.place.Handle(n)
		}
	}
	return nil
}

// callTries is on how many connections a call is made: one that loses each of them is to
// blame itself.
const callTries = 5

// call makes a call, on the next connection if this one is lost. Calls that write have a
// key, so that they happen once.
func (l *Link) call(ctx context.Context, method string, params map[string]any, result any) error {
	var given any // no params are none, not null
	if params != nil {
		given = params
	}
	for try := 1; ; try++ {
		conn, err := l.connection(ctx)
		if err != nil {
			return err
		}
		var raw json.RawMessage // what can't be decoded is no lost connection
		err = conn.Call(ctx, method, given, &raw)
		switch {
		case err == nil && result == nil:
			return nil
		case err == nil:
			return json.Unmarshal(raw, result)
		case ctx.Err() != nil:
			return ctx.Err()
		case !isLost(err) || try == callTries:
			return err
		}
		l.retire(conn)
	}
}

// connection waits for a connection.
func (l *Link) connection(ctx context.Context) (*client.Conn, error) {
	for {
		l.mu.Lock()
		conn, changed := l.conn, l.changed
		l.mu.Unlock()
		if conn != nil {
			return conn, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
