package session_test

import (
	"testing"
	"time"

	"sessiond/session"
	"sessiond/store"
)

// TestLimitsThatNoLongerFit: when the server's limit was lowered below a session's buffer,
// the session still takes other changes, and its buffer once it fits.
func TestLimitsThatNoLongerFit(t *testing.T) {
	inWorld(t, session.Options{}, func(w *world) {
		t := w.t
		ref := w.create(func(s *session.Settings) { s.Limits = limited(0, 20_000).Limits })
		w.opts.Context.ContextTokensLimit = 20_000
		w.restart()
		title := "still here"
		if v, err := w.update(ref, session.Update{Title: &title}); err != nil || v.Title != title {
			t.Errorf("another change: %v", err)
		}
		for _, tt := range []struct {
			buffer int64
			fits   bool
		}{{20_000, false}, {19_999, true}} {
			_, err := w.update(ref, session.Update{Limits: &session.Limits{AutoCompactBufferTokens: &tt.buffer}})
			if !tt.fits {
				wantPath(t, "a buffer", err, "settings.auto_compact_buffer_tokens")
			} else if err != nil {
				t.Errorf("a buffer of %d: %v", tt.buffer, err)
			}
		}
	})
}

// TestLimitsBelongToAService: what one server refused says nothing of a model that another
// calls by the same name.
func TestLimitsBelongToAService(t *testing.T) {
	const window, unlimited = 8_192, 10_000_000
	tests := []struct {
		name               string
		provider, endpoint string // of the server that is asked now
		learned            string // where the limit was learned
		believed           bool
	}{
		{"the same service", "openai", "openai http://a/v1", "openai http://a/v1", true},
		{"another server of the same kind", "openai", "openai http://b/v1", "openai http://a/v1", false},
		{"a provider without an address", "anthropic", "", "anthropic", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, session.Options{Provider: tt.provider, Endpoint: tt.endpoint}, func(w *world) {
				t := w.t
				limit := store.LearnedLimit{Provider: tt.learned, Model: "small", WindowTokens: window, LearnedAt: time.Now()}
				if err := w.mem.LearnLimit(t.Context(), limit); err != nil {
					t.Fatal(err)
				}
				w.restart()
				got := w.context(w.create()).Input
				if believed := got < window; believed != tt.believed || !believed && got != unlimited {
					t.Errorf("a request may have %d tokens; the limit is believed: %v, want %v", got, believed, tt.believed)
				}
			})
		})
	}
}
