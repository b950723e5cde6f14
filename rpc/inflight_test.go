package rpc

import "testing"

func newCall(id string) *call {
	c := &call{cancel: func() {}}
	if id != "" {
		c.id = []byte(id)
	}
	return c
}

func TestInflightAfterTheEnd(t *testing.T) {
	t.Parallel()
	var f inflight
	running := newCall("1")
	ended := false
	running.cancel = func() { ended = true }
	if ok, refusal := f.admit(running, 10); !ok {
		t.Fatal(refusal)
	}
	idle := f.stop()
	if !ended {
		t.Error("the running call was not told")
	}
	// Also one whose id is live: there is nobody left to be told.
	for _, id := range []string{"1", "2", ""} {
		if ok, refusal := f.admit(newCall(id), 10); ok || refusal != nil {
			t.Errorf("call %q after the end: admitted %v, refusal %v", id, ok, refusal)
		}
	}
	f.release(func() {}, running)
	select {
	case <-idle:
		t.Error("idle before the last call is settled")
	default:
	}
	f.settle(1)
	<-idle
	<-f.stop()
}

func TestInflightTellsWhenItIsIdle(t *testing.T) {
	t.Parallel()
	var f inflight
	told := 0
	f.whenIdle(func() { told++ })
	if told != 1 {
		t.Fatal("nothing runs, but nobody is told")
	}
	a, b := newCall("1"), newCall("")
	for _, c := range []*call{a, b} {
		if ok, refusal := f.admit(c, 2); !ok {
			t.Fatal(refusal)
		}
	}
	f.whenIdle(func() { told++ })
	f.release(func() {}, a)
	f.settle(1)
	f.release(func() {}, b)
	if told != 1 {
		t.Fatal("told while a call is unsettled")
	}
	f.settle(1)
	if told != 2 {
		t.Fatal("not told at the end")
	}
}
