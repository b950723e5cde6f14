package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"sessiond/llm"
	"sessiond/store"
)

// command is something an actor does in its own goroutine. It must not block.
type command interface {
	apply(ctx context.Context, a *actor)
}

// actor owns one loaded session. Everything below "owned by run" is touched by its
// goroutine only; the rest is set before that goroutine starts or safe by itself.
type actor struct {
	m    *Manager
	ref  store.Ref
	log  *zap.Logger
	view atomic.Pointer[View] // as of the last flush

	// mailbox takes commands of callers; when it is full they are told to come again.
	mailbox chan command
	// posts takes the outcomes of the actor's own goroutines, which wait for a place.
	posts chan command
	// flushes takes the outcome of the one commit that may be under way.
	flushes chan error
	done    chan struct{} // closed when the session is given up
	wg      sync.WaitGroup

	// owned by run
	row        store.Session
	settings   *Settings
	resave     bool // settings changed since the last submitted batch
	st         state
	history    history
	turn       *turnRun // the running turn, or nil
	queue      []queuedTurn
	compacting *compactRun    // the compaction whose summary is being written, or nil
	asked      []*asked       // compactions that clients asked for and that wait
	memories   []store.Memory // the session's, newest first, once the conversation was read
	owners     ownersMemory
	lastSent   *llm.Request // of the newest round that was answered since the session was loaded
	heads      head         // of the settings that were used last
	extracting *extraction  // brings the memory up to date, or nil
	keys       recentKeys
	subs       map[Subscriber]struct{}
	next       *batch // gathers changes
	inflight   *batch // is being committed
	published  int64  // seq of the newest flushed entry
	activity   ActivityName
	told       progressTold
	lastUse    time.Time
	idle       *time.Timer
	deleting   bool // nothing is taken on any more
	over       ending
	doubtful   *View // of the commit that failed: it may be on disk or not
}

// ending says why an actor's loop is to end.
type ending int

const (
	goingOn  ending = iota
	unloaded        // idle, removed from the manager
	failed          // a commit failed: the state can't be trusted
	deleted         // the session is gone
	parked          // the server stops
)

// postsBuffer keeps the actor's goroutines from waiting in the common case; they may
// wait, so its size is no limit of anything.
const postsBuffer = 8

func newActor(m *Manager, l *loaded) *actor {
	a := &actor{
		m: m, ref: store.Ref{Owner: l.row.Owner, ID: l.row.ID},
		log:     m.log.With(zap.String("session_id", string(l.row.ID))),
		mailbox: make(chan command, m.opts.MailboxCommands),
		posts:   make(chan command, postsBuffer),
		flushes: make(chan error, 1),
		done:    make(chan struct{}),
		row:     l.row, settings: l.settings, st: l.st,
		history: history{upTo: l.row.HeadSeq}, queue: l.queue,
		published: l.row.HeadSeq, activity: ActivityNone,
	}
	if l.state != nil {
		a.setHistory(l.state, l.memories)
	}
	a.setTurn(l.turn)
	v := a.makeView()
	a.view.Store(v)
	a.told.gauge, a.told.usage = v.Gauge, v.Usage // who subscribes is told them by the reply
	return a
}

// run is the actor's goroutine. It ends when the session is unloaded or deleted, when
// a commit fails, or when ctx ends. It returns when every goroutine it started has; done
// is closed before, as soon as nothing can touch the session any more.
func (a *actor) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.touch()
	a.idle = time.AfterFunc(a.m.opts.IdleUnload, func() { a.post(ctx, idleCheck{}) })
	a.resume()
	if a.st.Context.Gauge == nil { // a fork's, or from before contexts were measured
		a.withContext(ctx, a.current().Model, func(context.Context) { a.batch().dirty = true })
	}
	a.submit(ctx)
	stop := ctx.Done()
	mailbox := a.mailbox
	for a.over == goingOn || a.inflight != nil {
		select {
		case c := <-a.posts:
			if a.over == goingOn {
				c.apply(ctx, a)
			}
		case c := <-mailbox:
			a.touch()
			c.apply(ctx, a)
		case err := <-a.flushes:
			a.flushed(ctx, err)
		case <-stop:
			stop = nil
			a.park()
		}
		if a.over != goingOn || a.deleting {
			mailbox = nil // who waits there learns it from done
		}
		a.submit(ctx)
	}
	cancel() // lets go of goroutines that wait to post
	a.stopTimers()
	a.setTurn(nil)
	for sub := range a.subs {
		sub.Gone(a.over == deleted)
	}
	a.m.ended(ctx, a)
	close(a.done)
	a.wg.Wait() // may take as long as a model that minds no cancellation; nobody else waits for it
}

// unfinished reports whether the session may have an open turn or a queue on disk. What
// memory says does not count: the commit that ended the turn may be the one that failed.
func (a *actor) unfinished() bool {
	return a.deleting || a.view.Load().unfinished() || a.doubtful != nil && a.doubtful.unfinished()
}

// post hands the outcome of one of the actor's goroutines to it; it gives up when
// the actor ends.
func (a *actor) post(ctx context.Context, c command) {
	select {
	case a.posts <- c:
	case <-ctx.Done():
	}
}

// spawn runs f in a goroutine that the actor waits for before it ends.
func (a *actor) spawn(f func()) {
	a.wg.Go(f)
}

func (a *actor) touch() { a.lastUse = a.m.opts.Now() }

// end makes the loop end once the commit under way is done; the first reason stands.
func (a *actor) end(why ending) {
	if a.over == goingOn {
		a.over = why
	}
}

// park leaves the open turn to the next start of the server. A turn that was in a round,
// or about to begin one, is marked so that going on does not count as a crash.
func (a *actor) park() {
	if t := a.turn; t != nil && !t.waiting() && a.over == goingOn {
		if t.round != nil {
			a.closeRound(t, context.Canceled)
		}
		t.detail.Parked = true
		a.stageTurn()
	}
	a.end(parked)
}

func (a *actor) stopTimers() {
	a.idle.Stop()
	a.told.stop()
	if a.turn != nil {
		a.turn.stopTimers()
	}
	if a.compacting != nil && a.compacting.cancel != nil {
		a.compacting.cancel()
	}
	a.stopExtraction()
}

// busy reports whether a message has to wait for its turn.
func (a *actor) busy() bool {
	return a.turn != nil || len(a.queue) > 0 || a.compacting != nil || len(a.asked) > 0
}

// idleCheck unloads a session that nobody has used for a while. Whoever subscribes or
// waits for a turn uses it.
type idleCheck struct{}

func (idleCheck) apply(_ context.Context, a *actor) {
	left := a.m.opts.IdleUnload - a.m.opts.Now().Sub(a.lastUse)
	busy := a.busy() || a.extracting != nil || len(a.subs) > 0 || a.next != nil || a.inflight != nil
	switch {
	case busy:
		a.idle.Reset(a.m.opts.IdleUnload)
	case left > 0:
		a.idle.Reset(left)
	case a.m.release(a):
		a.end(unloaded)
	default: // a command is on its way
		a.idle.Reset(a.m.opts.IdleUnload)
	}
}

// makeView describes the session as it is now; called at a flush, when nothing of it
// can be taken back any more.
func (a *actor) makeView() *View {
	v := newView(&a.row, a.settings, a.st, a.m.opts.Now())
	v.Queued = len(a.queue)
	if a.turn != nil {
		v.PendingCalls = a.turn.pendingCalls()
	}
	return v
}
