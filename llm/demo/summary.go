package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sessiond/llm"
	"sessiond/message"
)

// sectionNames are the headings by which a request for a summary is known.
func sectionNames() []string {
	return []string{
		"Primary Request and Intent", "Key Technical Concepts", "Files and Code Sections",
		"Errors and Fixes", "Problem Solving", "All User Messages", "Pending Tasks",
		"Current Work", "Optional Next Step",
	}
}

// heading is one section that is asked for, as the request writes it.
type heading struct{ line, name string }

// summaryHeadings returns the headings of the summary that text asks for, or nil if
// it asks for none.
func summaryHeadings(text string) []heading {
	var found []heading
	for line := range strings.Lines(text) {
		for _, name := range sectionNames() {
			at := strings.Index(line, name)
			if at < 0 || slices.ContainsFunc(found, func(h heading) bool { return h.name == name }) {
				continue
			}
			found = append(found, heading{line: strings.TrimSpace(line[:at] + name), name: name})
		}
	}
	const enough = 6 // a conversation may mention some of them by chance
	if len(found) < enough {
		return nil
	}
	return found
}

// summarise fills the sections from the conversation by rule.
func summarise(headings []heading, req *llm.Request) string {
	f := gatherFacts(req)
	var b strings.Builder
	for _, h := range headings {
		b.WriteString(h.line)
		b.WriteByte('\n')
		b.WriteString(f.section(h.name))
		b.WriteString("\n\n")
	}
	return strings.TrimSpace(b.String())
}

// facts is what a rule can find in a conversation.
type facts struct {
	messages  int
	requests  []string // of the user, oldest first
	tools     []string // names, each once
	files     []string // from tool inputs, each once
	errors    []string // failed results
	lastWords string   // of the assistant
}

func gatherFacts(req *llm.Request) facts {
	f := facts{messages: len(req.Messages) - 1}
	for i := range req.Messages {
		m := &req.Messages[i]
		if words, ok := ownWords(m); ok && words != "" && i < f.messages { // the last words ask for the summary
			f.requests = append(f.requests, words)
		}
		if m.Role == message.RoleAssistant {
			f.lastWords = m.PlainText()
		}
		for _, b := range m.Content {
			f.addBlock(b)
		}
	}
	if n := len(req.Messages); n > 0 {
		f.addTranscript(readTranscript(req.Messages[n-1].PlainText()))
	}
	return f
}

// addTranscript takes what a conversation says that is given as one text.
func (f *facts) addTranscript(all []said) {
	for _, m := range all {
		switch {
		case m.text == "":
		case m.role == "user":
			f.requests = append(f.requests, m.text)
		default:
			f.lastWords = m.text
		}
	}
	f.messages += len(all)
}

func (f *facts) addBlock(b message.Block) {
	switch b := b.(type) {
	case message.ToolUse:
		f.tools = addOnce(f.tools, b.Name)
		var input map[string]any
		if json.Unmarshal(b.Input, &input) != nil {
			return
		}
		for key, value := range input {
			if path, ok := value.(string); ok && wantsPath(key) {
				f.files = addOnce(f.files, path)
			}
		}
	case message.ToolResult:
		if b.IsError {
			f.errors = append(f.errors, message.JoinText(b.Content))
		}
	case message.Text, message.Image, message.Thinking:
	}
}

func addOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func (f *facts) section(name string) string {
	switch name {
	case "Primary Request and Intent":
		if len(f.requests) == 0 {
			return "(demo summary, made by rule) The conversation was given as one text."
		}
		return "(demo summary, made by rule) The user began with " + quote(f.requests[0], 200) +
			" and last asked " + quote(f.requests[len(f.requests)-1], 200) + "."
	case "Key Technical Concepts":
		return "Tools used: " + list(f.tools, 20) + "."
	case "Files and Code Sections":
		slices.Sort(f.files) // they come out of maps
		return "Files named: " + list(f.files, 20) + "."
	case "Errors and Fixes":
		if len(f.errors) == 0 {
			return "None."
		}
		return fmt.Sprintf("%d tool results were errors, the last one %s.", len(f.errors), quote(f.errors[len(f.errors)-1], 200))
	case "All User Messages":
		return fmt.Sprintf("%d user messages.", len(f.requests))
	case "Pending Tasks":
		return "Whatever the user asks next."
	case "Current Work":
		return fmt.Sprintf("After %d messages the assistant last said %s.", f.messages, quote(f.lastWords, 300))
	}
	return "None."
}

func list(items []string, most int) string {
	if len(items) == 0 {
		return "none"
	}
	if len(items) > most {
		return strings.Join(items[:most], ", ") + fmt.Sprintf(" and %d more", len(items)-most)
	}
	return strings.Join(items, ", ")
}
