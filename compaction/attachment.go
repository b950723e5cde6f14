package compaction

import (
	"maps"
	"strings"

	"sessiond/message"
)

// AttachmentKind names what is shown to the model beside the conversation.
type AttachmentKind string

// The kinds, in the order in which they are shown.
const (
	AttachAgentPrompt   AttachmentKind = "agent_prompt"
	AttachTodoList      AttachmentKind = "todo_list"
	AttachSessionMemory AttachmentKind = "session_memory"
	AttachUserMemory    AttachmentKind = "user_memory"
)

// Attachment is one version of one thing that is present in every request.
type Attachment struct {
	Kind AttachmentKind `json:"kind"`
	Key  string         `json:"key,omitempty"` // tells entries of one kind apart
	// Version names the content this was made from; a shortened attachment keeps the
	// version of the whole.
	Version string `json:"version"`
	// Text is what the model reads, wrapper included. Empty: held back on purpose.
	Text   string `json:"text,omitempty"`
	Tokens int    `json:"tokens"`
	// MadeBySeq is the message whose tool call made this version, or 0. While the view
	// holds that message it shows the content itself.
	MadeBySeq int64 `json:"made_by_seq,omitempty"`
}

type attachmentID struct {
	kind AttachmentKind
	key  string
}

func (a *Attachment) id() attachmentID { return attachmentID{a.Kind, a.Key} }

// Injection is an attachment as an entry of the log put it at the end of a user's
// message, the body of context.injected. It is never moved.
type Injection struct {
	TargetID message.ID `json:"target_message_id"`
	Attachment
}

// Attach returns an attachment with its text counted.
func (p *Planner) Attach(a Attachment) Attachment {
	a.Tokens = p.counter.Count(a.Text)
	return a
}

// Due returns those of the current attachments whose current version the view does not
// show, in their order: what has to be injected before the next request.
func (s *State) Due(current []Attachment) []Attachment {
	shown := s.shown(s.boundary())
	var due []Attachment
	for _, a := range current {
		if !s.shows(shown, &a) {
			due = append(due, a)
		}
	}
	return due
}

// shown returns what the view shows of each attachment, newest version, with the units
// from one on; units before it show nothing.
func (s *State) shown(boundary int) map[attachmentID]Attachment {
	shown := make(map[attachmentID]Attachment)
	if r := s.Record(); r != nil {
		for _, a := range r.Attachments {
			shown[a.id()] = a
		}
	}
	maps.Copy(shown, s.kept(boundary))
	return shown
}

// shows reports whether the view has the current version of an attachment, as itself or
// as the tool call that made it.
func (s *State) shows(shown map[attachmentID]Attachment, a *Attachment) bool {
	if have, ok := shown[a.id()]; ok && have.Version == a.Version {
		return true
	}
	if a.MadeBySeq == 0 {
		return false
	}
	item, ok := s.conv.bySeq[a.MadeBySeq]
	return ok && item >= s.conv.firstItem(s.boundary())
}

// ShownVersion returns the version of an attachment that the view shows, or "".
func (s *State) ShownVersion(kind AttachmentKind, key string) string {
	return s.shown(s.boundary())[attachmentID{kind, key}].Version
}

// KeptVersion is [State.ShownVersion] as it would be once a record replaced everything
// through a message, if that record does not show the attachment itself; 0 stands for the
// view as it is.
func (s *State) KeptVersion(kind AttachmentKind, key string, through int64) string {
	if through == 0 {
		return s.ShownVersion(kind, key)
	}
	return s.kept(s.conv.unitAfter(through))[attachmentID{kind, key}].Version
}

// kept returns what the units from one on show of each attachment, newest version.
func (s *State) kept(boundary int) map[attachmentID]Attachment {
	kept := make(map[attachmentID]Attachment)
	s.eachInjection(boundary, func(_ int, in *Injection) { kept[in.id()] = in.Attachment })
	return kept
}

// attachedTokens is what the current version of an attachment costs, and whether the view
// has it already. One that is seen in the tool call that made it costs nothing more.
func (s *State) attachedTokens(shown map[attachmentID]Attachment, a *Attachment) (tokens int, inView bool) {
	if have, ok := shown[a.id()]; ok && have.Version == a.Version {
		return have.Tokens, true
	}
	if s.shows(shown, a) {
		return 0, false
	}
	return a.Tokens, false
}

// eachInjection visits the injections that the units from one on show, in the order of
// their entries, with the index of their message.
func (s *State) eachInjection(boundary int, visit func(item int, in *Injection)) {
	first := s.conv.firstItem(boundary)
	for i := range s.injections {
		in := &s.injections[i]
		if item, ok := s.conv.byID[in.TargetID]; ok && item >= first {
			visit(item, in)
		}
	}
}

