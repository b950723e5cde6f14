package compaction

import (
	"fmt"
	"slices"
	"strings"

	"sessiond/message"
)

// Digest writes a summary without a model, from the log alone: the first request, the
// files that tools named, errors, the last answers, the todo list, and the notes of the
// record before. It has the form of a summary, and fits its cap.
func (p *Planner) Digest(pl *Plan, todos []Todo) *Draft {
	limit := rawTokens(pl.Budget.SummaryCap, pl.ratio)
	d := digestOf(pl.s.conv, pl.s.conv.units[pl.from:pl.to])
	var old []section
	if r := pl.s.Record(); r != nil {
		old = parseSections(r.Body)
	}
	sections := []section{
		{sectionRequest, d.request(sectionText(old, sectionRequest))},
		{sectionConcepts, sectionText(old, sectionConcepts)},
		{sectionFiles, joinLines(sectionText(old, sectionFiles), d.files)},
		{sectionErrors, joinLines(sectionText(old, sectionErrors), d.errors)},
		{sectionProblems, joinLines(sectionText(old, 0), []string{sectionText(old, sectionProblems)})},
		{sectionPending, todoText(todos, sectionText(old, sectionPending))},
		{sectionCurrent, joinLines("", d.answers)},
	}
	for i := range sections {
		if strings.TrimSpace(sections[i].text) == "" {
			sections[i].text = "None."
		}
	}
	return &Draft{Writer: WriterDigest, Body: p.trim(joinSections(sections), limit)}
}

// digest is what can be told of a stretch of the log without understanding it. Each list
// is oldest first.
type digest struct {
	first   string   // the first words of a user in it
	files   []string // a line a file
	errors  []string
	answers []string // the last few, whole
}

// The bounds of a digest's lists, and of their lines in runes.
const (
	maxDigestFiles   = 40
	maxDigestErrors  = 10
	maxDigestAnswers = 3
	maxDigestLine    = 240
)

func digestOf(c *Conversation, units []unit) *digest {
	d := &digest{}
	var paths []string
	tools := make(map[string][]string) // path → the tools that named it
	for _, u := range units {
		for i := u.first; i < u.end; i++ {
			m := c.items[i].Message
			for _, use := range c.uses[i] {
				if use.path == "" {
					continue
				}
				if tools[use.path] == nil {
					paths = append(paths, use.path)
				}
				if !slices.Contains(tools[use.path], use.Name) {
					tools[use.path] = append(tools[use.path], use.Name)
				}
			}
			d.note(c, m)
		}
	}
	for _, path := range paths[max(0, len(paths)-maxDigestFiles):] {
		d.files = append(d.files, fmt.Sprintf("- %s (%s)", oneLine(path, maxDigestLine), strings.Join(tools[path], ", ")))
	}
	d.errors = d.errors[max(0, len(d.errors)-maxDigestErrors):]
	d.answers = d.answers[max(0, len(d.answers)-maxDigestAnswers):]
	return d
}

func (d *digest) note(c *Conversation, m *message.Message) {
	for _, b := range m.Content {
		if r, ok := b.(message.ToolResult); ok && r.IsError {
			use := c.call(r.ToolUseID)
			line := strings.TrimSpace(use.Name+" "+mainArgument(use.Input)) + ": " + message.JoinText(r.Content)
			d.errors = append(d.errors, "- "+oneLine(line, maxDigestLine))
		}
	}
	text := strings.TrimSpace(m.PlainText())
	switch {
	case text == "":
	case m.Role == message.RoleAssistant:
		d.answers = append(d.answers, "The assistant: "+text)
	case d.first == "" && userWrote(m):
		d.first = text
	}
}

// request is the first section: what the earlier notes say, or the first message.
func (d *digest) request(before string) string {
	if before != "" || d.first == "" {
		return before
	}
	return fmt.Sprintf("The user began with: %s", d.first)
}

func joinLines(before string, lines []string) string {
	var parts []string
	for _, s := range append([]string{before}, lines...) {
		if s = strings.TrimSpace(s); s != "" && s != "None." {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

// todoText lists what is not done. Without a list the earlier notes stand.
func todoText(todos []Todo, before string) string {
	if len(todos) == 0 {
		return before
	}
	var lines []string
	for _, t := range todos {
		if t.Status != "completed" {
			lines = append(lines, "- "+oneLine(t.Content, maxDigestLine)+" ("+t.Status+")")
		}
	}
	return joinLines("", lines)
}
