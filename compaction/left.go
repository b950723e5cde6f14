package compaction

import "slices"

// HasLeft reports whether a message of the log, named by its seq, is before the boundary
// that a record would set which replaces everything through a message; 0 stands for the
// boundary as it is. What is not in the conversation, such as a message that waits for its
// turn or was dropped, has never been in the view and so has not left it.
func (s *State) HasLeft(seq, through int64) bool {
	boundary := s.boundary()
	if through != 0 {
		boundary = s.conv.unitAfter(through)
	}
	i, ok := s.conv.bySeq[seq]
	return ok && i < s.conv.firstItem(boundary)
}

// Left is what of a log no longer stands in the view. It does not change when the state it
// was made from does, and is safe for concurrent use.
type Left struct {
	messages []int64 // seqs, ascending
	results  int64   // the seq of the newest message among them that holds results
}

// Left returns what has left the view, nil if nothing has.
func (s *State) Left() *Left {
	first := s.conv.firstItem(s.boundary())
	if first == 0 {
		return nil
	}
	l := &Left{messages: make([]int64, first)}
	for i := range l.messages {
		m := s.conv.items[i].Message
		if l.messages[i] = m.Seq; hasResults(m) {
			l.results = m.Seq
		}
	}
	slices.Sort(l.messages) // one that had to wait for its turn has a lower seq than what came before it
	return l
}

// HasMessage reports whether the message with a seq is among what left.
func (l *Left) HasMessage(seq int64) bool {
	_, found := slices.BinarySearch(l.messages, seq)
	return found
}

// HasResult reports whether the result of a tool call that came in at a seq is among what
// left. One round is open at a time, so it stands in the next message that holds results.
func (l *Left) HasResult(seq int64) bool { return seq < l.results }

// Newest is the highest seq of a message that left.
func (l *Left) Newest() int64 { return l.messages[len(l.messages)-1] }
