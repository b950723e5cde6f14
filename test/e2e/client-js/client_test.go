//go:build e2e

// Package clientjs_test checks and tests the JavaScript client: its types, its logic
// against scripted frames, and all of it against the built server.
package clientjs_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"sessiond/test/e2e/e2etest"
)

// TestTypes: the client is what its declarations say, and they are what they ought to be.
func TestTypes(t *testing.T) {
	e2etest.Install(t)
	e2etest.Run(t, "node", "node_modules/typescript/bin/tsc", "--project", ".")
}

// TestUnits runs the tests of the client's logic, which need no server.
func TestUnits(t *testing.T) {
	e2etest.Install(t)
	t.Log(summary(e2etest.Run(t, "node", "--test", "unit/")))
}

func TestServer(t *testing.T) {
	e2etest.Install(t)
	s := e2etest.Serve(t)
	t.Log(summary(e2etest.Run(t, "node", "server.test.mjs", s.Addr)))
}

// TestTorture loses connections at any moment, and kills the server whenever the clients
// ask for it. They have missed nothing then, repeated nothing and done nothing twice.
func TestTorture(t *testing.T) {
	e2etest.Install(t)
	s := e2etest.Serve(t)
	asked := make(chan struct{}, 100)
	kills := 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for range asked {
			s.Kill(t)
			s.Start(t)
			kills++
		}
	})
	e2etest.RunTo(t, listener{asked}, "node", "torture.mjs", s.Addr)
	close(asked)
	wg.Wait()
	if kills == 0 {
		t.Error("the server was never killed")
	}
}

// listener asks for what a line of output asks for.
type listener struct{ asked chan<- struct{} }

func (l listener) Write(p []byte) (int, error) {
	for range bytes.Count(p, []byte("kill the server\n")) {
		l.asked <- struct{}{}
	}
	return len(p), nil
}

// summary is what node's test runner says at the end.
func summary(out string) string {
	if i := strings.LastIndex(out, "# tests"); i >= 0 {
		return out[i:]
	}
	return out
}
