package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
)

// readThenDone is a step that calls a tool for every user message and answers once it
// has the result, however often it is asked.
func readThenDone(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	if _, ok := last.Content[0].(message.ToolResult); ok {
		return llmtest.Text("done")(ctx, req, emit)
	}
	return llmtest.Calls("Let me read.", llmtest.Call{Name: "read"})(ctx, req, emit)
}

// client drives a session as a patient client does: it repeats a call under the same
// key until it succeeds, and subscribes again when it is told to.
type client struct {
	w      *world
	ref    store.Ref
	rec    *recorder
	events []*session.Event // what it has applied
	failed int              // calls that were answered with an error
	keys   int
}

func (c *client) key(method string) session.Idempotency {
	c.keys++
	return session.Idempotency{Method: method, Key: fmt.Sprint(c.keys), Fingerprint: [32]byte{byte(c.keys)}}
}

// until repeats f until it succeeds, a second apart.
func (c *client) until(what string, f func() error) {
	c.w.t.Helper()
	for range 20 {
		err := f()
		synctest.Wait()
		if err == nil {
			return
		}
		c.failed++
		c.w.pass(time.Second)
	}
	c.w.t.Fatalf("%s never succeeded", what)
}

func (c *client) send(s string) message.ID {
	c.w.t.Helper()
	var id message.ID
	i := c.key("send")
	c.until("send", func() error {
		r, err := c.w.m.Send(c.w.t.Context(), c.ref, text(s), session.WhenBusyQueue, i)
		id = r.Value.MessageID
		return err
	})
	return id
}

// answer waits for the pending call and hands in its result.
func (c *client) answer(s string) {
	c.w.t.Helper()
	for range 20 {
		if p, ok := c.w.pending(c.ref)["read"]; ok {
			i := c.key("submit")
			c.until("submit", func() error {
				_, err := c.w.m.SubmitToolResult(c.w.t.Context(), c.ref, session.ToolResult{ToolUseID: p.ToolUseID, Content: text(s)}, i)
				return err
			})
			return
		}
		c.w.pass(time.Second)
	}
	c.w.t.Fatalf("no call became pending; log: %q", tell(c.w.log(c.ref)))
}

// idle waits until nothing runs.
func (c *client) idle() {
	c.w.t.Helper()
	for range 20 {
		if c.w.get(c.ref).Status == store.StatusIdle {
			return
		}
		c.w.pass(time.Second)
	}
	c.w.t.Fatalf("the session never came to rest; log: %q", tell(c.w.log(c.ref)))
}

// follow takes in what was told since, and subscribes again if the session was given up.
func (c *client) follow() {
	c.w.t.Helper()
	for {
		if c.rec != nil {
			c.apply(c.rec.all())
			if len(c.rec.ended()) == 0 {
				return
			}
		}
		c.rec = &recorder{}
		after := int64(len(c.events))
		got, err := c.w.m.Subscribe(c.w.t.Context(), c.ref, session.Where{After: &after}, c.rec)
		if err != nil {
			c.rec = nil
			<-time.After(time.Second)
			continue
		}
		c.apply(got.Events)
		if got.More {
			c.rec = nil
		}
	}
}

func (c *client) apply(events []*session.Event) {
	for _, e := range events {
		switch last := int64(len(c.events)); {
		case e.Seq == last+1:
			c.events = append(c.events, e)
		case e.Seq > last:
			c.w.t.Errorf("told entry %d after %d", e.Seq, last)
		}
	}
}

