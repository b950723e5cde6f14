package session_test

import (
	"context"
	"errors"
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

// retitle changes the title n times: a cheap way to a long log.
func (w *world) retitle(ref store.Ref, n int) {
	w.t.Helper()
	for i := range n {
		title := fmt.Sprint("title ", i)
		if _, err := w.update(ref, session.Update{Title: &title}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestSubscribeFromEveryPoint(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		w.retitle(ref, 5)
		at := func(n int64) *int64 { return &n }
		head := w.get(ref).HeadSeq
		for _, after := range []*int64{nil, at(0), at(1), at(3), at(head - 1), at(head)} {
			rec := &recorder{}
			got, err := w.m.Subscribe(t.Context(), ref, session.Where{After: after, LogID: w.get(ref).LogID}, rec)
			if err != nil {
				t.Fatal(err)
			}
			head = w.get(ref).HeadSeq
			from := head
			if after != nil {
				from = *after
			}
			if got.More || got.HeadSeq != head || got.View.HeadSeq != head {
				t.Errorf("from %v: more %v, head %d", after, got.More, got.HeadSeq)
			}
			sameEvents(t, fmt.Sprint("page from ", from), w.log(ref)[from:], got.Events)
			w.retitle(ref, 1)
			synctest.Wait()
			sameEvents(t, fmt.Sprint("events from ", from), w.log(ref)[from:], append(got.Events, rec.all()...))
		}
	})
}

func TestSubscribeToAnotherLog(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		v := w.get(ref)
		zero, head, beyond := int64(0), v.HeadSeq, v.HeadSeq+1
		other := string(message.NewSessionID())
		for name, where := range map[string]session.Where{
			"beyond the head":         {After: &beyond},
			"beyond the head, its id": {After: &beyond, LogID: v.LogID},
			"another id":              {After: &head, LogID: other},
			"another id from 0":       {After: &zero, LogID: other},
			"another id from now":     {LogID: other},
		} {
			rec := &recorder{}
			_, err := w.m.Subscribe(t.Context(), ref, where, rec)
			wantKind(t, name, err, session.KindLogReset)
			var e *session.Error
			if errors.As(err, &e) && (e.Data["head_seq"] != v.HeadSeq || e.Data["log_id"] != v.LogID) {
				t.Errorf("%s: data %v", name, e.Data)
			}
			w.retitle(ref, 1)
			if len(rec.all()) > 0 {
				t.Errorf("%s: the subscriber was added", name)
			}
			v, beyond = w.get(ref), beyond+1
		}
	})
}

func TestSubscribeInPages(t *testing.T) {
	t.Run("of entries", func(t *testing.T) {
		inWorld(t, session.Options{}, func(w *world) {
			ref := w.create()
			w.retitle(ref, 2*session.PageEvents+100)
			w.pages(ref, 3)
		})
	})
	t.Run("of bytes", func(t *testing.T) {
		inWorld(t, session.Options{}, func(w *world) {
			ref := w.create()
			w.model.Loop(llmtest.Text("ok"))
			for range 4 {
				w.send(ref, strings.Repeat("x", session.PageBytes/2-100))
			}
			w.send(ref, strings.Repeat("x", 3*session.PageBytes)) // larger than a page
			w.pages(ref, 6)
		})
	})
	t.Run("of just one page", func(t *testing.T) {
		inWorld(t, session.Options{}, func(w *world) {
			ref := w.create()
			w.retitle(ref, session.PageEvents-2)
			w.pages(ref, 1)
		})
	})
}

