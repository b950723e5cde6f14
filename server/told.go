package server

import (
	"encoding/json"

	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

// told returns what a subscription is told of an event: the event itself, one with less
// in it, or nil.
func (s *subscription) told(e *session.Event) *session.Event {
	switch e.Kind { //nolint:exhaustive // only these are told in part, or also as progress
	case session.EntryContextCleared, session.EntryDeleted:
		return e
	case session.EntryCompactionCompleted:
		if s.progress || s.hides && writtenFromMemory(e.Data) {
			return without(e, "summary")
		}
		return e
	case session.EntryCompactionFailed, session.EntryCompactionUndone:
		return e
	case session.EntryContextInjected:
		if s.hides && !s.progress {
			return without(e, "text") // prompts and memory
		}
	case session.EntryMemoryChanged:
		if s.hides && !s.progress { // not left out: a client takes a gap for a loss
			return without(e, "memory")
		}
	}
	if s.progress {
		return nil
	}
	return e
}

// toldOf returns the entries of a page as the subscription is told them.
func (s *subscription) toldOf(events []*session.Event) []*session.Event {
	told := make([]*session.Event, 0, len(events))
	for _, e := range events {
		if e = s.told(e); e != nil {
			told = append(told, e)
		}
	}
	return told
}

func writtenFromMemory(data rawJSON) bool {
	var written struct {
		Writer v1.SummaryWriter `json:"writer"`
	}
	return json.Unmarshal(data, &written) != nil || written.Writer == v1.WriterMemory
}

// without returns an event whose data lacks a member.
func without(e *session.Event, member string) *session.Event {
	less := &session.Event{SessionID: e.SessionID, Seq: e.Seq, At: e.At, Kind: e.Kind, TurnID: e.TurnID, Data: rawJSON("{}")}
	var members map[string]rawJSON
	if json.Unmarshal(e.Data, &members) != nil {
		return less // rather nothing than what must not be told
	}
	delete(members, member)
	if data, err := json.Marshal(members); err == nil {
		less.Data = data
	}
	return less
}
