package anthropicfake

import (
	"context"
	"net/http"
	"time"
)

// sse writes the events of an answer, with the faults that its step asks for.
type sse struct {
	w     http.ResponseWriter
	r     *http.Request
	flush http.Flusher
	step  *Step
}

func newSSE(w http.ResponseWriter, r *http.Request, step *Step) *sse {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flush, _ := w.(http.Flusher)
	return &sse{w: w, r: r, flush: flush, step: step}
}

func (s *sse) play(events []event) {
	for i, e := range events {
		if s.step.fault != faultNone && i == s.step.after {
			s.fail()
			return
		}
		if i > 0 {
			for range s.step.pings {
				s.write(event{"ping", map[string]any{}}.bytes())
			}
		}
		if !s.write(e.bytes()) {
			return
		}
	}
	if s.step.fault != faultNone { // asked for later than there are events
		s.fail()
	}
}

func (s *sse) fail() {
	switch s.step.fault {
	case faultNone, faultEOF:
	case faultError:
		body := s.step.midError.body(s.w.Header().Get("Request-Id"))
		s.write([]byte("event: error\ndata: " + string(body) + "\n\n"))
	case faultAbort:
		panic(http.ErrAbortHandler)
	case faultSilence:
		<-s.r.Context().Done()
	}
}

// write sends data, all at once or slowly, and reports whether the client is still
// there.
func (s *sse) write(data []byte) bool {
	if s.step.pause <= 0 {
		return s.send(data)
	}
	for len(data) > 0 {
		n := min(s.step.piece, len(data))
		if !s.send(data[:n]) || !wait(s.r.Context(), s.step.pause) {
			return false
		}
		data = data[n:]
	}
	return true
}

func (s *sse) send(data []byte) bool {
	if _, err := s.w.Write(data); err != nil {
		return false
	}
	if s.flush != nil {
		s.flush.Flush()
	}
	return true
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
