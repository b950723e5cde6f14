package server

import (
	"testing"

	"sessiond/message"
	"sessiond/session"
)

// TestAnEventIsEncodedOnce: every subscriber of an event gets the very same bytes.
func TestAnEventIsEncodedOnce(t *testing.T) {
	const subscribers = 10
	subs := make([]*subscription, subscribers)
	for i := range subs {
		subs[i] = &subscription{deltas: true}
	}
	id := message.NewSessionID()
	event := &session.Event{SessionID: id, Seq: 7, Kind: session.EntryUpdated, Data: []byte(`{"version":2}`)}
	delta := &session.Delta{SessionID: id, Kind: "text", Text: "hello"}
	activity := &session.Activity{SessionID: id, Name: session.ActivityNone}
	for _, s := range subs {
		s.Event(event)
		s.Delta(delta)
		s.Activity(activity)
	}
	for i := range subs[0].held {
		first := subs[0].held[i].frame
		for n, s := range subs {
			if got := s.held[i].frame; &got[0] != &first[0] {
				t.Errorf("frame %d of subscriber %d is its own copy: %s", i, n, got)
			}
		}
	}
	if len(subs[0].held) != 3 {
		t.Errorf("%d frames, want 3", len(subs[0].held))
	}
}
