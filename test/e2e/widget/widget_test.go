//go:build e2e

// Package widget_test shows the widget in a headless browser: every state with given
// numbers, and at work with built servers. Pictures of all of it are in screenshots.
package widget_test

import (
	"bytes"
	"os"
	"regexp"
	"sync"
	"testing"

	"sessiond/test/e2e/e2etest"
)

const (
	pictures = "screenshots"
	token    = "the-token-of-the-tests"
)

func TestElement(t *testing.T) {
	browser := e2etest.Browser(t)
	e2etest.Install(t)
	e2etest.Run(t, "node", "element.test.mjs", browser, pictures)
}

func TestLive(t *testing.T) {
	browser := e2etest.Browser(t)
	e2etest.Install(t)
	origins := documentedOrigins(t) + ",http://app.test"
	open := e2etest.Serve(t, "SESSIOND_SERVER__ALLOWED_ORIGINS="+origins)
	guarded := e2etest.Serve(t, "SESSIOND_SERVER__ALLOWED_ORIGINS="+origins, "SESSIOND_TOKEN="+token)

	asked := make(chan string, 100)
	var wg sync.WaitGroup
	wg.Go(func() {
		for what := range asked {
			if what == "stop" {
				open.Stop(t)
			} else {
				open.Start(t)
			}
		}
	})
	e2etest.RunTo(t, listener{asked}, "node", "live.test.mjs", browser, open.Addr, guarded.Addr, token, pictures)
	close(asked)
	wg.Wait()
}

// documentedOrigins are the origins that docs/widget.md has the server allow.
func documentedOrigins(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/widget.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^SESSIOND_SERVER__ALLOWED_ORIGINS=(\S+) make run$`).FindSubmatch(doc)
	if m == nil {
		t.Fatal("docs/widget.md does not say how to start the server")
	}
	return string(m[1])
}

// listener hands on what a line of output asks for.
type listener struct{ asked chan<- string }

func (l listener) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		for _, what := range []string{"stop", "start"} {
			if bytes.Contains(line, []byte(what+" the server")) {
				l.asked <- what
			}
		}
	}
	return len(p), nil
}
