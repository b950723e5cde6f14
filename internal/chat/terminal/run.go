package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"sessiond/internal/chat"
)

// Options are the terminal and what is known of it.
type Options struct {
	In, Out *os.File // terminals; In is put into raw mode
	// Environ tells the kind of terminal, and NO_COLOR.
	Environ []string
}

// Run shows a chat until it is left or ctx ends, and returns why it could not go on, if it
// could not. It blocks. first is what is to be done first.
func Run(ctx context.Context, l *chat.Link, v *chat.View, first []chat.Action, o Options) error {
	out := newOutput(o.Out)
	look := palette{colours: colorprofile.Detect(o.Out, o.Environ) > colorprofile.ASCII}
	s := newScreen(v, l, first, look, out.drawn)
	_, err := tea.NewProgram(s,
		tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(out), tea.WithEnvironment(o.Environ), tea.WithoutSignalHandler(),
	).Run()
	out.end()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("terminal: %w", err)
	}
	err = nil // the end of ctx is a way to leave
	v.Leave()
	// What is left is printed as it is, so that the terminal breaks lines that are to be
	// copied.
	rows := s.printer.take(v, s.width)
	if text := v.Farewell(); text != "" {
		rows = append(rows, look.paint(chat.Span{Style: chat.Dim, Text: text}))
	}
	for _, row := range rows {
		_, wrote := fmt.Fprintln(o.Out, row)
		err = errors.Join(err, wrote)
	}
	return errors.Join(err, v.Err())
}
