package terminal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"sessiond/internal/chat"
	v1 "sessiond/rpc/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHistory(t *testing.T) {
	var h history
	var got []string
	show := func(text string, ok bool) { got = append(got, fmt.Sprintf("%s %v", text, ok)) }
	show(h.back("draft"))
	show(h.forth())
	h.add("one")
	h.add("two")
	h.add("two") // once is enough
	show(h.back("draft"))
	show(h.back("two"))
	show(h.back("one"))
	show(h.forth())
	show(h.forth())
	show(h.forth())
	h.add("three")
	show(h.back(""))
	want := []string{" false", " false", "two true", "one true", " false", "two true", "draft true", " false", "three true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for i := range 2 * historyEntries {
		h.add(fmt.Sprint(i))
	}
	if len(h.entries) != historyEntries || h.entries[historyEntries-1] != fmt.Sprint(2*historyEntries-1) {
		t.Errorf("%d entries are kept, the newest is %s", len(h.entries), h.entries[len(h.entries)-1])
	}
}

// desk is a screen without a terminal and without a server.
type desk struct {
	t *testing.T
	*screen
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t, newScreen(chat.NewView(time.UTC), nil, nil, palette{}, nil)}
	d.Update(tea.WindowSizeMsg{Width: 40, Height: 12})
	return d
}

// keys presses keys; a word is typed, but for names in <>.
func (d *desk) keys(words ...string) {
	named := map[string]tea.KeyPressMsg{
		"<enter>": {Code: tea.KeyEnter}, "<alt-enter>": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "<tab>": {Code: tea.KeyTab},
		"<up>": {Code: tea.KeyUp}, "<down>": {Code: tea.KeyDown}, "<left>": {Code: tea.KeyLeft}, "<rub>": {Code: tea.KeyBackspace},
		"<^c>": {Code: 'c', Mod: tea.ModCtrl}, "<^d>": {Code: 'd', Mod: tea.ModCtrl}, "<^a>": {Code: 'a', Mod: tea.ModCtrl},
	}
	for _, w := range words {
		if k, ok := named[w]; ok {
			d.Update(k)
			continue
		}
		for _, r := range w {
			d.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		name, keys string
		want       string
	}{
		{"typing", "hello <left> <left> <rub> <rub> 你 <rub> u", "hulo"},
		{"lines", "one <alt-enter> two", "one\ntwo"},
		{"completion", "/he <tab>", "/help "},
		{"no completion", "he <tab>", "he"},
		{"a command is sent", "/help <enter>", ""},
		{"nothing is not sent", "<enter>", ""},
		{"history", "/help <enter> /nonsense <enter> draft <up> <up>", "/help"},
		{"and back", "/help <enter> draft <up> <down>", "draft"},
		{"up in lines", "/help <enter> one <alt-enter> two <up> <^a> x", "xone\ntwo"},
		{"up beyond lines", "/help <enter> one <alt-enter> two <up> <up>", "/help"},
		{"down in lines", "one <alt-enter> two <up> <down> x", "one\ntwox"},
		{"Ctrl-C empties", "hello <^c>", ""},
		{"Ctrl-D deletes", "hello <^a> <^d>", "ello"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.keys(strings.Fields(tt.keys)...)
			if got := d.input.Value(); got != tt.want {
				t.Errorf("%q stands there, want %q", got, tt.want)
			}
			if d.view.Left() {
				t.Error("the chat was left")
			}
		})
	}
}

func TestLeaving(t *testing.T) {
	for keys, want := range map[string]bool{
		"<^c>":                  false,
		"<^c> <^c>":             true,
		"<^c> x <rub> <^c>":     false,
		"hello <^c> <^c>":       false,
		"<^d>":                  true,
		"/quit <enter>":         true,
		"hello <^a> <^d> <rub>": false,
	} {
		d := newDesk(t)
		d.keys(strings.Fields(keys)...)
		if d.view.Left() != want {
			t.Errorf("%s: left %v, want %v", keys, d.view.Left(), want)
		}
	}
}

// TestOnePieceAtATime: what is to be printed waits until what was printed is out, and
// nothing is printed before the screen is drawn.
func TestOnePieceAtATime(t *testing.T) {
	d := newDesk(t)
	d.keys("/help", "<enter>")
	if cmd := d.print(); cmd != nil {
		t.Error("something is printed before the screen is drawn")
	}
	d.printing = false
	if cmd := d.print(); cmd == nil || !d.printing {
		t.Error("nothing is printed")
	}
	d.keys("/help", "<enter>")
	if cmd := d.print(); cmd != nil {
		t.Error("something is printed while something else is on its way")
	}
	d.Update(printed{}) // prints the rest itself
	if len(d.view.Take()) != 0 || !d.printing {
		t.Error("what had waited is not printed")
	}
}

// TestScreen: the input line is the last, the cursor stands in it, and all of it fits.
func TestScreen(t *testing.T) {
	d := newDesk(t)
	d.view.Apply(chat.Progressed{Progress: v1.Progress{CurrentContextTokens: 5040, CompressionThreshold: 12000, CompressionProgress: 42}})
	d.view.Apply(chat.Busied{Activity: v1.Activity{Activity: v1.ActivityCompacting}})
	for i := range 30 {
		streamed(d.view, i, "many words that are wrapped ")
	}
	d.keys("你好")
	v := d.View()
	rows := strings.Split(v.Content, "\n")
	if len(rows) > 12 || slices.ContainsFunc(rows, func(row string) bool { return chat.Width(escapes(row)) > 40 }) {
		t.Errorf("%d rows:\n%s", len(rows), v.Content)
	}
	if got, want := d.typed(), "42% › 你好"; got != want {
		t.Errorf("the input line is %q, want %q", got, want)
	}
	d.Update(tea.WindowSizeMsg{Width: 60, Height: 12})
	v = d.View()
	rows = strings.Split(v.Content, "\n")
	if got, want := d.typed(), "42% 5.0k/12k › 你好"; got != want {
		t.Errorf("the input line is %q, want %q", got, want)
	}
	if !strings.Contains(v.Content, "compacting · Ctrl-C stops") {
		t.Errorf("the status is missing:\n%s", v.Content)
	}
	if v.Cursor == nil || v.Cursor.Y != len(rows)-1 || v.Cursor.X != chat.Width("42% 5.0k/12k › 你好") {
		t.Errorf("the cursor is at %+v", v.Cursor)
	}
	d.view.Leave()
	if v := d.View(); v.Content != "" {
		t.Errorf("at the end there is still %q", v.Content)
	}
}

// typed is the input line.
func (d *desk) typed() string {
	rows := strings.Split(d.View().Content, "\n")
	return strings.TrimRight(escapes(rows[len(rows)-1]), " ")
}

// escapes returns a row without styles.
func escapes(row string) string {
	for {
		before, rest, ok := strings.Cut(row, "\x1b[")
		if !ok {
			return row
		}
		_, after, _ := strings.Cut(rest, "m")
		row = before + after
	}
}
