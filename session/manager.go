package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/store"
	"sessiond/tokens"
)

// Manager finds, loads and unloads sessions. It is safe for concurrent use.
type Manager struct {
	store store.Store
	model llm.Model
	opts  Options
	log   *zap.Logger

	planner *compaction.Planner
	models  *modelBook
	metrics *metrics
	running runningTurns
	recall  recaller
	taking  chan struct{} // a place for each call that checks files

	userMemories userMemoryBook
	ownerKeys    locks[store.KeyScope]
	userWrites   locks[string] // of owners, of whose memories one is changed at a time

	mu      sync.Mutex
	slots   map[store.Ref]*slot // by owner too: a stranger's load must not answer for the owner's
	closing bool
	idle    sync.WaitGroup // actors, loads and reloads
	quit    chan struct{}  // closed when closing begins
}

// slot is a place for one loaded session. Concurrent loads share it.
type slot struct {
	ready  chan struct{} // closed when the load has ended
	actor  *actor        // nil if the load failed
	err    error
	users  int // calls that hold it; it is not unloaded while there are any
	cancel context.CancelFunc
}

// filesAtOnce is how many calls check files at the same time: one takes up to some 400 MB.
const filesAtOnce = 2

// NewManager returns a manager without any session loaded. It owns neither st nor
// model. Close it before the store.
func NewManager(st store.Store, model llm.Model, opts Options, log *zap.Logger) (*Manager, error) {
	if len(opts.Models) == 0 {
		return nil, errors.New("session: no model to offer")
	}
	opts = opts.withDefaults()
	if opts.Counter == nil {
		encoding, err := tokens.New(defaultEncoding)
		if err != nil {
			return nil, fmt.Errorf("session: %w", err)
		}
		opts.Counter, opts.Encoding = encoding, encoding.Name()
	}
	planner, err := compaction.New(opts.Context, opts.Counter, opts.Encoding)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	log = log.Named("session")
	return &Manager{
		store: st, model: model, opts: opts, log: log,
		recall: recaller{store: st, log: log}, taking: make(chan struct{}, filesAtOnce), planner: planner, models: newModelBook(model, &opts, log), metrics: newMetrics(opts.Registerer),
		slots: make(map[store.Ref]*slot), quit: make(chan struct{}),
	}, nil
}

// Models are the names sessions may choose from, the default first.
func (m *Manager) Models() []string { return m.opts.Models }

// Loaded returns how many sessions are in memory.
func (m *Manager) Loaded() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.slots)
}

// loadTimeout bounds reading a session's row and open turn.
const loadTimeout = 30 * time.Second

// acquire returns the actor of a session, loading it if need be, and keeps it loaded
// until put. Errors: not_found, shutting_down.
func (m *Manager) acquire(ctx context.Context, ref store.Ref) (*actor, error) {
	m.mu.Lock()
	if m.closing {
		m.mu.Unlock()
		return nil, errShuttingDown()
	}
	s := m.slots[ref]
	if s == nil {
		actorCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		s = &slot{ready: make(chan struct{}), cancel: cancel}
		m.slots[ref] = s
		m.idle.Go(func() { m.load(actorCtx, ref, s) })
	}
	s.users++
	m.mu.Unlock()

	select {
	case <-s.ready:
	case <-ctx.Done():
		m.unuse(s)
		return nil, ctx.Err()
	}
	if s.err != nil {
		m.unuse(s)
		return nil, s.err
	}
	return s.actor, nil
}

// load reads a session and runs its actor; it returns when the actor has ended.
func (m *Manager) load(ctx context.Context, ref store.Ref, s *slot) {
	defer s.cancel()
	lctx, cancel := context.WithTimeout(ctx, loadTimeout)
	l, err := m.read(lctx, ref)
	cancel()
	if err != nil {
		m.mu.Lock()
		delete(m.slots, ref)
		m.mu.Unlock()
		s.err = notFoundAs(err, "session")
		if ctx.Err() != nil { // Close ended the load
			s.err = errShuttingDown()
		}
		close(s.ready)
		return
	}
	a := newActor(m, l)
	m.mu.Lock()
	s.actor = a
	m.mu.Unlock()
	close(s.ready)
	a.run(ctx)
}

// put lets go of an actor from acquire or loadedActor.
func (m *Manager) put(a *actor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.slots[a.ref]; s != nil && s.actor == a {
		s.users--
	}
}

