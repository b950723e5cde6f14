package rpc

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ready reports whether a reply need not wait, or no longer.
func ready(room <-chan struct{}) bool {
	if room == nil {
		return true
	}
	select {
	case <-room:
		return true
	default:
		return false
	}
}

// fillWithReplies leaves no room for a reply of more than size bytes.
func fillWithReplies(t *testing.T, o *outbox, size int) {
	t.Helper()
	for _, n := range []int{1, 99 - size} {
		if o.reserve(n) != nil {
			t.Fatal("no room in an outbox that is not full")
		}
		o.putReply(make([]byte, n), false)
	}
}

func TestRoomForAReply(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		replies []int // sizes of what is queued already
		size    int
		want    bool
	}{
		{"empty, any size", nil, 1000, true},
		{"over half", []int{60}, 1, true},
		{"last byte", []int{60}, 40, true},
		{"a byte too large", []int{60}, 41, false},
		{"last place", []int{1, 1, 1, 1, 1, 1, 1}, 1, true},
		{"all places taken", []int{1, 1, 1, 1, 1, 1, 1, 1}, 1, false},
		{"behind a large one", []int{1000}, 1, false},
	}
	for _, test := range tests {
		o := newOutbox(t)
		for range 8 { // takes nothing from the replies
			o.put(make([]byte, 12), Durable)
		}
		for _, size := range test.replies {
			o.reserve(size)
			o.putReply(make([]byte, size), false)
		}
		if got := ready(o.reserve(test.size)); got != test.want {
			t.Errorf("%s: room %v, want %v", test.name, got, test.want)
		}
	}
}

// A place counts from the moment it is given: two that find room at the same time
// do not share it.
func TestPlacesAreTakenBeforeTheReplyIsQueued(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	if !ready(o.reserve(60)) || ready(o.reserve(60)) {
		t.Error("room for 60 bytes, once, is wanted")
	}
}

func TestRepliesTakeNothingFromWhatIsSent(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	fillWithReplies(t, o, 0)
	o.reserve(1)
	for range 8 {
		if v, _ := o.put([]byte("x"), Durable); v != queued {
			t.Fatalf("verdict %d beside replies", v)
		}
	}
	if v, _ := o.put([]byte("x"), Durable); v != overflow {
		t.Errorf("verdict %d, want an overflow", v)
	}
}

// A small reply does not overtake a large one that came first, not even when there
// is room for it, nor while the large one has its place but is not queued yet.
func TestRepliesWaitInLine(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	fillWithReplies(t, o, 5)
	var line []<-chan struct{}
	for _, size := range []int{90, 3, 3} {
		line = append(line, o.reserve(size))
	}
	var got []string
	take := func() {
		item, _ := o.next()
		state := fmt.Sprint(len(item.payload))
		for _, room := range line {
			state += fmt.Sprint(" ", ready(room))
		}
		got = append(got, state)
	}
	take()
	take()
	o.putReply(make([]byte, 90), true)
	if !ready(line[1]) || ready(line[2]) {
		t.Error("the next in line, and nobody else, should have its place")
	}
	o.putReply(make([]byte, 3), true)
	o.putReply(make([]byte, 3), true)
	take()
	want := []string{"1 false false false", "94 true false false", "90 true true true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("written, and who has a place (-want +got):\n%s", diff)
	}
	contents(o)
	if o.replies.frames != 0 || o.replies.bytes != 0 || len(o.line) != 0 {
		t.Errorf("left: %+v, line of %d", o.replies, len(o.line))
	}
}

func TestTheEndWakesTheLine(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*outbox){
		"closing":  func(o *outbox) { o.shut(nil, true, time.Time{}) },
		"aborting": func(o *outbox) { o.abort() },
	}
	for name, end := range ends {
		for _, given := range []bool{false, true} {
			o := newOutbox(t)
			fillWithReplies(t, o, 0)
			first, second := o.reserve(50), o.reserve(50)
			if given {
				o.next()
				o.next()
			}
			if ready(first) != given {
				t.Fatalf("%s: the first in line has a place: %v", name, !given)
			}
			end(o)
			if !ready(first) || !ready(second) || !ready(o.reserve(1000)) {
				t.Errorf("%s: replies still wait", name)
			}
			if v, write := o.putReply(nil, true); v != dropped || write {
				t.Errorf("%s: reply after the end: verdict %d, write %v", name, v, write)
			}
		}
	}
}

func TestTheLineHoldsTheReaderBack(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.reserve(45)
	o.putReply(make([]byte, 45), false)
	if o.crowded() != nil {
		t.Fatal("crowded below half")
	}
	waiting := o.reserve(56)
	room := o.crowded()
	if ready(room) {
		t.Fatal("a reply waits, but the reader goes on")
	}
	o.next()
	if !ready(waiting) || ready(room) {
		t.Error("the reader goes on before the reply is queued")
	}
	o.putReply(make([]byte, 56), true)
	o.next()
	if !ready(room) {
		t.Error("nothing waits, but the reader is held back")
	}
}