// pages subscribes from 0 as a client does and expects at most so many pages.
func (w *world) pages(ref store.Ref, most int) {
	w.t.Helper()
	var all []*session.Event
	for n := 1; ; n++ {
		rec := &recorder{}
		after := int64(len(all))
		got, err := w.m.Subscribe(w.t.Context(), ref, session.Where{After: &after}, rec)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(got.Events) > session.PageEvents || len(got.Events) == 0 && got.More {
			w.t.Errorf("a page of %d events, more %v", len(got.Events), got.More)
		}
		all = append(all, got.Events...)
		w.retitle(ref, 1)
		synctest.Wait()
		if told := rec.all(); got.More != (len(told) == 0) {
			w.t.Errorf("more is %v, and told %d", got.More, len(told))
		}
		if !got.More {
			all = append(all, rec.all()...)
			if n > most {
				w.t.Errorf("%d pages", n)
			}
			break
		}
	}
	sameEvents(w.t, "pages", w.log(ref), all)
}

// TestReadingAheadOfTheSession: what is stored but not known to the session yet is told
// as an event, never by a page: the client would be beyond the head.
func TestReadingAheadOfTheSession(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		w.subscribe(ref)
		release := w.gate.holdAnswers()
		title := "new"
		go w.update(ref, session.Update{Title: &title}) //nolint:errcheck // the log tells
		synctest.Wait()

		page, err := w.m.Log(t.Context(), ref, 0, 100)
		if err != nil || len(page.Events) != 1 || page.HeadSeq != 1 || page.More {
			t.Errorf("log: %d events, head %d, more %v, %v", len(page.Events), page.HeadSeq, page.More, err)
		}
		rec := &recorder{}
		zero := int64(0)
		got, err := w.m.Subscribe(t.Context(), ref, session.Where{After: &zero}, rec)
		if err != nil || got.More || len(got.Events) != 1 {
			t.Fatalf("subscribed: %+v, %v", got, err)
		}
		release()
		synctest.Wait()
		sameEvents(t, "page and events", w.log(ref), append(got.Events, rec.all()...))
	})
}

// TestSubscribeWhileTheLogGrows appends between the read of a page and the joining.
func TestSubscribeWhileTheLogGrows(t *testing.T) {
	for _, growths := range []int{1, 2, 3, 10} {
		inWorld(t, session.Options{}, func(w *world) {
			t := w.t
			ref := w.create()
			w.retitle(ref, 3)
			left := growths
			w.life.onEntries = func() {
				if left > 0 {
					left--
					w.retitle(ref, 1)
				}
			}
			rec := &recorder{}
			var all []*session.Event
			for range 10 {
				after := int64(len(all))
				got, err := w.m.Subscribe(t.Context(), ref, session.Where{After: &after}, rec)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, got.Events...)
				if !got.More {
					break
				}
			}
			w.retitle(ref, 1)
			synctest.Wait()
			all = append(all, rec.all()...)
			w.life.onEntries = nil
			sameEvents(t, fmt.Sprint(growths, " growths"), w.log(ref), all)
		})
	}
}

func TestUnsubscribe(t *testing.T) {
	inWorld(t, session.Options{IdleUnload: time.Minute}, func(w *world) {
		t := w.t
		ref := w.create()
		rec, stays := w.subscribe(ref), w.subscribe(ref)
		w.retitle(ref, 1)
		for range 2 {
			if err := w.m.Unsubscribe(t.Context(), ref, rec); err != nil {
				t.Error(err)
			}
		}
		w.retitle(ref, 1)
		synctest.Wait()
		if len(rec.all()) != 1 || len(stays.all()) != 2 {
			t.Errorf("told %d and %d events", len(rec.all()), len(stays.all()))
		}
		if err := w.m.Unsubscribe(t.Context(), store.Ref{Owner: mallory, ID: ref.ID}, stays); err != nil {
			t.Error(err)
		}
		w.retitle(ref, 1)
		synctest.Wait()
		if len(stays.all()) != 3 {
			t.Error("a stranger ended the subscription")
		}
		if err := w.m.Unsubscribe(t.Context(), ref, stays); err != nil {
			t.Error(err)
		}
		w.pass(2 * time.Minute)
		if w.m.Loaded() != 0 {
			t.Error("the session is still loaded")
		}
		if err := w.m.Unsubscribe(t.Context(), ref, stays); err != nil {
			t.Errorf("from a session that is not loaded: %v", err)
		}
		w.m.Close()
		if len(rec.ended())+len(stays.ended()) != 0 {
			t.Error("told of the end after unsubscribing")
		}
	})
}

