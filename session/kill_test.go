package session_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"pgregory.net/rapid"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// killer ends the process at the n-th write to the database, before it is applied or
// right after it, when nobody has heard of it yet.
type killer struct {
	at    int // from 1; 0: never
	after bool

	writes int
	killed bool
}

// strikes counts a write, and reports whether it is the last one.
func (k *killer) strikes() bool {
	k.writes++
	if k.writes == k.at {
		k.killed = true
		return true
	}
	return false
}

// killable is the store of a process that is killed at a write.
type killable struct {
	*life
	k *killer
}

func (s killable) write(apply func() error) error {
	if s.dead.Load() {
		return errDead
	}
	if !s.k.strikes() {
		return apply()
	}
	s.dead.Store(true)
	if s.k.after {
		_ = apply() // done, and nobody hears of it
	}
	return errDead
}

func (s killable) Commit(ctx context.Context, c *store.Commit) error {
	return s.write(func() error { return s.life.Commit(context.WithoutCancel(ctx), c) })
}

func (s killable) LearnLimit(ctx context.Context, l store.LearnedLimit) error {
	return s.write(func() error { return s.life.LearnLimit(ctx, l) })
}

// oracle answers each request by what is in it alone, so that the same request always has
// the same answer: "do N" makes N calls of a tool, one after the other. Asked for "grumpy"
// it takes less than it says.
func oracle(window, grumpy int) llmtest.Step {
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		if isSummary(req) {
			return sour(req)(ctx, req, emit)
		}
		last := req.Messages[len(req.Messages)-1]
		takes := window
		if strings.Contains(last.PlainText(), "grumpy") {
			takes = grumpy
		}
		if countRequest(req) > takes {
			return llmtest.Fail(llmtest.Overflow(int64(window)))(ctx, req, emit)
		}
		left := 0
		for _, b := range last.Content {
			if text, ok := b.(message.Text); ok {
				if _, n, found := strings.Cut(text.Text, "do "); found {
					left, _ = strconv.Atoi(strings.Fields(n)[0])
				}
			}
			if result, ok := b.(message.ToolResult); ok {
				left, _ = strconv.Atoi(strings.Fields(message.JoinText(result.Content))[0])
			}
		}
		if left == 0 {
			return thinking(says("done"))(ctx, req, emit)
		}
		sum := sha256.Sum256([]byte(withoutSeqs(strings.Join(blocksOf(req), "\n"))))
		id := message.ToolUseID("call_" + hex.EncodeToString(sum[:8]))
		call := llmtest.Calls("", llmtest.Call{ID: id, Name: "read", Input: fmt.Sprintf(`{"left":%d,"path":"f%d"}`, left-1, left)})
		return thinking(counted(call))(ctx, req, emit)
	}
}

// sour is how a summary is answered: one of something sour fails, in a way that depends on
// what else it is of.
func sour(req *llm.Request) llmtest.Step {
	text := withoutSeqs(rendered(req))
	if !strings.Contains(text, "sour") {
		return notes(100)
	}
	ways := []llmtest.Step{
		llmtest.Text(""), llmtest.Fail(&llm.Error{Class: llm.ClassRate, Status: 429}), llmtest.Fail(llmtest.Overflow(100)),
		llmtest.Text(summaryOf("cut", 50)).WithStop(llm.StopMaxTokens), notes(2_000), notes(100),
	}
	return ways[len(text)%len(ways)]
}

// story is what a client does. It takes up again what a crash cut off.
type story struct {
	*world
	k      *killer
	ref    store.Ref
	calls  int // made so far; each has a key of its own
	serial int // of the chapter
	cut    int // requests made before the crash
}

// begun starts the world's process anew, with the killer in it.
func (s *story) begun() {
	s.m.Close()
	s.life = &life{Store: s.mem}
	m, err := session.NewManager(killable{s.life, s.k}, s.model, s.opts, zap.NewNop())
	if err != nil {
		s.t.Fatal(err)
	}
	s.m = m
	s.recover()
}

// revive starts the next process if this one was killed.
func (s *story) revive() bool {
	synctest.Wait()
	if !s.life.dead.Load() {
		return false
	}
	s.cut = len(s.model.Requests())
	s.begun()
	return true
}

// do makes a call, again if a crash cut it off, and waits until nothing goes on any more.
func (s *story) do(method string, call func(i session.Idempotency) error) {
	s.t.Helper()
	s.calls++
	i := session.Idempotency{Method: method, Key: fmt.Sprint("key ", s.calls)}
	for {
		err := call(i)
		if s.revive() {
			continue
		}
		if err != nil {
			s.t.Fatalf("%s: %v", method, err)
		}
		break
	}
	s.settle()
}

