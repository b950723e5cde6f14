package session_test

import (
	"errors"
	"testing"

	"sessiond/session"
)

func TestErrors(t *testing.T) {
	err := error(&session.Error{Kind: session.KindVersionConflict, Message: "changed", Data: map[string]any{"version": 2, "a": 1}})
	if got, want := err.Error(), "version_conflict: changed (a=1, version=2)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, &session.Error{Kind: session.KindVersionConflict}) || errors.Is(err, &session.Error{Kind: session.KindBusy}) {
		t.Error("errors.Is does not go by the kind")
	}
}
