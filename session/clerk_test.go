package session_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// quarter counts a token for every four bytes begun, so that sizes in tests are plain
// arithmetic.
type quarter struct{}

func (quarter) Count(text string) int { return (len(text) + 3) / 4 }

func (quarter) Head(text string, n int) string {
	end := min(4*max(n, 0), len(text))
	for end < len(text) && end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func (quarter) Tail(text string, n int) string {
	start := max(len(text)-4*max(n, 0), 0)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:]
}

// words is a text of a number of tokens that begins with a name.
func words(name string, tokens int) string {
	const filler = "abc def ghi jkl mno pqr stu vwx yz0 "
	text := name + " " + strings.Repeat(filler, 4*tokens/len(filler)+1)
	return strings.TrimSpace(text[:max(4*tokens, len(name))])
}

// clerk is a model that answers chats and writes summaries from two scripts. What it
// reports as used is what package compaction counts, so that the calibration stays at 1.
type clerk struct {
	mu        sync.Mutex
	chats     []llmtest.Step
	chat      llmtest.Step // once the script of chats is over
	summaries []llmtest.Step
	summary   llmtest.Step // once the script of summaries is over
	asked     []*llm.Request
	watching  []func(*llm.Request)
	window    int // a request of more tokens than this is refused; 0: none is
}

// withClerk runs f in a bubble with a world of a small limit. The clerk says "ok" and
// writes summaries of 100 tokens unless the test says otherwise.
func withClerk(t *testing.T, limit int, f func(w *world, c *clerk), change ...func(*session.Options)) {
	t.Helper()
	inWorld(t, clerkOptions(limit, change...), func(w *world) { f(w, w.clerk()) })
}

func clerkOptions(limit int, change ...func(*session.Options)) session.Options {
	o := session.Options{
		SystemPrompt: "Be brief.", Counter: quarter{}, Encoding: "quarter", MaxOutputTokens: 1_000,
		Jitter: func() float64 { return 0 },
	}
	o.Context = compaction.DefaultConfig()
	o.Context.ContextTokensLimit = limit
	for _, c := range change {
		c(&o)
	}
	return o
}

func (w *world) clerk() *clerk {
	c := &clerk{chat: says("ok"), summary: notes(100)}
	w.model.Loop(c.step)
	return c
}

func (c *clerk) step(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	c.mu.Lock()
	watching := c.watching
	c.mu.Unlock()
	for _, f := range watching {
		f(req)
	}
	return c.take(req)(ctx, req, emit)
}

func (c *clerk) take(req *llm.Request) llmtest.Step {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, req)
	if size := countRequest(req); c.window > 0 && size > c.window {
		return llmtest.Fail(llmtest.Overflow(int64(c.window)))
	}
	script, loop := &c.chats, c.chat
	if isSummary(req) {
		script, loop = &c.summaries, c.summary
	}
	if len(*script) == 0 {
		return loop
	}
	step := (*script)[0]
	*script = (*script)[1:]
	return step
}

// say adds to the script of chats.
func (c *clerk) say(steps ...llmtest.Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chats = append(c.chats, steps...)
}

// answer makes a step answer every chat from now on.
func (c *clerk) answer(step llmtest.Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chats, c.chat = nil, step
}

// note adds to the script of summaries.
func (c *clerk) note(steps ...llmtest.Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.summaries = append(c.summaries, steps...)
}

// summarise makes a step write every summary from now on.
func (c *clerk) summarise(step llmtest.Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.summaries, c.summary = nil, step
}

// requests returns the chats and the requests for summaries so far.
func (w *world) requests() (chats, summaries []*llm.Request) {
	for _, r := range w.model.Requests() {
		if isSummary(r) {
			summaries = append(summaries, r)
		} else {
			chats = append(chats, r)
		}
	}
	return chats, summaries
}

