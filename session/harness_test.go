package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
	"sessiond/store/memory"
	"sessiond/tokens"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	alice   = "alice"
	mallory = "mallory" // wants what is alice's
)

// encoding is shared by all tests: making its tables takes longer than most of them.
var encoding = sync.OnceValue(func() *tokens.Encoding {
	e, err := tokens.New("o200k_base")
	if err != nil {
		panic(err)
	}
	return e
})

// world is a manager on a memory store with a scripted model. It lives in one bubble.
type world struct {
	t     testing.TB
	mem   *memory.Store
	gate  *gate
	model *llmtest.Model
	other llm.Model // used in its place, if set
	opts  session.Options
	life  *life
	m     *session.Manager
}

// inWorld runs f in a bubble with a world whose model plays the steps.
// In the bubble w.t is to be used, never t.
func inWorld(t *testing.T, opts session.Options, f func(w *world), steps ...llmtest.Step) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(newWorld(t, opts, steps...))
	})
}

func newWorld(tb testing.TB, opts session.Options, steps ...llmtest.Step) *world {
	tb.Helper()
	if opts.Models == nil {
		opts.Models = []string{"small", "large"}
	}
	if opts.Context.ContextTokensLimit == 0 { // most tests are about something else
		opts.Context = compaction.DefaultConfig()
		opts.Context.ContextTokensLimit = 10_000_000
	}
	if opts.Counter == nil {
		opts.Counter, opts.Encoding = encoding(), encoding().Name()
	}
	w := &world{t: tb, mem: memory.New(), gate: &gate{}, model: llmtest.New(steps...), opts: opts}
	w.mem.Intercept(w.gate.intercept)
	w.begin()
	tb.Cleanup(func() {
		w.gate.open()
		w.m.Close()
	})
	return w
}

// begin starts a manager on the store, as a process does.
func (w *world) begin() {
	w.t.Helper()
	var model llm.Model = w.model
	if w.other != nil {
		model = w.other
	}
	w.life = &life{Store: w.mem}
	m, err := session.NewManager(w.life, model, w.opts, zap.NewNop())
	if err != nil {
		w.t.Fatal(err)
	}
	w.m = m
}

// restart stops the process in an orderly way and starts it again.
func (w *world) restart() {
	w.t.Helper()
	w.m.Close()
	w.begin()
	w.recover()
}

// crash ends the process: nothing it does from now on has an effect. Its goroutines
// are ended too, since a bubble must not leave any.
func (w *world) crash() {
	w.t.Helper()
	w.life.dead.Store(true)
	w.gate.drop()
	w.m.Close()
	w.begin()
	w.recover()
}

func (w *world) recover() {
	w.t.Helper()
	if _, err := w.m.Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// pass lets time go by; everything due meanwhile happens.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

var errDead = errors.New("the process has crashed")

// life is the store as one process sees it.
type life struct {
	store.Store
	dead  atomic.Bool
	reads atomic.Int32 // that fail from now on
	stuck atomic.Bool  // reads of a log wait for the end of their context

	lists       atomic.Int32 // readings of an owner's memories that fail from now on
	failDeletes atomic.Bool
	onEntries   func() // called after each read of a log
	onOpenTurns func() // called after each read of the open turns
	onKey       func() // called before each search for a key
}

func (l *life) Key(ctx context.Context, scope store.KeyScope, now time.Time) (*store.KeyRecord, error) {
	if l.onKey != nil {
		l.onKey()
	}
	return l.Store.Key(ctx, scope, now)
}

func (l *life) OpenTurns(ctx context.Context, ref store.Ref) ([]store.Turn, error) {
	turns, err := l.Store.OpenTurns(ctx, ref)
	if l.onOpenTurns != nil {
		l.onOpenTurns()
	}
	return turns, err
}

// failReads makes the next n reads of a session or a log fail.
func (l *life) failReads(n int32) { l.reads.Store(n) }

func (l *life) Session(ctx context.Context, ref store.Ref) (*store.Session, error) {
	if ref.Owner == mallory && l.stuck.Load() {
		<-ctx.Done()
	}
	if l.reads.Add(-1) >= 0 {
		return nil, errFault
	}
	return l.Store.Session(ctx, ref)
}

func (l *life) ListMemories(ctx context.Context, q store.MemoryQuery) ([]store.Memory, error) {
	if q.ID == "" && l.lists.Add(-1) >= 0 {
		return nil, errFault
	}
	return l.Store.ListMemories(ctx, q)
}

func (l *life) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if l.reads.Add(-1) >= 0 {
		return nil, errFault
	}
	if l.stuck.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	entries, err := l.Store.Entries(ctx, q)
	if l.onEntries != nil {
		l.onEntries()
	}
	return entries, err
}

