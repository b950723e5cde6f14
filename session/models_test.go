package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// described is a scripted model that says what it can take.
type described struct {
	*llmtest.Model
	can map[string]llm.Capabilities

	mu    sync.Mutex
	asked []string
	err   error
}

func (d *described) Capabilities(_ context.Context, model string) (llm.Capabilities, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, model)
	if d.err != nil {
		return llm.Capabilities{}, d.err
	}
	return d.can[model], nil
}

func (d *described) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func (d *described) questions() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked)
}

// describe begins the world anew with a model that says what it can take.
func (w *world) describe(can map[string]llm.Capabilities) *described {
	w.t.Helper()
	d := &described{Model: w.model, can: can}
	w.other = d
	w.restart()
	return d
}

// What a provider tells of its models bounds the requests: the window, what an answer may
// hold, and where the calibration begins. It is asked once.
func TestAProviderTellsWhatItsModelsTake(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		d := w.describe(map[string]llm.Capabilities{"small": {WindowTokens: 9_000, MaxOutputTokens: 500, TokenRatio: 1.25}})
		ref := w.create()
		if info := w.context(ref); info.Input != 8_500 || info.Output != 500 || info.Ratio != 1.25 {
			t.Errorf("the context is %+v", info.Figures)
		}
		for i := range 40 {
			w.completed(ref, words(fmt.Sprint("message ", i), 300))
		}
		chats, _ := w.requests()
		checkRequests(t, chats, 8_500)
		if chats[0].MaxOutputTokens != 500 {
			t.Errorf("an answer may have %d tokens", chats[0].MaxOutputTokens)
		}
		if len(w.compactions(ref)) == 0 {
			t.Error("nothing was compacted")
		}
		if got := d.questions(); !slices.Equal(got, []string{"small"}) {
			t.Errorf("it was asked about %v", got)
		}
	})
}

// A provider that does not answer keeps nobody from talking; it is asked again later.
func TestAProviderThatDoesNotTell(t *testing.T) {
	withClerk(t, 25_000, func(w *world, c *clerk) {
		t := w.t
		d := w.describe(map[string]llm.Capabilities{"small": {WindowTokens: 9_000}})
		d.fail(errors.New("no route"))
		ref := w.create()
		w.completed(ref, "one")
		w.completed(ref, "two")
		if got := d.questions(); len(got) != 1 {
			t.Errorf("it was asked %d times within a minute", len(got))
		}
		d.fail(nil)
		w.pass(61 * time.Second)
		w.completed(ref, "three")
		if info := w.context(ref); info.Input != 8_000 || len(d.questions()) != 2 {
			t.Errorf("asked %d times, the limit is %d", len(d.questions()), info.Input)
		}
	})
}

// The model that writes summaries is another one with a smaller window: what it is sent
// fits.
func TestB17TheSummarisersWindow(t *testing.T) {
	const window = 6_000
	withClerk(t, 50_000, func(w *world, c *clerk) {
		t := w.t
		d := w.describe(map[string]llm.Capabilities{"writer": {WindowTokens: window}})
		ref := w.create(withTools("query"))
		for i := range 10 {
			c.say(calls("query", fmt.Sprintf(`{"n":%d}`, i)))
		}
		w.send(ref, "Ask.")
		w.answerCalls(ref, func(session.PendingCall) string { return words("row", 3_000) })
		w.talk(ref, 6, 400)
		w.mustCompact(ref)
		_, summaries := w.requests()
		if len(summaries) != 1 {
			t.Fatalf("%d requests for one summary", len(summaries))
		}
		asked := summaries[0]
		if size := countRequest(asked) + asked.MaxOutputTokens; asked.Model != "writer" || size > window {
			t.Errorf("%s was asked with %d tokens, its window is %d", asked.Model, size, window)
		}
		if got := d.questions(); !slices.Contains(got, "writer") {
			t.Errorf("the provider was asked about %v", got)
		}
	}, func(o *session.Options) { o.SummaryModel = "writer" })
}

// A user's message that is larger than a request may be is shown by head and tail; the log
// has it whole.
func TestAMessageLargerThanARequest(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		long := "BEGIN " + words("text", 20_000) + " END"
		w.completed(ref, long)
		w.completed(ref, "next")
		chats, _ := w.requests()
		checkRequests(t, chats, 8_000)
		if got := w.messagesBy(ref, message.RoleUser)[0].PlainText(); got != long {
			t.Errorf("the log has %d bytes of %d", len(got), len(long))
		}
		if got := w.compactions(ref); len(got) != 1 || got[0].PinnedSeq == 0 || got[0].Outcome != compaction.OutcomeApplied {
			t.Errorf("the compactions are %+v", got)
		}
	})
}

// A summary may not take longer than the turn has left.
func TestASummaryEndsWithTheTurnsTime(t *testing.T) {
	withClerk(t, 8_000, func(w *world, c *clerk) {
		t := w.t
		c.note(llmtest.Hang())
		ref := w.create()
		var sent session.SendResult
		for i := 0; ; i++ {
			sent = w.send(ref, words(fmt.Sprint("message ", i), 300))
			if w.get(ref).Status != store.StatusIdle {
				break
			}
		}
		w.pass(time.Minute)
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnFailed || turn.Error.Kind != session.TurnTimeLimit {
			t.Errorf("the turn ended as %s (%+v)", turn.Status, turn.Error)
		}
		if got := outcomes(w.compactions(ref)); !slices.Equal(got, []string{"failed summariser_timeout"}) {
			t.Errorf("the outcomes are %q", got)
		}
		w.completed(ref, "next")
	}, func(o *session.Options) { o.MaxTurnDuration = time.Minute })
}