// TestFailedCommits lets every commit of a conversation fail once, before it is stored
// or after. Nobody may lose anything by it.
func TestFailedCommits(t *testing.T) {
	for _, f := range []fault{refuse, lose} {
		for n := range 4 {
			for _, times := range []int{1, 2, 3} {
				t.Run(fmt.Sprintf("fault %d of commit %d, %d times", f, n, times), func(t *testing.T) {
					inWorld(t, session.Options{}, func(w *world) {
						t := w.t
						w.model.Loop(readThenDone)
						c := &client{w: w, ref: w.create(withTools("read"))}
						c.follow()
						w.gate.next(append(make([]fault, n), slices.Repeat([]fault{f}, times)...)...)
						sent := c.send("go")
						c.follow()
						c.answer("x")
						c.follow()
						c.idle()
						c.follow()
						if f == refuse && w.gate.left() != 0 {
							t.Fatalf("%d faults never came", w.gate.left())
						}
						// A client learns of it when its own call fails, else its subscription ends.
						if c.failed == 0 && n < 1 {
							t.Error("no call failed")
						}
						users := w.messagesBy(c.ref, message.RoleUser)
						if len(users) != 2 || users[0].ID != sent {
							t.Errorf("%d messages of the user", len(users))
						}
						log := tell(w.log(c.ref))
						if last := log[len(log)-1]; last != "T1 turn.completed completed" {
							t.Errorf("log: %q", log)
						}
						w.sound(c.ref)
						sameEvents(t, "client", w.log(c.ref), c.events)
					})
				})
			}
		}
	}
}

// TestACommitThatNeverSucceeds plays a change that the database refuses for good.
func TestACommitThatNeverSucceeds(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		w.model.Loop(llmtest.Text("poison"))
		ref := w.create()
		w.send(ref, "fine")
		calls := len(w.model.Requests())
		w.gate.refuseWith("poison")
		c := &client{w: w, ref: ref}
		c.send("go")
		c.idle()
		if n := len(w.model.Requests()) - calls; n != 4 {
			t.Errorf("the model was asked %d times, want once and three times again", n)
		}
		w.story(ref,
			`T1 message.added user: "fine"`,
			`T1 turn.started`,
			`T1 message.added assistant: "poison"`,
			`T1 turn.completed completed`,
			`T2 message.added user: "go"`,
			`T2 turn.started`,
			`T2 turn.completed interrupted (crash)`,
		)
		w.gate.refuseWith("")
		w.send(ref, "next")
		w.sound(ref)
	})
}

// TestTurnsGoOnByThemselves after a commit that failed, whichever it was: nobody has to
// call for it.
func TestTurnsGoOnByThemselves(t *testing.T) {
	for _, f := range []fault{refuse, lose} {
		for n := range 2 { // of the message, of the answer
			inWorld(t, session.Options{}, func(w *world) {
				w.model.Loop(llmtest.Text("ok"))
				ref := w.create()
				w.gate.next(append(make([]fault, n), f)...)
				_, err := w.trySend(ref, "one", "")
				w.pass(5 * time.Second)
				if stored := err == nil || f == lose; stored && len(w.model.Requests()) == 0 {
					w.t.Errorf("fault %d of commit %d: the model was never asked", f, n)
				}
				if refs, err := w.mem.Unfinished(w.t.Context()); err != nil || len(refs) > 0 {
					w.t.Errorf("fault %d of commit %d: unfinished are %v, %v", f, n, refs, err)
				}
				w.sound(ref)
			})
		}
	}
}

func TestAFailedCommitIsToldToEverybody(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		recs := []*recorder{w.subscribe(ref), w.subscribe(ref)}
		release := w.gate.hold()
		w.gate.next(refuse)
		errs := make([]error, 4)
		for i := range errs {
			go func() {
				title := fmt.Sprint(i)
				_, errs[i] = w.m.Update(t.Context(), ref, session.Update{Title: &title}, session.Idempotency{})
			}()
			synctest.Wait()
		}
		release()
		synctest.Wait()
		for i, err := range errs {
			if !errors.Is(err, errFault) {
				t.Errorf("call %d: %v", i, err)
			}
		}
		for i, r := range recs {
			if gone := r.ended(); len(gone) != 1 || gone[0] || len(r.all()) > 0 {
				t.Errorf("subscriber %d: gone %v, told %q", i, gone, r.told())
			}
		}
		if v := w.get(ref); v.Title != "a title" || v.Version != 1 || v.HeadSeq != 1 {
			t.Errorf("view: %+v", v)
		}
		w.story(ref)
	})
}