func (l *life) Create(ctx context.Context, c *store.Commit) error {
	if l.dead.Load() {
		return errDead
	}
	return l.Store.Create(ctx, c)
}

func (l *life) Commit(ctx context.Context, c *store.Commit) error {
	if l.dead.Load() {
		return errDead
	}
	return l.Store.Commit(ctx, c)
}

func (l *life) DeleteSession(ctx context.Context, ref store.Ref, at time.Time) (bool, error) {
	if l.dead.Load() {
		return false, errDead
	}
	if l.failDeletes.Swap(false) {
		return false, errFault
	}
	return l.Store.DeleteSession(ctx, ref, at)
}

// fault is what becomes of a commit.
type fault int

const (
	pass   fault = iota
	refuse       // nothing is stored
	lose         // stored, but the answer is an error
)

var errFault = errors.New("the database is in trouble")

// gate stands before the commits.
type gate struct {
	mu     sync.Mutex
	before chan struct{} // commits wait here before they are applied
	after  chan struct{} // and here afterwards
	lost   chan struct{} // closed by drop: what waits before never comes through
	faults []fault       // of the next commits
	poison string        // commits with this text in an entry are refused
	seen   int
}

func (g *gate) intercept(ctx context.Context, c *store.Commit, apply func() error) error {
	g.mu.Lock()
	g.seen++
	before, after, lost := g.before, g.after, g.lost
	f := pass
	if len(g.faults) > 0 {
		f, g.faults = g.faults[0], g.faults[1:]
	}
	for _, e := range c.Entries {
		if g.poison != "" && strings.Contains(string(e.Body), g.poison) {
			f = refuse
		}
	}
	g.mu.Unlock()
	if before != nil {
		select {
		case <-before:
		case <-lost:
			return errDead
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	switch f {
	case refuse:
		return errFault
	case lose:
		return errors.Join(apply(), errFault)
	case pass:
	}
	err := apply()
	if after != nil {
		<-after
	}
	return err
}

// hold makes the commits that begin from now on wait before they are applied.
func (g *gate) hold() (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ch := make(chan struct{})
	g.before, g.lost = ch, make(chan struct{})
	return g.open
}

// holdAnswers makes the commits from now on wait after they were applied.
func (g *gate) holdAnswers() (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ch := make(chan struct{})
	g.after = ch
	return g.open
}

// open lets all commits through, now and from now on.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, ch := range []chan struct{}{g.before, g.after} {
		if ch != nil {
			close(ch)
		}
	}
	g.before, g.after = nil, nil
}

// drop lets go of held commits without applying them.
func (g *gate) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.before != nil {
		close(g.lost)
		g.before = nil
	}
}

// next says what becomes of the next commits.
func (g *gate) next(faults ...fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, faults...)
}

// refuseWith refuses every commit that stores the text; empty ends that.
func (g *gate) refuseWith(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.poison = text
}

// calm takes back the faults that did not come.
func (g *gate) calm() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = nil
}

// left returns how many faults are still to come.
func (g *gate) left() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.faults)
}

func (g *gate) commits() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen
}

