package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"sessiond/message"
)

// calls sorts the pieces of tool calls. The protocol numbers them, and servers number
// them from one, all the same, or not at all; give an id once, with each piece, or
// never; and repeat the name. So:
//
//   - a piece with an id that no other piece of its number had begins a new call;
//   - without an id it belongs to the latest call of its number, or of all if it has
//     none, unless that call's object is closed and the piece opens another;
//   - the name is taken once, a missing or repeated id is made up.
type calls struct {
	all     []*call
	byIndex map[int]*call // the latest of each number
	ids     map[string]bool
}

// call is a tool call in the making.
type call struct {
	id    string // as the server gave it, or empty
	use   message.ToolUseID
	name  string
	next  string // a name that came when the input was closed: of another call, or once more
	input strings.Builder
	end   objectEnd
	block int
}

// add returns the call a piece belongs to, without taking its arguments.
func (cs *calls) add(d *callDelta) (c *call, isNew bool) {
	id := string(d.ID)
	c = cs.find(d.Index, id)
	switch {
	case c == nil, id != "" && c.id != "" && c.id != id:
		c, isNew = cs.begin(), true
	case id == "" && c.end.closed && startsObject(d.Function.Arguments):
		name := c.next
		c, isNew = cs.begin(), true
		c.name = name
	case c.end.closed:
		c.next = d.Function.Name
	}
	if c.id == "" && id != "" {
		c.id = id
		if !cs.ids[id] {
			c.use = message.ToolUseID(id)
			cs.ids[id] = true
		}
	}
	if c.name == "" {
		c.name = d.Function.Name
	}
	if d.Index != nil && *d.Index >= 0 {
		cs.byIndex[*d.Index] = c
	}
	return c, isNew
}

// find returns the latest call with that number; without a number the one with that
// id; with neither the latest of all.
func (cs *calls) find(index *int, id string) *call {
	if index != nil && *index >= 0 {
		return cs.byIndex[*index]
	}
	for _, c := range slices.Backward(cs.all) {
		if id == "" || c.id == id {
			return c
		}
	}
	return nil
}

func (cs *calls) begin() *call {
	if cs.byIndex == nil {
		cs.byIndex = make(map[int]*call)
		cs.ids = make(map[string]bool)
	}
	c := &call{}
	cs.all = append(cs.all, c)
	return c
}

// startsObject reports whether arguments are the beginning of a JSON object, or one.
func startsObject(arguments json.RawMessage) bool {
	text := bytes.TrimSpace([]byte(argumentText(arguments)))
	return len(text) > 0 && text[0] == '{'
}

// append takes a piece of arguments and returns what it adds.
func (c *call) append(arguments json.RawMessage) string {
	piece := argumentText(arguments)
	c.input.WriteString(piece)
	c.end.follow(piece)
	return piece
}

// objectEnd follows the pieces of a JSON object to its closing brace.
type objectEnd struct {
	depth    int
	inString bool
	escaped  bool
	closed   bool
}

func (e *objectEnd) follow(piece string) {
	for i := range len(piece) {
		switch c := piece[i]; {
		case e.escaped:
			e.escaped = false
		case e.inString:
			e.escaped = c == '\\'
			e.inString = c != '"'
		case c == '"':
			e.inString = true
		case c == '{':
			e.depth++
		case c == '}':
			e.depth--
			e.closed = e.closed || e.depth == 0
		}
	}
}

// argumentText reads arguments: the protocol says a string, some servers send the
// object itself or null.
func argumentText(arguments json.RawMessage) string {
	arguments = bytes.TrimSpace(arguments)
	if len(arguments) > 0 && arguments[0] == '{' {
		return string(arguments)
	}
	return textOf(arguments)
}

// toolUse is the finished call; false if it was never one, or the end of the answer
// cut it off.
func (c *call) toolUse(cut bool) (message.ToolUse, bool) {
	input := []byte(c.input.String())
	blank := len(bytes.TrimSpace(input)) == 0
	switch {
	case c.name == "" && blank && c.id == "": // the phantom of a server that counts from one
		return message.ToolUse{}, false
	case cut && !isObject(input):
		return message.ToolUse{}, false
	case blank: // a function without parameters
		input = []byte("{}")
	}
	id := c.use
	if id == "" {
		id = message.NewToolUseID()
	}
	return message.ToolUse{ID: id, Name: c.name, Input: input}, true
}
