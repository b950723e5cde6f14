package session_test

import (
	"fmt"
	"slices"
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

// withFixedTool gives a session a tool whose results are never cleared.
func withFixedTool(name string) func(*session.Settings) {
	return func(s *session.Settings) {
		never := false
		s.Tools = append(s.Tools, session.Tool{
			Name: name, Description: name, InputSchema: []byte(`{"type":"object"}`), Cleanable: &never,
		})
	}
}

// checkRequests judges every chat of a session: valid for every provider, and within the
// limit.
func checkRequests(tb testing.TB, chats []*llm.Request, limit int) {
	tb.Helper()
	for i, req := range chats {
		if repairs := prompt.Check(req); len(repairs) > 0 {
			tb.Errorf("request %d is not valid: %v", i, repairs)
		}
		if size := countRequest(req); size > limit {
			tb.Errorf("request %d has %d tokens, over the limit of %d", i, size, limit)
		}
	}
}

func TestB15CompactionBetweenToolRounds(t *testing.T) {
	const limit, rounds = 8_000, 16
	for _, tool := range []struct {
		name   string
		with   func(*session.Settings)
		tokens int // of a result
		want   session.EntryKind
	}{
		{"read", withTools("read"), 400, session.EntryContextCleared},
		{"query", withFixedTool("query"), 700, session.EntryCompactionCompleted},
	} {
		t.Run(tool.name, func(t *testing.T) {
			withClerk(t, limit, func(w *world, c *clerk) {
				t := w.t
				for i := range rounds {
					c.say(calls(tool.name, fmt.Sprintf(`{"path":"file %d"}`, i)))
				}
				c.say(says("all read"))
				ref := w.create(tool.with)
				sent := w.send(ref, "Read all of them, port 8081.")
				w.answerCalls(ref, func(p session.PendingCall) string { return words(string(p.Input), tool.tokens) })

				if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
					t.Fatalf("the turn ended as %s (%+v)", turn.Status, turn.Error)
				}
				kinds := w.kindsOf(ref)
				if at := slices.Index(kinds, tool.want); at < 0 || at > slices.Index(kinds, session.EntryTurnCompleted) {
					t.Errorf("no %s in the middle of the turn: %v", tool.want, kinds)
				}
				chats, _ := w.requests()
				if len(chats) != rounds+1 {
					t.Errorf("%d chats, want %d", len(chats), rounds+1)
				}
				checkRequests(t, chats, limit)
				for i, req := range chats {
					if !strings.Contains(rendered(req), "port 8081") {
						t.Errorf("request %d does not hold what the user asked for", i)
					}
				}
			})
		})
	}
}

// A turn has one summary call, unless it grows by a third of the headroom since, or over
// high.
func TestB08OneSummaryInATurn(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		const rounds = 30
		for i := range rounds {
			c.say(calls("query", fmt.Sprintf(`{"n":%d}`, i)))
		}
		ref := w.create(withFixedTool("query"))
		sent := w.send(ref, "Ask thirty times.")
		w.answerCalls(ref, func(session.PendingCall) string { return words("row", 150) })
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
			t.Fatalf("the turn ended as %s (%+v)", turn.Status, turn.Error)
		}
		_, summaries := w.requests()
		info := w.context(ref)
		grown := rounds * 170 // tokens, in all
		if most := 1 + grown/(info.Headroom/3); len(summaries) == 0 || len(summaries) > most {
			t.Errorf("%d summary calls in a turn that grew by %d tokens, headroom %d", len(summaries), grown, info.Headroom)
		}
	})
}

func TestB01OverheadIsWarnedOfOnce(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create(func(s *session.Settings) { s.SystemPrompt = words("rules", 3_000) })
		for range 3 {
			if r := w.send(ref, "hi"); w.lastTurn(ref, r).Status != store.TurnCompleted {
				t.Errorf("the turn did not complete: %+v", w.lastTurn(ref, r))
			}
		}
		_, summaries := w.requests()
		if len(summaries) != 0 {
			t.Errorf("%d summary calls for what no summary can shrink", len(summaries))
		}
		warnings := w.entries(ref, session.EntryContextWarning)
		if len(warnings) != 1 {
			t.Fatalf("%d warnings, want 1", len(warnings))
		}
		told := decodeAs[struct {
			Kind     string            `json:"kind"`
			Overhead int               `json:"overhead_tokens"`
			Parts    []compaction.Part `json:"parts"`
		}](t, warnings[0].Data)
		if told.Kind != "overhead" || told.Overhead < 3_000 || len(told.Parts) == 0 || told.Parts[0] != (compaction.Part{Name: "system", Tokens: 3_000}) {
			t.Errorf("the warning says %s", warnings[0].Data)
		}

		// Another overhead is another warning.
		prompt := words("other rules", 3_100)
		w.change(ref, session.Update{SystemPrompt: &prompt})
		w.send(ref, "hi")
		if n := len(w.entries(ref, session.EntryContextWarning)); n != 2 {
			t.Errorf("%d warnings after the overhead changed, want 2", n)
		}
	})
}

