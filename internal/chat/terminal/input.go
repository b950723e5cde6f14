package terminal

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"sessiond/internal/chat"
)

// Rows of the input that are shown, and that it may have.
const (
	shownInputRows = 8
	inputRows      = 5000
)

// newInput returns the field that is typed in: one row that grows.
func newInput() textarea.Model {
	in := textarea.New()
	in.ShowLineNumbers = false
	in.DynamicHeight, in.MinHeight, in.MaxHeight, in.MaxContentHeight = true, 1, shownInputRows, inputRows
	in.MaxWidth, in.CharLimit = 0, 0
	in.SetHeight(1)
	in.SetStyles(textarea.Styles{Cursor: textarea.CursorStyle{Shape: tea.CursorBlock, Blink: true}})
	in.SetVirtualCursor(false) // the terminal's own shows input methods where to be
	in.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter", "ctrl+j"))
	in.KeyMap.Paste.SetEnabled(false) // the terminal pastes
	in.KeyMap.CopySelection.SetEnabled(false)
	in.Focus()
	return in
}

// setPrompt puts the meter before the first row of the input; less of it where it would
// take more than a third of the row.
func (p palette) setPrompt(in *textarea.Model, meter chat.Line, width int) {
	if n := len(meter.Spans); n > 2 && 3*chat.Width(meter.Text()) > width {
		meter.Spans = []chat.Span{meter.Spans[0], meter.Spans[n-1]}
	}
	columns := chat.Width(meter.Text())
	prompt, blank := p.painted(meter, 0, len(meter.Text())), strings.Repeat(" ", columns)
	in.SetPromptFunc(columns, func(info textarea.PromptInfo) string {
		if info.LineNumber == 0 {
			return prompt
		}
		return blank
	})
	in.SetWidth(width)
}

// atTop and atBottom report whether the cursor can go no further in the input itself.
func atTop(in *textarea.Model) bool { return in.Line() == 0 && in.LineInfo().RowOffset == 0 }

func atBottom(in *textarea.Model) bool {
	info := in.LineInfo()
	return in.Line() == in.LineCount()-1 && info.RowOffset >= info.Height-1
}
