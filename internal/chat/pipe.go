package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// maxLineBytes is the longest message that is read from a pipe: what a server takes in one
// frame, by default.
const maxLineBytes = 8 << 20

// ErrBusy is that more actions wait than can be taken on.
var ErrBusy = errors.New("too much is waiting already")

// Perform has a link do what a view wants, and tells the view what is not done.
func Perform(v *View, l *Link, actions []Action) {
	for _, a := range actions {
		if !l.Do(a) {
			v.Apply(Failed{a, ErrBusy})
		}
	}
}

// Pipe is the chat for what is no terminal: every line that is read is a message or a
// command, and waits until the one before is done; what happens is written as plain lines.
// It ends with the input, or by /quit, or with ctx, and returns the first failure of a turn
// or a command. The goroutine that reads ends when its read does.
func Pipe(ctx context.Context, l *Link, v *View, first []Action, in io.Reader, out io.Writer) error {
	typed, stop := readLines(in)
	defer stop()
	w := writer{out: out}
	Perform(v, l, first)
	for !v.Left() {
		var ready <-chan typing
		if v.Idle() {
			ready = typed
		}
		select {
		case t, ok := <-ready:
			switch {
			case !ok:
				v.Leave()
			case t.err != nil:
				return fmt.Errorf("read: %w", t.err)
			default:
				Perform(v, l, v.Input(t.text))
			}
		case e := <-l.Events():
			v.Apply(e)
		case <-ctx.Done():
			v.Leave()
		}
		if err := w.write(v); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	if err := v.Err(); err != nil {
		return err
	}
	return v.Problem()
}

// typing is a line that was read, or why none can be.
type typing struct {
	text string
	err  error
}

// readLines reads lines until the input ends or stop is called.
func readLines(in io.Reader) (lines <-chan typing, stop func()) {
	typed, stopped := make(chan typing), make(chan struct{})
	go func() {
		defer close(typed)
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, maxLineBytes)
		for more := true; more; {
			var t typing
			if more = scan.Scan(); more {
				t.text = scan.Text()
			} else if t.err = scan.Err(); t.err == nil {
				return
			}
			select {
			case typed <- t:
			case <-stopped:
				return
			}
		}
	}()
	return typed, func() { close(stopped) }
}

// writer writes lines as they are finished, and the one that is open as it grows.
type writer struct {
	out  io.Writer
	open int // bytes of the open line that are written
}

func (w *writer) write(v *View) error {
	for _, l := range v.Take() {
		if _, err := io.WriteString(w.out, l.Text()[w.open:]+"\n"); err != nil {
			return err
		}
		w.open = 0
	}
	rest := v.Open()[w.open:]
	w.open += len(rest)
	_, err := io.WriteString(w.out, rest)
	return err
}
