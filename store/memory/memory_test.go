package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"sessiond/message"
	"sessiond/store"
	"sessiond/store/memory"
	"sessiond/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memory.New() })
}

func newCommit() *store.Commit {
	return &store.Commit{Session: store.Session{
		ID: message.NewSessionID(), Owner: "alice", Status: store.StatusIdle, Version: 1,
	}}
}

func TestIntercept(t *testing.T) {
	errFault := errors.New("fault")
	cases := []struct {
		name   string
		f      memory.Interceptor
		want   error
		stored bool
	}{
		{"fails before", func(context.Context, *store.Commit, func() error) error { return errFault }, errFault, false},
		{"loses the answer", func(_ context.Context, _ *store.Commit, apply func() error) error {
			return errors.Join(apply(), errFault)
		}, errFault, true},
		{"passes", func(_ context.Context, _ *store.Commit, apply func() error) error { return apply() }, nil, true},
		{"none", nil, nil, true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s := memory.New()
			s.Intercept(tc.f)
			c := newCommit()
			if err := s.Create(t.Context(), c); !errors.Is(err, tc.want) {
				t.Errorf("error is %v, want %v", err, tc.want)
			}
			_, err := s.Session(t.Context(), store.Ref{Owner: "alice", ID: c.Session.ID})
			if stored := err == nil; stored != tc.stored {
				t.Errorf("stored is %v, want %v", stored, tc.stored)
			}
		})
	}
}

func TestCloseWaitsForCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		release := make(chan struct{})
		s.Intercept(func(_ context.Context, _ *store.Commit, apply func() error) error {
			<-release
			return apply()
		})
		var committed, closed bool
		go func() { committed = s.Create(t.Context(), newCommit()) == nil }()
		synctest.Wait()
		go func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			closed = true
		}()
		synctest.Wait()
		if closed {
			t.Error("closed with a commit under way")
		}
		close(release)
		synctest.Wait()
		if !closed || !committed {
			t.Errorf("closed is %v, committed is %v", closed, committed)
		}
	})
}