// isSummary reports whether a request asks for a summary: by itself, or at the end of a
// repeated chat.
func isSummary(req *llm.Request) bool {
	if strings.HasPrefix(req.System, "You condense conversations") {
		return true
	}
	n := len(req.Messages)
	return n > 0 && strings.Contains(req.Messages[n-1].PlainText(), "The conversation is about to be shortened.")
}

// counted is a step that reports as used what package compaction counts of the request.
func counted(step llmtest.Step) llmtest.Step { return scaled(1, step) }

// scaled is counted for a provider whose tokens are so much larger.
func scaled(ratio float64, step llmtest.Step) llmtest.Step {
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		resp, err := step(ctx, req, emit)
		if err == nil {
			out := *resp
			out.Usage = message.Usage{Input: int64(float64(countRequest(req))*ratio + 0.5), Output: 7}
			resp = &out
		}
		return resp, err
	}
}

// countRequest counts a request as package compaction counts the next one.
func countRequest(req *llm.Request) int {
	n := quarter{}.Count(req.System)
	var tools strings.Builder
	for _, t := range req.Tools {
		tools.WriteString(t.Name + "\n" + t.Description + "\n" + string(t.InputSchema) + "\n")
	}
	n += quarter{}.Count(tools.String())
	for i := range req.Messages {
		n += 4
		for _, b := range req.Messages[i].Content {
			n += countBlock(b)
		}
	}
	return n
}

func countBlock(b message.Block) int {
	switch b := b.(type) {
	case message.Text:
		return quarter{}.Count(b.Text)
	case message.Thinking:
		return quarter{}.Count(b.Text)
	case message.ToolUse:
		return 8 + quarter{}.Count(b.Name) + quarter{}.Count(string(b.Input))
	case message.ToolResult:
		return 8 + quarter{}.Count(message.JoinText(b.Content))
	case message.Image:
	}
	return 0
}

// says answers a chat.
func says(answer string) llmtest.Step { return counted(llmtest.Text(answer)) }

// calls answers a chat with one call of a tool.
func calls(tool, input string) llmtest.Step {
	return counted(llmtest.Calls("", llmtest.Call{Name: tool, Input: input}))
}

// notes writes a summary of about so many tokens in the right form. It says what it was
// asked by a digest, so that another request leads to another summary.
func notes(tokens int) llmtest.Step {
	return func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		sum := sha256.Sum256([]byte(withoutSeqs(rendered(req))))
		return counted(llmtest.Text(summaryOf(hex.EncodeToString(sum[:4]), tokens)))(ctx, req, emit)
	}
}

// summaryOf is a summary in the right form.
func summaryOf(name string, tokens int) string {
	const form = "## 1. Primary Request and Intent\n%s\n\n## 7. Pending Tasks\nnone yet\n\n## 8. Current Work\nin the middle"
	return fmt.Sprintf(form, words("notes "+name, max(tokens-len(form)/4, 5)))
}

// rendered is all of a request that a provider sees, as text.
func rendered(req *llm.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model %s, thinking %s, output %d, resume %v, key %d\nsystem %s\n",
		req.Model, req.Thinking, req.MaxOutputTokens, req.Resume, len(req.CacheKey), req.System)
	for _, t := range req.Tools {
		fmt.Fprintf(&b, "tool %s %s %s\n", t.Name, t.Description, t.InputSchema)
	}
	for i := range req.Messages {
		fmt.Fprintf(&b, "%s %s\n", req.Messages[i].Role, message.AppendBlocks(nil, req.Messages[i].Content, message.Form{}))
	}
	fmt.Fprintf(&b, "marks %v\n", req.CacheMarks)
	return b.String()
}

