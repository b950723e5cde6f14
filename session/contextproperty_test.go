package session_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/prompt"
	"sessiond/session"
	"sessiond/store"
)

// The gambles of the test below; size is from 0 to 9.
const (
	opSend = iota
	opSendLarge
	opInterrupt
	opCalls
	opParallelCalls
	opSubmit
	opSubmitAll
	opCompact
	opCompactCommand
	opUndo
	opStop
	opCrash
	opCrashUnflushed
	opRestart
	opRefuse
	opRefuseFor
	opTruncate
	opFailSummary
	opHangSummary
	opHang
	opAnswer
	opWait
	opRest
	opTodo
	opPrompt
	opModel
	opFault
	gambles
)

// aGamble draws what moves a conversation on more often than what disturbs it.
func aGamble(rt *rapid.T) [2]int {
	kinds := []int{opSend, opSend, opSend, opCalls, opCalls, opSubmitAll, opSubmitAll, opSubmitAll, opSendLarge, opWait}
	for k := range gambles {
		kinds = append(kinds, k)
	}
	return [2]int{rapid.SampledFrom(kinds).Draw(rt, "kind"), rapid.IntRange(0, 9).Draw(rt, "size")}
}

// TestContextInvariants does random things to a session of a small limit and wants, after
// each: the log has only grown; every request is valid and within its limit; every word
// of the user is in view, in the ledger, or counted there; the gauge makes sense. At the
// end, once nothing fails any more, a small message is answered.
func TestContextInvariants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(5, 60).Draw(rt, "n")
		ops := make([][2]int, n)
		for i := range ops {
			ops[i] = aGamble(rt)
		}
		var problem string
		inWorld(t, clerkOptions(8_000, withRetries), func(w *world) {
			g := &gambler{world: w, clerk: w.clerk(), sent: make(map[message.TurnID]string)}
			problem = g.run(ops)
		})
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// gambler does random things to a session.
type gambler struct {
	*world
	*clerk
	ref    store.Ref
	free   chan struct{} // what hangs goes on when it is closed
	log    []string
	sent   map[message.TurnID]string
	serial int
	wrong  string // the first thing that was
}

func (g *gambler) fault(format string, args ...any) {
	if g.wrong == "" {
		g.wrong = fmt.Sprintf(format, args...)
	}
}

func (g *gambler) run(ops [][2]int) string {
	g.ref = g.create(withTools("read", "query"), func(s *session.Settings) { s.AgentPrompt = "rules" })
	g.free = make(chan struct{})
	g.answer(thinking(says("ok")))
	g.watch(g.judge)
	for i, op := range ops {
		g.play(op[0], op[1])
		synctest.Wait()
		g.check()
		if g.wrong != "" {
			return fmt.Sprintf("op %d of %v: %s", i, ops, g.wrong)
		}
	}
	g.calm()
	if g.wrong != "" {
		return fmt.Sprintf("at the end of %v: %s", ops, g.wrong)
	}
	return ""
}

// judge looks at a request that is being sent.
func (g *gambler) judge(req *llm.Request) {
	if repairs := prompt.Check(req); len(repairs) > 0 {
		g.fault("a request is not valid: %v", repairs)
	}
	if isSummary(req) {
		return
	}
	info, err := g.m.Context(context.WithoutCancel(g.t.Context()), g.ref, false)
	if err != nil {
		return // the server stops
	}
	if size := int(float64(countRequest(req))*info.Ratio + 0.5); size > info.Input {
		g.fault("a request of %d tokens was sent, the limit is %d", size, info.Input)
	}
}

func (g *gambler) play(kind, size int) {
	g.serial++
	name := fmt.Sprintf("message [%d]", g.serial)
	switch kind {
	case opSend:
		g.message(words(name, 20+size*60), session.WhenBusyQueue)
	case opSendLarge:
		g.message(words(name, 500+size*900), session.WhenBusyQueue)
	case opInterrupt:
		g.message(words(name, 50), session.WhenBusyInterrupt)
	case opCalls:
		for range 1 + size/3 {
			g.say(thinking(calls([]string{"read", "query"}[size%2], fmt.Sprintf(`{"path":"f%d"}`, size))))
		}
		g.message(words(name, 20), session.WhenBusyQueue)
	case opParallelCalls:
		all := make([]llmtest.Call, 1+size%4)
		for i := range all {
			all[i] = llmtest.Call{Name: "query", Input: fmt.Sprintf(`{"n":%d,"text":%q}`, i, words("input", 10*size))}
		}
		g.say(counted(llmtest.Calls("some", all...)))
		g.message(words(name, 20), session.WhenBusyQueue)
	case opSubmit:
		g.submitSome(1, 100+size*300)
	case opSubmitAll:
		g.submitSome(1_000, 50+size*100)
	case opCompact:
		instruction := []string{"", "", "briefly"}[size%3]
		_, _ = g.m.Compact(g.t.Context(), g.ref, session.CompactOptions{Instruction: instruction}, session.Idempotency{})
	case opCompactCommand:
		_, _ = g.trySend(g.ref, "/compact", session.WhenBusyQueue)
	case opUndo:
		_, _ = g.tryUndo(g.ref) // it may be busy, or too large by now
	case opStop:
		_, _ = g.m.Stop(g.t.Context(), g.ref, "", size%2 == 0, session.Idempotency{})
	case opTodo:
		g.alter(session.Update{TodoList: &[]session.Todo{{Content: fmt.Sprint("step ", g.serial), Status: "pending"}}})
	case opPrompt:
		text := words(fmt.Sprint("rules ", g.serial), 5+size*20)
		g.alter(session.Update{AgentPrompt: &text})
	case opModel:
		model := []string{"small", "large"}[size%2]
		g.alter(session.Update{Model: &model})
	default:
		g.disturb(kind, size, name)
	}
}

