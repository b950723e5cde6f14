package provider_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sessiond/llm/llmtest/anthropicfake"
	"sessiond/llm/llmtest/fakellm"
	"sessiond/llm/llmtest/openaifake"
	"sessiond/session"
)

// No key stands in what a client is told or an operator reads, even where a provider
// repeats it; what else the provider said does.
func TestErrorsHoldNoKey(t *testing.T) {
	forBoth(t, session.Options{}, func(w *world) {
		ref := w.create()
		w.scriptText(http.StatusUnauthorized, "Incorrect API key provided: "+secret+". Get another one.")
		turn := w.turn(ref, w.send(ref, "go"))
		if turn.Error == nil || !strings.Contains(turn.Error.Message, "Get another one.") {
			w.t.Fatalf("the turn's error is %+v", turn.Error)
		}
		page, err := w.m.Log(w.t.Context(), ref, 0, 100)
		if err != nil {
			w.t.Fatal(err)
		}
		texts := []string{turn.Error.Message}
		for _, e := range page.Events {
			texts = append(texts, string(e.Data))
		}
		for _, e := range w.logs.All() {
			texts = append(texts, e.Message+fmt.Sprint(e.ContextMap()))
		}
		for _, text := range texts {
			if strings.Contains(text, secret) {
				w.t.Errorf("the key stands in %s", text)
			}
		}
		w.sound(ref)
	})
}

// scriptText makes the fake refuse the next request in these words.
func (w *world) scriptText(status int, text string) {
	if w.api == fakellm.Anthropic {
		w.fakes.Anthropic.Script(anthropicfake.Refuse(status, "authentication_error", text))
		return
	}
	w.fakes.OpenAI.Script(openaifake.Step{Fault: openaifake.Fault{Kind: openaifake.Refuse, Status: status, Message: text}})
}
