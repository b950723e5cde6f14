package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// tooLong is a refusal that names no number.
func tooLong() llmtest.Step {
	return llmtest.Fail(&llm.Error{Class: llm.ClassOverflow, Status: 400, Message: "prompt is too long"})
}

// completed sends a message and wants its turn to complete.
func (w *world) completed(ref store.Ref, text string) *session.Turn {
	w.t.Helper()
	turn := w.lastTurn(ref, w.send(ref, text))
	if turn.Status != store.TurnCompleted {
		w.t.Fatalf("the turn ended as %s (%+v)", turn.Status, turn.Error)
	}
	return turn
}

// wantLevel wants a session to be at a level.
func (w *world) wantLevel(ref store.Ref, want int) {
	w.t.Helper()
	if got := w.get(ref).ReactiveLevel; got != want {
		w.t.Errorf("the session is at level %d, want %d", got, want)
	}
}

// A refusal that names the real limit: it is learned, the request is repeated smaller,
// and all sessions of the model know it from then on, after a restart too.
func TestB33ALimitIsLearnedFromARefusal(t *testing.T) {
	const window = 6_000
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref, other := w.create(), w.create()
		c.window = window
		for i := range 40 { // enough to meet the window and then the new threshold
			w.completed(ref, words(fmt.Sprint("message ", i), 300))
		}
		first := w.compactions(ref)[0]
		if first.Trigger != compaction.TriggerOverflow || first.Level != compaction.LevelLight || first.Outcome != compaction.OutcomeApplied {
			t.Errorf("the first compaction is %+v", first)
		}
		w.wantLevel(ref, 0)
		refused := 0
		chats, _ := w.requests()
		for _, req := range chats {
			if countRequest(req) > window {
				refused++
			}
		}
		if refused != 1 {
			t.Errorf("%d requests were refused, want 1", refused)
		}
		const input = window - 1_000 // what an answer may have is left free
		if got := w.context(other).Input; got != input {
			t.Errorf("another session's limit is %d, want %d", got, input)
		}
		w.restart()
		for _, r := range []store.Ref{ref, other} {
			if got := w.context(r).Input; got != input {
				t.Errorf("after a restart the limit is %d, want %d", got, input)
			}
		}
		larger := w.create(func(s *session.Settings) { s.Model = "large" })
		if got := w.context(larger).Input; got != 25_000 {
			t.Errorf("the limit of another model is %d", got)
		}
	})
}

// A refusal without a number: 0.8 of what was sent is believed.
func TestARefusalWithoutANumber(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		w.talk(ref, 16, 500)
		c.say(tooLong())
		w.completed(ref, "next")
		chats, _ := w.requests()
		sent := countRequest(chats[len(chats)-2])
		info := w.context(ref)
		if want := sent*8/10 - 1_000; info.Input != want {
			t.Errorf("refused at %d, the limit is %d, want %d", sent, info.Input, want)
		}
		if last := countRequest(chats[len(chats)-1]); last > info.Input {
			t.Errorf("the repeated request has %d tokens, the limit is %d", last, info.Input)
		}
		got := w.compactions(ref)
		if len(got) != 1 || got[0].Trigger != compaction.TriggerOverflow || got[0].Level != compaction.LevelLight {
			t.Errorf("the compactions are %+v", got)
		}
	})
}

// Each refusal raises the level by one. It is on disk before the model is called again, a
// restart goes on at it, and it falls to 0 with the first call that succeeds small.
func TestTheLevelIsStoredBeforeTheCall(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		w.talk(ref, 16, 500)
		free := make(chan struct{})
		var levels []int
		look := llmtest.Do(func(*llm.Request) { levels = append(levels, w.storedLevel(ref)) })
		for range 2 {
			c.say(look.Then(llmtest.Fail(llmtest.Overflow(30_000)))) // it names no smaller limit
		}
		waiting := llmtest.Wait(free).Then(says("at last"))
		c.say(look.Then(waiting), waiting)
		sent := w.send(ref, "next")
		if diff := cmp.Diff([]int{0, 1, 2}, levels); diff != "" {
			t.Errorf("levels stored at the calls (-want +got):\n%s", diff)
		}
		w.wantLevel(ref, 2)
		w.restart()
		w.wantLevel(ref, 2)
		close(free)
		synctest.Wait()
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
			t.Fatalf("the turn ended as %s (%+v)", turn.Status, turn.Error)
		}
		w.wantLevel(ref, 0)
	})
}

// storedLevel is the level on disk.
func (w *world) storedLevel(ref store.Ref) int {
	row, err := w.mem.Session(w.t.Context(), ref)
	if err != nil {
		w.t.Error(err)
		return -1
	}
	state := decodeAs[struct {
		Context struct {
			Ladder compaction.Ladder `json:"ladder"`
		} `json:"context"`
	}](w.t, row.State)
	return int(state.Context.Ladder.Level)
}

// A success over the landing leaves the level where it is; the compaction that comes later
// is made at it, and the call after that brings it down.
func TestTheLevelFallsOnlyAtTheLanding(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		w.talk(ref, 4, 500)
		c.answer(llmtest.Fail(llmtest.Overflow(30_000))) // spurious: nothing is learned from it
		if turn := w.lastTurn(ref, w.send(ref, "next")); turn.Status != store.TurnFailed {
			t.Fatalf("the turn ended as %s", turn.Status)
		}
		w.wantLevel(ref, 3)
		c.answer(says("ok"))
		w.completed(ref, words("a long one", 2_400))
		info := w.context(ref)
		if info.Judged <= info.Landing || info.Judged >= info.Threshold {
			t.Fatalf("judged %d is not between landing %d and threshold %d", info.Judged, info.Landing, info.Threshold)
		}
		w.wantLevel(ref, 3)
		w.restart()
		w.wantLevel(ref, 3)
		before := len(w.compactions(ref))
		w.completed(ref, words("another", 1_500))
		all := w.compactions(ref)
		if len(all) != before+1 || all[before].Level != compaction.LevelAggressive || all[before].Trigger != compaction.TriggerAuto {
			t.Errorf("then the compactions are %+v", all[before:])
		}
		w.wantLevel(ref, 0)
	})
}