// settle hands in results until the session rests.
func (s *story) settle() {
	s.t.Helper()
	for range 1_000 {
		if s.revive() {
			continue
		}
		v := s.get(s.ref)
		switch {
		case v.Status == store.StatusIdle:
			return
		case len(v.PendingCalls) == 0:
			s.t.Fatalf("the session is %s", v.Status)
		}
		p := v.PendingCalls[0]
		left := decodeAs[struct{ Left int }](s.t, p.Input).Left
		_, _ = s.trySubmit(s.ref, p.ToolUseID, words(fmt.Sprint(left, " left, content"), 300), "") // again after a crash
	}
	s.t.Fatal("no end")
}

func (s *story) send(text string) {
	s.t.Helper()
	s.do("send", func(i session.Idempotency) error {
		_, err := s.m.Send(s.t.Context(), s.ref, []message.Block{message.Text{Text: text}}, session.WhenBusyQueue, i)
		return err
	})
}

func (s *story) compactNow() {
	s.t.Helper()
	s.do("compact", func(i session.Idempotency) error {
		_, err := s.m.Compact(s.t.Context(), s.ref, asked, i)
		return err
	})
}

// undoNow undoes the newest compaction, if that may be.
func (s *story) undoNow() {
	s.t.Helper()
	s.do("undo", func(i session.Idempotency) error {
		_, err := s.m.UndoCompact(s.t.Context(), s.ref, i)
		if kindOf(err) == string(session.KindContextOverflow) {
			return nil
		}
		return err
	})
}

// play is a story with a limit that is learned, an overflow that takes two levels,
// clearings, automatic and manual compactions, and an undo.
func (s *story) play() {
	for i := range 4 {
		s.send(words(fmt.Sprint("message ", i), 1_500))
	}
	s.compactNow()
	s.undoNow()
	s.send("do 9") // refused in the middle: a limit is learned
	for i := range 3 {
		s.send(words(fmt.Sprint("between ", i), 300))
	}
	s.send(words("be grumpy ", 100))
	s.compactNow()
	for i := range 4 {
		s.send(words(fmt.Sprint("later ", i), 1_100))
	}
	s.compactNow()
	s.send("do 7")
	s.pass(61 * time.Minute)
	s.settle()
	s.send("how is it?")
}

func withCaching(o *session.Options) { o.CacheBreakpoints = true }

// outcome is what came of a story.
type outcome struct {
	requests []string
	cut      int // of these were made before the crash
	kinds    []session.EntryKind
	levels   []string // level, trigger and outcome of each compaction
	ladder   []int    // level stored at each request
	users    []string // messages of the user
	writes   int
	killed   bool
	view     []string
	aborted  bool // a client was told that its compaction was cut off
}

func tellStory(t *testing.T, k killer, play func(*story)) outcome {
	t.Helper()
	var out outcome
	inWorld(t, clerkOptions(25_000, withCaching), func(w *world) {
		s := &story{world: w, k: &k}
		w.model.Loop(llmtest.Do(func(*llm.Request) {
			out.ladder = append(out.ladder, w.storedLevel(s.ref))
		}).Then(oracle(9_000, 1_100)))
		s.begun()
		s.ref = s.create(withTools("read"), func(s *session.Settings) { s.AgentPrompt = "rules" })
		play(s)
		for _, r := range w.model.Requests() {
			out.requests = append(out.requests, rendered(r))
		}
		log := w.log(s.ref)
		for _, r := range compactionsIn(w.t, log) {
			out.levels = append(out.levels, fmt.Sprint(r.Trigger, " ", r.Level, " ", r.Outcome))
			out.aborted = out.aborted || r.Outcome == compaction.OutcomeAborted
		}
		for _, m := range w.messagesBy(s.ref, message.RoleUser) {
			if text := m.PlainText(); text != "" {
				out.users = append(out.users, text)
			}
		}
		out.cut, out.writes, out.killed = s.cut, k.writes, k.killed
		out.view = w.shown(s.ref, true)
		for _, e := range log {
			out.kinds = append(out.kinds, e.Kind)
		}
		checkLog(w.t, log)
	})
	return out
}

// checkLog wants seqs without a gap, and every call and turn ended once.
func checkLog(tb testing.TB, log []*session.Event) {
	tb.Helper()
	ended := make(map[message.TurnID]int)
	for i, e := range log {
		if e.Seq != int64(i)+1 {
			tb.Errorf("entry %d has seq %d", i, e.Seq)
		}
		if e.Kind == session.EntryTurnCompleted {
			ended[e.TurnID]++
		}
	}
	for id, n := range ended {
		if n != 1 {
			tb.Errorf("turn %s ended %d times", id, n)
		}
	}
}