// Where the fixed parts leave nothing, the turn fails before any call and says why; with
// smaller ones the session goes on.
func TestB01NoRoomForAConversation(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create(func(s *session.Settings) { s.SystemPrompt = words("rules", 7_000) })
		turn := w.lastTurn(ref, w.send(ref, "hi"))
		if turn.Status != store.TurnFailed || turn.Error.Kind != session.TurnContextOverflow || !strings.Contains(turn.Error.Message, "system 7000") {
			t.Errorf("the turn ended as %s (%+v)", turn.Status, turn.Error)
		}
		if n := len(w.model.Requests()); n != 0 {
			t.Errorf("%d calls were made", n)
		}
		prompt := "Be brief."
		w.change(ref, session.Update{SystemPrompt: &prompt})
		if turn := w.lastTurn(ref, w.send(ref, "hi")); turn.Status != store.TurnCompleted {
			t.Errorf("the next turn ended as %s (%+v)", turn.Status, turn.Error)
		}
	})
}

// Old results of cleanable tools go when the conversation rested for more than an hour,
// but for the newest five, and stay cleared.
func TestMicrocompactAfterAnHour(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		const rounds = 8
		for i := range rounds {
			c.say(calls("read", fmt.Sprintf(`{"path":"file %d"}`, i)))
		}
		ref := w.create(withTools("read"))
		w.send(ref, "Read.")
		w.answerCalls(ref, func(p session.PendingCall) string { return words(string(p.Input), 300) })

		w.pass(60 * time.Minute)
		w.send(ref, "And now?") // an hour old is not older than an hour
		if got := w.entries(ref, session.EntryContextCleared); len(got) != 0 {
			t.Fatalf("cleared after exactly an hour: %s", got[0].Data)
		}
		w.pass(61 * time.Minute)
		w.send(ref, "And now?")
		cleared := w.entries(ref, session.EntryContextCleared)
		if len(cleared) != 1 {
			t.Fatalf("%d clearings, want 1", len(cleared))
		}
		told := decodeAs[struct {
			IDs    []message.ToolUseID    `json:"ids"`
			Reason compaction.ClearReason `json:"reason"`
			Before int                    `json:"tokens_before"`
			After  int                    `json:"tokens_after"`
		}](t, cleared[0].Data)
		if told.Reason != compaction.ClearIdle || len(told.IDs) != rounds-5 || told.After >= told.Before {
			t.Errorf("the clearing says %s", cleared[0].Data)
		}
		if diff := cmp.Diff(told.IDs, w.context(ref).Cleared); diff != "" {
			t.Errorf("what v1.session.context says is cleared (-log +context):\n%s", diff)
		}
		chats, summaries := w.requests()
		if len(summaries) != 0 {
			t.Errorf("%d summary calls", len(summaries))
		}
		shown := rendered(chats[len(chats)-1])
		for i := range rounds {
			body, placeholder := fmt.Sprintf(`{\"path\":\"file %d\"} abc`, i), fmt.Sprintf("result of read file %d,", i)
			if i < rounds-5 == strings.Contains(shown, body) || i < rounds-5 != strings.Contains(shown, placeholder) {
				t.Errorf("result %d is shown wrongly", i)
			}
		}
		w.send(ref, "And now?")
		after, _ := w.requests()
		if at := firstDifference(blocksOf(chats[len(chats)-1]), blocksOf(after[len(after)-1])); at >= 0 {
			t.Errorf("the next request differs at block %d", at)
		}
	})
}

