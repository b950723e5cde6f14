package compaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"sessiond/message"
)

// placeholder is what stands for a cleared tool result. It is made of the call and the
// result's size alone, so that it is the same whenever it is made.
func placeholder(call message.ToolUse, tokens int) string {
	what := call.Name
	if what == "" {
		what = "a tool"
	}
	if arg := mainArgument(call.Input); arg != "" {
		what += " " + arg
	}
	return fmt.Sprintf("[cleared to save room: result of %s, %d tokens; call it again if you need it]", what, tokens)
}

// maxArgumentRunes bounds the argument in a placeholder.
const maxArgumentRunes = 80

// mainArgument returns the argument that says most about a call, on one line: the first
// of the usual names that is a string, else the first string of the input.
func mainArgument(input []byte) string {
	members := stringMembers(input)
	for _, name := range []string{"path", "file_path", "pattern", "command", "query", "url"} {
		for _, m := range members {
			if m.name == name && strings.TrimSpace(m.value) != "" {
				return oneLine(m.value, maxArgumentRunes)
			}
		}
	}
	for _, m := range members {
		if strings.TrimSpace(m.value) != "" {
			return oneLine(m.value, maxArgumentRunes)
		}
	}
	return ""
}

// member is a member of an object whose value is a string.
type member struct{ name, value string }

// stringMembers returns the string members of a JSON object in the order of the text,
// those of objects inside it left out.
func stringMembers(input []byte) []member {
	dec := json.NewDecoder(bytes.NewReader(input))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return members
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return members
		}
		var value string
		if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &value) == nil {
			members = append(members, member{name.(string), value})
		}
	}
	return members
}

// stringMember returns one string member of a JSON object.
func stringMember(input []byte, name string) string {
	members := stringMembers(input)
	i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
	if i < 0 {
		return ""
	}
	return members[i].value
}

// pathOf returns the file that an input names in the usual place.
func pathOf(input []byte) string {
	if path := stringMember(input, "path"); path != "" {
		return path
	}
	return stringMember(input, "file_path")
}

// oneLine returns text with its white space folded, cut to a number of runes.
func oneLine(text string, runes int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		if n >= runes-1 {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