// A provider that leaves out what does not fit, and says so only by its count, is taken
// to have refused.
func TestSilentTruncation(t *testing.T) {
	const served = 5_000
	truncating := func(req *llm.Request) int64 { return int64(min(countRequest(req), served)) }
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		step := llmtest.Text("ok")
		c.chat = func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
			resp, err := step(ctx, req, emit)
			if err == nil {
				resp.Usage = message.Usage{Input: truncating(req), Output: 7}
			}
			return resp, err
		}
		ref := w.create()
		w.completed(ref, words("message 1", 3_000))
		sent := w.send(ref, words("message 2", 8_000))
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
			t.Fatalf("the turn ended as %s (%+v)", turn.Status, turn.Error)
		}
		if got := w.context(ref).Input; got != served-1_000 {
			t.Errorf("the limit is %d, want %d", got, served-1_000)
		}
		chats, _ := w.requests()
		if last := countRequest(chats[len(chats)-1]); last > served {
			t.Errorf("the request that was answered has %d tokens", last)
		}
		if n := len(w.messagesBy(ref, message.RoleAssistant)); n != 2 {
			t.Errorf("%d answers in the log, want 2", n)
		}
	})
}

// What is not known to be an overflow never compacts anything.
func TestB29OtherRefusalsAreNoOverflow(t *testing.T) {
	fail := func(class llm.Class, status int) llmtest.Step {
		return llmtest.Fail(&llm.Error{Class: class, Status: status, Message: "tokens, length, limit: words that prove nothing"})
	}
	for _, test := range []struct {
		name string
		step llmtest.Step
		want store.TurnStatus
	}{
		{"unknown 400", fail(llm.ClassInvalid, 400), store.TurnFailed},
		{"429", fail(llm.ClassRate, 429), store.TurnCompleted},
		{"529", fail(llm.ClassOverload, 529), store.TurnCompleted},
		{"network", fail(llm.ClassNetwork, 0), store.TurnCompleted},
	} {
		t.Run(test.name, func(t *testing.T) {
			withClerk(t, 25_000, func(w *world, c *clerk) {
				t := w.t
				ref := w.create()
				w.talk(ref, 16, 500)
				before := w.context(ref)
				c.say(test.step)
				sent := w.send(ref, "next")
				w.pass(2 * time.Second)
				if turn := w.lastTurn(ref, sent); turn.Status != test.want {
					t.Errorf("the turn ended as %s (%+v), want %s", turn.Status, turn.Error, test.want)
				}
				w.wantLevel(ref, 0)
				if _, summaries := w.requests(); len(summaries) != 0 {
					t.Errorf("%d summary calls", len(summaries))
				}
				if after := w.context(ref); after.Input != before.Input || after.Generation != 0 || len(after.Cleared) != 0 {
					t.Errorf("the context changed: %+v", after.Figures)
				}
				w.completed(ref, "and on")
			}, withRetries)
		})
	}
}

func withRetries(o *session.Options) { o.RetryBudget = time.Minute }

// A 429 for ever ends the turn as upstream_failed when its budget is used up, and nothing
// was compacted.
func TestB29RateLimitForEver(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		w.talk(ref, 16, 500)
		c.chat = llmtest.Fail(&llm.Error{Class: llm.ClassRate, Status: 429})
		sent := w.send(ref, "next")
		w.pass(10 * time.Minute)
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnFailed || turn.Error.Kind != session.TurnUpstreamFailed {
			t.Errorf("the turn ended as %s (%+v)", turn.Status, turn.Error)
		}
		if got := w.kindsOf(ref, session.EntryContextCleared, session.EntryCompactionCompleted, session.EntryCompactionFailed); len(got) != 0 {
			t.Errorf("the context was changed: %v", got)
		}
		w.wantLevel(ref, 0)
	}, withRetries)
}

// What can't be made to fit ends the turn with the names of the largest parts, and the
// next small message is answered.
func TestContextOverflowNamesThePartsAndTheSessionGoesOn(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer llmtest.Step
		named  string
	}{
		{"a tool input that can't be cut", calls("write", fmt.Sprintf(`{"text":%q}`, words("code", 9_000))), "open_round 9"},
		{"a provider that takes nothing", tooLong(), "messages"},
	} {
		t.Run(test.name, func(t *testing.T) {
			withClerk(t, 8_000, func(w *world, c *clerk) {
				t := w.t
				ref := w.create(withTools("write"))
				w.completed(ref, "hello")
				c.answer(test.answer)
				sent := w.send(ref, "Write it.")
				w.answerCalls(ref, func(session.PendingCall) string { return "written" })
				turn := w.lastTurn(ref, sent)
				if turn.Status != store.TurnFailed || turn.Error.Kind != session.TurnContextOverflow || !strings.Contains(turn.Error.Message, test.named) {
					t.Fatalf("the turn ended as %s (%+v)", turn.Status, turn.Error)
				}
				c.answer(says("ok"))
				w.completed(ref, "A small one.")
				chats, _ := w.requests()
				checkRequests(t, chats, 8_000)
				w.completed(ref, "Another.")
				w.wantLevel(ref, 0)
			})
		})
	}
}