// TestASubscriberIsAddedOnce, however often it asks.
func TestASubscriberIsAddedOnce(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		rec := w.subscribe(ref)
		if _, err := w.m.Subscribe(t.Context(), ref, session.Where{}, rec); err != nil {
			t.Fatal(err)
		}
		w.retitle(ref, 1)
		synctest.Wait()
		if n := len(rec.all()); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// TestASubscriptionThatIsGivenUp: the caller's context ends before the session gets to
// it. It must not be added.
func TestASubscriptionThatIsGivenUp(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		free := w.jam(ref)
		ctx, cancel := context.WithCancel(t.Context())
		rec := &recorder{}
		var err error
		go func() { _, err = w.m.Subscribe(ctx, ref, session.Where{}, rec) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		free()
		synctest.Wait()
		w.retitle(ref, 1)
		synctest.Wait()
		if told := len(rec.all()); err == nil || told > 0 {
			t.Errorf("answered %v, told %d events", err, told)
		}
	})
}

// lateEnd is a context that ends in the moment when Subscribe begins to wait for the
// session, which has done its part already.
type lateEnd struct {
	context.Context //nolint:containedctx // it is one itself
	end             context.CancelFunc
	looks           *int
}

func (c lateEnd) Done() <-chan struct{} {
	if *c.looks++; *c.looks == 3 { // after the load and the command
		synctest.Wait()
		c.end()
	}
	return c.Context.Done()
}

// TestASubscriptionThatIsGivenUpTooLate: the session has added it, and the caller's context
// has ended. Which of the two the caller sees is left to chance; it must fit what is.
func TestASubscriptionThatIsGivenUpTooLate(t *testing.T) {
	for range 30 {
		inWorld(t, session.Options{}, func(w *world) {
			t := w.t
			ref := w.create()
			rec, looks := &recorder{}, 0
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := w.m.Subscribe(lateEnd{ctx, cancel, &looks}, ref, session.Where{}, rec)
			if looks < 3 {
				t.Errorf("the moment was missed after %d looks", looks)
			}
			w.retitle(ref, 1)
			synctest.Wait()
			if told := len(rec.all()) > 0; told != (err == nil) {
				t.Errorf("answered %v, told %d events", err, len(rec.all()))
			}
		})
	}
}

func TestActivity(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(withTools("read"))
		rec := w.subscribe(ref)
		w.send(ref, "go")
		w.retitle(ref, 1)
		w.stop(ref, "", false)
		want := []string{
			"message.added", "turn.started", "delta tool_input {}", "message.added", "tool.called", "activity waiting_tool",
			"session.updated", "tool.resolved", "message.added", "turn.completed", "activity none",
		}
		if diff := cmp.Diff(want, rec.told()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, llmtest.Calls("", llmtest.Call{Name: "read"}))
}

func TestLogInPages(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		w.retitle(ref, 9)
		all := w.log(ref)
		for after := range int64(12) {
			for limit := 1; limit <= 11; limit++ {
				page, err := w.m.Log(t.Context(), ref, after, limit)
				if err != nil {
					t.Fatal(err)
				}
				start := min(int(after), len(all))
				end := min(start+limit, len(all))
				if diff := diffEvents(all[start:end], page.Events); diff != "" || page.More != (end < len(all)) || page.HeadSeq != 10 {
					t.Errorf("%d after %d: more %v, head %d (-want +got):\n%s", limit, after, page.More, page.HeadSeq, diff)
				}
			}
		}
	})
}

func TestEventsAreEncodedOnce(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create()
		recs := []*recorder{w.subscribe(ref), w.subscribe(ref)}
		w.retitle(ref, 1)
		synctest.Wait()
		calls := 0
		for _, rec := range recs {
			rec.all()[0].Encoded(func(*session.Event) []byte { calls++; return nil })
		}
		if calls != 1 {
			t.Errorf("encoded %d times", calls)
		}
	})
}
