package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

func TestSendToIdleSession(t *testing.T) {
	inWorld(t, session.Options{SystemPrompt: "be kind"}, func(w *world) {
		t := w.t
		ref := w.create()
		rec := w.subscribe(ref)
		sent := w.send(ref, "hi")
		w.story(ref,
			`T1 message.added user: "hi"`,
			`T1 turn.started`,
			`T1 message.added assistant: "hello there"`,
			`T1 turn.completed completed`,
		)
		sameEvents(t, "subscriber", w.log(ref)[1:], rec.all())
		if sent.Seq != 2 || sent.Queued {
			t.Errorf("the message is number %d, queued is %v", sent.Seq, sent.Queued)
		}
		m, err := w.m.Message(t.Context(), ref, sent.MessageID)
		if err != nil || m.PlainText() != "hi" || m.TurnID != sent.TurnID || m.Seq != sent.Seq {
			t.Errorf("the stored message is %v, %v", m, err)
		}
		req := w.model.Requests()[0]
		if req.Model != "small" || req.System != "be kind" || req.CacheKey != string(ref.ID) || len(req.Messages) != 1 {
			t.Errorf("the model was asked %+v", req)
		}
	}, llmtest.Text("hello there"))
}

func TestRepliesAndModelWaitForTheFlush(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		rec := w.subscribe(ref)
		typist := w.typist()
		release := w.gate.hold()
		var replied *session.SendResult
		go func() {
			if r, err := w.trySend(ref, "hi", session.WhenBusyQueue); err == nil {
				replied = &r
			}
		}()
		synctest.Wait()
		if replied != nil || len(rec.told()) > 0 || len(w.model.Requests()) > 0 || w.get(ref).HeadSeq != 1 {
			t.Fatal("something was told before it was on disk")
		}
		release()
		synctest.Wait()
		if replied == nil || replied.Seq != 2 || len(w.model.Requests()) != 1 {
			t.Fatalf("after the flush: reply %v, %d model calls", replied, len(w.model.Requests()))
		}

		// The same for the answer.
		typist.say("yes")
		rec.told()
		release = w.gate.hold()
		typist.end()
		if told := rec.told(); len(told) > 0 || w.get(ref).HeadSeq != 3 {
			t.Fatalf("told before the flush: %q", told)
		}
		release()
		synctest.Wait()
		if diff := cmp.Diff([]string{"message.added", "turn.completed"}, rec.told()); diff != "" {
			t.Errorf("told after it (-want +got):\n%s", diff)
		}
		w.sound(ref)
	})
}

func TestChangesGatherWhileACommitIsUnderWay(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		release := w.gate.hold()
		before := w.gate.commits()
		replies := make(chan error, 5)
		for i := range 5 {
			go func() {
				title := fmt.Sprint(i)
				_, err := w.m.Update(t.Context(), ref, session.Update{Title: &title}, session.Idempotency{})
				replies <- err
			}()
			synctest.Wait()
		}
		release()
		synctest.Wait()
		for range 5 {
			if err := <-replies; err != nil {
				t.Error(err)
			}
		}
		if n := w.gate.commits() - before; n != 2 {
			t.Errorf("%d commits for five calls, want the first and the rest", n)
		}
		w.story(ref, "session.updated title", "session.updated title", "session.updated title", "session.updated title", "session.updated title")
		if v := w.get(ref); v.Title != "4" || v.Version != 6 {
			t.Errorf("title %q, version %d", v.Title, v.Version)
		}
	})
}