// withoutSeqs is a rendered request whose messages have no numbers.
func withoutSeqs(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for at := 0; at < len(s); {
		next := strings.IndexByte(s[at:], '#')
		if named := strings.Index(s[at:], "seq="); named >= 0 && (next < 0 || named < next) {
			next = named + len("seq=")
		}
		if next < 0 {
			next = len(s) - at - 1
		}
		b.WriteString(s[at : at+next+1])
		for at += next + 1; at < len(s) && strings.IndexByte(`\"0123456789`, s[at]) >= 0; at++ {
		}
	}
	return b.String()
}

// blocksOf lists what stands in a request, in order, each block with the role it has.
func blocksOf(req *llm.Request) []string {
	var head strings.Builder
	for _, t := range req.Tools {
		fmt.Fprintf(&head, "%s %s %s\n", t.Name, t.Description, t.InputSchema)
	}
	blocks := []string{req.Model, head.String(), req.System}
	for i := range req.Messages {
		for _, b := range req.Messages[i].Content {
			one := message.AppendBlocks(nil, []message.Block{b}, message.Form{})
			blocks = append(blocks, string(req.Messages[i].Role)+" "+string(one))
		}
	}
	return blocks
}

// firstDifference returns where b stops beginning like a, or -1 if a is a prefix of b.
func firstDifference(a, b []string) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// kindsOf lists the kinds of a log's entries, those of some kinds only if any are given.
func (w *world) kindsOf(ref store.Ref, only ...session.EntryKind) []session.EntryKind {
	w.t.Helper()
	var kinds []session.EntryKind
	for _, e := range w.log(ref) {
		keep := len(only) == 0
		for _, k := range only {
			keep = keep || e.Kind == k
		}
		if keep {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// compactions returns the results that the log tells of, in order.
func (w *world) compactions(ref store.Ref) []session.Compaction {
	w.t.Helper()
	return compactionsIn(w.t, w.log(ref))
}

func compactionsIn(tb testing.TB, log []*session.Event) []session.Compaction {
	tb.Helper()
	var all []session.Compaction
	for _, e := range log {
		if e.Kind == session.EntryCompactionCompleted || e.Kind == session.EntryCompactionFailed {
			all = append(all, decodeAs[session.Compaction](tb, e.Data))
		}
	}
	return all
}

func decodeAs[T any](tb testing.TB, raw []byte) T {
	tb.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		tb.Fatalf("%s: %v", raw, err)
	}
	return v
}

// outcomes is how the compactions ended, each as outcome and reason.
func outcomes(all []session.Compaction) []string {
	var out []string
	for _, c := range all {
		out = append(out, strings.TrimSpace(string(c.Outcome)+" "+string(c.Reason)))
	}
	return out
}

// lastTurn returns the turn that a message began.
func (w *world) lastTurn(ref store.Ref, r session.SendResult) *session.Turn {
	w.t.Helper()
	return w.turn(ref, r.TurnID)
}

// context tells what the model would get now.
func (w *world) context(ref store.Ref) *session.ContextInfo {
	w.t.Helper()
	info, err := w.m.Context(w.t.Context(), ref, true)
	if err != nil {
		w.t.Fatal(err)
	}
	return info
}

// compact asks for a compaction and waits for it.
func (w *world) compact(ref store.Ref, o session.CompactOptions) (*session.Compaction, error) {
	r, err := w.m.Compact(w.t.Context(), ref, o, session.Idempotency{})
	return r.Value, err
}

// answerCalls hands in a result for each pending call, and again for those that follow,
// until none is left.
func (w *world) answerCalls(ref store.Ref, result func(session.PendingCall) string) {
	w.t.Helper()
	for range 500 {
		pending := w.get(ref).PendingCalls
		if len(pending) == 0 {
			return
		}
		w.submit(ref, pending[0].ToolUseID, result(pending[0]))
	}
	w.t.Fatal("the calls don't end")
}

// talk sends messages of a size and lets each have its answer.
func (w *world) talk(ref store.Ref, n, tokens int) {
	w.t.Helper()
	for i := range n {
		w.send(ref, words(fmt.Sprintf("message %d", i+1), tokens))
	}
}
