package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
)

// Request is a call or a notification.
type Request struct {
	Method       string
	Params       json.RawMessage // as received, an object or an array; nil when absent; may be kept, not changed
	Notification bool
}

// Handler serves one connection.
type Handler interface {
	// Handle runs in its own goroutine per request: requests of one connection run
	// concurrently, at most Options.MaxInFlight, and may start in another order
	// than they came. It may block; ctx ends on $/cancelRequest and when the
	// connection ends, and Handle must return soon after that.
	//
	// A result of type json.RawMessage is sent byte for byte and must be valid
	// JSON; a Deferred wraps a result with a callback; anything else is marshalled
	// without HTML escaping. An *Error, wrapped or not, goes out as it is;
	// context.Canceled after a $/cancelRequest becomes CodeCancelled; any other
	// error, and a panic, CodeInternalError with an incident number, the details
	// going to the log only. A notification is not answered: its result is
	// ignored, its error logged.
	Handle(ctx context.Context, req *Request) (any, error)

	// Closed is called exactly once, after the connection has ended and every
	// Handle has returned.
	Closed()
}

// Inliner is a Handler that knows requests so short that the hop to another
// goroutine would cost more than they do (measured here: half of a small call).
type Inliner interface {
	Handler
	// Inline reports whether a request outside a batch is handled in the reader's
	// goroutine. Until Handle returns nothing else is read from the connection, no
	// pong and no cancel, so this is only for what does not wait for I/O or for
	// other requests. The reply does not hold the reader up: if there is no room for
	// it, it waits elsewhere. Inline is called for unknown methods too.
	Inline(method string) bool
}

// Deferred is a result with a callback. Queued runs in the request's goroutine, or
// in place of it, right after the reply, or the batch that holds it, is in the
// outbox, for which it may have to wait as long as the peer takes to read: what it
// sends, and what is sent after it, comes behind the reply. It never runs if the
// reply could not be queued or the request was a notification.
type Deferred struct {
	Result any
	Queued func()
}

// panicError is a panic of the handler's code.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// protect runs code of the handler's side and turns a panic into an error, so
// that one request cannot end the process.
func protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: debug.Stack()}
		}
	}()
	return f()
}
