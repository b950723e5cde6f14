package provider_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sessiond/llm"
	"sessiond/llm/llmtest/fakellm"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// action is something that happens to a session while its model thinks: whatever is
// done, thinking goes back as it came or not at all, and no request breaks a rule.
type action struct{ kind, a, b int }

// The kinds of actions. Arguments that make no sense in a state are read as ones that
// do, so that any list of actions can be played.
const (
	actSend = iota
	actAnswer
	actAnswerOne
	actModel
	actSystem
	actAgent
	actTools
	actThinking
	actStop
	actInterrupt
	actFork
	actRestart
	actCrash
	actReconfigure
	actImages
	actPass
	actions // how many there are
)

func (a action) String() string {
	names := []string{
		"send", "answer", "answer one", "model", "system", "agent", "tools", "thinking", "stop", "interrupt", "fork",
		"restart", "crash", "reconfigure", "images", "pass",
	}
	return fmt.Sprintf("%s(%d, %d)", names[a.kind], a.a, a.b)
}

func anAction(t *rapid.T) action {
	// What moves a turn on is drawn more often than what comes in between.
	kinds := []int{actSend, actSend, actSend, actSend, actAnswer, actAnswer, actAnswer, actAnswer, actAnswer}
	for k := range actions {
		kinds = append(kinds, k)
	}
	return action{rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.IntRange(0, 1000).Draw(t, "a"), rapid.IntRange(0, 100).Draw(t, "b")}
}

// answers are what models do, in every mixture with thinking.
func answers() []fakellm.Step {
	read := fakellm.Call{Name: "read", Input: []byte(`{ "path" : "\u00e9 <&> \ud800", "n" : 1.0 }`)}
	todo := fakellm.Call{Name: "todo_write", Input: []byte(`{"todos":[{"content":"work","status":"pending"}]}`)}
	calls := func(c ...fakellm.Call) []fakellm.Call { return c }
	return []fakellm.Step{
		{Thinking: "Hm \u2028 \"hm\".", Text: "done"},
		{Text: "I look at it.", Calls: calls(read)},
		{Thinking: "Two at once.", Calls: calls(read, read)},
		{Thinking: "A plan first.", Calls: calls(todo)},
		{Thinking: "Both.", Text: "So.", Calls: calls(todo, read, fakellm.Call{Name: "unheard_of"})},
		{Text: "done"},
		{},
		{Thinking: "Nothing to say."},
		{Thinking: "Too long.", Calls: calls(read), CutBytes: 6},
		{Thinking: "Cut.", Text: "half a sen", Stop: fakellm.StopMaxTokens},
		{Thinking: "No.", Text: "I won't.", Stop: fakellm.StopRefusal},
		{Thinking: "Lost.", Text: long, Calls: calls(read), Fault: fakellm.FaultAbort, After: 7},
		{Thinking: "Silent.", Text: long, Fault: fakellm.FaultSilence, After: 9},
		{Fault: fakellm.FaultOverloaded},
		{Fault: fakellm.FaultOverflow, LimitTokens: 1000},
		{Fault: fakellm.FaultImage},
		{Text: "Half of it.", Thinking: "More to come.", Stop: fakellm.StopPause},
	}
}

// play is one list of actions being played.
type play struct {
	*world
	refs  []store.Ref // the session and its forks
	ref   store.Ref   // that is acted on
	image string
	many  bool // images were sent
}

func newPlay(t *testing.T, p provider) *play {
	t.Helper()
	opts := patient()
	opts.Thinking = llm.ThinkingMedium
	opts.Models = playModels(p.api)
	opts.ToolTimeout = time.Hour
	w := &play{world: newWorld(t, p, fakellm.Options{Think: true}, opts), image: picture(t)}
	w.ref = w.create(withTool("read"))
	w.refs = []store.Ref{w.ref}
	return w
}

// playModels differ in what they want of thinking: bound to the exact prefix or not,
// always on or by the request, with a budget or without.
func playModels(api fakellm.API) []string {
	if api == fakellm.Anthropic {
		return []string{"claude-haiku-5-5", "claude-opus-5-5", "claude-sonnet-5", "claude-haiku-4-5"}
	}
	return []string{"gpt-4o", "gpt-4.1", "gpt-5"}
}

