package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// The actions of the test below. Arguments that make no sense in a state are read as
// ones that do, so that any list of actions can be played.
const (
	actSend = iota
	actSay
	actAnswer
	actCall
	actFail
	actSubmit
	actSubmitAgain
	actClaim
	actStop
	actStopTurn
	actRename
	actClose
	actOpen
	actTimeout
	actRestart
	actCrash
	actFault
	actFollow
	actions // how many there are
)

type action struct{ kind, a, b int }

func (a action) String() string {
	names := []string{
		"send", "say", "answer", "call", "fail", "submit", "submit again", "claim", "stop", "stop turn", "rename",
		"close", "open", "timeout", "restart", "crash", "fault", "follow",
	}
	return fmt.Sprintf("%s(%d, %d)", names[a.kind], a.a, a.b)
}

func anAction(rt *rapid.T) action {
	// What moves a turn on is drawn more often than what cuts it off.
	kinds := []int{actSend, actSend, actSend, actCall, actCall, actSubmit, actSubmit, actSubmit, actAnswer, actAnswer, actSay}
	for k := range actions {
		kinds = append(kinds, k)
	}
	return action{rapid.SampledFrom(kinds).Draw(rt, "kind"), rapid.IntRange(0, 5).Draw(rt, "a"), rapid.IntRange(0, 5).Draw(rt, "b")}
}

const (
	maxQueued   = 3
	maxRounds   = 4
	maxResumes  = 3
	longTimeout = 100 * time.Hour
)

// reference is what a session should be: a plain machine that writes the log it expects.
type reference struct {
	lines  []string
	turns  int
	closed bool
	run    *refTurn
	queue  []*refTurn
}

type refTurn struct {
	name, text string
	queued     bool
	rounds     int
	resumes    int
	shown      string    // of the round's answer
	calls      []refCall // of the open tool round
}

type refCall struct {
	tool, result string // result is empty while the call is pending
}

func (c refCall) pending() bool { return c.result == "" }

func (r *reference) add(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *reference) send(text string, busy session.WhenBusy) string {
	switch {
	case r.closed:
		return "session_closed"
	case r.run != nil && busy == session.WhenBusyReject:
		return "busy"
	case r.run != nil && busy == session.WhenBusyQueue && len(r.queue) >= maxQueued:
		return "queue_full"
	}
	r.turns++
	t := &refTurn{name: fmt.Sprint("T", r.turns), text: text, queued: r.run != nil}
	if !t.queued {
		r.add("%s message.added user: %q", t.name, text)
		r.start(t)
		return "ok"
	}
	r.add("%s message.queued user: %q", t.name, text)
	if busy == session.WhenBusyInterrupt {
		r.queue = append([]*refTurn{t}, r.queue...)
		r.end("stopped")
		return "ok"
	}
	r.queue = append(r.queue, t)
	return "ok"
}

func (r *reference) start(t *refTurn) {
	r.add("%s turn.started", t.name)
	r.run = t
}

// end ends the running turn; how is its status, with the error's kind.
func (r *reference) end(how string) {
	t := r.run
	if len(t.calls) > 0 {
		for i, c := range t.calls {
			if c.pending() {
				r.resolve(i, "stop", true, "The turn was stopped before this call had a result.")
			}
		}
		r.results()
	} else if t.shown != "" {
		r.add("%s message.added assistant: %q", t.name, t.shown)
	}
	r.add("%s turn.completed %s", t.name, how)
	r.run = nil
	if len(r.queue) > 0 {
		next := r.queue[0]
		r.queue = r.queue[1:]
		r.start(next)
	}
}

func (r *reference) answer(text string) {
	r.run.shown = ""
	r.add("%s message.added assistant: %q", r.run.name, text)
	r.end("completed")
}

func (r *reference) fail() {
	r.run.shown = ""
	r.end("failed (upstream_failed)")
}