// minAttachmentTokens is what is left at least of an attachment that is shortened; smaller
// ones stay whole. It holds a wrapper, the marker and some words, and three of them are
// within the bound of the smallest limit.
const minAttachmentTokens = 80

// stands reports whether an attachment is never left out for want of room, only
// shortened. Of the session's memory there may be many, and each can be searched for.
func (a *Attachment) stands() bool { return a.Kind != AttachSessionMemory }

// Bound returns attachments that together have at most limit raw tokens: what is too long
// is shortened inside its wrapper, small ones stay as they are. Memories of the session
// have a limit of their own, see [AttachmentsConfig]. Where not even what is least of each
// has room, they are left out, the last ones first. A shortened attachment keeps its
// version, so that another limit does not make it due.
func (p *Planner) Bound(as []Attachment, limit int) []Attachment {
	sizes := make([]int, len(as))
	var memories, memorySizes []int
	for i := range as {
		sizes[i] = as[i].Tokens
		if as[i].Kind == AttachSessionMemory {
			memories, memorySizes = append(memories, i), append(memorySizes, as[i].Tokens)
		}
	}
	for k, most := range firstShares(memorySizes, p.cfg.Attachments.SessionMemoryTokens, func(int) bool { return false }) {
		sizes[memories[k]] = most
	}
	bounded := make([]Attachment, 0, len(as))
	for i, most := range firstShares(sizes, limit, func(i int) bool { return as[i].stands() }) {
		if a := p.shortened(as[i], most); a.Text != "" {
			bounded = append(bounded, a)
		}
	}
	return bounded
}

// Fit is [Planner.Bound] for texts of which the first matter most: they have at most
// limit tokens together, and what has no room is empty.
func (p *Planner) Fit(texts []string, limit int) []string {
	sizes := make([]int, len(texts))
	for i, text := range texts {
		sizes[i] = p.counter.Count(text)
	}
	fit := make([]string, len(texts))
	for i, most := range firstShares(sizes, limit, func(int) bool { return false }) {
		fit[i] = p.shortenOf(texts[i], sizes[i], most)
	}
	return fit
}

// firstShares are equal shares of a limit, none too small to say anything. What then has
// no room gets nothing: of those that do not stand, the last.
func firstShares(sizes []int, limit int, stands func(i int) bool) []int {
	shares := equalShares(sizes, limit, minAttachmentTokens)
	left := limit
	for i, n := range shares {
		if stands(i) {
			left -= n
		}
	}
	for i, n := range shares {
		switch {
		case stands(i):
		case n > left:
			shares[i] = 0
		default:
			left -= n
		}
	}
	return shares
}

// reduce returns an attachment as a rule lets the summary message show it.
func (p *Planner) reduce(a Attachment, rule attachmentRule) Attachment {
	return p.shortened(a, p.reducedTokens(&a, rule))
}

// reducedTokens is the most that is left of an attachment under a rule.
func (p *Planner) reducedTokens(a *Attachment, rule attachmentRule) int {
	quarter := min(max(a.Tokens/4, minAttachmentTokens), a.Tokens)
	switch rule {
	case attachmentsFull:
		return a.Tokens
	case attachmentsQuarter:
		return quarter
	case attachmentsFew:
		if a.Kind == AttachAgentPrompt || a.Kind == AttachTodoList {
			return quarter
		}
	}
	return 0
}

// shortened returns an attachment with at most limit tokens: what is between its tags is
// shown by head and tail, or, of the user's memory, which has the most important first,
// by its head. Where the tags themselves have no room it is held back.
func (p *Planner) shortened(a Attachment, limit int) Attachment {
	if a.Tokens <= limit {
		return a
	}
	headPercent, tailPercent := 60, 40
	if a.Kind == AttachUserMemory {
		headPercent, tailPercent = 100, 0
	}
	opening, body, closing := unwrap(a.Text)
	tags := p.counter.Count(opening) + p.counter.Count(closing)
	total := max(a.Tokens-tags, 1)
	for budget := limit - tags; budget > 0; budget -= max(budget/16, 1) {
		c := p.cut(body, total, budget, headPercent, tailPercent)
		if c.Head+c.Tail == 0 {
			break
		}
		text := opening + c.render(body) + closing
		if n := p.counter.Count(text); n <= limit {
			a.Text, a.Tokens = text, n
			return a
		}
	}
	a.Text, a.Tokens = "", 0
	return a
}

// unwrap takes apart what [message.Wrap] made; other text is all body.
func unwrap(text string) (opening, body, closing string) {
	first, last := strings.IndexByte(text, '\n'), strings.LastIndex(text, "\n</")
	if !strings.HasPrefix(text, "<") || first < 1 || text[first-1] != '>' || last <= first || !strings.HasSuffix(text, ">") {
		return "", text, ""
	}
	return text[:first+1], text[first+1 : last], text[last:]
}