func picture(tb testing.TB) string {
	tb.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2001, 2))); err != nil {
		tb.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func (p *play) do(x action) {
	p.t.Helper()
	ctx := p.t.Context()
	switch x.kind {
	case actSend, actInterrupt:
		all := answers()
		for _, n := range []int{x.a, x.a / 7, x.b} {
			p.script(all[n%len(all)])
		}
		busy := session.WhenBusyQueue
		if x.kind == actInterrupt {
			busy = session.WhenBusyInterrupt
		}
		_, _ = p.m.Send(ctx, p.ref, text(fmt.Sprintf("message %d", x.a)), busy, session.Idempotency{}) // a full queue refuses
	case actAnswer:
		p.answerCalls(p.ref)
	case actAnswerOne:
		if calls := p.get(p.ref).PendingCalls; len(calls) > 0 {
			r := session.ToolResult{ToolUseID: calls[x.a%len(calls)].ToolUseID, Content: text("one"), IsError: x.b%2 == 0}
			_, _ = p.m.SubmitToolResult(ctx, p.ref, r, session.Idempotency{}) // of a stopped turn it is refused
		}
	case actImages:
		p.many = true
		content := text("look")
		for range x.b % 13 {
			content = append(content, message.Image{MimeType: "image/png", Data: p.image})
		}
		_, _ = p.m.Send(ctx, p.ref, content, session.WhenBusyQueue, session.Idempotency{})
	case actStop:
		if _, err := p.m.Stop(ctx, p.ref, "", x.b%2 == 0, session.Idempotency{}); err != nil {
			p.t.Errorf("stop: %v", err)
		}
	case actFork:
		p.fork(x)
	case actRestart:
		p.restart()
	case actCrash:
		p.life.dead.Store(true) // nothing this process does from now on has an effect
		p.restart()
	case actReconfigure:
		p.opts.SystemPrompt = fmt.Sprintf("Be like %d.", x.b%3)
		p.restart()
	case actPass:
		pass([]time.Duration{time.Second, time.Minute, 20 * time.Minute, 2 * time.Hour}[x.b%4])
	default:
		p.update(x)
	}
	synctest.Wait()
}

func (p *play) restart() {
	p.m.Close()
	p.begin()
}

func (p *play) update(x action) {
	p.t.Helper()
	var u session.Update
	prompt := fmt.Sprintf("Be kind to %d.", x.b%3)
	switch x.kind {
	case actModel:
		u.Model = &p.opts.Models[x.b%len(p.opts.Models)]
	case actSystem:
		u.SystemPrompt = &prompt
	case actAgent:
		u.AgentPrompt = &prompt
	case actTools:
		tools := []session.Tool{{Name: "read", InputSchema: []byte(`{"type":"object"}`)}, {Name: "write", InputSchema: []byte(`{ "type" : "object", "x" : 1.0 }`)}}[:x.b%3]
		u.Tools = &tools
	case actThinking:
		levels := []string{"off", "low", "high", "max"}
		u.Limits = &session.Limits{Thinking: &levels[x.b%len(levels)]}
	}
	if _, err := p.m.Update(p.t.Context(), p.ref, u, session.Idempotency{}); err != nil {
		p.t.Errorf("%s: %v", x, err)
	}
}

// fork forks the session somewhere and goes on with the fork, or with an older one.
func (p *play) fork(x action) {
	p.t.Helper()
	at := int64(x.a) % (p.get(p.ref).HeadSeq + 1)
	r, err := p.m.Fork(p.t.Context(), p.ref, at, nil, session.Idempotency{})
	if err != nil {
		p.t.Errorf("fork at %d: %v", at, err)
		return
	}
	p.refs = append(p.refs, store.Ref{Owner: owner, ID: r.Value.ID})
	p.ref = p.refs[(len(p.refs)-1+x.b%2*x.b)%len(p.refs)]
}

// judge says what is wrong with the requests so far.
func (p *play) judge() []string {
	_, faults := p.fakes.Seen()
	for _, e := range p.logs.FilterMessage("a request was repaired").All() {
		// Too many images are taken out, and a model may cut its own characters.
		if rule := e.ContextMap()["rule"]; rule != "1.16" && (!p.many || rule != "1.23" && rule != "4.14") {
			faults = append(faults, fmt.Sprintf("repaired: %v", e.ContextMap()))
		}
	}
	return append(faults, p.judgeThinking()...)
}

// judgeThinking compares all thinking that was sent with what is stored, byte by byte.
func (p *play) judgeThinking() []string {
	stored := make(map[string]bool)
	for _, ref := range p.refs {
		for _, m := range p.messages(ref) {
			for _, b := range m.Content {
				if th, ok := b.(message.Thinking); ok {
					stored[string(th.Raw)] = true
				}
			}
		}
	}
	var faults []string
	for _, r := range p.fakes.Anthropic.Requests() {
		for _, raw := range thinkingIn(r.Body) {
			if !stored[string(raw)] {
				faults = append(faults, fmt.Sprintf("sent as no model thought it: %s", raw))
			}
		}
	}
	return faults
}

// thinkingIn returns the thinking blocks of a request as they were sent.
func thinkingIn(body []byte) []json.RawMessage {
	var req struct {
		Messages []struct {
			Content []json.RawMessage
		}
	}
	if json.Unmarshal(body, &req) != nil {
		return nil
	}
	var found []json.RawMessage
	for _, m := range req.Messages {
		for _, raw := range m.Content {
			var block struct{ Type string }
			if json.Unmarshal(raw, &block) == nil && (block.Type == "thinking" || block.Type == "redacted_thinking") {
				found = append(found, raw)
			}
		}
	}
	return found
}

// finally lets every session come to rest and checks that each goes on.
func (p *play) finally() {
	for _, ref := range p.refs {
		p.ref = ref
		for range 100 {
			v := p.get(ref)
			if v.Status == store.StatusIdle {
				break
			}
			p.answerCalls(ref)
			pass(10 * time.Minute)
		}
		turn := p.send(ref, "the end")
		for p.answerCalls(ref) > 0 || p.turn(ref, turn).CompletedAt.IsZero() {
			pass(10 * time.Minute)
		}
	}
}

func TestPlays(t *testing.T) {
	for _, provider := range providers() {
		t.Run(string(provider.api), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				script := rapid.SliceOfN(rapid.Custom(anAction), 1, 30).Draw(rt, "actions")
				var faults []string
				synctest.Test(t, func(t *testing.T) {
					p := newPlay(t, provider)
					for i, x := range script {
						p.do(x)
						if faults = p.judge(); len(faults) > 0 {
							faults = append(faults, fmt.Sprintf("after action %d, %s", i, x))
							return
						}
					}
					p.finally()
					faults = p.judge()
				})
				if len(faults) > 0 {
					rt.Fatalf("%s", strings.Join(slices.Compact(faults), "\n"))
				}
			})
		})
	}
}
