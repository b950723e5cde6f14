//go:build e2e

// Package console_test checks the types of the console's modules and uses the page in a
// headless browser, against the built server with the demo model. Pictures of its states
// are left in the folder screenshots.
package console_test

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"sessiond/test/e2e/e2etest"
)

const screenshots = "screenshots"

func TestTypes(t *testing.T) {
	e2etest.Install(t)
	e2etest.Run(t, "node", "node_modules/typescript/bin/tsc", "--project", ".")
}

// TestUnits tests what needs no browser.
func TestUnits(t *testing.T) {
	e2etest.Install(t)
	t.Log(summary(e2etest.Run(t, "node", "unit.test.mjs")))
}

func TestConsole(t *testing.T) {
	browser := prepare(t)
	s := e2etest.Serve(t)
	for _, name := range []string{"conversation", "context", "states", "access"} {
		t.Run(name, func(t *testing.T) {
			t.Log(summary(e2etest.Run(t, "node", name+".test.mjs", s.Addr, browser, screenshots)))
		})
	}
	t.Run("resilience", func(t *testing.T) {
		asked := make(chan struct{}, 10)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range asked {
				s.Kill(t)
				s.Start(t)
			}
		})
		var out bytes.Buffer
		e2etest.RunTo(t, listener{asked, &out}, "node", "resilience.test.mjs", s.Addr, browser, screenshots)
		close(asked)
		wg.Wait()
		t.Log(summary(out.String()))
	})
}

func TestSignIn(t *testing.T) {
	browser := prepare(t)
	s := e2etest.Serve(t, "SESSIOND_TOKEN=a-token-for-this-test")
	t.Log(summary(e2etest.Run(t, "node", "signin.test.mjs", s.Addr, browser, screenshots)))
}

// prepare returns the browser, and makes the folder for pictures.
func prepare(t *testing.T) string {
	t.Helper()
	browser := e2etest.Browser(t)
	e2etest.Install(t)
	if err := os.MkdirAll(screenshots, 0o755); err != nil {
		t.Fatal(err)
	}
	return browser
}

// listener asks for what a line of output asks for, and keeps all of it.
type listener struct {
	asked chan<- struct{}
	out   *bytes.Buffer
}

func (l listener) Write(p []byte) (int, error) {
	for range bytes.Count(p, []byte("kill the server\n")) {
		l.asked <- struct{}{}
	}
	return l.out.Write(p)
}

// summary is what node's test runner says at the end.
func summary(out string) string {
	if i := strings.LastIndex(out, "# tests"); i >= 0 {
		return out[i:]
	}
	return out
}
