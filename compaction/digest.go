package compaction

import (
	"slices"
	"strconv"
	"strings"

	"sessiond/message"
)

// Digest writes a summary without a model, from the log alone: the first request, the
// files that tools named, errors, the last answers, the todo list, and the notes of the
// record before. It has the form of a summary, and fits its cap.
func (p *Planner) Digest(pl *Plan, todos []Todo) *Draft {
	limit := rawTokens(pl.Budget.SummaryCap, pl.ratio)
	d := digestOf(pl.s.conv, pl.s.conv.units[pl.from:pl.to])
	old := pl.s.Record().sections()
	text := map[int]string{
		sectionRequest:  p.request(d, toldBefore(old, sectionRequest), limit),
		sectionConcepts: toldBefore(old, sectionConcepts),
		sectionFiles:    joinFiles(toldBefore(old, sectionFiles), d.files),
		sectionErrors:   joinLines(toldBefore(old, sectionErrors), d.errors),
		sectionProblems: joinLines(toldBefore(old, 0), []string{toldBefore(old, sectionProblems)}),
		sectionPending:  todoText(todos, toldBefore(old, sectionPending)),
		sectionCurrent:  p.answers(d.last(maxDigestAnswers), limit),
	}
	sections := emptySections()
	for i := range sections {
		n := sections[i].N
		sections[i] = Section{N: n, Noted: sectionOf(old, n).Noted, Text: strings.TrimSpace(text[n])}
	}
	return p.draft(&Draft{Writer: WriterDigest, Sections: sections}, limit)
}

// digest is what can be told of a stretch of the log without understanding it. Each list
// is oldest first.
type digest struct {
	first   *Item // the first message that a user wrote in it
	files   []fileLine
	errors  []string
	answers []answer
}

// fileLine is a line about a file.
type fileLine struct{ path, tools string }

// answer is what the assistant said in a message.
type answer struct {
	seq  int64
	text string
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
			d.note(c, &c.items[i])
		}
	}
	for _, path := range paths[max(0, len(paths)-maxDigestFiles):] {
		d.files = append(d.files, fileLine{oneLine(path, maxDigestLine), strings.Join(tools[path], ", ")})
	}
	d.errors = d.errors[max(0, len(d.errors)-maxDigestErrors):]
	return d
}

func (d *digest) note(c *Conversation, it *Item) {
	m := it.Message
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
		d.answers = append(d.answers, answer{m.Seq, text})
	case d.first == nil && userWrote(m):
		d.first = it
	}
}

// last returns the newest answers.
func (d *digest) last(n int) []answer { return d.answers[max(0, len(d.answers)-n):] }

// The tags that messages stand in outside the ledger.
const (
	firstTag  = "first_message"
	answerTag = "assistant_message"
)

// request is the first section: what the earlier notes say, or the first message, of
// which a quarter of limit is shown. The user's words are in the ledger beside.
func (p *Planner) request(d *digest, before string, limit int) string {
	if before != "" || d.first == nil {
		return before
	}
	parts := userParts(d.first)
	words := foreign(p.shortenOf(strings.TrimSpace(parts.words), parts.wordTokens, limit/4))
	lines := slices.DeleteFunc([]string{words, p.shorten(parts.notes(), limit/8)}, blank)
	return "The user began with:\n" + message.Wrap(firstTag, strings.Join(lines, "\n"), seqAttr(d.first.Message.Seq))
}

// answers writes answers, each by head and tail if they have more than limit tokens
// together.
func (p *Planner) answers(all []answer, limit int) string {
	sizes := make([]int, len(all))
	whole := func(a answer, text string) string { return message.Wrap(answerTag, foreign(text), seqAttr(a.seq)) }
	for i, a := range all {
		limit -= p.counter.Count(whole(a, "")) + 1
		sizes[i] = p.counter.Count(a.text)
	}
	lines := make([]string, 0, len(all))
	for i, most := range equalShares(sizes, limit, minAnswerTokens) {
		lines = append(lines, whole(all[i], p.shortenOf(all[i].text, sizes[i], most)))
	}
	return strings.Join(lines, "\n")
}

// minAnswerTokens is the least of an answer that says something.
const minAnswerTokens = 20

func seqAttr(seq int64) message.Attr {
	return message.Attr{Name: "seq", Value: strconv.FormatInt(seq, 10)}
}

// joinLines adds lines that are not there yet.
func joinLines(before string, lines []string) string {
	have := strings.Split(strings.TrimSpace(before), "\n")
	var parts []string
	for _, s := range append([]string{before}, lines...) {
		if s = strings.TrimSpace(s); s != "" && (len(parts) == 0 || !slices.Contains(have, s)) {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

// joinFiles adds lines about files; a newer one takes the place of an older.
func joinFiles(before string, files []fileLine) string {
	lines := make([]string, 0, len(files))
	kept := strings.Split(before, "\n")
	for _, f := range files {
		start := "- " + f.path + " ("
		kept = slices.DeleteFunc(kept, func(line string) bool { return strings.HasPrefix(line, start) })
		lines = append(lines, start+f.tools+")")
	}
	return joinLines(strings.Join(kept, "\n"), lines)
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
	return strings.Join(lines, "\n")
}
