package main

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// seat is somebody at a terminal with a chat on it: the chat has a real terminal device,
// and what it draws is drawn.
type seat struct {
	t      *testing.T
	device *os.File // our end of it
	code   chan int

	mu     sync.Mutex
	screen *vt.Emulator
	drawn  chan struct{} // closed when something is
}

const seatColumns, seatRows = 100, 30

func sit(t *testing.T, environ []string, args ...string) *seat {
	t.Helper()
	device, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, device: device, code: make(chan int, 1), screen: vt.NewEmulator(seatColumns, seatRows), drawn: make(chan struct{})}
	s.resize(seatColumns, seatRows)
	answers, ok := s.screen.InputPipe().(io.Closer)
	if !ok {
		t.Fatal("the emulator's answers can't be ended")
	}
	var running sync.WaitGroup
	running.Go(func() { _, _ = io.Copy(s, device) })        // until the terminal is closed
	running.Go(func() { _, _ = io.Copy(device, s.screen) }) // what a terminal answers, until that is closed below
	ctx, cancel := context.WithCancel(t.Context())
	p := &program{stdin: terminal, stdout: terminal, stderr: terminal, environ: append(environ, "TERM=xterm-256color")}
	running.Go(func() {
		s.code <- p.run(ctx, append([]string{"chat"}, args...))
		_ = terminal.Close()
	})
	t.Cleanup(func() {
		cancel()
		_ = answers.Close() // the emulator's own Close races with its reader
		running.Wait()
		_ = device.Close()
	})
	return s
}

// Write implements io.Writer: it draws.
func (s *seat) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.drawn)
	s.drawn = make(chan struct{})
	return s.screen.Write(p)
}

func (s *seat) resize(columns, rows uint16) {
	s.t.Helper()
	s.mu.Lock()
	s.screen.Resize(int(columns), int(rows))
	s.mu.Unlock()
	if err := pty.Setsize(s.device, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		s.t.Fatal(err)
	}
	// The kernel tells it to those whose controlling terminal this is, which is not the case
	// here.
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		s.t.Fatal(err)
	}
}

// text is what stands on the terminal, and what has scrolled out of it.
func (s *seat) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locked()
}

func (s *seat) locked() string {
	var b strings.Builder
	for _, l := range s.screen.Scrollback().Lines() {
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	for row := range strings.SplitSeq(s.screen.String(), "\n") {
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	return b.String()
}

// until waits for a state of the terminal.
func (s *seat) until(what string, is func() bool) {
	s.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		s.mu.Lock()
		done, drawn := is(), s.drawn
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-drawn:
		case <-late.C:
			s.t.Fatalf("%s is not seen:\n%s", what, s.text())
		}
	}
}

// see waits until the terminal shows a text; trailing spaces of rows do not count.
func (s *seat) see(text string) {
	s.t.Helper()
	text = strings.ReplaceAll(text, " \n", "\n")
	s.until(text, func() bool { return strings.Contains(s.locked(), strings.TrimRight(text, " ")) })
}

// at waits until the cursor stands in a column.
func (s *seat) at(column int) {
	s.t.Helper()
	s.until("the cursor where it belongs", func() bool { return s.screen.CursorPosition().X == column })
}

// rest waits until nothing goes on.
func (s *seat) rest() {
	s.t.Helper()
	s.until("rest", func() bool { return !strings.Contains(s.screen.String(), " · Ctrl-C stops") })
}

// coloured reports whether anything on the terminal has a colour.
func (s *seat) coloured() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for y := range s.screen.Height() {
		for x := range s.screen.Width() {
			if c := s.screen.CellAt(x, y); c != nil && (c.Style.Fg != nil || c.Style.Bg != nil) {
				return true
			}
		}
	}
	return false
}

func (s *seat) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.device, keys); err != nil {
		s.t.Fatal(err)
	}
}

// leave waits for the end.
func (s *seat) leave() int {
	s.t.Helper()
	select {
	case code := <-s.code:
		return code
	case <-time.After(patience):
		s.t.Fatalf("the chat does not end:\n%s", s.text())
		return 0
	}
}
