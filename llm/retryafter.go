package llm

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads how long a response asks to wait before the next try: from
// retry-after-ms, or retry-after as seconds or as a date, which is compared with the
// response's own date rather than a clock of ours. It is 0 if there is no such wish
// or it can't be read, and never negative.
func RetryAfter(h http.Header) time.Duration {
	if d := parseWait(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	value := h.Get("Retry-After")
	if d := parseWait(value, time.Second); d > 0 {
		return d
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, until.Sub(now))
}

// maxWait keeps absurd numbers from overflowing; nobody waits for it.
const maxWait = 365 * 24 * time.Hour

func parseWait(value string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(n > 0) { // NaN compares false
		return 0
	}
	if n >= float64(maxWait/unit) {
		return maxWait
	}
	return time.Duration(n * float64(unit))
}
