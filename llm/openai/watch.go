package openai

import (
	"context"
	"errors"
	"io"
	"time"
)

var errSilent = errors.New("the model server sent nothing")

// watchdog ends a call whose server has gone silent. Its timer runs from the sending
// of the request to the end of the body and is wound up by every byte. It has no
// goroutine; stop must be called.
type watchdog struct {
	idle   time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// watch returns a context that ends with ctx, or with errSilent as its cause.
func watch(ctx context.Context, idle time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{idle: idle, cancel: cancel}
	w.timer = time.AfterFunc(idle, func() { cancel(errSilent) })
	return ctx, w
}

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// reader winds the timer up at every read that brought something.
func (w *watchdog) reader(r io.Reader) io.Reader { return &watchedReader{r, w} }

type watchedReader struct {
	r io.Reader
	w *watchdog
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if n > 0 {
		r.w.timer.Reset(r.w.idle)
	}
	return n, err
}

// drain reads the few bytes behind an answer, so that the connection can be used
// again, and gives up on a server that leaves it open without sending any.
func (w *watchdog) drain(body io.Reader) {
	const (
		patience = 100 * time.Millisecond
		most     = 4 << 10
	)
	w.timer.Reset(patience)
	_, _ = io.CopyN(io.Discard, body, most) // whatever comes, the answer is complete
}