func TestUsageIsSummed(t *testing.T) {
	usage := func(n int64) message.Usage {
		return message.Usage{Input: n, Output: 2 * n, CacheRead: 3 * n, CacheWrite5m: 4 * n, CacheWrite1h: 5 * n, Reasoning: n, CostUSD: float64(n) / 4}
	}
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		first := w.send(ref, "one")
		w.submit(ref, w.pending(ref)["read"].ToolUseID, "x")
		second := w.send(ref, "two")
		for turn, want := range map[message.TurnID]message.Usage{first.TurnID: usage(3), second.TurnID: usage(4)} {
			got := w.turn(ref, turn)
			if diff := cmp.Diff(want, got.Usage); diff != "" || got.UsageByPurpose["chat"] != want {
				t.Errorf("turn (-want +got):\n%s", diff)
			}
		}
		if got := w.turn(ref, first.TurnID); got.Rounds != 2 || got.Status != store.TurnCompleted {
			t.Errorf("the first turn has %d rounds, is %s", got.Rounds, got.Status)
		}
		if diff := cmp.Diff(usage(7), w.get(ref).Usage); diff != "" {
			t.Errorf("session (-want +got):\n%s", diff)
		}
		entries, err := decodeAll(w.log(ref))
		if err != nil {
			t.Fatal(err)
		}
		var completed []message.Usage
		for _, e := range entries {
			if e.Kind == session.EntryTurnCompleted {
				completed = append(completed, e.Usage)
			}
			if e.Message != nil && e.Message.Role == message.RoleAssistant && e.Message.Usage == nil {
				t.Error("an answer has no usage")
			}
		}
		if diff := cmp.Diff([]message.Usage{usage(3), usage(4)}, completed); diff != "" {
			t.Errorf("turn.completed (-want +got):\n%s", diff)
		}
		w.restart()
		if diff := cmp.Diff(usage(7), w.get(ref).Usage); diff != "" {
			t.Errorf("session after a restart (-want +got):\n%s", diff)
		}
	}, llmtest.Calls("", llmtest.Call{Name: "read"}).WithUsage(usage(1)), llmtest.Text("a").WithUsage(usage(2)), llmtest.Text("b").WithUsage(usage(4)))
}

// A message that says nothing is refused before anything is stored: no provider takes it.
func TestBlankMessagesAreRefused(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		for _, content := range [][]message.Block{nil, text(""), text(" \n\t\u00a0 "), {message.Text{Text: " "}, message.Text{Text: "\n"}}} {
			_, err := w.m.Send(t.Context(), ref, content, session.WhenBusyQueue, session.Idempotency{})
			wantKind(t, "a blank message", err, session.KindInvalidParam)
		}
		if v := w.get(ref); v.HeadSeq != 1 {
			t.Errorf("the log has %d entries", v.HeadSeq)
		}
	})
}

func TestTitleComesFromTheFirstMessage(t *testing.T) {
	long := strings.Repeat("word ", 30)
	tests := []struct {
		name    string
		content []message.Block
		want    string
	}{
		{"its first line", text("\n \t\n  Fix\tthe \x00 build\u00a0now \nplease"), "Fix the build now"},
		{"cut at a word", text(long), strings.TrimSpace(strings.Repeat("word ", 12)) + "…"},
		{"one long word", text(strings.Repeat("字", 100)), strings.Repeat("字", 63) + "…"},
		{"just fits", text(strings.Repeat("字", 64)), strings.Repeat("字", 64)},
		{"no text", []message.Block{message.Image{MimeType: "image/png", Data: "AAAA"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				t := w.t
				r, err := w.m.Create(t.Context(), alice, "", session.Settings{}, session.Idempotency{})
				if err != nil {
					t.Fatal(err)
				}
				ref := store.Ref{Owner: alice, ID: r.Value.ID}
				if _, err := w.m.Send(t.Context(), ref, tt.content, "", session.Idempotency{}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				v := w.get(ref)
				if v.Title != tt.want || v.Version != 1 {
					t.Errorf("title %q, version %d", v.Title, v.Version)
				}
				if updated := tell(w.log(ref))[1] == "session.updated title"; updated != (tt.want != "") {
					t.Errorf("log: %q", tell(w.log(ref)))
				}
				w.send(ref, "another")
				if got := w.get(ref).Title; tt.want != "" && got != tt.want {
					t.Errorf("a later message changed the title to %q", got)
				}
				w.sound(ref)
			}, llmtest.Text("a"), llmtest.Text("b"))
		})
	}
}

// deltasOf joins what was told of each message, and says what is wrong with the order.
func deltasOf(tb testing.TB, rec *recorder) (texts map[string]string, count int) {
	tb.Helper()
	texts = make(map[string]string)
	next := make(map[string]int64)
	for _, d := range rec.pieces() {
		item := fmt.Sprintf("%s/%d", d.MessageID, d.Block)
		if d.From != next[item] || d.To != d.From+1 {
			tb.Errorf("delta %q of %s counts from %d to %d, want from %d", d.Text, item, d.From, d.To, next[item])
		}
		next[item] = d.To
		texts[item] += d.Text
	}
	return texts, len(rec.pieces())
}