func (r *reference) call(tools []string) {
	t := r.run
	t.shown = ""
	t.rounds++
	r.add("%s message.added assistant: %s()", t.name, strings.Join(tools, "() "))
	for _, tool := range tools {
		t.calls = append(t.calls, refCall{tool: tool})
		r.add("%s tool.called %s", t.name, tool)
	}
	for i, tool := range tools {
		switch tool {
		case "todo_write":
			r.add("session.updated todo_list")
			r.resolve(i, "builtin", false, "The todo list has 0 items now.")
		case "fly":
			r.resolve(i, "builtin", true, `There is no tool named "fly".`)
		}
	}
	r.closeRound()
}

func (r *reference) resolve(i int, by string, isError bool, result string) {
	t := r.run
	c := &t.calls[i]
	mark := ""
	line := fmt.Sprintf("%s tool.resolved %s by %s", t.name, c.tool, by)
	if isError {
		mark = "!"
		line += ", error"
	}
	r.lines = append(r.lines, line)
	c.result = fmt.Sprintf("%s%s→%q", c.tool, mark, result)
}

func (r *reference) results() {
	line := r.run.name + " message.added user:"
	for _, c := range r.run.calls {
		line += " " + c.result
	}
	r.lines = append(r.lines, line)
	r.run.calls = nil
}

// closeRound goes on if the open tool round is whole.
func (r *reference) closeRound() {
	if slices.ContainsFunc(r.run.calls, refCall.pending) {
		return
	}
	r.results()
	if r.run.rounds >= maxRounds {
		r.end("failed (round_limit)")
	}
}

// timeout ends the calls that are pending; a has less time than b, and b than c.
func (r *reference) timeout() {
	if r.run == nil || len(r.run.calls) == 0 {
		return
	}
	for _, tool := range []string{"a", "b", "c"} {
		for i, c := range r.run.calls {
			if c.tool == tool && c.pending() {
				r.resolve(i, "timeout", true, fmt.Sprintf("No result came for this call of %s before its deadline.", tool))
			}
		}
	}
	r.closeRound()
}

func (r *reference) drop(i int) {
	r.add("%s message.dropped", r.queue[i].name)
	r.queue = slices.Delete(r.queue, i, i+1)
}

// again is a start of the server, after a crash or not.
func (r *reference) again(crashed bool) {
	if r.run == nil || len(r.run.calls) > 0 {
		return
	}
	r.run.shown = ""
	if !crashed {
		return
	}
	if r.run.resumes == maxResumes {
		r.end("interrupted (crash)")
		return
	}
	r.run.resumes++
}

// streaming reports whether the model is being asked.
func (r *reference) streaming() bool { return r.run != nil && len(r.run.calls) == 0 }

// puppet is a model whose every call does what it is told.
type puppet struct{ orders chan order }

type order struct {
	say  string // shown, and the call goes on
	step llmtest.Step
}

