package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// trickle answers with a byte a second, for ever.
func trickle(ctx context.Context, _ *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-tick.C:
			emit(llm.Delta{Kind: llm.DeltaText, Text: "x"})
		case <-ctx.Done():
			tick.Stop()
			return nil, fmt.Errorf("cut off: %w", ctx.Err())
		}
	}
}

func explode(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) { panic("boom") }

func thought(text string) llmtest.Step {
	return answerOf(message.Thinking{Provider: "scripted", Text: text, Raw: []byte(`{}`)})
}

// badSummaries are the ways in which a summary can't be had.
var badSummaries = []struct {
	name     string
	step     llmtest.Step
	reason   compaction.Reason
	requests int           // that one summary call makes
	takes    time.Duration // that it lasts
	wait     time.Duration // that the provider asks for
}{
	{name: "an error", step: llmtest.Fail(&llm.Error{Class: llm.ClassNetwork, Message: "boom"}), reason: "summariser_network", requests: 1},
	{name: "an unknown error", step: llmtest.Fail(errors.New("boom")), reason: "summariser_internal", requests: 1},
	{name: "a panic", step: explode, reason: "summariser_internal", requests: 1},
	{name: "nothing", step: llmtest.Text(""), reason: "summariser_empty", requests: 1},
	{name: "white space", step: llmtest.Text(" \n\t "), reason: "summariser_empty", requests: 1},
	{name: "scratch only", step: llmtest.Text("<analysis>boom</analysis>\n"), reason: "summariser_empty", requests: 1},
	{name: "reasoning only", step: thought("boom"), reason: "summariser_empty", requests: 1},
	{name: "no sections", step: llmtest.Text("The user said boom and more."), reason: "summariser_sections", requests: 1},
	{
		name: "cut by length", step: llmtest.Text(summaryOf("boom", 50)).WithStop(llm.StopMaxTokens),
		reason: "summariser_cut_off", requests: 2,
	},
	{name: "a tool call", step: llmtest.Calls("boom", llmtest.Call{Name: "query"}), reason: "summariser_tool_call", requests: 2},
	{name: "markup of a call", step: llmtest.Text("<tool_call>{\"name\":\"boom\"}</tool_call>"), reason: "summariser_tool_call", requests: 2},
	{name: "the text of an error", step: llmtest.Text("Error: boom"), reason: "summariser_error_text", requests: 1},
	{name: "a refusal", step: llmtest.Text("boom").WithStop(llm.StopRefusal), reason: "summariser_refused", requests: 1},
	{name: "429 for ever", step: llmtest.Fail(&llm.Error{Class: llm.ClassRate, Status: 429, Message: "boom"}), reason: "summariser_rate", requests: 1},
	{
		name: "429 with a wish", step: llmtest.Fail(&llm.Error{Class: llm.ClassRate, Status: 429, RetryAfter: 20 * time.Minute}),
		reason: "summariser_rate", requests: 1, wait: 20 * time.Minute,
	},
	{name: "529 for ever", step: llmtest.Fail(&llm.Error{Class: llm.ClassOverload, Status: 529, Message: "boom"}), reason: "summariser_overload", requests: 1},
	{name: "a hang", step: llmtest.Hang(), reason: "summariser_timeout", requests: 1, takes: 3 * time.Minute},
	{name: "a byte a second", step: trickle, reason: "summariser_timeout", requests: 1, takes: 3 * time.Minute},
	{name: "an overflow for ever", step: llmtest.Fail(llmtest.Overflow(100)), reason: "summariser_overflow", requests: 3},
	{name: "too many bytes for ever", step: llmtest.Fail(llmtest.Oversize()), reason: "summariser_overflow", requests: 3},
}

// mostCalls is how many summary calls a time has room for that begins with the first:
// each is followed by a cooldown that doubles from 30 seconds to 10 minutes.
func mostCalls(elapsed, takes, wait time.Duration) int {
	n := 0
	cooldown := 30 * time.Second
	for at := time.Duration(0); at <= elapsed; n++ {
		if wait > 0 {
			at += takes + wait
			continue
		}
		at += takes + cooldown
		cooldown = min(2*cooldown, 10*time.Minute)
	}
	return n
}