func TestDeltasAreMerged(t *testing.T) {
	const interval = 50 * time.Millisecond
	inWorld(t, session.Options{DeltaInterval: interval}, func(w *world) {
		t := w.t
		ref := w.create()
		rec := w.subscribe(ref)
		typist := w.typist()
		w.send(ref, "hi")
		rec.told()
		expect := func(what string, want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, rec.told()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		typist.say("a")
		expect("the first piece goes out at once", "delta text a")
		typist.say("b", "c")
		expect("what follows is kept back")
		w.pass(interval - time.Millisecond)
		expect("until the interval is over")
		w.pass(time.Millisecond)
		expect("then it goes out as one", "delta text bc")
		w.pass(interval)
		typist.say("d")
		expect("after a pause a piece goes out at once again", "delta text d")
		typist.say("e")
		typist.end()
		expect("the rest comes before the message", "delta text e", "message.added", "turn.completed")
		w.pass(time.Minute)
		expect("and nothing after it")
		if texts, n := deltasOf(t, rec); n != 4 || len(texts) != 1 {
			t.Errorf("%d deltas: %v", n, texts)
		}
		answer := w.log(ref)[3]
		if e, err := decode(answer); err != nil || e.Message.ID != rec.pieces()[0].MessageID || e.Message.PlainText() != "abcde" {
			t.Errorf("the answer is %v, the deltas were of message %s", e.Message, rec.pieces()[0].MessageID)
		}
	})
}

func TestDeltasNameTheirBlocks(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		rec := w.subscribe(ref)
		w.send(ref, "hi")
		w.pass(time.Second)
		texts, _ := deltasOf(t, rec)
		got := make(map[string]string)
		for _, d := range rec.pieces() {
			got[fmt.Sprintf("%d %s", d.Block, d.Kind)] = texts[fmt.Sprintf("%s/%d", d.MessageID, d.Block)]
		}
		want := map[string]string{"0 thinking": "let me see", "1 text": "I read it.", "2 tool_input": `{"path": "a"}`, "3 tool_input": "{}"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.sound(ref)
	}, llmtest.Thinking("let me see").Then(llmtest.Calls("I read it.",
		llmtest.Call{Name: "read", Input: `{"path": "a"}`}, llmtest.Call{Name: "read"})))
}

func TestSubscribingInMidAnswerShowsOpenItems(t *testing.T) {
	inWorld(t, session.Options{DeltaInterval: time.Second}, func(w *world) {
		t := w.t
		ref := w.create()
		typist := w.typist()
		sent := w.send(ref, "hi")
		typist.say("one ", "two ")
		rec := &recorder{}
		after := int64(0)
		got, err := w.m.Subscribe(t.Context(), ref, session.Where{After: &after}, rec)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Items) != 1 {
			t.Fatalf("open items: %+v", got.Items)
		}
		item := got.Items[0]
		if item.TurnID != sent.TurnID || item.Block != 0 || item.Kind != "text" || item.Next != 1 || item.Text != "one " {
			t.Errorf("open item: %+v", item)
		}
		w.pass(time.Second)
		typist.say("three")
		typist.end()
		joined := item.Text
		for i, d := range rec.pieces() {
			if d.MessageID != item.MessageID || d.From != item.Next+int64(i) {
				t.Errorf("delta %d: %+v", i, d)
			}
			joined += d.Text
		}
		if joined != "one two three" {
			t.Errorf("open item and deltas give %q", joined)
		}
		sameEvents(t, "page and events", w.log(ref), append(got.Events, rec.all()...))
		got, err = w.m.Subscribe(t.Context(), ref, session.Where{}, &recorder{})
		if err != nil || len(got.Items) != 0 {
			t.Errorf("after the answer: %v, %v", got.Items, err)
		}
	})
}