func (p *puppet) Stream(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	for {
		select {
		case o := <-p.orders:
			if o.step != nil {
				return o.step(ctx, req, emit)
			}
			emit(llm.Delta{Kind: llm.DeltaText, Text: o.say})
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// play drives a session and its reference with the same actions and returns what
// differs, if anything does.
type play struct {
	*world
	ref     store.Ref
	want    reference
	puppet  *puppet
	clients []*client
	titles  int
	ids     []string // of turns, in the order of their names
	past    []session.ToolResult
}

func newPlay(tb testing.TB) *play {
	tb.Helper()
	w := newWorld(tb, session.Options{
		MaxQueuedMessages: maxQueued, MaxRoundsPerTurn: maxRounds, ToolTimeout: longTimeout, MaxTurnDuration: 10000 * time.Hour,
	})
	p := &play{world: w, puppet: &puppet{orders: make(chan order)}}
	w.m.Close()
	w.other = p.puppet
	w.begin()
	p.ref = w.create(withTools("a", "b", "c"), func(s *session.Settings) {
		for i := range s.Tools { // no two calls of a round end at the same time
			s.Tools[i].TimeoutMS = int64(i+1) * time.Hour.Milliseconds()
		}
	})
	p.want.add("session.created")
	for range 3 {
		p.clients = append(p.clients, &client{w: w, ref: p.ref})
	}
	return p
}

func (p *play) order(o order) {
	p.puppet.orders <- o
	synctest.Wait()
	p.pass(time.Second) // what was said is shown
}

// do plays one action and returns what went wrong.
func (p *play) do(x action) string {
	r := &p.want
	switch x.kind {
	case actSend:
		busy := []session.WhenBusy{session.WhenBusyQueue, session.WhenBusyQueue, session.WhenBusyReject, session.WhenBusyInterrupt}[x.a%4]
		text := fmt.Sprint("message ", x.b)
		sent, err := p.trySend(p.ref, text, busy)
		if want := r.send(text, busy); kindOf(err) != want {
			return fmt.Sprintf("send: %s, want %s", kindOf(err), want)
		} else if want == "ok" {
			p.ids = append(p.ids, string(sent.TurnID))
		}
	case actSay, actAnswer, actCall, actFail:
		if r.streaming() {
			p.speak(x)
		}
	case actSubmit, actSubmitAgain, actClaim:
		return p.tool(x)
	case actStop, actStopTurn:
		return p.stopping(x)
	case actRename:
		p.titles++
		title := fmt.Sprint(p.titles)
		_, err := p.update(p.ref, session.Update{Title: &title})
		if r.closed != (kindOf(err) == "session_closed") || !r.closed && err != nil {
			return fmt.Sprintf("update: %v", err)
		}
		if !r.closed {
			r.add("session.updated title")
		}
	case actClose, actOpen:
		p.openOrClose(x.kind == actClose)
	case actTimeout:
		p.pass(10 * time.Hour)
		r.timeout()
	case actRestart:
		p.restart()
		r.again(false)
	case actCrash:
		p.crash()
		r.again(true)
	case actFault:
		if r.closed {
			break
		}
		p.gate.next([]fault{refuse, lose}[x.a%2])
		title := "faulty"
		if _, err := p.update(p.ref, session.Update{Title: &title}); err == nil {
			return "an update whose commit failed succeeded"
		}
		if x.a%2 == 1 {
			r.add("session.updated title")
		}
		r.again(true)
		p.pass(time.Second)
	case actFollow:
		p.clients[x.a%len(p.clients)].follow()
	}
	return ""
}

func (p *play) speak(x action) {
	r := &p.want
	switch x.kind {
	case actSay:
		word := fmt.Sprint("word ", x.a, " ")
		p.order(order{say: word})
		r.run.shown += word
	case actAnswer:
		text := fmt.Sprint("answer ", x.a)
		p.order(order{step: llmtest.Text(text)})
		r.answer(text)
	case actFail:
		p.order(order{step: llmtest.Fail(&llm.Error{Class: llm.ClassNetwork})})
		r.fail()
	case actCall:
		tools := [][]string{{"a"}, {"b", "a"}, {"c", "todo_write", "a"}, {"todo_write"}, {"fly"}, {"fly", "b", "c", "a"}}[x.a%6]
		calls := make([]llmtest.Call, len(tools))
		for i, tool := range tools {
			calls[i].Name = tool
			if tool == "todo_write" {
				calls[i].Input = `{"todos":[]}`
			}
		}
		p.order(order{step: llmtest.Calls("", calls...)})
		r.call(tools)
	}
}

func (p *play) tool(x action) string {
	r := &p.want
	pending := p.get(p.ref).PendingCalls
	var waiting []int // indices into the reference's calls
	if r.run != nil {
		for i, c := range r.run.calls {
			if c.pending() {
				waiting = append(waiting, i)
			}
		}
	}
	if len(waiting) != len(pending) {
		return fmt.Sprintf("%d calls pending, want %d", len(pending), len(waiting))
	}
	switch {
	case x.kind == actSubmitAgain && len(p.past) > 0 && !r.closed:
		again := p.past[x.a%len(p.past)]
		got, err := p.m.SubmitToolResult(p.t.Context(), p.ref, again, session.Idempotency{})
		if err != nil || !got.Replayed {
			return fmt.Sprintf("a result again: replayed %v, %v", got.Replayed, err)
		}
	case x.kind == actSubmit && len(pending) > 0:
		n := x.a % len(pending)
		result := session.ToolResult{ToolUseID: pending[n].ToolUseID, Content: text(fmt.Sprint("result ", x.b)), IsError: x.b == 0}
		if _, err := p.m.SubmitToolResult(p.t.Context(), p.ref, result, session.Idempotency{}); err != nil {
			return fmt.Sprintf("submit: %v", err)
		}
		p.past = append(p.past, result)
		r.resolve(waiting[n], "client", result.IsError, fmt.Sprint("result ", x.b))
		r.closeRound()
	case x.kind == actClaim && len(pending) > 0:
		n := x.a % len(pending)
		claim, err := p.m.ClaimToolCall(p.t.Context(), p.ref, pending[n].ToolUseID, time.Millisecond, "", session.Idempotency{})
		if err != nil || claim.Value.Token == "" {
			return fmt.Sprintf("claim: %v", err)
		}
		r.add("%s tool.claimed %s", r.run.name, r.run.calls[waiting[n]].tool)
		p.pass(time.Millisecond) // it ends before anybody else comes
	}
	return ""
}

func (p *play) stopping(x action) string {
	r := &p.want
	clearQueue := x.b == 0
	turn, want := "", r.run != nil
	target := -1 // in the queue
	if x.kind == actStopTurn && len(p.ids) > 0 {
		n := len(p.ids) - 1 - x.a%len(p.ids)
		turn = p.ids[n]
		name := fmt.Sprint("T", n+1)
		target = slices.IndexFunc(r.queue, func(t *refTurn) bool { return t.name == name })
		want = target >= 0 || r.run != nil && r.run.name == name
		if target >= 0 {
			r.drop(target)
		}
	}
	for clearQueue && len(r.queue) > 0 {
		r.drop(0)
	}
	if want && target < 0 {
		r.end("stopped")
	}
	got, err := p.m.Stop(p.t.Context(), p.ref, message.TurnID(turn), clearQueue, session.Idempotency{})
	if err != nil || got.Value.Stopped != want {
		return fmt.Sprintf("stop: %+v, %v, want %v", got.Value, err, want)
	}
	return ""
}

// openOrClose closes or opens the session.
func (p *play) openOrClose(closing bool) {
	r := &p.want
	call := p.m.OpenSession
	if closing {
		call = p.m.CloseSession
	}
	if _, err := call(p.t.Context(), p.ref, session.Idempotency{}); err != nil {
		p.t.Error(err)
	}
	if closing == r.closed {
		return
	}
	if closing {
		for len(r.queue) > 0 {
			r.drop(0)
		}
		if r.run != nil {
			r.end("stopped")
		}
	}
	r.closed = closing
	r.add("session.updated status")
}

// TestAgainstTheReference plays random lists of actions and compares the log after each.
func TestAgainstTheReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		script := rapid.SliceOfN(rapid.Custom(anAction), 1, 40).Draw(rt, "actions")
		fault := ""
		synctest.Test(t, func(t *testing.T) {
			p := newPlay(t)
			for i, x := range script {
				if fault = p.do(x); fault != "" {
					fault = fmt.Sprintf("action %d, %s: %s", i, x, fault)
					return
				}
				synctest.Wait()
				if diff := cmp.Diff(p.want.lines, tell(p.log(p.ref))); diff != "" {
					fault = fmt.Sprintf("after action %d, %s (-want +got):\n%s", i, x, diff)
					return
				}
			}
			fault = p.finally()
		})
		if fault != "" {
			rt.Fatalf("%s", fault)
		}
	})
}

