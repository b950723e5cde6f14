package compaction

import (
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
	s.eachInjection(boundary, func(_ int, in *Injection) { shown[in.id()] = in.Attachment })
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

// Bound returns attachments that together have at most limit raw tokens: what is too long
// is shortened, small ones stay as they are. A shortened one keeps its version.
func (p *Planner) Bound(as []Attachment, limit int) []Attachment {
	sizes := make([]int, len(as))
	for i := range as {
		sizes[i] = as[i].Tokens
	}
	for i, most := range equalShares(sizes, limit, 0) {
		if a := &as[i]; most < a.Tokens {
			a.Text = p.shortenOf(a.Text, a.Tokens, most)
			a.Tokens = p.counter.Count(a.Text)
		}
	}
	return as
}

// reduce returns an attachment as a rule lets the summary message show it.
func (p *Planner) reduce(a Attachment, rule attachmentRule) Attachment {
	keep := p.reducedTokens(&a, rule)
	if keep < a.Tokens {
		a.Text = p.shortenOf(a.Text, a.Tokens, keep)
		a.Tokens = p.counter.Count(a.Text)
	}
	return a
}

// reducedTokens is the most that is left of an attachment under a rule.
func (p *Planner) reducedTokens(a *Attachment, rule attachmentRule) int {
	switch rule {
	case attachmentsFull:
		return a.Tokens
	case attachmentsQuarter:
		return a.Tokens / 4
	case attachmentsFew:
		if a.Kind == AttachAgentPrompt || a.Kind == AttachTodoList {
			return a.Tokens / 4
		}
	}
	return 0
}
