package compaction

import (
	"errors"
	"fmt"
	"slices"

	"sessiond/message"
)

// State is a session's conversation together with everything that decides how it is
// shown. Loading a session and running it use the same methods: messages are appended
// in conversation order, and the bodies of the entries context.injected,
// context.cleared, compaction.completed and compaction.undone are folded in the order
// of their seq. The result depends on nothing else.
//
// A State has one owner, who alone changes it. Functions that plan only read.
type State struct {
	conv       *Conversation
	records    []*Record // active ones; the newest is the last
	shape      Shape
	generation int64
	clearings  int // folded since the state was made
	injections []Injection
}

// NewState returns the state of an empty log.
func NewState() *State { return &State{conv: newConversation()} }

// The errors of folding an entry.
var (
	// ErrSuperseded: the entry was made for a generation that is no longer the newest.
	ErrSuperseded = errors.New("made for an older generation")
	// ErrMeasure: a message and its measure do not belong together.
	ErrMeasure = errors.New("the measure does not fit the message")
)

// Append adds the next message of the conversation.
func (s *State) Append(it Item) error {
	if len(it.Measure.Blocks) != len(it.Message.Content) {
		return fmt.Errorf("message %s has %d blocks and %d measures: %w",
			it.Message.ID, len(it.Message.Content), len(it.Measure.Blocks), ErrMeasure)
	}
	s.conv.append(it.shown())
	return nil
}

// shown returns an item whose texts are as the measure shows them: a file that came with
// a message and was too long is nowhere seen whole but in the log.
func (it Item) shown() Item {
	cut := func(i int) *Cut {
		if _, ok := it.Message.Content[i].(message.Text); ok {
			return it.Measure.Blocks[i].Cut
		}
		return nil
	}
	m, measure := it.Message, it.Measure
	for i := range it.Message.Content {
		c := cut(i)
		if c == nil {
			continue
		}
		if m == it.Message {
			copied := *m
			copied.Content = slices.Clone(m.Content)
			m, measure.Blocks = &copied, slices.Clone(measure.Blocks)
		}
		m.Content[i] = message.Text{Text: c.render(it.Message.Content[i].(message.Text).Text)}
		measure.Blocks[i] = BlockMeasure{Tokens: c.Tokens}
	}
	return Item{Message: m, Measure: measure}
}

// Inject folds a context.injected entry.
func (s *State) Inject(in Injection) { s.injections = append(s.injections, in) }

// Clear folds a context.cleared entry.
func (s *State) Clear(c *Clearing) {
	s.shape = s.shape.with(c)
	s.clearings++
}

// HideThinking leaves out the thinking of all messages before a seq from now on, because
// what stands before the conversation changed. It is not an entry: the caller keeps the
// highest seq and says it again when the state is made anew.
func (s *State) HideThinking(before int64) {
	s.shape.ThinkingFrom = max(s.shape.ThinkingFrom, before)
}

// Commit folds a compaction.completed entry. It fails with ErrSuperseded and changes
// nothing unless the record's generation is the next one; so a record takes effect once.
func (s *State) Commit(r *Record) error {
	if r.Generation != s.generation+1 {
		return fmt.Errorf("compaction of generation %d at generation %d: %w", r.Generation, s.generation, ErrSuperseded)
	}
	s.records = append(slices.Clip(s.records), r)
	s.shape = r.Shape
	s.generation = r.Generation
	return nil
}

// Undo folds a compaction.undone entry. It fails like Commit.
func (s *State) Undo(u *Undone) error {
	r := s.Record()
	if u.Generation != s.generation+1 || r == nil || r.Generation != u.Undoes {
		return fmt.Errorf("undo of generation %d at generation %d: %w", u.Undoes, s.generation, ErrSuperseded)
	}
	s.records = s.records[:len(s.records)-1]
	s.shape = r.Before
	s.shape.ThinkingFrom = max(s.shape.ThinkingFrom, u.ThinkingFrom)
	s.generation = u.Generation
	return nil
}

// Record returns the newest active record, or nil.
func (s *State) Record() *Record {
	if len(s.records) == 0 {
		return nil
	}
	return s.records[len(s.records)-1]
}

// Shape returns the shape in force; its lists must not be changed.
func (s *State) Shape() Shape { return s.shape }

// Generation counts compactions and undos.
func (s *State) Generation() int64 { return s.generation }

// Conversation returns what the state is about, for reading.
func (s *State) Conversation() *Conversation { return s.conv }

// boundary is the first unit that is shown verbatim.
func (s *State) boundary() int {
	if r := s.Record(); r != nil {
		return s.conv.unitAfter(r.ThroughSeq)
	}
	return 0
}

// with returns a state that looks at the same conversation through another shape.
func (s *State) with(c *Clearing) *State {
	t := *s
	t.shape = s.shape.with(c)
	return &t
}

// after returns the state as it would be once a record is committed.
func (s *State) after(r *Record) *State {
	t := *s
	t.records = append(slices.Clip(s.records), r)
	t.shape = r.Shape
	t.generation = r.Generation
	return &t
}

// snapshot returns a state that later folds do not change; the conversation it looks at
// goes on growing.
func (s *State) snapshot() *State {
	t := *s
	return &t
}
