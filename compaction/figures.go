package compaction

import (
	"cmp"
	"fmt"
	"slices"

	"sessiond/message"
)

// Figures is what can be told about a session's context, for v1.session.context.
type Figures struct {
	Budget
	ContextTokens int                 `json:"context_tokens"`
	Judged        int                 `json:"judged"`
	Parts         []Part              `json:"parts"`
	Level         Level               `json:"level"`
	Generation    int64               `json:"generation"`
	BoundarySeq   int64               `json:"boundary_seq"` // 0: nothing has left, or nothing follows
	PinnedSeq     int64               `json:"pinned_seq,omitempty"`
	Cleared       []message.ToolUseID `json:"cleared"`
	Ratio         float64             `json:"ratio"`
	Encoding      string              `json:"encoding"`
}

// Figures tells what the model would get now.
func (p *Planner) Figures(s *State, sit *Situation) Figures {
	c, b := p.Gauge(s, sit)
	f := Figures{
		Budget: b, ContextTokens: c.Tokens(), Judged: c.Judged(), Parts: s.Parts(sit.Overhead, sit.ratio()),
		Level: sit.Ladder.Level, Generation: s.generation, Cleared: []message.ToolUseID{}, Ratio: sit.ratio(), Encoding: p.encoding,
	}
	if r := s.Record(); r != nil {
		f.PinnedSeq = r.PinnedSeq
		if at := s.conv.firstItem(s.boundary()); at < len(s.conv.items) {
			f.BoundarySeq = s.conv.items[at].Message.Seq
		}
	}
	for _, cl := range s.shape.Cleared {
		f.Cleared = append(f.Cleared, cl.ID)
	}
	return f
}

// Part is a part of a request by name, for an error that says what is too large.
type Part struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// Parts lists the parts of the next request in the provider's tokens, largest first.
// Thinking is listed apart from the messages it is part of, and attachments by their
// kind; what newer versions have replaced of them is a part of its own.
func (s *State) Parts(o Overhead, ratio float64) []Part {
	c := s.Context(o, ratio)
	parts := append(s.attachedParts(o), []Part{
		{"system", o.System},
		{"tools", o.Tools},
		{"outdated_attachments", c.Outdated},
		{"summary", c.Summary},
		{"pinned_request", c.Pinned},
		{"messages", c.Messages - c.Open - c.Thinking + c.openThinking},
		{"open_round", c.Open - c.openThinking},
		{"thinking", c.Thinking},
	}...)
	for i := range parts {
		parts[i].Tokens = calibrated(parts[i].Tokens, ratio)
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return parts
}

// attachedParts is what the current attachments cost, by kind, in raw tokens.
func (s *State) attachedParts(o Overhead) []Part {
	parts := []Part{
		{Name: string(AttachAgentPrompt)}, {Name: string(AttachTodoList)}, {Name: string(AttachSessionMemory)}, {Name: string(AttachUserMemory)},
	}
	shown := s.shown(s.boundary())
	for i := range o.Attachments {
		n, _ := s.attachedTokens(shown, &o.Attachments[i])
		for k := range parts {
			if parts[k].Name == string(o.Attachments[i].Kind) {
				parts[k].Tokens += n
			}
		}
	}
	return parts
}

// ShapeID names the form in which the view is shown; it changes with every compaction,
// clearing and undo, and with nothing else.
func (s *State) ShapeID() string { return fmt.Sprintf("%d.%d", s.generation, s.clearings) }
