package chat

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// command is what can be typed in place of a message.
type command struct {
	name, args, summary string
	// needsSession: there is nothing to do it to before the first message.
	needsSession bool
	run          func(v *View, arg string) []Action
}

// commands returns the commands in the order in which they are explained.
func commands() []command {
	return []command{
		{"compact", "[TEXT]", "summarise older messages now; TEXT says what the summary is to be like", true, func(_ *View, arg string) []Action {
			return []Action{Compact{arg}}
		}},
		{"undo", "", "show the model again what the last compaction took away", true, act(Undo{})},
		{"context", "", "what the model is shown, by part, and what it costs", true, act(ShowContext{})},
		{"memory", "", "what is remembered of this session, and of you in all sessions", false, act(ListMemories{})},
		{"sessions", "", "list the sessions", false, act(ListSessions{})},
		{"open", "N|ID", "open a session of that list", false, (*View).openCommand},
		{"new", "", "begin another session with the next message", false, act(New{})},
		{"fork", "", "go on in a copy of this session", true, act(Fork{})},
		{"stop", "[all]", "stop the turn (as Ctrl-C does); all: and drop the messages that wait", true, func(_ *View, arg string) []Action {
			return []Action{Stop{ClearQueue: arg == "all"}}
		}},
		{"help", "", "this list", false, func(v *View, _ string) []Action {
			v.aside(helpLines()...)
			return nil
		}},
		{"quit", "", "leave (as Ctrl-D does); the session stays", false, func(v *View, _ string) []Action {
			v.left = true
			return nil
		}},
	}
}

func act(a Action) func(*View, string) []Action {
	return func(*View, string) []Action { return []Action{a} }
}

// commandWord is what was meant as a command even if there is none of that name; a path
// is not.
var commandWord = regexp.MustCompile(`^/[a-z]+$`)

// Input takes what was typed: a message, or a command. A message that looks like a command
// may be typed with a space before it.
func (v *View) Input(text string) []Action {
	v.armed = false
	if strings.TrimSpace(text) == "" {
		return nil
	}
	word, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	if strings.HasPrefix(text, "/") {
		for _, c := range commands() {
			if word == "/"+c.name {
				return v.command(c, strings.TrimSpace(arg))
			}
		}
		if commandWord.MatchString(word) {
			v.refuse(Bad, word+": there is no such command; /help lists them. A space before it makes it a message.")
			return nil
		}
	}
	v.sent++
	v.outgoing = append(v.outgoing, outgoing{v.sent, text})
	return v.want(Send{N: v.sent, Text: text})
}

func (v *View) command(c command, arg string) []Action {
	if c.needsSession && v.session.ID == "" && len(v.outgoing) == 0 {
		v.refuse(Dim, fmt.Sprintf("/%s: there is no session yet; it begins with your first message.", c.name))
		return nil
	}
	return v.want(c.run(v, arg)...)
}

// refuse tells why a command is not carried out, which is a failure to whoever waits for it.
func (v *View) refuse(s Style, why string) {
	v.wrong(errors.New(why))
	v.aside(line(s, why))
}

func (v *View) openCommand(arg string) []Action {
	if n, err := strconv.Atoi(arg); err == nil {
		if n < 1 || n > len(v.listed) {
			v.refuse(Bad, fmt.Sprintf("/open: there is no number %d; /sessions lists them.", n))
			return nil
		}
		arg = v.listed[n-1]
	}
	if arg == "" {
		v.refuse(Bad, "/open: which one? /sessions lists them.")
		return nil
	}
	return []Action{Open{arg}}
}

// Complete returns what the beginning of a command can be completed to: the whole command
// if there is only one, else as much as they have in common.
func Complete(text string) string {
	if !strings.HasPrefix(text, "/") {
		return text
	}
	common, found := "", 0
	for _, c := range commands() {
		name := "/" + c.name
		if !strings.HasPrefix(name, text) {
			continue
		}
		if found == 0 {
			common = name
		}
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
		found++
	}
	switch found {
	case 0:
		return text
	case 1:
		return common + " "
	}
	return common
}

func helpLines() []Line {
	const names = 18
	lines := []Line{{}}
	for _, c := range commands() {
		lines = append(lines, Line{Indent: names, Spans: []Span{
			{Accent, pad("  /"+c.name+" "+c.args, names)}, {Plain, c.summary},
		}})
	}
	for _, text := range []string{
		"Enter sends, Alt-Enter or Ctrl-J begins a new line, ↑ and ↓ go through what you typed, Tab completes a command.",
		"Ctrl-C stops the turn, and leaves when pressed again. What you type while a turn runs waits for its end.",
	} {
		lines = append(lines, Line{Indent: 2, Spans: []Span{{Dim, "  " + text}}})
	}
	return lines
}