// What a summary costs is told apart from what the answers cost, and the sum is the
// session's.
func TestUsageByPurpose(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		chat, summary, turns := message.Usage{}, message.Usage{}, 0
		for i := range 12 {
			turn := w.lastTurn(ref, w.send(ref, words(fmt.Sprint("message ", i), 500)))
			chat, summary = chat.Add(turn.UsageByPurpose["chat"]), summary.Add(turn.UsageByPurpose["summary"])
			if len(turn.UsageByPurpose) > 1 {
				turns++
			}
			if want := turn.UsageByPurpose["chat"].Add(turn.UsageByPurpose["summary"]); turn.Usage != want {
				t.Errorf("turn %d used %+v, its purposes %+v", i, turn.Usage, want)
			}
		}
		chats, summaries := w.requests()
		if turns == 0 || turns != len(summaries) {
			t.Errorf("%d turns name a summary, %d summaries were made", turns, len(summaries))
		}
		if chat.Output != int64(7*len(chats)) || summary.Output != int64(7*len(summaries)) {
			t.Errorf("outputs of %d and %d for %d chats and %d summaries", chat.Output, summary.Output, len(chats), len(summaries))
		}
		if got := w.get(ref).Usage; got != chat.Add(summary) {
			t.Errorf("the session used %+v, its turns %+v", got, chat.Add(summary))
		}
		for _, r := range w.compactions(ref) {
			if r.Usage == nil || r.Usage.Output != 7 {
				t.Errorf("a compaction's own usage is %+v", r.Usage)
			}
		}
	})
}

// A compaction inside a turn is followed by the next call of the turn, without a word
// from the user; the notes before it ask for nothing.
func TestB72TheTurnGoesOn(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		for range 6 {
			c.say(calls("query", "{}"))
		}
		c.say(says("done"))
		ref := w.create(withFixedTool("query"))
		sent := w.send(ref, "Go on until it is done.")
		w.answerCalls(ref, func(session.PendingCall) string { return words("row", 800) })
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted || turn.Rounds != 7 {
			t.Errorf("the turn ended as %s after %d rounds", turn.Status, turn.Rounds)
		}
		chats, summaries := w.requests()
		if len(summaries) == 0 {
			t.Fatal("no summary was made")
		}
		last := chats[len(chats)-1]
		first := last.Messages[0].PlainText()
		if !strings.HasPrefix(first, "[Context notice from the server, not from the user]") || !strings.Contains(first, "ask for nothing") {
			t.Errorf("the summary message begins with %.200q", first)
		}
		if got := last.Messages[1].PlainText(); got != "Go on until it is done." {
			t.Errorf("after it comes %q, not the pinned request", got)
		}
	})
}

// layers keeps which layer each compaction was told of.
type layers struct {
	*recorder
	told []int
}

func (l *layers) Activity(a *session.Activity) {
	if a.Name == session.ActivityCompacting {
		l.told = append(l.told, a.Layer)
	}
	l.recorder.Activity(a)
}

// While a summary is written, whoever watches is told so and why; then that it is over.
func TestCompactingIsTold(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		seen := &layers{recorder: &recorder{}}
		if _, err := w.m.Subscribe(t.Context(), ref, session.Where{}, seen); err != nil {
			t.Fatal(err)
		}
		for i := 0; w.get(ref).Generation == 0; i++ {
			w.completed(ref, words(fmt.Sprint("message ", i), 300))
		}
		w.talk(ref, 4, 300)
		c.say(llmtest.Fail(llmtest.Overflow(30_000)))
		w.completed(ref, "next")
		w.talk(ref, 4, 300)
		w.mustCompact(ref)
		c.note(llmtest.Text(""))
		w.talk(ref, 4, 300)
		w.ask(ref, asked, session.Idempotency{}).wantOutcome(t, compaction.OutcomeFailed, "summariser_empty")
		if want := []int{2, 3, 0, 0}; !slices.Equal(seen.told, want) {
			t.Errorf("told of layers %v, want %v", seen.told, want)
		}
		doing := seen.doing()
		for i, name := range doing {
			if want := []session.ActivityName{session.ActivityCompacting, session.ActivityNone}[i%2]; name != want {
				t.Fatalf("told of %v", doing)
			}
		}
		if len(doing) != 8 {
			t.Errorf("told of %v", doing)
		}
	})
}

// entries returns a log's entries of a kind.
func (w *world) entries(ref store.Ref, kind session.EntryKind) []*session.Event {
	w.t.Helper()
	return slices.DeleteFunc(w.log(ref), func(e *session.Event) bool { return e.Kind != kind })
}

func (w *world) change(ref store.Ref, u session.Update) {
	w.t.Helper()
	if _, err := w.update(ref, u); err != nil {
		w.t.Fatalf("update: %v", err)
	}
}