// Whatever the summariser does, the conversation goes on, every outcome says what
// happened, nothing is thrown away while there is room, and what is spent is bounded.
func TestBadSummarisers(t *testing.T) {
	const limit, messages, size = 8_000, 60, 200
	for _, bad := range badSummaries {
		t.Run(bad.name, func(t *testing.T) {
			withClerk(t, limit, func(w *world, c *clerk) {
				t := w.t
				c.summary = bad.step
				ref := w.create(withTools("query")) // its name is what a bad summary calls
				var first time.Time
				edge := 0
				for i := range messages {
					sent := w.send(ref, words(fmt.Sprint("message ", i), size))
					if w.get(ref).Status != store.StatusIdle {
						w.pass(bad.takes + time.Second)
					}
					if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
						t.Fatalf("turn %d ended as %s (%+v)", i, turn.Status, turn.Error)
					}
					if _, summaries := w.requests(); len(summaries) > 0 && first.IsZero() {
						first = time.Now()
					}
					edge = w.context(ref).Edge
					w.pass(time.Second)
				}
				chats, summaries := w.requests()
				if len(chats) != messages {
					t.Errorf("%d chats for %d messages", len(chats), messages)
				}
				checkRequests(t, chats, limit)
				most := bad.requests * mostCalls(time.Since(first)+bad.takes, bad.takes, bad.wait)
				if len(summaries) == 0 || len(summaries) > most {
					t.Errorf("%d requests for summaries in %s, at most %d are due", len(summaries), time.Since(first), most)
				}
				failed, degraded := 0, 0
				for _, r := range w.compactions(ref) {
					switch {
					case r.Outcome == compaction.OutcomeFailed && r.Reason == bad.reason && r.TokensAfter == r.TokensBefore:
						failed++
					case r.Outcome == compaction.OutcomeDegraded && r.Writer == compaction.WriterDigest && r.TokensBefore > edge:
						degraded++
					default:
						t.Errorf("a compaction ended as %s %s, writer %s, from %d (edge %d) to %d", r.Outcome, r.Reason, r.Writer, r.TokensBefore, edge, r.TokensAfter)
					}
				}
				if failed*bad.requests != len(summaries) || degraded == 0 {
					t.Errorf("%d failed and %d degraded compactions, %d requests", failed, degraded, len(summaries))
				}
				w.noMessageSays(ref, "boom")
				if pause := w.get(ref).Paused; pause == nil || pause.Reason != session.PauseSummariser {
					t.Errorf("the pause is told as %+v", pause)
				}
			}, withCaching) // so that the chat is repeated first
		})
	}
}

// noMessageSays looks for a text in all the model is shown, in what it was asked, and in
// all messages and summaries of the log.
func (w *world) noMessageSays(ref store.Ref, text string) {
	w.t.Helper()
	for _, m := range w.context(ref).View {
		if strings.Contains(string(message.AppendBlocks(nil, m.Content, message.Form{})), text) {
			w.t.Errorf("the model is shown %q", text)
		}
	}
	for _, e := range w.log(ref) {
		if strings.Contains(string(e.Data), text) {
			w.t.Errorf("entry %d (%s) says %q", e.Seq, e.Kind, text)
		}
	}
	chats, _ := w.requests()
	for i, req := range chats {
		if strings.Contains(rendered(req), text) {
			w.t.Errorf("chat %d says %q", i, text)
		}
	}
}