func TestContentIsKept(t *testing.T) {
	// Lone surrogates can't reach a Go string from JSON; bytes that are no UTF-8 can.
	tests := []struct{ name, in, want string }{
		{"NUL", "a\x00b", "a\x00b"},
		{"escape as text", `\u0000`, `\u0000`},
		{"html", "<b>&amp;</b>", "<b>&amp;</b>"},
		{"line separators", "a\u2028\u2029b", "a\u2028\u2029b"},
		{"no UTF-8", "a\xffb", "a\uFFFDb"},
		{"clusters", "👩‍👩‍👧 한글", "👩‍👩‍👧 한글"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, session.Options{}, func(w *world) {
				t := w.t
				ref := w.create()
				sent := w.send(ref, tt.in)
				w.restart()
				m, err := w.m.Message(t.Context(), ref, sent.MessageID)
				if err != nil || m.PlainText() != tt.want {
					t.Errorf("sent %q, stored %q, %v", tt.in, m.PlainText(), err)
				}
				w.send(ref, "more")
				if got := w.model.Requests()[1].Messages[0].PlainText(); got != tt.want {
					t.Errorf("the model was shown %q", got)
				}
				w.sound(ref)
			}, llmtest.Text("a"), llmtest.Text("b"))
		})
	}
}

func TestLargeBlocksAreOmittedInEventsAndPages(t *testing.T) {
	const size = session.OmitOverBytes + 1
	big := strings.Repeat("x", size)
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		rec := w.subscribe(ref)
		sent := w.send(ref, big)
		w.submit(ref, w.pending(ref)["read"].ToolUseID, big)
		log := w.log(ref)
		sameEvents(t, "subscriber", log[1:], rec.all())
		for _, e := range log {
			holds := e.Kind == session.EntryMessageAdded || e.Kind == session.EntryToolResolved
			omitted := strings.Contains(string(e.Data), fmt.Sprintf(`"omitted":true,"bytes":%d`, size))
			if len(e.Data) > 10_000 || e.Seq != 4 && e.Seq < 8 && holds != omitted {
				t.Errorf("entry %d (%s) has %d bytes, omitted is %v", e.Seq, e.Kind, len(e.Data), omitted)
			}
		}
		m, err := w.m.Message(t.Context(), ref, sent.MessageID)
		if err != nil || m.PlainText() != big {
			t.Errorf("the message is not whole: %d bytes, %v", len(m.PlainText()), err)
		}
		msgs := w.model.Requests()[1].Messages
		if r, ok := msgs[2].Content[0].(message.ToolResult); !ok || message.JoinText(r.Content) != big {
			t.Error("the model was not shown the whole result")
		}
		small := session.OmitOverBytes
		w.send(ref, strings.Repeat("y", small))
		if n := len(w.log(ref)[9].Data); n < small {
			t.Errorf("a block of just the limit is cut to %d bytes", n)
		}
	}, llmtest.Calls("", llmtest.Call{Name: "read"}), llmtest.Text("ok"), llmtest.Text("ok"))
}

func TestModelIsShownTheConversation(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		w.send(ref, "one")
		w.send(ref, "two")
		w.restart()
		w.send(ref, "three")
		var got []string
		for _, m := range w.model.Requests()[2].Messages {
			got = append(got, string(m.Role)+": "+m.PlainText())
		}
		want := []string{"user: one", "assistant: 1", "user: two", "assistant: 2", "user: three"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, llmtest.Text("1"), llmtest.Text("2"), llmtest.Text("3"))
}

func TestSendErrors(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		_, err := w.trySend(store.Ref{Owner: mallory, ID: ref.ID}, "hi", "")
		wantKind(t, "foreign session", err, session.KindNotFound)
		_, err = w.trySend(store.Ref{Owner: alice, ID: message.NewSessionID()}, "hi", "")
		wantKind(t, "unknown session", err, session.KindNotFound)
		w.send(ref, "load it")
		_, err = w.trySend(store.Ref{Owner: mallory, ID: ref.ID}, "hi", "")
		wantKind(t, "foreign loaded session", err, session.KindNotFound)
		w.m.Close()
		_, err = w.trySend(ref, "hi", "")
		wantKind(t, "after the end", err, session.KindShuttingDown)
		if n := len(w.model.Requests()); n != 1 {
			t.Errorf("%d model calls", n)
		}
	}, llmtest.Text("a"))
}
