package anthropic

import (
	"context"
	"errors"
	"io"
	"time"
)

var errSilent = errors.New("the server is silent")

// watch ends a call whose server sends nothing for too long.
type watch struct {
	timer  *time.Timer
	limit  time.Duration
	cancel context.CancelCauseFunc
}

// newWatch returns a context that ends with errSilent when the watch was not told for
// limit that the server is alive.
func newWatch(ctx context.Context, limit time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{limit: limit, cancel: cancel}
	w.timer = time.AfterFunc(limit, func() { cancel(errSilent) })
	return ctx, w
}

func (w *watch) alive() { w.timer.Reset(w.limit) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// body tells the watch about everything that is read.
func (w *watch) body(rc io.ReadCloser) io.ReadCloser { return &watchedBody{ReadCloser: rc, watch: w} }

type watchedBody struct {
	io.ReadCloser
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.alive()
	}
	return n, err
}