// recorder is a subscriber that keeps all it is told.
type recorder struct {
	mu         sync.Mutex
	events     []*session.Event
	deltas     []*session.Delta
	activities []session.ActivityName
	progress   []*session.Progress
	trace      []string // of everything, in order
	gone       []bool
	block      chan struct{} // Event waits for it, to play a stuck session
	blockGone  chan struct{} // Gone waits for it, to play a slow end
}

func (r *recorder) Event(e *session.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.trace = append(r.trace, string(e.Kind))
	block := r.block
	r.mu.Unlock()
	if block != nil {
		<-block
	}
}

func (r *recorder) Delta(d *session.Delta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deltas = append(r.deltas, d)
	r.trace = append(r.trace, "delta "+d.Kind+" "+d.Text)
}

func (r *recorder) Activity(a *session.Activity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.activities = append(r.activities, a.Name)
	r.trace = append(r.trace, "activity "+string(a.Name))
}

func (r *recorder) Progress(p *session.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = append(r.progress, p)
}

func (r *recorder) Gone(deleted bool) {
	r.mu.Lock()
	r.gone = append(r.gone, deleted)
	block := r.blockGone
	r.mu.Unlock()
	if block != nil {
		<-block
	}
}

// told returns what was told so far, in order, and forgets it.
func (r *recorder) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.trace
	r.trace = nil
	return told
}

func (r *recorder) all() []*session.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func (r *recorder) pieces() []*session.Delta {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.deltas)
}

func (r *recorder) doing() []session.ActivityName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.activities)
}

func (r *recorder) ended() []bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.gone)
}

// The calls of a client.

func (w *world) create(change ...func(*session.Settings)) store.Ref {
	w.t.Helper()
	s := session.Settings{}
	for _, f := range change {
		f(&s)
	}
	r, err := w.m.Create(w.t.Context(), alice, "a title", s, session.Idempotency{})
	if err != nil {
		w.t.Fatal(err)
	}
	return store.Ref{Owner: alice, ID: r.Value.ID}
}

// withTools gives a session remote tools without a schema to speak of.
func withTools(names ...string) func(*session.Settings) {
	return func(s *session.Settings) {
		for _, n := range names {
			s.Tools = append(s.Tools, session.Tool{Name: n, Description: n, InputSchema: []byte(`{"type":"object"}`)})
		}
	}
}

func text(s string) []message.Block { return []message.Block{message.Text{Text: s}} }

func (w *world) trySend(ref store.Ref, s string, busy session.WhenBusy) (session.SendResult, error) {
	r, err := w.m.Send(w.t.Context(), ref, text(s), busy, session.Idempotency{})
	return r.Value, err
}

// send sends a message and lets everything happen that can happen without a timer.
func (w *world) send(ref store.Ref, s string) session.SendResult {
	w.t.Helper()
	return w.sendBusy(ref, s, session.WhenBusyQueue)
}

func (w *world) sendBusy(ref store.Ref, s string, busy session.WhenBusy) session.SendResult {
	w.t.Helper()
	r, err := w.trySend(ref, s, busy)
	if err != nil {
		w.t.Fatalf("send %q: %v", s, err)
	}
	synctest.Wait()
	return r
}

func (w *world) stop(ref store.Ref, turn message.TurnID, clearQueue bool) bool {
	w.t.Helper()
	r, err := w.m.Stop(w.t.Context(), ref, turn, clearQueue, session.Idempotency{})
	if err != nil {
		w.t.Fatalf("stop: %v", err)
	}
	synctest.Wait()
	return r.Value.Stopped
}

func (w *world) trySubmit(ref store.Ref, id message.ToolUseID, s string, token string) (session.Replay[session.SubmitResult], error) {
	return w.m.SubmitToolResult(w.t.Context(), ref, session.ToolResult{ToolUseID: id, Content: text(s), ClaimToken: token}, session.Idempotency{})
}

