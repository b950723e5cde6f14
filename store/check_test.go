package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/store"
)

func TestRunningLast(t *testing.T) {
	turns := []store.Turn{
		{ID: "a", Status: store.TurnRunning},
		{ID: "b", Status: store.TurnQueued},
		{ID: "c", Status: store.TurnStopped},
		{ID: "d", Status: store.TurnQueued},
	}
	given := append([]store.Turn(nil), turns...)
	want := []store.Turn{turns[1], turns[2], turns[3], turns[0]}
	if d := cmp.Diff(want, store.RunningLast(turns)); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	if d := cmp.Diff(given, turns); d != "" {
		t.Errorf("what was given has changed (-want +got):\n%s", d)
	}
}