// finally judges the session at the end of a play.
func (p *play) finally() string {
	if faults := p.judge(p.ref); len(faults) > 0 {
		return strings.Join(faults, "\n")
	}
	v := p.get(p.ref)
	status := store.StatusIdle
	switch r := &p.want; {
	case r.closed:
		status = store.StatusClosed
	case r.streaming():
		status = store.StatusRunning
	case r.run != nil:
		status = store.StatusWaitingTool
	}
	if v.Status != status || v.Queued != len(p.want.queue) {
		return fmt.Sprintf("the session is %s with %d queued, want %s with %d", v.Status, v.Queued, status, len(p.want.queue))
	}
	for i, c := range p.clients {
		c.follow()
		if diff := diffEvents(p.log(p.ref), c.events); diff != "" {
			return fmt.Sprintf("client %d (-log +told):\n%s", i, diff)
		}
	}
	return ""
}

// TestSubscribersEndWithTheLog lets clients change a session at random while others come
// and go. Whatever the order of things, each ends with exactly the log.
func TestSubscribersEndWithTheLog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		scripts := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 99), 5, 30), 2, 5).Draw(rt, "writers")
		readers := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 99), 1, 20), 2, 4).Draw(rt, "readers")
		fault := ""
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, session.Options{MailboxCommands: 1000, IdleUnload: 50 * time.Millisecond})
			w.model.Loop(readThenDone)
			ref := w.create(withTools("read"))
			var wg sync.WaitGroup
			for _, script := range scripts {
				wg.Go(func() {
					for _, n := range script {
						w.randomChange(ref, n)
					}
				})
			}
			clients := make([]*client, len(readers))
			for i, script := range readers {
				clients[i] = &client{w: w, ref: ref}
				wg.Go(func() { clients[i].comeAndGo(script) })
			}
			wg.Wait()
			w.gate.calm()
			w.stop(ref, "", true)
			log := w.log(ref)
			for i, c := range clients {
				c.follow()
				if diff := diffEvents(log, c.events); diff != "" {
					fault = fmt.Sprintf("client %d (-log +told):\n%s", i, diff)
				}
			}
			if faults := judgeQuick(w, ref); len(faults) > 0 {
				fault += strings.Join(faults, "\n")
			}
		})
		if fault != "" {
			rt.Fatalf("%s", fault)
		}
	})
}

