package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/prompt"
	"sessiond/session"
	"sessiond/store"
)

// The faults of docs/compaction.md that other tests of this package are not about, each
// under its number: here those of compactions and their summaries.

// In a turn that goes on by itself summary calls stay as rare as its growth allows, and a
// restart in the middle of it does not begin the count anew.
func TestB04SummaryCallsOfATurnAreCountedAcrossARestart(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.summary = notes(2_000) // always over its cap
		ref := w.create(withFixedTool("query"))
		for i := range 60 {
			c.say(calls("query", fmt.Sprintf(`{"n":%d}`, i)))
		}
		w.send(ref, "Ask.")
		for range 30 {
			w.submit(ref, w.get(ref).PendingCalls[0].ToolUseID, words("row", 120))
		}
		before := w.get(ref)
		w.restart()
		if after := w.get(ref); after.Generation != before.Generation || !cmp.Equal(after.Paused, before.Paused) {
			t.Errorf("before the restart %+v, after it %+v", before.Paused, after.Paused)
		}
		w.answerCalls(ref, func(session.PendingCall) string { return words("row", 120) })
		_, summaries := w.requests()
		info := w.context(ref)
		if most := 3 * (1 + 60*150/(info.Headroom/3)); len(summaries) > most {
			t.Errorf("%d requests for summaries in one turn", len(summaries))
		}
		chats, _ := w.requests()
		checkRequests(t, chats, 8_000)
	})
}

// What the provider counted before a compaction does not trigger another one after it.
func TestB06AnOldMeasurementTriggersNothing(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		for i := 0; w.get(ref).Gauge.ContextTokens < w.context(ref).Threshold-300; i++ {
			w.completed(ref, words(fmt.Sprint("message ", i), 250))
		}
		w.mustCompact(ref)
		w.restart()
		w.completed(ref, "ok")
		if got := w.compactions(ref); len(got) != 1 {
			t.Errorf("the compactions are %v", outcomes(got))
		}
	})
}

// Five large files that were read are shown again within what there is for them, and the
// context is below the threshold.
func TestB11FilesAreShownAgainWithinTheirShare(t *testing.T) {
	withClerk(t, 100_000, func(w *world, c *clerk) {
		t := w.t
		for i := range 5 {
			c.say(calls("read", fmt.Sprintf(`{"path":"/src/file%d.go"}`, i)))
		}
		ref := w.create(withTools("read"))
		w.send(ref, "Read the five.")
		w.answerCalls(ref, func(p session.PendingCall) string { return words("package "+string(p.Input), 30_000) })
		w.talk(ref, 4, 700)
		w.mustCompact(ref)
		most, all := 0, w.compactions(ref)
		for _, r := range all {
			files := 0
			for rest := r.Summary; ; files++ {
				_, after, ok := strings.Cut(rest, `<file path="/src/file`)
				if !ok {
					break
				}
				one, _, _ := strings.Cut(after, "</file>")
				if n := (quarter{}).Count(one); n > 2_000 || !strings.Contains(one, "as read at #") {
					t.Errorf("a file of %d tokens is headed %.80q", n, one)
				}
				rest = after
			}
			if files != r.Survived.Files || r.TokensAfter >= w.context(ref).Threshold {
				t.Errorf("%d files are shown, the result says %d; %d tokens are left", files, r.Survived.Files, r.TokensAfter)
			}
			most = max(most, files)
		}
		if most != 5 {
			t.Errorf("%d files are shown", most)
		}
	})
}

// Nothing but the newest results is too large: they are shown by head and tail.
func TestB20TheNewestResultAloneIsTooLarge(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.conversed(withTools("query"))
		w.mustCompact(ref)
		c.say(counted(llmtest.Calls("", llmtest.Call{Name: "query", Input: "{}"}, llmtest.Call{Name: "query", Input: `{"n":1}`})))
		sent := w.send(ref, "Ask.")
		w.answerCalls(ref, func(session.PendingCall) string { return "HEAD " + words("row", 40_000) + " TAIL" })
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
			t.Fatalf("the turn ended as %s (%+v)", turn.Status, turn.Error)
		}
		chats, _ := w.requests()
		checkRequests(t, chats, 8_000)
		shown := rendered(chats[len(chats)-1])
		for _, want := range []string{"HEAD row", "TAIL"} {
			if strings.Count(shown, want) != 2 {
				t.Errorf("%q stands %d times in the request", want, strings.Count(shown, want))
			}
		}
		if !strings.Contains(shown, "[...truncated...]") {
			t.Error("the request does not say that something is left out")
		}
	})
}

// No reply that is no summary replaces anything.
func TestB24ToB26AndB34NoReplyWithoutASummaryReplacesAnything(t *testing.T) {
	for _, bad := range badSummaries {
		if bad.takes > 0 {
			continue
		}
		t.Run(bad.name, func(t *testing.T) {
			withClerk(t, 8_000, func(w *world, c *clerk) {
				t := w.t
				c.summary = bad.step
				ref := w.conversed(withTools("query"))
				view, messages := w.shown(ref, true), len(w.log(ref))
				r, err := w.compact(ref, asked)
				if err != nil || r.Outcome != compaction.OutcomeFailed || r.Reason != bad.reason {
					t.Errorf("the result is %+v, %v", r, err)
				}
				if diff := cmp.Diff(view, w.shown(ref, true)); diff != "" {
					t.Errorf("something else is shown:\n%s", diff)
				}
				added := w.log(ref)[messages:]
				if len(added) != 1 || added[0].Kind != session.EntryCompactionFailed {
					t.Errorf("%d entries were added: a tool was called, or more", len(added))
				}
			})
		})
	}
}

