package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"sessiond/internal/replay"
	"sessiond/llm"
	"sessiond/llm/anthropic"
	"sessiond/llm/openai"
)

// replayProvider is where the answers of a replay come from: the recordings themselves,
// or a real provider's client that talks to a strict fake of its API.
type replayProvider struct {
	model    llm.Model
	names    []string // of the models: those of the conversations
	thinking llm.ThinkingLevel
	clock    *replayClock
	fake     replay.Fake // nil without one
	http     *http.Server
}

func newReplayProvider(ctx context.Context, f *replayFlags, o replay.FakeOptions) (*replayProvider, error) {
	p := &replayProvider{thinking: llm.ThinkingOff, clock: &replayClock{}}
	for _, c := range o.Conversations {
		p.names = append(p.names, c.ID)
	}
	if o.Thinking = f.thinking; o.Thinking {
		p.thinking = llm.ThinkingMedium
	}
	switch {
	case f.through == "" && !o.Thinking && o.Script == nil:
		p.model = replay.NewModel(o.Conversations)
		return p, nil
	case f.through == "anthropic":
		p.fake = replay.NewAnthropicFake(o)
	case f.through == "openai" && !o.Thinking:
		for i, c := range o.Conversations {
			o.Conversations[i] = c.TextFirst()
		}
		p.fake = replay.NewOpenAIFake(o)
	default:
		return nil, &usageError{"replay: --through is anthropic or openai, and --thinking goes with anthropic"}
	}
	return p, p.serve(ctx, f.through)
}

// serve serves the fake and makes the client of its API.
func (p *replayProvider) serve(ctx context.Context, api string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.http = &http.Server{Handler: p.fake, ReadHeaderTimeout: headerTimeout}
	go func() { _ = p.http.Serve(listener) }() // ends with close
	base := "http://" + listener.Addr().String()
	if api == "anthropic" {
		p.model, err = anthropic.New(anthropic.Options{APIKey: "replay", BaseURL: base})
	} else {
		p.model, err = openai.New(openai.Options{BaseURL: base + "/v1"})
	}
	if err != nil {
		p.close()
	}
	return err
}

func (p *replayProvider) close() {
	if p.http != nil {
		_ = p.http.Close()
	}
}

// judge prints what the fake thought of the requests, and how often one had to be
// repaired before; a rejected one is an error.
func (p *program) judge(provider *replayProvider, metrics prometheus.Gatherer) error {
	if provider.fake == nil {
		return nil
	}
	repairs, err := sumOf(metrics, "sessiond_request_repairs_total")
	if err != nil {
		return err
	}
	seen := provider.fake.Seen()
	if _, err := fmt.Fprintf(p.stdout, "%d requests, %d rejected, %.0f repairs\n", seen.Requests, len(seen.Rejected), repairs); err != nil {
		return err
	}
	if len(seen.Rejected) == 0 {
		return nil
	}
	return errors.New("rejected requests:\n" + strings.Join(seen.Rejected, "\n"))
}

// sumOf adds up a counter over all its labels.
func sumOf(metrics prometheus.Gatherer, name string) (float64, error) {
	families, err := metrics.Gather()
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue()
		}
	}
	return sum, nil
}