func (g *gambler) disturb(kind, size int, name string) {
	switch kind {
	case opCrash:
		g.crash()
	case opCrashUnflushed:
		g.gate.hold()
		go g.trySend(g.ref, words(name, 30), session.WhenBusyQueue) //nolint:errcheck // it may be lost
		synctest.Wait()
		g.crash()
	case opRestart:
		g.restart()
	case opFault:
		g.gate.next([]fault{refuse, lose}[size%2])
	case opRefuse:
		g.say(llmtest.Fail(llmtest.Overflow([]int64{0, 30_000, 7_500, 6_000}[size%4])))
	case opRefuseFor:
		for range 1 + size {
			g.say(llmtest.Fail(llmtest.Overflow(30_000)))
		}
	case opTruncate:
		g.say(llmtest.Text("short").WithUsage(message.Usage{Input: int64(1 + size*200), Output: 1}))
	case opFailSummary:
		bad := badSummaries[(g.serial+size)%len(badSummaries)]
		if bad.takes == 0 {
			g.note(bad.step)
		}
	case opHangSummary:
		g.note(slow(g.free))
	case opHang:
		g.say(llmtest.Wait(g.free).Then(says("late")))
	case opAnswer:
		close(g.free)
		synctest.Wait()
		g.free = make(chan struct{})
	case opWait:
		g.pass(time.Duration(1+size) * time.Minute / 2)
	case opRest:
		g.pass(61 * time.Minute)
	}
}

func (g *gambler) alter(u session.Update) { _, _ = g.update(g.ref, u) } // the database may fail

func (g *gambler) message(s string, busy session.WhenBusy) { _, _ = g.trySend(g.ref, s, busy) }

func (g *gambler) submitSome(n, tokens int) {
	for range n {
		synctest.Wait()
		pending := g.get(g.ref).PendingCalls
		if len(pending) == 0 {
			return
		}
		_, _ = g.trySubmit(g.ref, pending[0].ToolUseID, words("result", tokens), "")
	}
}

// check wants what has to be true at any time. A session that lost its database is read
// again after a second.
func (g *gambler) check() {
	if _, err := g.m.Context(g.t.Context(), g.ref, false); err != nil {
		g.pass(2 * time.Second)
	}
	synctest.Wait() // reading it may have taken its turn up again
	log := g.world.log(g.ref)
	for i, line := range g.log {
		if i >= len(log) || line != lineOf(log[i]) {
			g.fault("entry %d is not what it was", i+1)
			return
		}
	}
	g.log = g.log[:0]
	for _, e := range log {
		g.log = append(g.log, lineOf(e))
	}
	v := g.get(g.ref)
	if v.Gauge.Threshold > 0 {
		if why := gaugeProblem(v.Gauge); why != "" {
			g.fault("the gauge %s", why)
		}
	}
	if v.ReactiveLevel < 0 || v.ReactiveLevel > 3 {
		g.fault("the level is %d", v.ReactiveLevel)
	}
	g.checkWords(log)
}

func lineOf(e *session.Event) string { return fmt.Sprint(e.Seq, e.Kind, string(e.Data)) }

var (
	serial = regexp.MustCompile(`^message \[(\d+)\]`)
	ledger = regexp.MustCompile(`<user_message seq="\d+">\nmessage \[(\d+)\]`)
	counts = regexp.MustCompile(`(?m)^(\d+) more, #\d+–#\d+, use history_search$`)
)

// checkWords wants each of the user's messages whose turn has begun in view, in the
// ledger, or counted there.
func (g *gambler) checkWords(log []*session.Event) {
	begun := make(map[message.TurnID]bool)
	for _, e := range log {
		if e.Kind == session.EntryTurnStarted {
			begun[e.TurnID] = true
		}
	}
	shown, counted := make(map[string]bool), 0
	for i, m := range g.context(g.ref).View {
		text := m.PlainText()
		if m.Role != message.RoleUser {
			continue
		}
		all := serial.FindAllStringSubmatch(text, 1)
		if found := counts.FindStringSubmatch(text); found != nil && i == 0 {
			counted, _ = strconv.Atoi(found[1])
		}
		if i == 0 && g.get(g.ref).Generation > 0 {
			all = append(all, ledger.FindAllStringSubmatch(text, -1)...)
		}
		for _, found := range all {
			shown[found[1]] = true
		}
	}
	if got := len(shown) + counted; got != len(begun) {
		g.fault("of %d messages %d are shown and %d counted", len(begun), len(shown), counted)
	}
}

// calm lets everything come to an end, without faults, and wants an answer.
func (g *gambler) calm() {
	g.gate.calm()
	g.answer(says("ok"))
	g.summarise(notes(100))
	close(g.free)
	synctest.Wait()
	g.pass(15 * time.Minute) // no cooldown lasts longer
	g.submitSome(1_000, 50)
	g.pass(15 * time.Minute)
	if v := g.get(g.ref); v.Status != store.StatusIdle || v.Queued > 0 {
		g.fault("the session is %s, %d queued", v.Status, v.Queued)
		return
	}
	for range 2 {
		turn := g.lastTurn(g.ref, g.send(g.ref, fmt.Sprintf("message [%d]", g.serial+1)))
		g.serial++
		if turn.Status != store.TurnCompleted {
			g.fault("a small message was not answered: %s, %+v", turn.Status, turn.Error)
		}
	}
	g.check()
}