// When the summariser works again its summary is taken after the cooldown, and the next
// failure begins with the shortest cooldown.
func TestASummariserThatComesBack(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		fail := llmtest.Fail(&llm.Error{Class: llm.ClassNetwork})
		c.note(fail, fail)
		ref := w.create()
		grow := func(until int) {
			t.Helper()
			for range 200 {
				if _, summaries := w.requests(); len(summaries) >= until {
					return
				}
				w.completed(ref, words("message", 100))
			}
			t.Fatalf("no summary call %d", until)
		}
		grow(1)
		if until := w.get(ref).Paused.Until; until != time.Now().Add(30*time.Second) {
			t.Errorf("the cooldown ends %s from now", time.Until(until))
		}
		w.pass(31 * time.Second)
		grow(2)
		if until := w.get(ref).Paused.Until; until != time.Now().Add(60*time.Second) {
			t.Errorf("the second cooldown ends %s from now", time.Until(until))
		}
		w.pass(61 * time.Second)
		grow(3)
		if got := w.get(ref).Paused; got != nil {
			t.Errorf("still paused: %+v", got)
		}
		if diff := cmp.Diff([]string{"failed summariser_network", "failed summariser_network", "applied"}, outcomes(w.compactions(ref))); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
		c.note(fail)
		grow(4)
		if until := w.get(ref).Paused.Until; until != time.Now().Add(30*time.Second) {
			t.Errorf("after a success the cooldown ends %s from now", time.Until(until))
		}
	})
}

// One call per cooldown in a turn of tool rounds, which completes.
func TestB30RateLimitedSummariserInATurn(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.summary = llmtest.Fail(&llm.Error{Class: llm.ClassRate, Status: 429})
		const rounds = 20
		for i := range rounds {
			c.say(calls("query", fmt.Sprintf(`{"n":%d}`, i)))
		}
		ref := w.create(withFixedTool("query"))
		sent := w.send(ref, "Ask.")
		w.answerCalls(ref, func(session.PendingCall) string { return words("row", 600) })
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
			t.Errorf("the turn ended as %s (%+v)", turn.Status, turn.Error)
		}
		chats, summaries := w.requests()
		checkRequests(t, chats, 8_000)
		if len(summaries) != 1 {
			t.Errorf("%d summary calls within one cooldown", len(summaries))
		}
		if got := outcomes(w.compactions(ref)); len(got) < 2 || got[0] != "failed summariser_rate" || got[1] != "degraded" {
			t.Errorf("the outcomes are %v", got)
		}
	})
}

// A manual compaction terminates with a usable session even if every summary call
// overflows, and so does the turn after it.
func TestB16ManualCompactionWithoutSummariser(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.summary = llmtest.Fail(llmtest.Overflow(100))
		ref := w.create()
		w.talk(ref, 12, 250)
		got, err := w.compact(ref, session.CompactOptions{Wait: true})
		if err != nil || got.Outcome != compaction.OutcomeFailed || got.Reason != "summariser_overflow" {
			t.Fatalf("the result is %+v, %v", got, err)
		}
		if got.TokensAfter != got.TokensBefore || w.get(ref).Generation != 0 {
			t.Errorf("something changed: %+v", got)
		}
		for i := range 30 {
			w.completed(ref, words(fmt.Sprint("later ", i), 250))
		}
		last := w.compactions(ref)
		if n := len(last); last[n-1].Outcome != compaction.OutcomeDegraded {
			t.Errorf("the outcomes are %v", outcomes(last))
		}
		var ledger int
		for _, m := range w.context(ref).View {
			if m.Role == message.RoleUser {
				ledger += strings.Count(m.PlainText(), "<user_message") + strings.Count(m.PlainText(), "\nlater ")
			}
		}
		if ledger == 0 {
			t.Error("no user's words are left")
		}
	})
}

// A summary over its cap is asked for once more, shorter, and then cut; the summary never
// grows from one compaction to the next.
func TestB13SummariesThatGrow(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		tokens := 0
		c.summary = func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
			tokens += 1_000 // always more than the last time
			return llmtest.Text(summaryOf("growing", tokens))(ctx, req, emit)
		}
		ref := w.create()
		for i := range 60 {
			w.completed(ref, words(fmt.Sprint("message ", i), 400))
		}
		all := w.compactions(ref)
		if len(all) < 5 {
			t.Fatalf("%d compactions", len(all))
		}
		info := w.context(ref)
		for i, r := range all {
			if size := (quarter{}).Count(r.Summary); size > info.SummaryCap+info.LedgerCap+150 {
				t.Errorf("summary %d has %d tokens, its caps are %d and %d", i, size, info.SummaryCap, info.LedgerCap)
			}
		}
		if _, summaries := w.requests(); len(summaries) > 3*len(all) {
			t.Errorf("%d requests for %d compactions", len(summaries), len(all))
		}
	})
}
