package llm_test

import (
	"net/http"
	"testing"
	"time"

	"sessiond/llm"
)

func TestRetryAfter(t *testing.T) {
	const date = "Mon, 30 Nov 2026 10:00:00 GMT"
	tests := []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"none", http.Header{}, 0},
		{"seconds", http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{"fraction", http.Header{"Retry-After": {" 0.5 "}}, 500 * time.Millisecond},
		{"milliseconds win", http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"84"}}, 84 * time.Millisecond},
		{"date", http.Header{"Retry-After": {"Mon, 30 Nov 2026 10:01:30 GMT"}, "Date": {date}}, 90 * time.Second},
		{"date gone by", http.Header{"Retry-After": {"Mon, 30 Nov 2026 09:00:00 GMT"}, "Date": {date}}, 0},
		{"date and no clock", http.Header{"Retry-After": {date}}, 0},
		{"negative", http.Header{"Retry-After": {"-5"}}, 0},
		{"not a number", http.Header{"Retry-After": {"NaN"}}, 0},
		{"words", http.Header{"Retry-After": {"soon"}}, 0},
		{"absurd", http.Header{"Retry-After": {"1e300"}}, 365 * 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := llm.RetryAfter(tt.header); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
