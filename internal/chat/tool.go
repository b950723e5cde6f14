package chat

import (
	"fmt"
	"slices"
	"strings"
)

// call is a tool call without a result.
type call struct {
	id, name, input string
	claimed         bool // a client has it
}

// callTool takes a call. Those that a client has to run are told at once, as it may take
// long and as nobody may be there who can.
func (v *View) callTool(c call) {
	v.fold()
	v.calls = append(v.calls, c)
	if v.tools[c.name] && !c.claimed {
		v.emit(cut(span(Dim, fmt.Sprintf("⚙ %s waits for a client that runs it", c.name))))
	}
}

func (v *View) claim(id string) {
	for i := range v.calls {
		if v.calls[i].id == id {
			v.calls[i].claimed = true
		}
	}
}

// resolve shows a call with its result.
func (v *View) resolve(id, result string, failed bool) {
	i := slices.IndexFunc(v.calls, func(c call) bool { return c.id == id })
	if i < 0 {
		return
	}
	c := v.calls[i]
	v.calls = slices.Delete(v.calls, i, i+1)
	mark := span(Good, "✓ ")
	if failed {
		mark = span(Bad, "✗ ")
	}
	v.emit(cut(mark, span(Plain, c.name+" "), span(Dim, c.inputText()+" → "+resultLabel(result))))
}

// live is the call while it has no result.
func (c *call) live(byClient bool) Line {
	state := "running"
	switch {
	case c.claimed:
		state = "a client runs it"
	case byClient:
		state = "waits for a client"
	}
	return cut(span(Warn, "⚙ "), span(Plain, c.name+" "), span(Dim, c.inputText()+" · "+state))
}

func (c *call) inputText() string {
	if c.input == "" {
		return "{…}"
	}
	return Head(oneLine(c.input), labelWidth)
}

func resultLabel(result string) string {
	result = strings.TrimRight(result, "\n")
	if result == "" {
		return "nothing"
	}
	first, _, _ := strings.Cut(result, "\n")
	label := Head(oneLine(first), labelWidth)
	if n := int64(strings.Count(result, "\n")); n > 0 {
		label += fmt.Sprintf(" (and %s)", plural(n, "line", "lines"))
	}
	return label
}
