package anthropic_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/llm"
	"sessiond/llm/anthropic"
	fake "sessiond/llm/llmtest/anthropicfake"
)

func TestCapabilities(t *testing.T) {
	s := fake.New(fake.Options{WindowTokens: 300_000})
	c := dial(t, s)
	got, err := c.Capabilities(t.Context(), "claude-haiku-5-5")
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Capabilities{
		WindowTokens: 300_000, MaxOutputTokens: 128_000, MaxBodyBytes: 32_000_000, Images: true, ThinkingBound: true, CacheMinTokens: 1024, TokenRatio: 1.6,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := c.Capabilities(t.Context(), "claude-haiku-5-5"); err != nil || len(s.Requests()) != 1 {
		t.Errorf("asked %d times, %v", len(s.Requests()), err)
	}
}

// The table says the same as the endpoint of the strict fake about every model.
func TestTableAgreesWithTheEndpoint(t *testing.T) {
	s := fake.New(fake.Options{})
	with, without := dial(t, s), dial(t, http.NotFoundHandler())
	for _, m := range fake.Models() {
		asked, err := with.Capabilities(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		tabled, err := without.Capabilities(t.Context(), m.ID)
		if err == nil {
			t.Fatal("no error from a server without the endpoint")
		}
		if diff := cmp.Diff(asked, tabled); diff != "" {
			t.Errorf("%s (-endpoint +table):\n%s", m.ID, diff)
		}
		if asked.ThinkingBound != m.BoundPrefix || asked.CacheMinTokens != int64(m.CacheMinTokens) {
			t.Errorf("%s: %+v", m.ID, asked)
		}
	}
}

func TestUnknownModels(t *testing.T) {
	c := dial(t, http.NotFoundHandler())
	for name, want := range map[string]llm.Capabilities{
		"claude-next": {WindowTokens: 200_000, MaxOutputTokens: 64_000, MaxBodyBytes: 32_000_000, Images: true, ThinkingBound: true, TokenRatio: 1.6},
		"kimi":        {Images: true, ThinkingBound: true},
	} {
		got, err := c.Capabilities(t.Context(), name)
		if diff := cmp.Diff(want, got); diff != "" || err == nil {
			t.Errorf("%s: error %v, (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestFailureOfTheEndpointIsRememberedForAWhile(t *testing.T) {
	var asked atomic.Int32
	now := time.Unix(0, 0)
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	c := dial(t, h, func(o *anthropic.Options) { o.Now = func() time.Time { return now } })
	for i, want := range []int32{1, 1, 2} {
		if i == 2 {
			now = now.Add(10 * time.Minute)
		}
		got, err := c.Capabilities(t.Context(), "claude-opus-5")
		if got.WindowTokens != 1_000_000 || asked.Load() != want || (err == nil) != (i == 1) {
			t.Errorf("%d: asked %d times, %v, %v", i, asked.Load(), got, err)
		}
	}
}

// A server may leave out all that it does not know.
func TestSparseEndpoint(t *testing.T) {
	body := `{"type":"model","id":"claude-opus-5","max_input_tokens":1234}`
	c := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/models/") {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}))
	got, err := c.Capabilities(t.Context(), "claude-opus-5")
	if err != nil || got.WindowTokens != 1234 || got.MaxOutputTokens != 128_000 || !got.Images {
		t.Errorf("got %+v, %v", got, err)
	}
}