// TestAFailureWithADeafModel: the session comes back although the call of the model
// that was under way does not end.
func TestAFailureWithADeafModel(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		finish := make(chan struct{})
		defer close(finish)
		w.model.Add(deaf(finish), llmtest.Text("ok"))
		rec := w.subscribe(ref)
		w.send(ref, "go")
		w.gate.next(refuse)
		title := "new"
		_, err := w.m.Update(t.Context(), ref, session.Update{Title: &title}, session.Idempotency{})
		if !errors.Is(err, errFault) {
			t.Errorf("update: %v", err)
		}
		synctest.Wait()
		if gone := rec.ended(); len(gone) != 1 {
			t.Errorf("gone: %v", gone)
		}
		w.pass(time.Second)
		w.story(ref,
			`T1 message.added user: "go"`,
			`T1 turn.started`,
			`T1 message.added assistant: "ok"`,
			`T1 turn.completed completed`,
		)
	})
}

// TestFailedReads: a session that can't be read answers with an error and is there
// again when the database is.
func TestFailedReads(t *testing.T) {
	inWorld(t, session.Options{IdleUnload: time.Minute}, func(w *world) {
		t := w.t
		ref := w.create()
		w.send(ref, "one")
		w.pass(2 * time.Minute)
		if n := w.m.Loaded(); n != 0 {
			t.Fatalf("%d sessions loaded", n)
		}
		w.life.failReads(1)
		if _, err := w.trySend(ref, "two", ""); !errors.Is(err, errFault) {
			t.Errorf("send while the session can't be loaded: %v", err)
		}
		w.send(ref, "two") // loads the session, whose conversation is read for the model call
		w.pass(2 * time.Minute)

		// The conversation can't be read: the message is stored, the turn goes on later.
		release := w.gate.hold()
		var err error
		go func() { _, err = w.trySend(ref, "three", "") }()
		synctest.Wait()
		w.life.failReads(2)
		release()
		synctest.Wait()
		if err != nil {
			t.Errorf("send: %v", err)
		}
		w.pass(5 * time.Second)
		w.story(ref,
			`T1 message.added user: "one"`,
			`T1 turn.started`,
			`T1 message.added assistant: "1"`,
			`T1 turn.completed completed`,
			`T2 message.added user: "two"`,
			`T2 turn.started`,
			`T2 message.added assistant: "2"`,
			`T2 turn.completed completed`,
			`T3 message.added user: "three"`,
			`T3 turn.started`,
			`T3 message.added assistant: "3"`,
			`T3 turn.completed completed`,
		)
	}, llmtest.Text("1"), llmtest.Text("2"), llmtest.Text("3"))
}

// TestAForeignWriter: another process changes the session; this one notices at its
// next commit, takes in what the other did and goes on.
func TestAForeignWriter(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		w.send(ref, "one")
		rec := w.subscribe(ref)
		mine := w.m
		w.begin()
		w.send(ref, "two")
		theirs := w.m
		defer theirs.Close()
		w.m = mine
		_, err := w.trySend(ref, "three", "")
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("send against an old head: %v", err)
		}
		synctest.Wait()
		if gone := rec.ended(); len(gone) != 1 || gone[0] {
			t.Errorf("gone: %v", gone)
		}
		w.send(ref, "three")
		w.story(ref,
			`T1 message.added user: "one"`,
			`T1 turn.started`,
			`T1 message.added assistant: "1"`,
			`T1 turn.completed completed`,
			`T2 message.added user: "two"`,
			`T2 turn.started`,
			`T2 message.added assistant: "2"`,
			`T2 turn.completed completed`,
			`T3 message.added user: "three"`,
			`T3 turn.started`,
			`T3 message.added assistant: "3"`,
			`T3 turn.completed completed`,
		)
	}, llmtest.Text("1"), llmtest.Text("2"), llmtest.Text("3"))
}