func (w *world) submit(ref store.Ref, id message.ToolUseID, s string) {
	w.t.Helper()
	if _, err := w.trySubmit(ref, id, s, ""); err != nil {
		w.t.Fatalf("submit a result for %s: %v", id, err)
	}
	synctest.Wait()
}

func (w *world) get(ref store.Ref) *session.View {
	w.t.Helper()
	v, err := w.m.Get(w.t.Context(), ref)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *world) turn(ref store.Ref, id message.TurnID) *session.Turn {
	w.t.Helper()
	turn, err := w.m.Turn(w.t.Context(), ref, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return turn
}

// pending returns the calls that wait for a result, by tool name.
func (w *world) pending(ref store.Ref) map[string]session.PendingCall {
	w.t.Helper()
	calls := make(map[string]session.PendingCall)
	for _, c := range w.get(ref).PendingCalls {
		calls[c.Name] = c
	}
	return calls
}

// messagesBy returns the messages of a role.
func (w *world) messagesBy(ref store.Ref, role message.Role) []*message.Message {
	w.t.Helper()
	msgs, err := w.page(ref, true, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(msgs, func(m *message.Message) bool { return m.Role != role })
}

// subscribe joins from now on.
func (w *world) subscribe(ref store.Ref) *recorder {
	w.t.Helper()
	rec := &recorder{}
	if _, err := w.m.Subscribe(w.t.Context(), ref, session.Where{}, rec); err != nil {
		w.t.Fatal(err)
	}
	return rec
}

// jam keeps a session's goroutine stuck in a subscriber, which is not allowed to block.
func (w *world) jam(ref store.Ref) (free func()) {
	w.t.Helper()
	stuck := w.subscribe(ref)
	stuck.block = make(chan struct{})
	title := "jammed"
	go w.m.Update(w.t.Context(), ref, session.Update{Title: &title}, session.Idempotency{}) //nolint:errcheck // only to be told of
	synctest.Wait()
	return func() {
		stuck.mu.Lock()
		defer stuck.mu.Unlock()
		close(stuck.block)
		stuck.block = nil
	}
}

// log reads a whole log, page by page.
func (w *world) log(ref store.Ref) []*session.Event {
	w.t.Helper()
	var all []*session.Event
	for {
		after := int64(len(all))
		page, err := w.m.Log(w.t.Context(), ref, after, 100)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, page.Events...)
		if !page.More {
			return all
		}
	}
}

// kindOf returns the kind of an expected error, or what it says.
func kindOf(err error) string {
	var e *session.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return string(e.Kind)
	default:
		return err.Error()
	}
}

func wantKind(tb testing.TB, what string, err error, want session.Kind) {
	tb.Helper()
	if got := kindOf(err); got != string(want) {
		tb.Errorf("%s: %s, want %s", what, got, want)
	}
}

// typist writes an answer piece by piece, as the test says.
type typist chan string

// typist adds a step to the script that is written by hand.
func (w *world) typist() typist {
	ch := make(typist)
	w.model.Add(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		whole := ""
		for {
			select {
			case p, more := <-ch:
				if !more {
					return &llm.Response{Content: text(whole), Stop: llm.StopEnd, Usage: message.Usage{Input: llmtest.RequestTokens(req), Output: 1}}, nil
				}
				whole += p
				emit(llm.Delta{Kind: llm.DeltaText, Text: p})
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
	return ch
}

func (t typist) say(pieces ...string) {
	for _, p := range pieces {
		t <- p
		synctest.Wait()
	}
}

func (t typist) end() {
	close(t)
	synctest.Wait()
}

// deaf is a step that waits for ch and minds nothing else.
func deaf(ch <-chan struct{}) llmtest.Step {
	return func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		<-ch
		return &llm.Response{Content: text("too late"), Stop: llm.StopEnd}, nil
	}
}

// answerOf is a step that answers with just these blocks.
func answerOf(content ...message.Block) llmtest.Step {
	return func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		return &llm.Response{Content: content, Stop: llm.StopEnd}, nil
	}
}
