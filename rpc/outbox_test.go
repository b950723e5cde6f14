package rpc

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
)

// newOutbox returns one of 8 frames and 100 bytes whose writer's role is taken,
// so that nothing leaves it by itself.
func newOutbox(t *testing.T) *outbox {
	t.Helper()
	var o outbox
	o.init(&Options{OutboxMessages: 8, OutboxBytes: 100})
	if !o.claim() {
		t.Fatal("nobody writes to a new outbox")
	}
	return &o
}

func TestOutboxClasses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		frames  []int // sizes of what is queued already
		size    int
		durable verdict
		drop    verdict
	}{
		{"empty", nil, 10, queued, queued},
		{"empty, any size", nil, 1000, queued, queued},
		{"below half", []int{1, 1, 1}, 1, queued, queued},
		{"half of the frames", []int{1, 1, 1, 1}, 1, queued, dropped},
		{"half of the bytes", []int{50}, 1, queued, dropped},
		{"below half, filling it exactly", []int{49}, 51, queued, queued},
		{"below half, too large", []int{49}, 52, overflow, dropped},
		{"last place", []int{1, 1, 1, 1, 1, 1, 1}, 1, queued, dropped},
		{"all places taken", []int{1, 1, 1, 1, 1, 1, 1, 1}, 1, overflow, dropped},
		{"last byte", []int{99}, 1, queued, dropped},
		{"all bytes taken", []int{100}, 1, overflow, dropped},
		{"over the bytes", []int{1000}, 1, overflow, dropped},
		{"over the bytes, empty frame", []int{1000}, 0, overflow, dropped},
	}
	for _, test := range tests {
		for class, want := range []verdict{Durable: test.durable, Droppable: test.drop} {
			o := newOutbox(t)
			for _, size := range test.frames {
				o.frames = append(o.frames, queuedFrame{make([]byte, size), &o.sent})
				o.sent.add(size)
			}
			if got, _ := o.put(make([]byte, test.size), Class(class)); got != want {
				t.Errorf("%s: class %d: verdict %d, want %d", test.name, class, got, want)
			}
		}
	}
}

// contents takes everything out, in order.
func contents(o *outbox) (kinds []int, payloads []string) {
	for {
		item, ok := o.next()
		if !ok {
			return kinds, payloads
		}
		kinds, payloads = append(kinds, item.kind), append(payloads, string(item.payload))
	}
}

func TestOutboxOrder(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	for _, frame := range []string{"a", "b", "c"} {
		o.put([]byte(frame), Durable)
	}
	o.putPong([]byte("old"))
	o.putPing()
	o.putPong([]byte("new"))
	o.putPing()
	kinds, payloads := contents(o)
	if diff := cmp.Diff([]string{"new", "", "a", "b", "c"}, payloads); diff != "" {
		t.Error(diff)
	}
	text := websocket.TextMessage
	if diff := cmp.Diff([]int{websocket.PongMessage, websocket.PingMessage, text, text, text}, kinds); diff != "" {
		t.Error(diff)
	}
	if o.sent.frames != 0 || o.sent.bytes != 0 || len(o.frames) != 0 {
		t.Errorf("%d frames left, %+v", len(o.frames), o.sent)
	}
	if !o.claim() {
		t.Error("the writer has kept its role")
	}
}

func TestOutboxEnd(t *testing.T) {
	t.Parallel()
	shut := func(flush bool) func(*outbox) {
		return func(o *outbox) { o.shut([]byte("close"), flush, time.Time{}) }
	}
	tests := []struct {
		name string
		end  func(*outbox)
		want []string
	}{
		{"flushing", shut(true), []string{"a", "b", "close"}},
		{"dropping", shut(false), []string{"close"}},
		{"aborting", func(o *outbox) { o.abort() }, nil},
		{"aborting what is closing", func(o *outbox) { shut(true)(o); o.abort() }, nil},
		{"closing twice", func(o *outbox) { shut(false)(o); shut(true)(o) }, []string{"close"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := newOutbox(t)
			o.put([]byte("a"), Durable)
			o.put([]byte("b"), Durable)
			o.putPing()
			test.end(o)
			if v, write := o.put([]byte("late"), Durable); v != dropped || write {
				t.Errorf("frame after the end: verdict %d, write %v", v, write)
			}
			if o.putPing() || o.putPong(nil) {
				t.Error("ping or pong after the end")
			}
			select {
			case <-o.done:
				t.Error("done while the writer has its role")
			default:
			}
			_, payloads := contents(o)
			if !slices.Equal(payloads, test.want) {
				t.Errorf("written %q, want %q", payloads, test.want)
			}
			select {
			case <-o.done:
			default:
				t.Error("not done after the last write")
			}
		})
	}
}

func TestOutboxOfAnIdleConnection(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	contents(o)
	first, write := o.shut([]byte("close"), true, time.Time{})
	if !first || !write {
		t.Fatalf("shut: first %v, write %v", first, write)
	}
	contents(o)
	<-o.done
	if o.abort() {
		t.Error("abort claims to be the first end")
	}

	o = newOutbox(t)
	contents(o)
	if !o.abort() {
		t.Error("abort was the first end")
	}
	<-o.done // with nobody writing there is nothing to wait for
}

func TestOutboxHoldsTheReaderBack(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	for range 3 {
		o.put([]byte("x"), Durable)
	}
	if o.crowded() != nil {
		t.Fatal("crowded below half")
	}
	o.put([]byte("x"), Durable)
	room := o.crowded()
	if room == nil {
		t.Fatal("not crowded at half")
	}
	select {
	case <-room:
		t.Fatal("room before anything was written")
	default:
	}
	o.next()
	<-room

	o.put([]byte("x"), Durable)
	room = o.crowded()
	o.shut(nil, true, time.Time{})
	<-room
	if o.crowded() != nil {
		t.Error("the reader of a connection that is closing is held back")
	}
}

// A queue that has been long must not stay allocated on an idle connection.
func TestOutboxGivesMemoryBack(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.sent.maxFrames = 1000
	for range 1000 {
		o.put(nil, Durable)
	}
	contents(o)
	if n := cap(o.frames); n > 8 {
		t.Errorf("an empty outbox holds %d places", n)
	}
}
