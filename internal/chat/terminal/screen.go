package terminal

import (
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"sessiond/internal/chat"
)

// screen is what Bubble Tea runs.
type screen struct {
	view  *chat.View
	link  *chat.Link
	first []chat.Action

	input   textarea.Model
	past    history
	printer printer
	width   int
	height  int

	printing bool // a piece is on its way to the terminal, or nothing was drawn yet
	turning  bool // the spinner is
	frame    int
	drawn    <-chan struct{} // closed when the input line is on the terminal
}

// The messages of the screen to itself.
type (
	happened []chat.Event
	printed  struct{}
	turned   struct{}
)

// The size of a terminal that does not tell it.
const (
	defaultWidth  = 80
	defaultHeight = 24
)

// newScreen returns a screen that prints nothing before it is drawn: Bubble Tea prints
// above what it has drawn, and would take the whole terminal for that.
func newScreen(v *chat.View, l *chat.Link, first []chat.Action, p palette, drawn <-chan struct{}) *screen {
	s := &screen{
		view: v, link: l, first: first, input: newInput(), width: defaultWidth, height: defaultHeight,
		printer: printer{palette: p}, printing: true, drawn: drawn,
	}
	s.printer.setPrompt(&s.input, v.Meter(), s.width)
	return s
}

// Init implements tea.Model.
func (s *screen) Init() tea.Cmd {
	chat.Perform(s.view, s.link, s.first)
	return tea.Batch(s.listen, func() tea.Msg {
		<-s.drawn
		return printed{}
	})
}

// eventsAtOnce are taken before the screen is drawn again.
const eventsAtOnce = 64

// listen waits for events. The link closes the channel at the end.
func (s *screen) listen() tea.Msg {
	var events happened
	for e := range s.link.Events() {
		events = append(events, e)
		if len(events) == eventsAtOnce || len(s.link.Events()) == 0 {
			return events
		}
	}
	return nil
}

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = msg.Width, msg.Height
	case happened:
		for _, e := range msg {
			s.view.Apply(e)
		}
		cmds = append(cmds, s.listen)
	case printed:
		s.printing = false
	case turned:
		s.turning = false
		s.frame++
	case tea.KeyPressMsg:
		cmds = append(cmds, s.press(msg))
	default:
		var cmd tea.Cmd
		s.input, cmd = s.input.Update(msg)
		cmds = append(cmds, cmd)
	}
	s.printer.setPrompt(&s.input, s.view.Meter(), s.width)
	return s, tea.Batch(append(cmds, s.print(), s.spin(), s.quit())...)
}

// rowsAtOnce is how much is printed in one piece: less than a terminal has rows, as Bubble
// Tea makes room for a piece before it writes it.
const rowsAtOnce = 8

// print prints what is finished, in pieces. The next ones wait until these are out: Bubble
// Tea keeps no order between commands.
func (s *screen) print() tea.Cmd {
	if s.printing {
		return nil
	}
	rows := s.printer.take(s.view, s.width)
	if len(rows) == 0 {
		return nil
	}
	s.printing = true
	var pieces []tea.Cmd
	for len(rows) > 0 {
		n := min(len(rows), rowsAtOnce)
		piece := strings.Join(rows[:n], "\n")
		if piece == "" {
			piece = " " // nothing would be printed
		}
		pieces = append(pieces, tea.Println(piece))
		rows = rows[n:]
	}
	return tea.Sequence(append(pieces, func() tea.Msg { return printed{} })...)
}

// spinner turns while something is going on.
const (
	spinner      = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	spinnerPause = 100 * time.Millisecond
)

func (s *screen) spin() tea.Cmd {
	if s.turning || s.view.Status() == "" {
		return nil
	}
	s.turning = true
	return tea.Tick(spinnerPause, func(time.Time) tea.Msg { return turned{} })
}

func (s *screen) quit() tea.Cmd {
	if s.view.Left() && !s.printing {
		return tea.Quit
	}
	return nil
}

// press takes a key.
func (s *screen) press(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" {
		s.interrupt()
		return nil
	}
	s.view.Disarm()
	switch name {
	case "enter":
		s.enter()
		return nil
	case "ctrl+d":
		if s.input.Value() == "" {
			s.view.Leave()
			return nil
		}
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+z":
		return tea.Suspend
	case "tab":
		s.input.SetValue(chat.Complete(s.input.Value()))
		return nil
	case "up":
		if text, ok := s.older(); ok {
			s.input.SetValue(text)
			return nil
		}
	case "down":
		if text, ok := s.newer(); ok {
			s.input.SetValue(text)
			return nil
		}
	}
	var cmd tea.Cmd
	s.input, cmd = s.input.Update(k)
	return cmd
}

func (s *screen) older() (string, bool) {
	if !atTop(&s.input) {
		return "", false
	}
	return s.past.back(s.input.Value())
}

func (s *screen) newer() (string, bool) {
	if !atBottom(&s.input) {
		return "", false
	}
	return s.past.forth()
}

// interrupt takes Ctrl-C, which empties the input where there is nothing to stop.
func (s *screen) interrupt() {
	if !s.view.Busy() && s.input.Value() != "" {
		s.input.Reset()
		return
	}
	chat.Perform(s.view, s.link, s.view.Interrupt())
}

func (s *screen) enter() {
	text := s.input.Value()
	if strings.TrimSpace(text) == "" {
		return
	}
	s.past.add(text)
	s.input.Reset()
	chat.Perform(s.view, s.link, s.view.Input(text))
}

// View implements tea.Model: all that is not printed for good.
func (s *screen) View() tea.View {
	if s.view.Left() {
		return tea.NewView("")
	}
	rows := s.printer.growing(s.view, s.width)
	for _, l := range s.view.Live() {
		rows = append(rows, s.printer.rowsOf(l, 0, s.width)...)
	}
	rows = append(rows, "")
	if status := s.view.Status(); status != "" {
		frames := []rune(spinner)
		rows = append(rows, s.printer.cutTo(chat.Line{Spans: []chat.Span{
			{Style: chat.Accent, Text: string(frames[s.frame%len(frames)])}, {Style: chat.Dim, Text: " " + status},
		}}, s.width))
	}
	if hint := s.view.Hint(); hint != "" {
		rows = append(rows, s.printer.cutTo(chat.Line{Spans: []chat.Span{{Style: chat.Warn, Text: hint}}}, s.width))
	}
	if most := max(s.height-s.input.Height()-1, 0); len(rows) > most {
		rows = rows[len(rows)-most:]
	}
	v := tea.NewView(strings.Join(append(rows, s.input.View()), "\n"))
	if c := s.input.Cursor(); c != nil {
		c.Y += len(rows)
		v.Cursor = c
	}
	return v
}