func (m *Manager) unuse(s *slot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.users--
}

// loadedActor returns the actor of an owner's session if it is in memory, held like
// one from acquire, else nil.
func (m *Manager) loadedActor(ref store.Ref) *actor {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.slots[ref]
	if s == nil {
		return nil
	}
	select {
	case <-s.ready:
	default:
		return nil
	}
	if s.actor == nil {
		return nil
	}
	s.users++
	return s.actor
}

// release takes an idle actor out of the map, unless a call holds it.
func (m *Manager) release(a *actor) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.slots[a.ref]
	if s == nil || s.actor != a || s.users > 0 || len(a.mailbox) > 0 || len(a.posts) > 0 {
		return false
	}
	delete(m.slots, a.ref)
	return true
}

// How long a session with an open turn waits to be loaded again after a failure of the
// database: longer each time it can't be.
const (
	reloadDelay    = time.Second
	maxReloadDelay = 30 * time.Second
)

// forget takes an actor out of the map, so that calls from now on load the session.
func (m *Manager) forget(a *actor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.slots[a.ref]; s != nil && s.actor == a {
		delete(m.slots, a.ref)
	}
}

// ended forgets an actor whose loop has ended. If it failed with work to do the session
// is loaded again, so that its turn goes on without anybody's call.
func (m *Manager) ended(ctx context.Context, a *actor) {
	m.forget(a)
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.over == failed && a.unfinished() && !m.closing {
		m.idle.Go(func() { m.reload(context.WithoutCancel(ctx), a.ref) })
	}
}

func (m *Manager) reload(ctx context.Context, ref store.Ref) {
	for delay := reloadDelay; ; delay = min(2*delay, maxReloadDelay) {
		timer := time.NewTimer(delay)
		select {
		case <-m.quit:
			timer.Stop()
			return
		case <-timer.C:
		}
		a, err := m.acquire(ctx, ref)
		if err == nil {
			m.put(a)
			return
		}
		if isKind(err, KindNotFound) || isKind(err, KindShuttingDown) {
			return
		}
		m.log.Error("a session with an open turn can't be loaded; trying again", zap.String("session_id", string(ref.ID)), zap.Error(err))
	}
}

// Recover loads every session with an open turn, a queue or a compaction, so that they go
// on, and what was learned of the models. It is
// called once, when the server starts. Sessions that can't be loaded are logged; the
// error is for the list of them only.
func (m *Manager) Recover(ctx context.Context) (int, error) {
	if err := m.loadLimits(ctx); err != nil {
		return 0, fmt.Errorf("read the learned limits: %w", err)
	}
	refs, err := m.store.Unfinished(ctx)
	if err != nil {
		return 0, fmt.Errorf("find unfinished sessions: %w", err)
	}
	for _, ref := range refs {
		a, err := m.acquire(ctx, ref)
		if err != nil {
			m.log.Error("an unfinished session can't be loaded", zap.String("session_id", string(ref.ID)), zap.Error(err))
			continue
		}
		m.put(a)
	}
	return len(refs), nil
}

// Close ends every session in memory: model calls are cut off, open turns stay open in
// the database and go on after the next start, commits under way are waited for. Calls
// that come meanwhile are refused with shutting_down.
func (m *Manager) Close() {
	m.mu.Lock()
	if !m.closing {
		m.closing = true
		close(m.quit)
		for _, s := range m.slots {
			s.cancel()
		}
	}
	m.mu.Unlock()
	m.idle.Wait()
}

// withActor runs f with the session loaded.
func withActor[T any](ctx context.Context, m *Manager, ref store.Ref, f func(a *actor) (T, error)) (T, error) {
	a, err := m.acquire(ctx, ref)
	if err != nil {
		var zero T
		return zero, err
	}
	defer m.put(a)
	return f(a)
}

// keyedCall answers a call from its remembered outcome or by a command.
func keyedCall[T any](ctx context.Context, m *Manager, ref store.Ref, i Idempotency, c func(promise[Replay[T]]) command) (Replay[T], error) {
	return withActor(ctx, m, ref, func(a *actor) (Replay[T], error) {
		v, found, err := lookUp[T](ctx, m, ref, i)
		if found || err != nil {
			return v, err
		}
		p := newPromise[Replay[T]]()
		return ask(ctx, a, c(p), p)
	})
}
