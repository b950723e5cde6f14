package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sessiond/message"
)

// Memories reads what was learned, of either scope, and writes what belongs to an
// owner. What belongs to a session is written by its commits.
type Memories interface {
	// ListMemories returns the memories of one session or one owner, the newest update
	// first (ties by id, descending). Where there are none, that is no error.
	ListMemories(ctx context.Context, q MemoryQuery) ([]Memory, error)
	// Memory reads one of an owner's memories, of either scope. ErrNotFound.
	Memory(ctx context.Context, owner string, id message.MemoryID) (*Memory, error)
	// PutMemory inserts or replaces a memory of user scope; see [Memory]. Whoever comes
	// last wins, also over a deletion. A key that is not nil is recorded with it, at
	// m.UpdatedAt. ErrKeyExists.
	PutMemory(ctx context.Context, m *Memory, key *KeyRecord) error
	// DeleteMemory removes a memory of user scope. A key that is not nil is recorded with
	// it, at that time. ErrNotFound, ErrKeyExists.
	DeleteMemory(ctx context.Context, owner string, id message.MemoryID, at time.Time, key *KeyRecord) error
}

// Memory is one row. What category, importance and source may be is the business of
// package session. ID is unique among an owner's; Owner, SessionID and CreatedAt never
// change.
type Memory struct {
	ID         message.MemoryID
	Owner      string
	SessionID  message.SessionID // whose memory it is; empty: of user scope, all sessions'
	Category   string
	Importance string
	Title      string
	Content    string
	Source     string  // who wrote it
	SourceSeqs []int64 // entries of the session it was learned from
	Seq        int64   // of the newest entry when it was saved; 0 for user scope
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// MemoryChange is a part of a [Commit]: what becomes of one memory of the session, or
// one of user scope of its owner. Exactly one of the fields is set.
type MemoryChange struct {
	Put    *Memory          // inserted or replaced by id
	Delete message.MemoryID // it may be gone already
}

// id is the memory that changes.
func (c *MemoryChange) id() message.MemoryID {
	if c.Put != nil {
		return c.Put.ID
	}
	return c.Delete
}

// MemoryQuery selects a page of memories: those of the session, or those of user scope
// if Ref.ID is empty.
type MemoryQuery struct {
	Ref
	// Only memories after this point in the list's order; zero: from the start.
	BeforeUpdatedAt time.Time
	BeforeID        message.MemoryID
	Limit           int // ≥ 1
}

// CheckMemory reports what makes m unfit for [Memories.PutMemory], as [CheckCreate]
// does for a commit.
func CheckMemory(m *Memory) error {
	if m.SessionID != "" {
		return errors.New("a session's memory is put by a commit")
	}
	return m.check()
}

func (m *Memory) check() error {
	if m.ID == "" || m.Owner == "" {
		return errors.New("memory without an id or an owner")
	}
	return nil
}

// SeqList is seqs as drivers store them, a JSON list.
func SeqList(seqs []int64) string {
	b := []byte{'['}
	for i, seq := range seqs {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, seq, 10)
	}
	return string(append(b, ']'))
}

// ParseSeqList is the way back; none are nil.
func ParseSeqList(list string) (seqs []int64, err error) {
	if err := json.Unmarshal([]byte(list), &seqs); err != nil {
		return nil, fmt.Errorf("list of seqs: %w", err)
	}
	if len(seqs) == 0 {
		return nil, nil
	}
	return seqs, nil
}

func (c *Commit) checkMemories() error {
	for i := range c.Memories {
		m := &c.Memories[i]
		if (m.Put == nil) == (m.Delete == "") {
			return errors.New("memory change must either put or delete")
		}
		for j := range i {
			if c.Memories[j].id() == m.id() {
				return fmt.Errorf("memory %s is there twice", m.id())
			}
		}
		if m.Put == nil {
			continue
		}
		if err := m.Put.check(); err != nil {
			return err
		}
		foreign := m.Put.SessionID != "" && m.Put.SessionID != c.Session.ID
		if foreign || m.Put.Owner != c.Session.Owner {
			return fmt.Errorf("memory %s belongs to another session or owner", m.Put.ID)
		}
	}
	return nil
}