// A summary of tool rounds is asked for without their blocks, or with the tools that they
// need: the request is valid.
func TestB27AToolRoundCanBeSummarised(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.watch(func(req *llm.Request) {
			blocks := 0
			for i := range req.Messages {
				blocks += len(req.Messages[i].ToolUses())
			}
			if repairs := prompt.Check(req); len(repairs) > 0 || blocks > 0 && len(req.Tools) == 0 {
				t.Errorf("a request with %d calls and %d tools: %v", blocks, len(req.Tools), repairs)
			}
		})
		c.say(calls("query", "{}"), says("done"))
		ref := w.create(withTools("query"))
		w.send(ref, "Ask.")
		w.answerCalls(ref, func(session.PendingCall) string { return words("row", 1_500) })
		w.completed(ref, "next")
		w.mustCompact(ref)
	})
}

// A summary call that repeats the chat begins with the bytes of the last one, so that it
// reads the provider's cache.
func TestB28ARepeatedChatReadsTheCache(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create(withTools("query"))
		w.talk(ref, 20, 300)
		w.mustCompact(ref)
		chats, summaries := w.requests()
		last, asked := chats[len(chats)-1], summaries[0]
		if asked.System != last.System {
			t.Fatal("the chat was not repeated")
		}
		if at := firstDifference(blocksOf(last), blocksOf(asked)); at >= 0 {
			t.Errorf("it differs from the last chat at block %d", at)
		}
		if asked.Model != last.Model || asked.Thinking != last.Thinking || asked.CacheKey != last.CacheKey {
			t.Error("it differs in what the cache goes by")
		}

		// An hour later the cache is cold: the flat text is cheaper.
		w.talk(ref, 20, 300)
		w.pass(time.Hour)
		w.mustCompact(ref)
		_, summaries = w.requests()
		if flat := summaries[len(summaries)-1]; len(flat.Messages) != 1 || len(flat.Tools) != 0 {
			t.Errorf("with a cold cache it has %d messages and %d tools", len(flat.Messages), len(flat.Tools))
		}
	}, withCaching)
}

// A summariser that hangs is given up after its time; the turn goes on and so does the
// session.
func TestB31ASummariserThatHangs(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.summary = llmtest.Hang()
		ref := w.create()
		for i := range 40 {
			sent := w.send(ref, words(fmt.Sprint("message ", i), 300))
			if w.get(ref).Status != store.StatusIdle {
				w.pass(3*time.Minute - time.Second)
				if w.get(ref).Status == store.StatusIdle {
					t.Fatal("it was given up before its time")
				}
				w.pass(time.Second)
			}
			if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
				t.Fatalf("turn %d ended as %s (%+v)", i, turn.Status, turn.Error)
			}
		}
		if got := outcomes(w.compactions(ref)); len(got) == 0 || got[0] != "failed summariser_timeout" {
			t.Errorf("the outcomes are %v", got)
		}
	})
}

// A call whose result never came gets one that says so; the compacted conversation is
// valid.
func TestB37ACallWithoutResult(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.conversed(withTools("query"))
		c.say(calls("query", `{"n":1}`))
		w.send(ref, "Ask.")
		w.stop(ref, "", false)
		w.mustCompact(ref)
		w.completed(ref, "go on")
		chats, _ := w.requests()
		checkRequests(t, chats, 8_000)
		if shown := rendered(chats[len(chats)-1]); !strings.Contains(shown, "was stopped before this call had a result") {
			t.Error("the call has no result that says what happened")
		}
	})
}

// A message that holds results and an attachment leaves whole; the attachment is shown
// with the summary.
func TestB43ResultsAndAttachmentsLeaveTogether(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		const rule = "Ask before you push."
		c.say(calls("query", "{}"), says("done"))
		ref := w.create(withTools("query"))
		w.send(ref, "Ask.")
		text := rule
		w.change(ref, session.Update{AgentPrompt: &text})
		w.answerCalls(ref, func(session.PendingCall) string { return words("row", 1_500) })
		w.talk(ref, 3, 100)
		w.mustCompact(ref)
		view := w.context(ref).View
		if got := view[0].Content; len(got) < 2 || !strings.Contains(got[1].(message.Text).Text, rule) {
			t.Error("the summary message does not show it")
		}
		w.completed(ref, "next")
		chats, _ := w.requests()
		checkRequests(t, chats, 8_000)
		if n := strings.Count(rendered(chats[len(chats)-1]), rule); n != 1 {
			t.Errorf("the next request holds it %d times", n)
		}
	})
}

// A built-in call that a crash cut off has an error result afterwards; a second restart
// adds nothing.
func TestB47ACallThatACrashCutOff(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.say(calls("query", "{}"))
		ref := w.create(withTools("query"))
		sent := w.send(ref, "Ask.")
		w.crash()
		head := w.get(ref).HeadSeq
		w.crash()
		if got := w.get(ref); got.HeadSeq != head || len(got.PendingCalls) != 1 {
			t.Errorf("a second crash added %d entries, %d calls are pending", got.HeadSeq-head, len(got.PendingCalls))
		}
		w.pass(6 * time.Minute) // nobody comes back for it
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
			t.Errorf("the turn ended as %s", turn.Status)
		}
		chats, _ := w.requests()
		checkRequests(t, chats, 8_000)
	})
}