// randomChange does something to a session; refusals are fine.
func (w *world) randomChange(ref store.Ref, n int) {
	ctx, title := w.t.Context(), fmt.Sprint(n)
	switch n % 7 {
	case 0, 1:
		_, _ = w.trySend(ref, "hi", session.WhenBusyQueue)
	case 2:
		_, _ = w.trySend(ref, "hi", session.WhenBusyInterrupt)
	case 3:
		_, _ = w.m.Stop(ctx, ref, "", n%2 == 0, session.Idempotency{})
	case 4:
		if v, err := w.m.Get(ctx, ref); err == nil {
			for _, call := range v.PendingCalls {
				_, _ = w.trySubmit(ref, call.ToolUseID, "x", "")
			}
		}
	case 5:
		_, _ = w.update(ref, session.Update{Title: &title})
	case 6:
		<-time.After(time.Duration(n) * time.Millisecond)
	}
	if n == 98 {
		w.gate.next(refuse)
	}
}

// comeAndGo subscribes, listens for a while and leaves, again and again.
func (c *client) comeAndGo(script []int) {
	for _, n := range script {
		c.follow()
		<-time.After(time.Duration(n) * time.Millisecond)
		if err := c.w.m.Unsubscribe(c.w.t.Context(), c.ref, c.rec); err != nil {
			c.w.t.Error(err)
		}
		c.apply(c.rec.all())
		c.rec = nil
	}
}