// TestAKillAtEveryWrite: wherever the process is killed, the requests after it are, byte
// for byte, those of a run that nothing disturbed, from the one that was cut off on; what
// was acknowledged is there, once.
func TestAKillAtEveryWrite(t *testing.T) {
	calm := tellStory(t, killer{}, (*story).play)
	if again := tellStory(t, killer{}, (*story).play); !slices.Equal(calm.requests, again.requests) {
		t.Fatal("two undisturbed runs differ")
	}
	if !slices.Contains(calm.ladder, 2) {
		t.Errorf("the story does not come to level 2: %v", calm.ladder)
	}
	for _, want := range []string{"overflow 1 applied", "auto 0 applied", "manual 0 applied"} {
		if !slices.Contains(calm.levels, want) {
			t.Errorf("the story has no compaction %q: %q", want, calm.levels)
		}
	}
	for _, want := range []session.EntryKind{session.EntryContextCleared, session.EntryContextInjected, session.EntryCompactionUndone} {
		if !slices.Contains(calm.kinds, want) {
			t.Errorf("the story has no %s", want)
		}
	}
	if t.Failed() {
		return
	}
	for at := 1; at <= calm.writes; at++ {
		for _, after := range []bool{false, true} {
			if after && at%3 != 0 {
				continue // on disk it is what the next one finds before it
			}
			got := tellStory(t, killer{at: at, after: after}, (*story).play)
			if why := calm.difference(got); why != "" {
				t.Fatalf("killed at write %d of %d, after it: %v: %s", at, calm.writes, after, why)
			}
		}
	}
	t.Logf("killed before each of %d writes, and after every third; %d requests, compactions %q", calm.writes, len(calm.requests), calm.levels)
}

// difference says in what a story with a kill differs from the undisturbed one.
func (calm outcome) difference(got outcome) string {
	if !got.killed {
		return "it was not killed"
	}
	same := func(a, b string) bool { return a == b }
	if got.aborted { // the client was told so by an entry, and all that follows is counted on
		same = func(a, b string) bool { return withoutSeqs(a) == withoutSeqs(b) }
	}
	since := got.requests[got.cut:]
	from := len(calm.requests) - len(since)
	if from < 0 || from > got.cut || from < got.cut-3 {
		return fmt.Sprintf("%d requests before and %d after; undisturbed %d", got.cut, len(since), len(calm.requests))
	}
	for i := range since {
		if !same(since[i], calm.requests[from+i]) {
			return fmt.Sprintf("request %d after it is another one (-undisturbed +killed):\n%s", i,
				cmp.Diff(strings.Split(calm.requests[from+i], "\n"), strings.Split(since[i], "\n")))
		}
	}
	if diff := cmp.Diff(calm.ladder[from:], got.ladder[got.cut:]); diff != "" {
		return "other levels at the requests (-undisturbed +killed):\n" + diff
	}
	if diff := cmp.Diff(calm.users, got.users); diff != "" {
		return "other messages (-undisturbed +killed):\n" + diff
	}
	if !slices.EqualFunc(calm.view, got.view, same) {
		return "at the end something else is shown\n" + cmp.Diff(calm.view, got.view)
	}
	return ""
}

// TestAKillAnywhere is the same of any story.
func TestAKillAnywhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 13), 2, 14).Draw(rt, "ops")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 20), len(ops), len(ops)).Draw(rt, "sizes")
		play := func(s *story) {
			for i := range ops {
				s.chapter(ops[i], sizes[i])
			}
		}
		calm := tellStory(t, killer{}, play)
		if calm.writes == 0 {
			return
		}
		k := killer{at: 1 + rapid.IntRange(0, 1_000).Draw(rt, "at")%calm.writes, after: rapid.Bool().Draw(rt, "after")}
		got := tellStory(t, k, play)
		if got.aborted {
			return // an entry more can make a number in a summary longer, and what fits beside it shorter
		}
		if why := calm.difference(got); why != "" {
			rt.Fatalf("killed at write %d of %d: %s", k.at, calm.writes, why)
		}
	})
}

// chapter is a piece of a story.
func (s *story) chapter(op, size int) {
	s.t.Helper()
	s.serial++
	update := func(u session.Update) {
		s.do("update", func(i session.Idempotency) error {
			_, err := s.m.Update(s.t.Context(), s.ref, u, i)
			return err
		})
	}
	switch op {
	case 0, 1, 2:
		s.send(words(fmt.Sprint("message ", s.serial), size*100))
	case 3, 4, 5:
		s.send(fmt.Sprintf("do %d", size/2))
	case 6:
		s.send(words("be grumpy ", size*10))
	case 7:
		s.compactNow()
	case 8:
		s.undoNow()
	case 9:
		s.pass(61 * time.Minute)
		s.settle()
	case 10:
		update(session.Update{TodoList: &[]session.Todo{{Content: fmt.Sprint("step ", s.serial), Status: "pending"}}})
	case 11:
		prompt := fmt.Sprint("rules ", s.serial)
		u := session.Update{AgentPrompt: &prompt}
		if size%2 == 0 {
			u = session.Update{SystemPrompt: &prompt}
		}
		update(u)
	case 12:
		s.send(words(fmt.Sprintf("message %d is sour", s.serial), size*150))
	case 13:
		s.pass(time.Duration(size) * 10 * time.Second)
		s.settle()
	}
}
